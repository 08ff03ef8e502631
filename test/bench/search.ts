import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '#src/lib/json.ts'
import { BenchFailure, expectCount, type BenchClient } from './bench-client.ts'
import { withServer } from './bench-server.ts'
import { startDriver, type Driver } from './drive.ts'
import { startBareServer } from './floors.ts'
import { makeLogCorpus, type LogFacts } from './log-corpus.ts'
import { atMost, percentile, type Floor, type Row, type Section } from './report.ts'
import { recordsPerRequest, type BenchContext } from './scale.ts'
import { makeSpanCorpus, slowMs, type SpanFacts } from './span-corpus.ts'

type Facts = Readonly<{ spans: SpanFacts; logs: LogFacts }>
/** A path, and what is wrong with its answer; undefined when nothing is. */
type Query = Readonly<{ path: string; check(body: JsonObject): string | undefined }>
type Figure = Readonly<{ figure: string; p50Max?: number; queries: readonly Query[]; isLog: boolean }>

export const connections = 8
/** A day's records, nearly: what a search without a range covers. */
export const durationMs = 20 * 3_600_000
const narrowMs = 600_000
export const tracesAsked = 100
export const tracesPerPage = 20
export const logsPerPage = 100

const same = (what: string, found: unknown, wanted: number): string | undefined =>
  Number(found) === wanted ? undefined : `${what}: found ${String(found)}, sent ${wanted}`
export const at = (value: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (inner, name) => (isJsonObject(inner ?? null) ? (inner as JsonObject)[name] : undefined),
    value,
  )
const lengthOf = (value: Json | undefined): number => (Array.isArray(value) ? value.length : -1)
export const parameters = (values: Readonly<Record<string, string | number>>): string =>
  new URLSearchParams(
    Object.entries(values).map(([name, value]) => [name, String(value)] as [string, string]),
  ).toString()

export function totalOf(histogram: Json | undefined): number {
  const buckets = at(histogram, 'buckets')
  if (!Array.isArray(buckets)) return -1
  return buckets.reduce((sum: number, bucket: Json) => sum + Number(at(bucket, 'total')), 0)
}

/** How many records the values of a facet come to. */
function countedBy(body: JsonObject, field: string): number {
  const facets = (body['facets'] ?? []) as readonly JsonObject[]
  const values = (facets.find((facet) => facet['field'] === field)?.['values'] ?? []) as readonly JsonObject[]
  return values.reduce((sum, { count }) => sum + Number(count), 0)
}

function traceFigures({ spans }: Facts, from: number): readonly Figure[] {
  const samples = spans.samples.slice(0, tracesAsked)
  const whole = samples.map(({ traceId, spans: count }): Query => ({
    path: `/api/app/correlation?${parameters({ trace_id: traceId })}`,
    check: (body) => same(`spans of trace ${traceId}`, lengthOf(at(body, 'trace', 'spans')), count),
  }))
  const summaries = samples.map(({ traceId, spans: count }): Query => ({
    path: `/api/app/traces/search?${parameters({ trace_id: traceId })}`,
    check: (body) => {
      const [trace] = (body['traces'] ?? []) as readonly JsonObject[]
      return same(`span_count of trace ${traceId}`, at(trace, 'span_count'), count)
    },
  }))
  const searches = spans.slow.map(({ service, operation, traces }): Query => {
    const given = { service, operation, min_duration: `${slowMs}ms`, limit: tracesPerPage, from }
    return {
      path: `/api/app/traces/search?${parameters(given)}`,
      check: (body) => same(`${service} ${operation}`, lengthOf(body['traces']), Math.min(tracesPerPage, traces)),
    }
  })
  const all: Query = {
    path: `/api/app/traces/search?${parameters({ from, include: 'histogram,facets', limit: tracesPerPage })}`,
    check: (body) => same('histogram of all traces', totalOf(body['histogram']), spans.traces),
  }
  return [
    { figure: 'trace by id, whole, with its logs', p50Max: 3, queries: whole, isLog: false },
    { figure: 'trace by id, its summary', p50Max: 3, queries: summaries, isLog: false },
    { figure: 'traces by service, operation, duration, 20', p50Max: 5, queries: searches, isLog: false },
    { figure: 'histogram and facets of all traces', queries: [all], isLog: false },
  ]
}

