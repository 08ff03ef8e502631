import protobuf from 'protobufjs/minimal.js'
import { randomNumbers } from './random.ts'

/** An attribute value as a sender means it; `{}` is an AnyValue with nothing set. Source: opentelemetry-proto common.proto. */
export type Any =
  | Readonly<{ string: string }>
  | Readonly<{ utf8: Uint8Array }>
  | Readonly<{ bool: boolean }>
  | Readonly<{ int: bigint }>
  | Readonly<{ double: number }>
  | Readonly<{ list: readonly Any[] }>
  | Readonly<{ map: Bag }>
  | Readonly<{ bytes: Uint8Array }>
  | Readonly<Record<string, never>>
export type Bag = readonly (readonly [key: string, value: Any])[]

export type MadeEvent = Readonly<{ timeNs: bigint; name: string; attributes: Bag; dropped: number }>
export type MadeLink = Readonly<{ traceId: string; spanId: string; traceState: string; attributes: Bag; flags: number }>
export type MadeSpan = Readonly<{
  /** Hex, of any length: also ids that are none can be made. */
  traceId: string
  spanId: string
  parentSpanId: string
  traceState: string
  flags: number
  name: string
  kind: number
  startNs: bigint
  endNs: bigint
  attributes: Bag
  dropped: number
  events: readonly MadeEvent[]
  links: readonly MadeLink[]
  statusCode: number
  statusMessage: string
}>
type MadeScope = Readonly<{
  name: string
  version: string
  attributes: Bag
  schemaUrl: string
  spans: readonly MadeSpan[]
}>
export type MadeResource = Readonly<{ attributes: Bag; schemaUrl: string; scopes: readonly MadeScope[] }>
export type MadeRequest = readonly MadeResource[]

export const emptySpan: MadeSpan = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  parentSpanId: '',
  traceState: '',
  flags: 0,
  name: 'GET /',
  kind: 2,
  startNs: 1_795_240_001_079_262_377n,
  endNs: 1_795_240_001_080_262_378n,
  attributes: [],
  dropped: 0,
  events: [],
  links: [],
  statusCode: 0,
  statusMessage: '',
}

/** A request of one resource and one scope. */
export function requestOf(spans: readonly MadeSpan[], service = 'checkout'): MadeRequest {
  const scopes = [{ name: 'made', version: '1.0.0', attributes: [], schemaUrl: '', spans }]
  return [{ attributes: [['service.name', { string: service }]], schemaUrl: '', scopes }]
}

/** Field number and the field's bytes, tag included. */
type Field = readonly [number: number, bytes: Uint8Array]

const { Writer } = protobuf
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))

function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Uint8Array.of(...bytes, Number(rest))
}

export const bytesField = (number: number, bytes: Uint8Array): Field => [
  number,
  Writer.create()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish(),
]
export const textField = (number: number, text: string): Field => [
  number,
  Writer.create()
    .uint32((number << 3) | 2)
    .string(text)
    .finish(),
]
export const varintField = (number: number, value: bigint | number): Field => [
  number,
  Buffer.concat([varint(BigInt(number << 3)), varint(BigInt(value))]),
]
export function fixed64Field(number: number, value: bigint): Field {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return [number, Buffer.concat([varint(BigInt((number << 3) | 1)), bytes])]
}
const fixed32Field = (number: number, value: number): Field => [
  number,
  Writer.create()
    .uint32((number << 3) | 5)
    .fixed32(value)
    .finish(),
]
const doubleField = (number: number, value: number): Field => [
  number,
  Writer.create()
    .uint32((number << 3) | 1)
    .double(value)
    .finish(),
]

/** How fields are put together: in the order given, or by falling number, as the Collector writes them. */
type Order = 'given' | 'reversed'

export function message(order: Order, fields: readonly Field[]): Uint8Array {
  const sorted = order === 'given' ? fields : fields.toSorted(([a], [b]) => b - a)
  return new Uint8Array(Buffer.concat(sorted.map(([, bytes]) => bytes)))
}

function encodeAny(order: Order, value: Any): Uint8Array {
  if ('string' in value) return message(order, [textField(1, value.string)])
  if ('utf8' in value) return message(order, [bytesField(1, value.utf8)])
  if ('bool' in value) return message(order, [varintField(2, value.bool ? 1 : 0)])
  if ('int' in value) return message(order, [varintField(3, value.int)])
  if ('double' in value) return message(order, [doubleField(4, value.double)])
  if ('bytes' in value) return message(order, [bytesField(7, value.bytes)])
  if ('list' in value) {
    const items = value.list.map((item) => bytesField(1, encodeAny(order, item)))
    return message(order, [bytesField(5, message(order, items))])
  }
  if ('map' in value) return message(order, [bytesField(6, message(order, bagFields(order, 1, value.map)))])
  return new Uint8Array()
}

