import { spanKinds, type Span } from '#src/events/telemetry.ts'
import { librarySpansField } from './protobuf-schema.ts'
import {
  type FieldReaders,
  type FieldsOf,
  type WireState,
  createWireState,
  fieldEnd,
  fieldReaders,
  readAttribute,
  readId,
  readMessage,
  readNamedText,
  readTime,
} from './protobuf-values.ts'
import {
  beginRecord,
  createLink,
  createShared,
  createSpan,
  createSpanEvent,
  finishLink,
  finishShared,
  finishSpan,
  finishSpanEvent,
  mark,
  statusCodes,
  type DecodeLimits,
  type Shared,
  type SharedDraft,
  type SpanDraft,
  type SpanEventDraft,
  type SpanLinkDraft,
  type Surroundings,
} from './span-parts.ts'

/** Ranges of messages in the body: start and end of each. */
type Ranges = number[]
type Outer = { ranges: Ranges }
type Group = { shared: Ranges; schemaUrl: string; items: Ranges }

const range =
  <Draft>(pick: (draft: Draft) => Ranges) =>
  (state: WireState, draft: Draft): void => {
    const end = fieldEnd(state)
    pick(draft).push(state.reader.pos, end)
    state.reader.pos = end
  }

const requestFields = fieldReaders<Outer>({ 10: range((request) => request.ranges) })

const group = {
  10: range<Group>((draft) => draft.shared),
  18: range<Group>((draft) => draft.items),
  26: (state: WireState, draft: Group) => (draft.schemaUrl = readNamedText(state, 'schema URL')),
}
const scopeSpansFields = fieldReaders<Group>(group)
const resourceSpansFields = fieldReaders<Group>({
  ...group,
  [librarySpansField * 8 + 2]: range<Group>((draft) => draft.items),
})

/** How to read a message: all fields in the order of the bytes, or in steps with some of the fields each. */
type Reading<Draft> = Readonly<{ asItStands: FieldReaders<Draft>; steps: readonly FieldReaders<Draft>[] }>

function reading<Draft>(...steps: readonly FieldsOf<Draft>[]): Reading<Draft> {
  return {
    asItStands: fieldReaders<Draft>(Object.assign({}, ...steps) as FieldsOf<Draft>),
    steps: steps.map((fields) => fieldReaders<Draft>(fields)),
  }
}

const resourceFields = reading<SharedDraft>({
  10: readAttribute,
  16: (state, draft) => (draft.attributesDropped = state.reader.uint32()),
})

const scopeFields = reading<SharedDraft>(
  {
    10: (state, draft) => (draft.name = readNamedText(state, 'name')),
    18: (state, draft) => (draft.version = readNamedText(state, 'version')),
  },
  {
    26: readAttribute,
    32: (state, draft) => (draft.attributesDropped = state.reader.uint32()),
  },
)

/**
 * Reads a span or a span event. One that is too large is read in steps, in the order that JSON has. The Collector writes fields in reverse, so an
 * event with its stack trace would use up the room of the attributes, and these that of the name.
 */
function readBounded<Draft>(state: WireState, of: Reading<Draft>, draft: Draft, end: number): void {
  if (state.cutter.bytesLeft === Infinity) return readMessage(state, of.asItStands, draft, end)
  const start = state.reader.pos
  for (const fields of of.steps) readRange(state, fields, draft, start, end)
}

const eventFields = reading<SpanEventDraft>(
  { 18: (state, draft) => (draft.name = readNamedText(state, 'span event name')) },
  {
    9: (state, draft) => (draft.timeNs = readTime(state)),
    26: readAttribute,
    32: (state, draft) => (draft.attributesDropped = state.reader.uint32()),
  },
)

const linkFields = fieldReaders<SpanLinkDraft>({
  10: (state, draft) => (draft.traceId = readId(state, 32)),
  18: (state, draft) => (draft.spanId = readId(state, 16)),
  26: (state, draft) => (draft.traceState = readNamedText(state, 'link trace state')),
  34: readAttribute,
  40: (state, draft) => (draft.attributesDropped = state.reader.uint32()),
  53: (state, draft) => (draft.flags = state.reader.fixed32()),
})

const statusFields = fieldReaders<SpanDraft>({
  18: (state, draft) => (draft.statusMessage = readNamedText(state, 'status message')),
  24: (state, draft) => (draft.statusCode = statusCodes[state.reader.int32()] ?? 'unset'),
})

const spanFields = reading<SpanDraft>(
  {
    26: (state, span) => (span.traceState = readNamedText(state, 'trace state')),
    42: (state, span) => (span.name = readNamedText(state, 'name')),
  },
  { 122: (state, span) => readMessage(state, statusFields, span, fieldEnd(state)) },
  {
    10: (state, span) => (span.traceId = readId(state, 32)),
    18: (state, span) => (span.spanId = readId(state, 16)),
    34: readParent,
    48: (state, span) => (span.kind = spanKinds[state.reader.int32()] ?? 'unspecified'),
    57: (state, span) => (span.startNs = readTime(state)),
    65: (state, span) => (span.endNs = readTime(state)),
    74: readAttribute,
    80: (state, span) => (span.attributesDropped = state.reader.uint32()),
    96: (state, span) => (span.eventsDropped = state.reader.uint32()),
    112: (state, span) => (span.linksDropped = state.reader.uint32()),
    133: (state, span) => (span.flags = state.reader.fixed32()),
  },
  { 90: readSpanEvent },
  { 106: readLink },
)