function logFigures({ logs }: Facts, from: number): readonly Figure[] {
  const path = (values: Readonly<Record<string, string | number>>): string =>
    `/api/app/logs/search?${parameters({ ...values, from })}`
  const newest = ({ q, matches }: LogFacts['words'][number]): Query => ({
    path: path({ q, limit: logsPerPage }),
    check: (body) => same(`logs of ${q}`, lengthOf(body['logs']), Math.min(logsPerPage, matches)),
  })
  const histogram = (given: Readonly<Record<string, string>>, matches: number): Query => ({
    path: path({ ...given, include: 'histogram', limit: 1 }),
    check: (body) => same(`histogram of ${given['q'] ?? 'all'}`, totalOf(body['histogram']), matches),
  })
  const middle = from + durationMs / 2
  const narrow: Query = {
    path: `/api/app/logs/search?${parameters({ from: middle, to: middle + narrowMs, include: 'histogram', limit: 1 })}`,
    check: (body) => (totalOf(body['histogram']) > 0 ? undefined : 'no log in ten minutes'),
  }
  const all: Query = {
    path: path({ include: 'histogram,facets', limit: logsPerPage }),
    check: (body) => same('logs by level', countedBy(body, 'level'), logs.records),
  }
  const ofLevel = (level: string): Query => ({
    path: path({ level, include: 'histogram,facets,count', limit: logsPerPage }),
    check: (body) =>
      same(`logs of ${level}`, totalOf(body['histogram']), countedBy(body, 'level')) ??
      same(`logs of ${level}`, body['count'], countedBy(body, 'level')),
  })
  return [
    { figure: 'logs of a word, newest 100', p50Max: 6, queries: logs.words.map(newest), isLog: true },
    { figure: 'logs of a phrase and a field, newest 100', p50Max: 6, queries: logs.phrases.map(newest), isLog: true },
    { figure: 'histogram of all logs, 20 hours', p50Max: 10, queries: [histogram({}, logs.records)], isLog: true },
    { figure: 'histogram of all logs, 10 minutes', queries: [narrow], isLog: true },
    { figure: 'histogram and facets of all logs', queries: [all], isLog: true },
    { figure: 'histogram and facets of a level', queries: ['info', 'error'].map(ofLevel), isLog: true },
    {
      figure: 'histogram of a word',
      queries: logs.words.map(({ q, matches }) => histogram({ q }, matches)),
      isLog: true,
    },
  ]
}

/** What counting says must be what was sent, before anything is timed. */
async function checkAll(server: BenchClient, { spans, logs }: Facts, from: number, figures: readonly Figure[]) {
  expectCount('spans', await server.countSpans(from), spans.spans)
  expectCount('logs', await server.countLogs(from), logs.records)
  for (const { q, matches } of [...logs.words, ...logs.phrases]) {
    const body = await server.get(`/api/app/logs/search?${parameters({ q, include: 'count', limit: 1, from })}`)
    expectCount(`logs of ${q}`, Number(body['count']), matches)
  }
  for (const { queries } of figures) {
    for (const { path, check } of queries) {
      const wrong = check(await server.get(path))
      if (wrong !== undefined) throw new BenchFailure(`${path}: ${wrong}`)
    }
  }
}

/** Latencies over HTTP, one search at a time, after one round that is not counted. */
export async function timeQueries(
  driver: Driver,
  { baseUrl, cookie }: Pick<BenchClient, 'baseUrl' | 'cookie'>,
  paths: readonly string[],
  atLeast: number,
): Promise<Float64Array> {
  const task = { kind: 'query', url: baseUrl, cookie, paths } as const
  const rounds = Math.max(1, Math.ceil(atLeast / paths.length))
  await driver.run({ ...task, rounds: Math.min(rounds, 20) })
  const { answers, latencies } = await driver.run({ ...task, rounds })
  for (const [answer, count] of answers) {
    if (answer !== '200') throw new BenchFailure(`${count} searches like ${paths[0]} were answered ${answer}`)
  }
  return latencies
}

