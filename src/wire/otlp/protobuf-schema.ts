/**
 * What the scanner does with a field, as a small number: how to step over it, or which message to enter. From `length` on the field is
 * length-delimited; from `request` on it is a message that is scanned.
 */
export const actions = {
  malformed: 0,
  varint: 1,
  fixed64: 2,
  fixed32: 3,
  group: 4,
  mismatch: 5,
  length: 6,
  traceId: 7,
  spanId: 8,
  request: 9,
  resourceSpans: 10,
  resource: 11,
  scopeSpans: 12,
  scope: 13,
  span: 14,
  spanEvent: 15,
  link: 16,
  status: 17,
  keyValue: 18,
  value: 19,
  item: 20,
  list: 21,
  map: 22,
} as const
const messages = 23

/** The deprecated `instrumentation_library_spans` of OTLP before 0.15: the same shape as `scope_spans`. */
export const librarySpansField = 1000

const anyValue = {
  1: actions.length,
  2: actions.varint,
  3: actions.varint,
  4: actions.fixed64,
  5: actions.list,
  6: actions.map,
  7: actions.length,
}

/** The known fields, by message and number. Source: opentelemetry-proto 1.x trace.proto, common.proto, resource.proto. */
const schema: Readonly<Record<number, Readonly<Record<number, number>>>> = {
  [actions.request]: { 1: actions.resourceSpans },
  [actions.resourceSpans]: { 1: actions.resource, 2: actions.scopeSpans, 3: actions.length },
  [actions.resource]: { 1: actions.keyValue, 2: actions.varint },
  [actions.scopeSpans]: { 1: actions.scope, 2: actions.span, 3: actions.length },
  [actions.scope]: { 1: actions.length, 2: actions.length, 3: actions.keyValue, 4: actions.varint },
  [actions.span]: {
    1: actions.traceId,
    2: actions.spanId,
    3: actions.length,
    4: actions.length,
    5: actions.length,
    6: actions.varint,
    7: actions.fixed64,
    8: actions.fixed64,
    9: actions.keyValue,
    10: actions.varint,
    11: actions.spanEvent,
    12: actions.varint,
    13: actions.link,
    14: actions.varint,
    15: actions.status,
    16: actions.fixed32,
  },
  [actions.spanEvent]: { 1: actions.fixed64, 2: actions.length, 3: actions.keyValue, 4: actions.varint },
  [actions.link]: {
    1: actions.length,
    2: actions.length,
    3: actions.length,
    4: actions.keyValue,
    5: actions.varint,
    6: actions.fixed32,
  },
  [actions.status]: { 2: actions.length, 3: actions.varint },
  [actions.keyValue]: { 1: actions.length, 2: actions.value },
  [actions.value]: anyValue,
  [actions.item]: anyValue,
  [actions.list]: { 1: actions.item },
  [actions.map]: { 1: actions.keyValue },
}

/** How to step over an unknown field, by its wire type. 4 ends a group that never began; 6 and 7 do not exist. */
export const unknownByWireType: Readonly<Uint8Array> = Uint8Array.of(
  actions.varint,
  actions.fixed64,
  actions.length,
  actions.group,
  actions.malformed,
  actions.fixed32,
  actions.malformed,
  actions.malformed,
)

/**
 * Action by message × 256 + tag, for every tag below 256 (fields 1 to 31). A known field with a wrong wire type is a mismatch: the body is some other
 * message, which the Collector's receiver refuses too.
 */
function buildActionTable(): Uint8Array {
  const table = new Uint8Array(messages * 256)
  for (let message = actions.request as number; message < messages; message++) {
    for (let tag = 8; tag < 256; tag++) {
      const known = schema[message]?.[tag >>> 3]
      const unknown = unknownByWireType[tag & 7] as number
      const fits = known === undefined || Math.min(known, actions.length) === unknown
      table[message * 256 + tag] = fits ? (known ?? unknown) : unknown === 0 ? unknown : actions.mismatch
    }
  }
  return table
}
export const actionTable: Readonly<Uint8Array> = buildActionTable()

const flagTable = (...of: readonly number[]): Uint8Array =>
  Uint8Array.from({ length: messages }, (_none, action) => (of.includes(action) ? 1 : 0))

/** 1 for messages that count as nodes of the request: each becomes a value or an object when decoded. */
export const nodeTable: Readonly<Uint8Array> = flagTable(
  actions.resourceSpans,
  actions.scopeSpans,
  actions.spanEvent,
  actions.link,
  actions.keyValue,
  actions.item,
)

/** 1 for messages that add a level of nesting to attribute values. */
export const depthTable: Readonly<Uint8Array> = flagTable(actions.value, actions.item)
