import { join } from 'node:path'
import { present } from '#src/lib/assert.ts'
import { startProcess } from '#test/support/server-process.ts'
import { expectCount, type BenchClient } from './bench-client.ts'
import { withServer } from './bench-server.ts'
import type { Bodies } from './bodies.ts'
import { floorOfBulk } from './bulk-floor.ts'
import { withCluster } from './cluster-form.ts'
import { startDriver, type Driver } from './drive.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { pauseThread } from './pause-thread.ts'
import { usedByPhase, type Used } from './phases.ts'
import { cpuSeconds } from './process-usage.ts'
import { atLeast, type Row, type Section } from './report.ts'
import { recordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

const connections = 8
/** What a rebuild is at least: of the live projection in SQLite, of bulk requests alone in Elasticsearch. */
const partMin = { live: 1.5, bulk: 0.8 } as const

type Corpora = Readonly<{ spans: Bodies; logs: Bodies; records: number }>

function makeCorpora({ folder, startMs }: BenchContext, name: string, seed: number, size: Size): Corpora {
  const of = { seed, startMs }
  const spansOf = { ...of, spans: size.spans, spansPerRequest: recordsPerRequest }
  const spans = makeSpanCorpus(join(folder, `${name}-spans`), spansOf).bodies
  const logsOf = { ...of, records: size.logs, recordsPerRequest }
  const logs = makeLogCorpus(join(folder, `${name}-logs`), logsOf).bodies
  return { spans, logs, records: spans.records + logs.records }
}
type Size = Readonly<{ spans: number; logs: number }>

/** Half of each, so that a run with its rebuild and its comparison takes no longer than the others. */
function makeAll(context: BenchContext): Readonly<{ main: Corpora; warmUp: Corpora }> {
  const { seed, spans, logs, warmUp } = context.scale
  return {
    main: makeCorpora(context, 'records', seed, { spans: spans / 2, logs: logs / 2 }),
    warmUp: makeCorpora(context, 'warm-up', warmUpSeed(context.scale), { spans: warmUp, logs: warmUp }),
  }
}

/** Posts all of it; the position of the last. */
async function postAll(driver: Driver, server: BenchClient, { spans, logs }: Corpora): Promise<number> {
  const traces = await server.post(driver, 'traces', { bodies: spans, connections })
  const last = await server.post(driver, 'logs', { bodies: logs, connections })
  return Math.max(traces.position, last.position)
}

async function checkCounts(server: BenchClient, sinceMs: number, all: readonly Corpora[]): Promise<void> {
  const sum = (of: (corpora: Corpora) => number): number => all.reduce((sent, corpora) => sent + of(corpora), 0)
  const spans = sum((corpora) => corpora.spans.records)
  const logs = sum((corpora) => corpora.logs.records)
  expectCount('spans', await server.countSpans(sinceMs), spans)
  expectCount('logs', await server.countLogs(sinceMs), logs)
}

const clock = (): number => performance.now() / 1_000

type Speeds = Readonly<{ live: Used; rebuilt: ReadonlyMap<string, Used>; liveRecords: number; allRecords: number }>

const perMillion = (used: Used | undefined, name: string, records: number): number =>
  ((used?.[name] ?? Number.NaN) * 1e6) / records

/** Records a second, live and rebuilt, and what the whole command took. `bulk`: records a second of bulk requests alone. */
function rowsOf({ live, rebuilt, liveRecords, allRecords }: Speeds, bulk?: number): readonly Row[] {
  const fold = present(rebuilt.get('fold'), 'a rebuild folds')
  const liveSpeed = liveRecords / (live['seconds'] ?? 0)
  const cpuNames = Object.keys(live).filter((name) => name !== 'seconds')
  const sum = (name: string): number => [...rebuilt.values()].reduce((all, used) => all + (used[name] ?? 0), 0)
  const verify = rebuilt.get('verify')
  return [
    {
      ...{ figure: 'rebuilt, spans and logs a second', unit: '/s', measured: allRecords / (fold['seconds'] ?? 0) },
      floors: [
        { name: 'projected live', value: liveSpeed },
        ...(bulk === undefined ? [] : [{ name: 'bulk of the same documents, each once', value: bulk }]),
      ],
      ...atLeast(bulk === undefined ? partMin.live * liveSpeed : partMin.bulk * bulk),
    },
    ...cpuNames.map((name): Row => ({
      ...{ figure: `rebuilding, ${name}, per million`, unit: 'CPU s', measured: perMillion(fold, name, allRecords) },
      floors: [{ name: 'projecting live', value: perMillion(live, name, liveRecords) }],
    })),
    { figure: 'comparing it, per million', unit: 's', measured: perMillion(verify, 'seconds', allRecords) },
    {
      figure: 'the whole command, until readers move, per million',
      unit: 's',
      measured: (sum('seconds') * 1e6) / allRecords,
    },
  ]
}

/** How fast an index is made anew, beside how fast it was made while its events came. */
export async function benchRebuild(context: BenchContext): Promise<readonly Section[]> {
  const { say, startMs } = context
  const driver = startDriver()
  try {
    say('making traces and logs')
    const { main, warmUp } = makeAll(context)
    return await withServer(async (server) => {
      await server.indexed(await postAll(driver, server, warmUp))
      say('storing them with the projector halted, then letting it follow')
      const resume = await pauseThread(server.server, 'projector')
      const last = await postAll(driver, server, main)
      const { cost } = await server.measure(async () => {
        await resume()
        await server.indexed(last)
      })
      await checkCounts(server, startMs, [main, warmUp])
      say('rebuilding')
      const argv = ['src/main.ts', 'rebuild', 'all', '--json', '--data', server.server.dataFolder]
      const verb = startProcess(argv, {})
      const pid = verb.child.pid ?? 0
      const rebuilt = await usedByPhase(verb, () => ({ seconds: clock(), 'the process': cpuOrNothing(pid) }))
      const live = { seconds: cost.seconds, 'the process': cost.cpu.project + cost.cpu.runtime }
      const records = main.records + warmUp.records
      const rows = rowsOf({ live, rebuilt, liveRecords: main.records, allRecords: records })
      return [{ title: `Rebuild of all indexes of ${records} spans and logs`, rows }]
    })
  } finally {
    driver.stop()
  }
}

/** After its end nothing is told of a process any more. */
function cpuOrNothing(pid: number): number {
  try {
    return cpuSeconds(pid)
  } catch {
    return Number.NaN
  }
}

/** The same on a cluster, beside what Elasticsearch takes at most of the same documents. */
export async function benchClusterRebuild(context: BenchContext): Promise<readonly Section[]> {
  const { say, startMs } = context
  const driver = startDriver()
  try {
    say('making traces and logs, and starting a cluster')
    const { main, warmUp } = makeAll(context)
    return await withCluster({ roles: ['ingest', 'project', 'query'] }, async (cluster) => {
      const server = await cluster.client()
      await server.indexed(await postAll(driver, server, warmUp))
      say('projecting them live')
      const { cost } = await cluster.measure(async () => server.indexed(await postAll(driver, server, main)))
      await checkCounts(server, startMs, [main, warmUp])
      const records = main.records + warmUp.records
      say('bulk requests alone')
      const bulk = await floorOfBulk(cluster, records)
      say('rebuilding')
      const verb = cluster.startVerb('rebuild', 'all', '--json')
      const pid = verb.child.pid ?? 0
      const rebuilt = await usedByPhase(verb, () => ({
        seconds: clock(),
        'the process': cpuOrNothing(pid),
        Elasticsearch: cluster.cpuOf('elasticsearch'),
      }))
      const { project, elasticsearch } = cost.cpu
      const live = { seconds: cost.seconds, 'the process': project, Elasticsearch: elasticsearch }
      const speeds = { live, rebuilt, liveRecords: main.records, allRecords: records }
      const rows = rowsOf(speeds, 1e6 / bulk.secondsPerMillion)
      return [{ title: `Cluster: rebuild of all indexes of ${records} spans and logs`, rows }]
    })
  } finally {
    driver.stop()
  }
}