function bagFields(order: Order, number: number, bag: Bag): Field[] {
  return bag.map(([key, value]) =>
    bytesField(number, message(order, [textField(1, key), bytesField(2, encodeAny(order, value))])),
  )
}

/** A span's own bytes. Fields with their default value are left out, as proto3 encoders do. */
export function encodeSpan(span: MadeSpan, order: Order = 'given'): Uint8Array {
  const status = [
    ...(span.statusMessage === '' ? [] : [textField(2, span.statusMessage)]),
    ...(span.statusCode === 0 ? [] : [varintField(3, span.statusCode)]),
  ]
  return message(order, [
    ...(span.traceId === '' ? [] : [bytesField(1, bytesOf(span.traceId))]),
    ...(span.spanId === '' ? [] : [bytesField(2, bytesOf(span.spanId))]),
    ...(span.traceState === '' ? [] : [textField(3, span.traceState)]),
    ...(span.parentSpanId === '' ? [] : [bytesField(4, bytesOf(span.parentSpanId))]),
    textField(5, span.name),
    varintField(6, span.kind),
    fixed64Field(7, span.startNs),
    fixed64Field(8, span.endNs),
    ...bagFields(order, 9, span.attributes),
    ...(span.dropped === 0 ? [] : [varintField(10, span.dropped)]),
    ...span.events.map((event) => bytesField(11, encodeEvent(order, event))),
    ...span.links.map((link) => bytesField(13, encodeLink(order, link))),
    bytesField(15, message(order, status)),
    ...(span.flags === 0 ? [] : [fixed32Field(16, span.flags)]),
  ])
}

const encodeEvent = (order: Order, event: MadeEvent): Uint8Array =>
  message(order, [
    fixed64Field(1, event.timeNs),
    textField(2, event.name),
    ...bagFields(order, 3, event.attributes),
    varintField(4, event.dropped),
  ])

const encodeLink = (order: Order, link: MadeLink): Uint8Array =>
  message(order, [
    bytesField(1, bytesOf(link.traceId)),
    bytesField(2, bytesOf(link.spanId)),
    textField(3, link.traceState),
    ...bagFields(order, 4, link.attributes),
    fixed32Field(6, link.flags),
  ])

/** An ExportTraceServiceRequest in protobuf. */
export function encodeProtobuf(request: MadeRequest, order: Order = 'given'): Uint8Array {
  const scopeSpans = (scope: MadeScope): Uint8Array =>
    message(order, [
      bytesField(
        1,
        message(order, [
          textField(1, scope.name),
          textField(2, scope.version),
          ...bagFields(order, 3, scope.attributes),
        ]),
      ),
      ...scope.spans.map((span) => bytesField(2, encodeSpan(span, order))),
      ...(scope.schemaUrl === '' ? [] : [textField(3, scope.schemaUrl)]),
    ])
  const resourceSpans = (resource: MadeResource): Uint8Array =>
    message(order, [
      bytesField(1, message(order, bagFields(order, 1, resource.attributes))),
      ...resource.scopes.map((scope) => bytesField(2, scopeSpans(scope))),
      ...(resource.schemaUrl === '' ? [] : [textField(3, resource.schemaUrl)]),
    ])
  return message(
    order,
    request.map((resource) => bytesField(1, resourceSpans(resource))),
  )
}

function anyJson(value: Any): object {
  if ('string' in value) return { stringValue: value.string }
  if ('utf8' in value) return { stringValue: Buffer.from(value.utf8).toString('utf8') }
  if ('bool' in value) return { boolValue: value.bool }
  if ('int' in value) return { intValue: String(value.int) }
  if ('double' in value) return { doubleValue: Number.isFinite(value.double) ? value.double : String(value.double) }
  if ('bytes' in value) return { bytesValue: Buffer.from(value.bytes).toString('base64') }
  if ('list' in value) return { arrayValue: { values: value.list.map(anyJson) } }
  if ('map' in value) return { kvlistValue: { values: bagJson(value.map) } }
  return {}
}

const bagJson = (bag: Bag): object[] => bag.map(([key, value]) => ({ key, value: anyJson(value) }))

/** A span as OTLP JSON has it. */
export const spanJson = (span: MadeSpan): object => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  traceState: span.traceState,
  flags: span.flags,
  name: span.name,
  kind: span.kind,
  startTimeUnixNano: String(span.startNs),
  endTimeUnixNano: String(span.endNs),
  attributes: bagJson(span.attributes),
  droppedAttributesCount: span.dropped,
  events: span.events.map((event) => ({
    timeUnixNano: String(event.timeNs),
    name: event.name,
    attributes: bagJson(event.attributes),
    droppedAttributesCount: event.dropped,
  })),
  droppedEventsCount: 0,
  links: span.links.map(({ attributes, ...link }) => ({ ...link, attributes: bagJson(attributes) })),
  status: { code: span.statusCode, message: span.statusMessage },
})

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** An ExportTraceServiceRequest in OTLP JSON. */
export function encodeJson(request: MadeRequest): string {
  const resourceSpans = request.map((resource) => ({
    resource: { attributes: bagJson(resource.attributes) },
    scopeSpans: resource.scopes.map((scope) => ({
      scope: { name: scope.name, version: scope.version, attributes: bagJson(scope.attributes) },
      spans: scope.spans.map(spanJson),
      schemaUrl: scope.schemaUrl,
    })),
    schemaUrl: resource.schemaUrl,
  }))
  return JSON.stringify({ resourceSpans })
}

