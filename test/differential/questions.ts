import { formatTimeNs } from '#src/lib/time.ts'
import { createRandom, type Random } from '../support/random.ts'
import {
  anySessionId,
  anyTimeNs,
  anyTraceId,
  baseNs,
  minuteNs,
  operations,
  rangeNs,
  services,
  sessionIds,
  spanIds,
  traceIds,
} from './pools.ts'
import { searchText } from './search-text.ts'

/** A question to a read endpoint, as its query string is typed but for a cursor. */
export type Question = Readonly<{ path: string; parameters: readonly (readonly [string, string])[] }>

type Parameters = (readonly [string, string])[]

/** Mostly a moment at which something happened. */
const time = (random: Random): string => {
  const timeNs = random.chance(0.7) ? baseNs + BigInt(random.below(120)) * minuteNs : anyTimeNs(random)
  const written = formatTimeNs(timeNs)
  return random.pick([
    ...[written, written.replace('Z', '-00:30'), written.slice(0, 10), written.slice(0, 16).replace('T', ' ')],
    ...[String(timeNs), String(timeNs / 1_000n), String(timeNs / 1_000_000n), String(timeNs / 1_000_000_000n)],
  ])
}

/** `ends`: before telemetry that names no time, since the buckets of a histogram of arrivals are of each server's own. */
const cuts = (random: Random, ends: boolean): Parameters => {
  const from = random.pick(['', 'all', 'all', 'all', 'all', 'some', 'day'])
  const made: Parameters = []
  if (from === 'all') made.push(['from', '1970-01-01'])
  if (from === 'some') made.push(['from', time(random)])
  if (from === 'day') made.push(['from', random.pick(['1d', '-24h', 'now-1d', '1440m'])])
  if (ends || random.chance(0.4)) made.push(['to', random.chance(0.4) ? formatTimeNs(baseNs + rangeNs) : time(random)])
  return made
}

const mangled = (random: Random, id: string): string =>
  random.pick([id, id, id, id.toUpperCase(), id.replace(/^(.{8})/, '$1-'), id.slice(0, 16), 'zz', '0'.repeat(32)])

const some = (random: Random, part: number, make: () => Parameters): Parameters => (random.chance(part) ? make() : [])

const limits = ['1', '7', '20', '50', '100', '200', '1000']

/** Mistakes that every endpoint refuses in its own words. */
const mistakes: readonly (readonly [string, string])[] = [
  ['ordr', 'desc'],
  ['limit', '0'],
  ['limit', 'x'],
  ['limit', ''],
  ['q', ''],
  ['trace_id', '0'],
  ['order', 'sideways'],
  ['from', 'yesterday'],
  ['from', '2026-02-30'],
  ['to', '1970-01-01'],
  ['cursor', 'abc'],
  ['include', 'everything'],
  ['workspace_id', 'ignored'],
  ['q', 'a | stats count'],
]

const mistake = (random: Random): Parameters => some(random, 0.04, () => [random.pick(mistakes)])

function spanConditions(random: Random): Parameters {
  return [
    ...some(random, 0.55, () => [['q', searchText(random)]]),
    ...some(random, 0.25, () => [['service', random.pick([...services, 'CHECKOUT', 'nobody'])]]),
    ...some(random, 0.15, () => [['operation', random.pick([...operations, 'get /cart'])]]),
    ...some(random, 0.15, () => [['status', random.pick(['ok', 'error', 'unset'])]]),
    ...some(random, 0.15, () => [['kind', random.pick(['server', 'client', 'internal', 'unspecified', 'queue'])]]),
    ...some(random, 0.15, () => [['min_duration', random.pick(['0ns', '1ms', '200ms', '1.5s', '1x'])]]),
    ...some(random, 0.1, () => [['max_duration', random.pick(['300ms', '2s', '1h', '10m'])]]),
    ...some(random, 0.08, () => [['trace_id', mangled(random, random.pick(traceIds))]]),
    ...some(random, 0.12, () => [['session_id', random.pick(sessionIds)]]),
    ...some(random, 0.2, () => [
      ['has', random.pick(['logs', 'rum', 'error', 'missing_spans', 'logs,error', 'rum,logs'])],
    ]),
    ...some(random, 0.6, () => [['order', random.pick(['newest', 'oldest', 'longest', 'most_spans', 'errors'])]]),
    ...some(random, 0.6, () => [['limit', random.pick(limits)]]),
    ...mistake(random),
  ]
}

