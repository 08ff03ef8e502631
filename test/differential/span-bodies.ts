import { gzipSync } from 'node:zlib'
import type { Random } from '../support/random.ts'
import {
  encodeJson,
  encodeProtobuf,
  emptySpan,
  type Any,
  type Bag,
  type MadeEvent,
  type MadeLink,
  type MadeRequest,
  type MadeResource,
  type MadeSpan,
} from '../support/otlp.ts'
import type { Body } from './log-bodies.ts'
import {
  anySessionId,
  anyText,
  anyTimeNs,
  anyTraceId,
  fieldNames,
  numbers,
  operations,
  sentence,
  services,
  spanIds,
  traceIds,
} from './pools.ts'

const integers = numbers.filter((text) => /^-?\d{1,18}$/.test(text)).map(BigInt)
const doubles = [...numbers.map(Number), Number.NaN, -0]

function anyValue(random: Random, depth = 0): Any {
  const kind = random.below(depth > 2 ? 8 : 11)
  if (kind < 4) return { string: anyText(random).toWellFormed() }
  if (kind === 4) return { int: random.pick([...integers, 9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n]) }
  if (kind === 5) return { double: random.pick(doubles) }
  if (kind === 6) return { bool: random.chance(0.5) }
  if (kind === 7)
    return random.pick<Any>([{}, { bytes: Uint8Array.of(0, 255, 104) }, { utf8: Uint8Array.of(97, 0xff, 98) }])
  if (kind === 8) return { map: anyBag(random, depth + 1) }
  return { list: Array.from({ length: random.below(4) }, () => anyValue(random, depth + 1)) }
}

const anyBag = (random: Random, depth = 0): Bag =>
  Array.from({ length: random.below(5) }, () => [random.pick(fieldNames), anyValue(random, depth)])

const usual = (random: Random): Bag => [
  ['http.response.status_code', { int: random.pick([200n, 404n, 499n, 500n, 503n]) }],
  ['url.path', { string: random.pick(['/api/v1/orders', '/api/v2/orders/7', '/cart', '/支付']) }],
]

const spanEvent = (random: Random, timeNs: bigint): MadeEvent => ({
  timeNs,
  name: random.pick(['exception', 'retry', anyText(random).toWellFormed()]),
  attributes: [['exception.message', { string: sentence(random).toWellFormed() }], ...anyBag(random)],
  dropped: random.below(3),
})

const link = (random: Random): MadeLink => ({
  traceId: random.pick(traceIds),
  spanId: random.pick(spanIds),
  traceState: random.pick(['', 'a=1,b=2']),
  attributes: anyBag(random),
  flags: random.below(2),
})

/** Ids come from few, so that spans come again, have parents that are not there, and are refused for lack of an id. */
function span(random: Random): MadeSpan {
  const startNs = anyTimeNs(random)
  const lengthNs = BigInt(random.below(3)) * BigInt(random.below(2_000_000_000))
  const session: Bag = random.chance(0.3) ? [['session.id', { string: anySessionId(random) }]] : []
  const start = BigInt.asUintN(64, startNs)
  return {
    ...emptySpan,
    traceId: random.chance(0.03) ? random.pick(['', '00'.repeat(16), 'ab']) : anyTraceId(random),
    spanId: random.chance(0.03) ? random.pick(['', '00'.repeat(8), 'ab']) : random.pick(spanIds),
    parentSpanId: random.chance(0.3) ? '' : random.pick(spanIds),
    traceState: random.pick(['', 'vendor=x']),
    flags: random.pick([0, 1, 0x301]),
    name: random.chance(0.8) ? random.pick(operations) : anyText(random).toWellFormed(),
    kind: random.below(7),
    startNs: start,
    endNs: random.chance(0.05) ? 0n : BigInt.asUintN(64, start + lengthNs),
    attributes: [...usual(random), ...session, ...anyBag(random)],
    dropped: random.below(2),
    events: Array.from({ length: random.below(3) }, () => spanEvent(random, start)),
    links: Array.from({ length: random.below(2) }, () => link(random)),
    statusCode: random.pick([0, 0, 1, 2, 2, 7]),
    statusMessage: random.chance(0.2) ? sentence(random).toWellFormed() : '',
  }
}

function resource(random: Random): MadeResource {
  const named: Bag = random.chance(0.95) ? [['service.name', { string: random.pick(services) }]] : []
  const region: Bag = [['region', { string: random.pick(['eu', 'us', '東京']) }]]
  return {
    attributes: [...named, ...region, ...(random.chance(0.2) ? anyBag(random) : [])],
    schemaUrl: random.pick(['', 'https://opentelemetry.io/schemas/1.30.0']),
    scopes: Array.from({ length: 1 + random.below(2) }, () => ({
      name: random.pick(['made', '@acme/http', '']),
      version: random.pick(['', '1.0.0']),
      attributes: random.chance(0.2) ? anyBag(random) : [],
      schemaUrl: '',
      spans: Array.from({ length: random.below(9) }, () => span(random)),
    })),
  }
}

export const spanRequest = (random: Random): MadeRequest =>
  Array.from({ length: 1 + random.below(3) }, () => resource(random))

/** A body of the OTLP ingest: either encoding, gzipped or not; now and then none. */
export function spanBody(random: Random): Body {
  const request = spanRequest(random)
  const isJson = random.chance(0.5)
  const made = isJson ? Buffer.from(encodeJson(request)) : encodeProtobuf(request, random.pick(['given', 'reversed']))
  const bytes = random.chance(0.05) ? made.subarray(0, made.length >> 1) : made
  const type = { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' }
  return random.chance(0.4)
    ? { headers: { ...type, 'content-encoding': 'gzip' }, bytes: gzipSync(bytes) }
    : { headers: type, bytes }
}