type TraceOptions = Readonly<{
  seed: number
  traces: number
  spansPerTrace: number
  services?: readonly string[]
  /** Start of the first trace, nanoseconds since the Unix epoch. */
  startNs?: bigint
}>

const operations = ['GET /cart', 'POST /orders', 'SELECT orders', 'publish order.paid', 'GET /api/v1/items/{id}']

type ServiceSpan = MadeSpan & Readonly<{ service: string }>
type Dice = Readonly<{
  below: (max: number) => number
  chance: (part: number) => boolean
  hex: (digits: number) => string
}>

function createDice(seed: number): Dice {
  const random = randomNumbers(seed)
  const below = (max: number): number => Math.floor(random() * max)
  const digit = (): string => below(16).toString(16)
  return {
    below,
    chance: (part) => random() < part,
    hex: (digits) => Array.from({ length: digits - 1 }, digit).join('') + '1',
  }
}

const exception = (timeNs: bigint): MadeEvent => ({
  timeNs,
  name: 'exception',
  attributes: [
    ['exception.type', { string: 'TimeoutError' }],
    ['exception.message', { string: 'the upstream did not answer' }],
  ],
  dropped: 0,
})

function makeSpan({ below, chance, hex }: Dice, given: Partial<ServiceSpan>, number: number): ServiceSpan {
  const failed = chance(0.1)
  const span = { ...emptySpan, service: '', ...given }
  const failure = failed ? { events: [exception(span.startNs + 17n)], statusCode: 2, statusMessage: 'timed out' } : {}
  return {
    ...span,
    ...failure,
    name: operations[below(operations.length)] ?? '',
    kind: 1 + below(5),
    endNs: span.startNs + BigInt(1 + below(5e8)),
    flags: 0x101,
    attributes: [
      ['http.request.method', { string: number % 2 === 0 ? 'GET' : 'POST' }],
      ['url.path', { string: `/api/v1/orders/${below(1e6)}` }],
      ['http.response.status_code', { int: failed ? 500n : 200n }],
      ['server.address', { string: `10.0.0.${below(256)}` }],
      ['user.id', { string: `u-${hex(8)}` }],
      ['retry', { bool: chance(0.5) }],
      ['queue.ratio', { double: below(1e9) / 1e9 }],
      ['order.total_ns', { int: 9_007_199_254_740_993n + BigInt(below(1e6)) }],
      ['session.id', { string: `s-${below(7)}` }],
    ],
  }
}

const made = (service: string, spans: readonly MadeSpan[]): MadeResource => ({
  attributes: [
    ['service.name', { string: service }],
    ['service.version', { string: '1.4.2' }],
    ['host.name', { string: `${service}-7f9c` }],
  ],
  schemaUrl: 'https://opentelemetry.io/schemas/1.30.0',
  scopes: [{ name: '@acme/instrumentation', version: '0.9.1', attributes: [], schemaUrl: '', spans }],
})

type MadeTraces = Readonly<{
  request: MadeRequest
  protobuf: Uint8Array
  json: string
  /** All spans, trace by trace; a request has them service by service. */
  spans: readonly ServiceSpan[]
}>

/** Realistic traces, each a tree: the root in the first service, children in the others, some failed. */
export function makeTraces(options: TraceOptions): MadeTraces {
  const { seed, traces, spansPerTrace, services = ['web', 'checkout', 'orders-db'] } = options
  const dice = createDice(seed)
  let startNs = options.startNs ?? emptySpan.startNs
  const spans: ServiceSpan[] = []
  for (let trace = 0; trace < traces; trace++) {
    const traceId = dice.hex(32)
    const ids = Array.from({ length: spansPerTrace }, () => dice.hex(16))
    startNs += BigInt(dice.below(1e9))
    for (const [index, spanId] of ids.entries()) {
      const parentSpanId = index === 0 ? '' : (ids[dice.below(index)] ?? '')
      const service = services[index % services.length] ?? ''
      const own = { traceId, spanId, parentSpanId, service, startNs: startNs + BigInt(index) * 1_000_003n }
      spans.push(makeSpan(dice, own, index))
    }
  }
  const request = services.map((service) =>
    made(
      service,
      spans.filter((span) => span.service === service),
    ),
  )
  return { request, protobuf: encodeProtobuf(request), json: encodeJson(request), spans }
}
