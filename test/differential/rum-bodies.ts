import { formatTimeNs } from '#src/lib/time.ts'
import type { Random } from '../support/random.ts'
import { encodeJson } from '../support/otlp.ts'
import type { Body } from './log-bodies.ts'
import {
  anySessionId,
  anyText,
  anyTimeNs,
  anyTraceId,
  fieldNames,
  sentence,
  services,
  spanIds,
  traceIds,
} from './pools.ts'
import { spanRequest } from './span-bodies.ts'

type Members = Readonly<Record<string, unknown>>

const listOf = (random: Random, most: number, item: (random: Random) => unknown): readonly unknown[] =>
  Array.from({ length: random.below(most + 1) }, () =>
    random.chance(0.05) ? random.pick([7, null, 'x']) : item(random),
  )

const timestamp = (random: Random): string => formatTimeNs(anyTimeNs(random))
const trace = (random: Random): Members =>
  random.chance(0.5) ? { trace: { trace_id: anyTraceId(random), span_id: random.pick(spanIds) } } : {}
const context = (random: Random): Members => ({ [random.pick(fieldNames)]: anyText(random) })

const log = (random: Random): Members => ({
  message: anyText(random),
  level: random.pick(['log', 'info', 'warn', 'error', 'debug']),
  timestamp: timestamp(random),
  context: context(random),
  ...trace(random),
})
const exception = (random: Random): Members => ({
  type: random.pick(['TypeError', 'RangeError']),
  value: sentence(random),
  timestamp: timestamp(random),
  stacktrace: {
    frames: [{ filename: 'https://shop.example/app.js', function: 'pay', lineno: random.below(90), colno: 4 }],
  },
  ...trace(random),
})
const event = (random: Random): Members => ({
  name: random.pick(['click', 'session_start', 'faro.performance.resource', '支付']),
  domain: 'browser',
  timestamp: timestamp(random),
  attributes: context(random),
  ...trace(random),
})
const measurement = (random: Random): Members => ({
  type: 'web-vitals',
  values: { lcp: random.below(4_000) / 8, cls: random.below(9) / 100 },
  timestamp: timestamp(random),
  ...trace(random),
})

const faro = (random: Random): Members => ({
  meta: {
    sdk: { name: 'faro-web', version: '2.12.1' },
    app: { name: random.pick(services), version: '1.4.0' },
    ...(random.chance(0.9) ? { session: { id: anySessionId(random) } } : {}),
    page: { url: random.pick(['https://shop.example/cart?step=2', 'https://shop.example/支付']) },
    view: { name: 'cart' },
  },
  logs: listOf(random, 4, log),
  exceptions: listOf(random, 2, exception),
  events: listOf(random, 4, event),
  measurements: listOf(random, 2, measurement),
  ...(random.chance(0.5) ? { traces: JSON.parse(encodeJson(spanRequest(random))) as unknown } : {}),
})

const plain = (random: Random): Members => ({
  session_id: anySessionId(random),
  service: random.pick(services),
  events: listOf(random, 6, (each) => ({
    type: each.pick(['click', 'view', 'error']),
    timestamp: timestamp(each),
    url: `/page/${each.below(4)}`,
    ...(each.chance(0.4) ? { trace_id: each.pick(traceIds) } : {}),
    ...context(each),
  })),
})

/** A body of the RUM ingest: Grafana Faro's, the plain form, or OTLP JSON. */
export function rumBody(random: Random): Body {
  const form = random.below(8)
  const text =
    form < 5 ? JSON.stringify(faro(random)) : form < 7 ? JSON.stringify(plain(random)) : encodeJson(spanRequest(random))
  return {
    headers: { 'content-type': random.pick(['application/json', 'text/plain']) },
    bytes: Buffer.from(random.chance(0.04) ? text.slice(1) : text),
  }
}