function traceSearch(random: Random): Question {
  const include = some(random, 0.35, () => [['include', random.pick(['histogram', 'facets', 'histogram,facets'])]])
  return {
    path: '/api/app/traces/search',
    parameters: [...spanConditions(random), ...include, ...cuts(random, include.length > 0)],
  }
}

const listing = (random: Random): Question => ({
  path: '/api/v1/traces',
  parameters: [...spanConditions(random), ...cuts(random, false)],
})

function logConditions(random: Random): Parameters {
  return [
    ...some(random, 0.8, () => [['q', searchText(random)]]),
    ...some(random, 0.1, () => [['level', random.pick(['info', 'warn,error', 'fatal', 'loud'])]]),
    ...some(random, 0.1, () => [['service', random.pick([...services, 'CHECKOUT'])]]),
    ...some(random, 0.1, () => [['trace_id', mangled(random, random.pick(traceIds))]]),
    ...some(random, 0.1, () => [['session_id', random.pick(sessionIds)]]),
    ...some(random, 0.4, () => [['order', random.pick(['asc', 'desc'])]]),
    ...some(random, 0.15, () => [
      ['fields', random.pick(['status', 'nested,tags', 'user.name,a b', '__proto__', '字段'])],
    ]),
    ...mistake(random),
  ]
}

const includes = ['histogram', 'facets', 'count', 'facets,count', 'histogram,facets,count']

/** `ids` are those of log records, as both servers name them. */
function logSearch(random: Random, ids: readonly string[]): Question {
  const include = some(random, 0.4, () => [['include', random.pick(includes)]])
  const around = some(random, 0.12, () => [
    ['around', random.pick([...ids, 'nothing'])],
    ...some(random, 0.5, () => [['before', random.pick(['0', '3', '40'])]]),
    ...some(random, 0.5, () => [['after', random.pick(['0', '5', '70'])]]),
  ])
  return {
    path: '/api/app/logs/search',
    parameters: [
      ...logConditions(random),
      ...around,
      ...include,
      ...cuts(random, include.length > 0),
      ...some(random, 0.6, () => [['limit', random.pick(limits)]]),
    ],
  }
}

const logExport = (random: Random): Question => ({
  path: '/app/logs/export',
  parameters: [
    ...logConditions(random),
    ...cuts(random, false),
    ...some(random, 0.7, () => [['format', random.pick(['ndjson', 'csv', 'csv', 'xml'])]]),
  ],
})

function correlation(random: Random, ids: readonly string[]): Question {
  const traceId = anyTraceId(random)
  const spanId = random.pick(spanIds)
  const forms: readonly (() => readonly [string, string])[] = [
    () => ['trace_id', mangled(random, traceId)],
    () => ['traceparent', `00-${traceId}-${spanId}-01`],
    () => ['session_id', random.pick([anySessionId(random), anySessionId(random), 'unseen'])],
    () => ['span_id', mangled(random, spanId)],
    () => ['log_id', random.pick([...ids, 'nothing'])],
    () => ['id', random.pick([traceId, spanId, ...sessionIds, ...ids, '1234567890123456789'])],
  ]
  return { path: '/api/app/correlation', parameters: [random.pick(forms)(), ...mistake(random)] }
}

/** So many questions over all endpoints and their parameters. */
export function makeQuestions(seed: number, count: number, ids: readonly string[]): readonly Question[] {
  const random = createRandom(seed)
  const make = [
    traceSearch,
    traceSearch,
    logSearch,
    logSearch,
    logSearch,
    logSearch,
    logExport,
    correlation,
    correlation,
    listing,
  ]
  return Array.from({ length: count }, (_, number) => (make[number % make.length] ?? logSearch)(random, ids))
}