function readParent(state: WireState, span: SpanDraft): void {
  const start = state.reader.pos
  const id = readId(state, 16)
  span.parentSpanId = id === '' ? null : id
  if (id !== '') return
  const end = state.reader.pos
  // The length is read again, because it may be written in more bytes than it needs.
  state.reader.pos = start
  const bytes = fieldEnd(state) - state.reader.pos
  state.reader.pos = end
  if (bytes !== 0 && bytes !== 8) mark(state.cutter, 'parent span id left out, it is not 8 bytes')
}

function readSpanEvent(state: WireState, span: SpanDraft): void {
  const end = fieldEnd(state)
  if (span.eventsSeen++ >= state.cutter.limits.spanEventsPerSpanMax) {
    state.reader.pos = end
    return
  }
  const draft = createSpanEvent()
  readBounded(state, eventFields, draft, end)
  span.spanEvents.push(finishSpanEvent(state.cutter, draft))
}

function readLink(state: WireState, span: SpanDraft): void {
  const end = fieldEnd(state)
  if (span.linksSeen++ >= state.cutter.limits.linksPerSpanMax) {
    state.reader.pos = end
    return
  }
  const draft = createLink()
  readMessage(state, linkFields, draft, end)
  span.links.push(finishLink(state.cutter, draft))
}

function readRange<Draft>(
  state: WireState,
  fields: FieldReaders<Draft>,
  draft: Draft,
  start: number,
  end: number,
): void {
  state.reader.pos = start
  readMessage(state, fields, draft, end)
}

/** Reads a resource or a scope. If it is given in several parts, these are merged. */
function readShared(state: WireState, kind: 'resource' | 'scope', group: Group): Shared {
  const { cutter } = state
  const { shared: ranges, schemaUrl } = group
  const draft = createShared()
  const { asItStands, steps } = kind === 'resource' ? resourceFields : scopeFields
  beginRecord(cutter, lengthOf(ranges))
  for (const fields of cutter.bytesLeft === Infinity ? [asItStands] : steps) {
    for (let index = 0; index < ranges.length; index += 2) {
      readRange(state, fields, draft, ranges[index] as number, ranges[index + 1] as number)
    }
  }
  return finishShared(cutter, kind, draft, schemaUrl)
}

function lengthOf(ranges: Ranges): number {
  let length = 0
  for (let index = 0; index < ranges.length; index += 2) {
    length += (ranges[index + 1] as number) - (ranges[index] as number)
  }
  return length
}

function readGroup(state: WireState, fields: FieldReaders<Group>, start: number, end: number): Group {
  const group: Group = { shared: [], schemaUrl: '', items: [] }
  beginRecord(state.cutter, 0)
  readRange(state, fields, group, start, end)
  return group
}

function readSpans(state: WireState, group: Group, surroundings: Surroundings, spans: Span[]): void {
  const { cutter } = state
  const { items } = group
  for (let index = 0; index < items.length; index += 2) {
    const start = items[index] as number
    const end = items[index + 1] as number
    beginRecord(cutter, end - start)
    const draft = createSpan()
    state.reader.pos = start
    readBounded(state, spanFields, draft, end)
    // Ids were checked, and spans without them cut, before the event was written.
    if (draft.traceId !== '' && draft.spanId !== '') spans.push(finishSpan(cutter, draft, surroundings))
  }
}

/** Decodes protobuf bytes that the scanner accepted. Fields may be in any order: the Collector writes them in reverse. */
export function decodeProtobuf(bytes: Uint8Array, limits: DecodeLimits): readonly Span[] {
  const state = createWireState(bytes, limits)
  const spans: Span[] = []
  const request: Outer = { ranges: [] }
  readRange(state, requestFields, request, 0, bytes.length)
  for (let index = 0; index < request.ranges.length; index += 2) {
    const resourceSpans = readGroup(
      state,
      resourceSpansFields,
      request.ranges[index] as number,
      request.ranges[index + 1] as number,
    )
    const resource = readShared(state, 'resource', resourceSpans)
    for (let item = 0; item < resourceSpans.items.length; item += 2) {
      const scopeSpans = readGroup(
        state,
        scopeSpansFields,
        resourceSpans.items[item] as number,
        resourceSpans.items[item + 1] as number,
      )
      const scope = readShared(state, 'scope', scopeSpans)
      const cuts = [...resource.cuts, ...scope.cuts]
      readSpans(state, scopeSpans, { resource: resource.shared, scope: scope.shared, cuts }, spans)
    }
  }
  return spans
}
