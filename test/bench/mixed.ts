import { join } from 'node:path'
import { BenchFailure, expectCount, type BenchClient, type Kind } from './bench-client.ts'
import { withServer } from './bench-server.ts'
import { bodyCount, type Bodies } from './bodies.ts'
import { startDriver, type Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { percentile, type Row, type Section } from './report.ts'
import type { BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

/** What a small shop sends, and how its requests are cut. */
const recordsPerRequest = 50
const perSecond: Readonly<Record<Kind, number>> = { traces: 20, logs: 10 }
const connections = 4
const kinds = ['traces', 'logs'] as const

/** What people look at all day: the pages of the app, and what they ask of them. */
const searches: Readonly<Record<string, string>> = {
  'the logs page': '/api/app/logs/search?limit=100&include=histogram,facets',
  'the traces page': '/api/app/traces/search?limit=20&include=histogram,facets',
  'logs of a word, newest 100': '/api/app/logs/search?limit=100&q=payment',
  'logs of a level, with histogram and facets': '/api/app/logs/search?limit=100&level=error&include=histogram,facets',
  'traces of a service above 20 ms, 20': '/api/app/traces/search?limit=20&service=checkout&min_duration=20ms',
}

type Corpora = Readonly<Record<Kind, Bodies>>
/** One stretch of time: acks by kind, and searches by what they ask; milliseconds, sorted. */
type Stretch = Readonly<{ acks: Readonly<Record<Kind, DriverAnswer>>; found: ReadonlyMap<string, Float64Array> }>

function makeCorpora({ scale, folder }: BenchContext): Corpora {
  const seconds = scale.mixedStretches * scale.mixedSeconds
  const all = { seed: scale.seed, startMs: Date.now(), durationMs: seconds * 1_000 }
  const spans = seconds * perSecond.traces * recordsPerRequest
  const traces = makeSpanCorpus(join(folder, 'spans'), { ...all, spans, spansPerRequest: recordsPerRequest })
  const records = seconds * perSecond.logs * recordsPerRequest
  const logsOf = { ...all, records, recordsPerRequest, traces: traces.facts.traces }
  return { traces: traces.bodies, logs: makeLogCorpus(join(folder, 'logs'), logsOf).bodies }
}

/** Asks each search in turn, one at a time, until the load has ended. */
async function askUntil(ended: Promise<unknown>, driver: Driver, { baseUrl, cookie }: BenchClient) {
  const taken = new Map(Object.keys(searches).map((name) => [name, [] as number[]]))
  const load = new AbortController()
  const stop = (): void => load.abort()
  ended.then(stop, stop)
  while (!load.signal.aborted) {
    for (const [name, path] of Object.entries(searches)) {
      const asked = await driver.run({ kind: 'query', url: baseUrl, cookie, paths: [path], rounds: 1 })
      for (const answer of asked.answers.keys()) {
        if (answer !== '200') throw new BenchFailure(`${path} was answered ${answer}`)
      }
      taken.get(name)?.push(...asked.latencies)
    }
  }
  return new Map([...taken].map(([name, latencies]) => [name, Float64Array.from(latencies).sort()]))
}

type Drivers = Readonly<Record<Kind | 'searches', Driver>>

async function runStretch(server: BenchClient, drivers: Drivers, corpora: Corpora, part: Part): Promise<Stretch> {
  const post = (kind: Kind): Promise<DriverAnswer> => {
    const bodies = corpora[kind]
    const at = (index: number): number => Math.floor((bodyCount(bodies) * index) / part.of)
    const cut = { from: at(part.index), to: at(part.index + 1) }
    return server.post(drivers[kind], kind, { bodies, connections, perSecond: perSecond[kind], ...cut })
  }
  const loads = Promise.all(kinds.map(post))
  const found = await askUntil(loads, drivers.searches, server)
  const [traces, logs] = (await loads) as [DriverAnswer, DriverAnswer]
  return { acks: { traces, logs }, found }
}
type Part = Readonly<{ index: number; of: number }>

function rowsOf(figure: string, first: Float64Array, last: Float64Array): readonly Row[] {
  const row = (name: string, part: number): Row => ({
    figure: `${figure}: ${name}`,
    unit: 'ms',
    measured: percentile(last, part),
    floors: [{ name: 'the same in the first stretch', value: percentile(first, part) }],
  })
  return [row('p50', 0.5), row('p99', 0.99)]
}

function sectionOf(first: Stretch, last: Stretch, seconds: number, caughtUpMs: number): Section {
  const rows: Row[] = []
  for (const [name, found] of last.found) rows.push(...rowsOf(name, first.found.get(name) ?? found, found))
  for (const kind of kinds)
    rows.push(...rowsOf(`ack of ${kind}`, first.acks[kind].latencies, last.acks[kind].latencies))
  rows.push({ figure: 'until all is searchable, after the last ack', unit: 'ms', measured: caughtUpMs })
  const rates = kinds.map((kind) => `${perSecond[kind] * recordsPerRequest} ${kind === 'traces' ? 'spans' : 'logs'}`)
  return { title: `Searches beside ${rates.join(' and ')} a second, after ${seconds} seconds`, rows }
}

/** How searches and acks fare while telemetry comes in at a steady pace and the day's index grows. */
export async function benchMixed(context: BenchContext): Promise<readonly Section[]> {
  const { scale, say } = context
  const drivers = { traces: startDriver(), logs: startDriver(), searches: startDriver() }
  try {
    return await withServer(async (server) => {
      say('making traces and logs')
      const sinceMs = Date.now()
      const corpora = makeCorpora(context)
      const stretches: Stretch[] = []
      for (let index = 0; index < scale.mixedStretches; index++) {
        say(`stretch ${index + 1} of ${scale.mixedStretches}`)
        stretches.push(await runStretch(server, drivers, corpora, { index, of: scale.mixedStretches }))
      }
      const [first, last] = [stretches[0], stretches.at(-1)]
      if (first === undefined || last === undefined) throw new BenchFailure('there was no stretch of time')
      const ended = performance.now()
      await server.indexed(Math.max(...kinds.map((kind) => last.acks[kind].position)))
      const caughtUpMs = performance.now() - ended
      expectCount('logs', await server.countLogs(sinceMs), corpora.logs.records)
      return [sectionOf(first, last, scale.mixedStretches * scale.mixedSeconds, caughtUpMs)]
    })
  } finally {
    for (const driver of Object.values(drivers)) driver.stop()
  }
}