/** What a figure stands beside: milliseconds, sorted. */
type Beside = Readonly<{ name: string; latencies: Float64Array }>
/** The floors of searches, once for all that are of logs or of traces. */
type Floors = Readonly<{ traces: readonly Beside[]; logs: readonly Beside[] }>

async function measureFloors(driver: Driver, server: BenchClient, from: number, queries: number): Promise<Floors> {
  const nothing = 'nosuchwordanywhere'
  const name = 'a search that finds nothing'
  const time = async (path: string): Promise<Beside> => ({
    name,
    latencies: await timeQueries(driver, server, [path], queries),
  })
  const traces = await time(`/api/app/traces/search?${parameters({ service: nothing, from })}`)
  const logs = await time(`/api/app/logs/search?${parameters({ q: nothing, from })}`)
  const bareServer = await startBareServer()
  try {
    await bareServer.get(driver, 200)
    const bare = { name: 'bare node:http GET', latencies: (await bareServer.get(driver, queries)).latencies }
    return { traces: [traces, bare], logs: [logs, bare] }
  } finally {
    bareServer.stop()
  }
}

function rowsOf({ figure, p50Max }: Figure, found: Float64Array, beside: readonly Beside[]): readonly Row[] {
  const row = (name: string, part: number): Row => {
    const floors = beside.map(({ name, latencies }): Floor => ({ name, value: percentile(latencies, part) }))
    return { figure: `${figure}: ${name}`, unit: 'ms', measured: percentile(found, part), floors }
  }
  return [{ ...row('p50', 0.5), ...(p50Max === undefined ? {} : atMost(p50Max)) }, row('p99', 0.99)]
}

/** What is asked of a server, and a floor of its own for each figure, where its engine can be asked without it. */
export type SearchStage = Readonly<{
  driver: Driver
  server: BenchClient
  of: string
  hasTargets: boolean
  engine?: (paths: readonly string[], atLeast: number) => Promise<Beside>
}>

/** Stores traces and logs, and times the same searches in them, whatever the server's form. */
export async function searchSection(
  { scale, folder, say, ...context }: BenchContext,
  { driver, server, of, hasTargets, engine }: SearchStage,
): Promise<Section> {
  const startMs = context.startMs - durationMs
  say('making traces and logs')
  const all = { seed: scale.seed, startMs, durationMs, recordsPerRequest }
  const traces = makeSpanCorpus(join(folder, 'spans'), {
    ...all,
    spans: scale.spans,
    spansPerRequest: recordsPerRequest,
  })
  const logsOf = { ...all, records: scale.logs, traces: traces.facts.traces }
  const logs = makeLogCorpus(join(folder, 'logs'), logsOf)
  const facts = { spans: traces.facts, logs: logs.facts }
  const figures = [...traceFigures(facts, startMs), ...logFigures(facts, startMs)]
  say('storing them, and waiting for the indexes')
  const last = await server.post(driver, 'traces', { bodies: traces.bodies, connections })
  const lastLog = await server.post(driver, 'logs', { bodies: logs.bodies, connections })
  await server.indexed(Math.max(last.position, lastLog.position))
  say('checking what is found')
  await checkAll(server, facts, startMs, figures)
  const floors = await measureFloors(driver, server, startMs, scale.queries)
  const rows: Row[] = []
  for (const { p50Max, ...figure } of figures) {
    say(figure.figure)
    const paths = figure.queries.map(({ path }) => path)
    const found = await timeQueries(driver, server, paths, scale.queries)
    const own = engine === undefined ? [] : [await engine(paths, scale.queries)]
    const shown = hasTargets && p50Max !== undefined ? { ...figure, p50Max } : figure
    rows.push(...rowsOf(shown, found, [...own, ...(figure.isLog ? floors.logs : floors.traces)]))
  }
  const title = `${of} over HTTP, one at a time, in ${facts.spans.spans} spans and ${facts.logs.records} logs`
  return { title, rows }
}

/** What a search takes, over HTTP, one at a time, beside nothing else. */
export async function benchSearch(context: BenchContext): Promise<readonly Section[]> {
  const driver = startDriver()
  try {
    return await withServer(async (server) => [
      await searchSection(context, { driver, server, of: 'Searches', hasTargets: true }),
    ])
  } finally {
    driver.stop()
  }
}
