import { join } from 'node:path'
import { expectCount, type BenchClient, type Kind } from './bench-client.ts'
import type { Bodies } from './bodies.ts'
import { floorOfBulk, type BulkLeast } from './bulk-floor.ts'
import { allOfCluster, withCluster, type Cluster, type ClusterCost } from './cluster-form.ts'
import { startDriver, type Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import { floorOfReading, type Least } from './floors.ts'
import { sampleFreshness } from './freshness.ts'
import { floorOfLogDecoding, floorOfSpanDecoding } from './index-floors.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { atMost, percentile, type Floor, type Row, type Section } from './report.ts'
import { recordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

const connections = 8
/** A moderate load: a thousand records a second, in small requests. */
const pacedRecords = 50
const pacedPerSecond = 20
/** CPU seconds of all processes for a million records. */
const cpuMax: Readonly<Record<Kind, number>> = { traces: 48, logs: 42 }
const freshnessMsMax = 1_000

type Input = Readonly<{
  kind: Kind
  noun: string
  bodies: Bodies
  warmUp: Bodies
  paced: Bodies
  reading: Least
  decoding: Least
}>
type Run = Readonly<{
  cost: ClusterCost
  bulk: BulkLeast
  freshness: Float64Array
  paced: DriverAnswer
}>

function makeInput(kind: Kind, { scale, folder, startMs }: BenchContext): Input {
  const make = (name: string, seed: number, records: number, perRequest: number): Bodies => {
    const of = { seed, startMs }
    const file = join(folder, name)
    return kind === 'traces'
      ? makeSpanCorpus(file, { ...of, spans: records, spansPerRequest: perRequest }).bodies
      : makeLogCorpus(file, { ...of, records, recordsPerRequest: perRequest }).bodies
  }
  const bodies = make('records', scale.seed, kind === 'traces' ? scale.spans : scale.logs, recordsPerRequest)
  return {
    kind,
    noun: kind === 'traces' ? 'spans' : 'logs',
    bodies,
    warmUp: make('warm-up', warmUpSeed(scale), scale.warmUp, recordsPerRequest),
    paced: make('paced', warmUpSeed(scale) + 1, scale.pacedRequests * pacedRecords, pacedRecords),
    reading: floorOfReading(bodies),
    decoding: kind === 'traces' ? floorOfSpanDecoding(bodies) : floorOfLogDecoding(bodies),
  }
}

async function checkCount(client: BenchClient, { kind, noun }: Input, sinceMs: number, sent: number): Promise<void> {
  const found = kind === 'traces' ? await client.countSpans(sinceMs) : await client.countLogs(sinceMs)
  expectCount(noun, found, sent)
}

async function run(driver: Driver, cluster: Cluster, input: Input, { say, startMs }: BenchContext): Promise<Run> {
  const { kind, bodies, warmUp, paced, noun } = input
  const client = await cluster.client()
  await client.indexed((await client.post(driver, kind, { bodies: warmUp, connections })).position)
  say(`${noun}: from senders to searches`)
  const { cost } = await cluster.measure(async () => {
    const { position } = await client.post(driver, kind, { bodies, connections })
    await client.indexed(position)
  })
  await checkCount(client, input, startMs, bodies.records + warmUp.records)
  say('bulk requests alone')
  const bulk = await floorOfBulk(cluster, bodies.records + warmUp.records)
  say('freshness under a paced load')
  const load = client.post(driver, kind, { bodies: paced, connections, perSecond: pacedPerSecond })
  const freshness = await sampleFreshness(cluster, client, kind, load)
  return { cost, bulk, freshness, paced: await load }
}

function rowsOf({ kind, bodies, noun, reading, decoding }: Input, found: Run): readonly Row[] {
  const { cost, bulk, freshness, paced } = found
  const { ingest, nats, project, elasticsearch, query } = cost.cpu
  const perMillion = (seconds: number): number => (seconds * 1e6) / bodies.records
  const bulkFloor: Floor = { name: 'bulk of the same documents, each once', value: bulk.cpuPerMillion }
  const row = (figure: string, seconds: number, ...floors: readonly Floor[]): Row => ({
    ...{ figure: `${figure}, per million ${noun}`, unit: 'CPU s' },
    ...{ measured: perMillion(seconds), floors },
  })
  const ms = (figure: string, sorted: Float64Array, part: number): Row => ({
    ...{ figure, unit: 'ms', measured: percentile(sorted, part) },
  })
  const load = `${pacedPerSecond} requests a second of ${pacedRecords}`
  return [
    { ...row('all in', allOfCluster(cost.cpu), bulkFloor), ...atMost(cpuMax[kind]) },
    row('ingest', ingest, { name: 'gunzip and CRC-32', value: reading.cpuPerMillion }),
    row('NATS', nats),
    row('projector', project, { name: 'decoding alone', value: decoding.cpuPerMillion }),
    row('Elasticsearch', elasticsearch, bulkFloor),
    row('of these, what its JVM compiled in', cost.jvmCompilers),
    row('query, which only looks how far it is', query),
    {
      ...{ figure: 'until a million are searchable', unit: 's', measured: perMillion(cost.seconds) },
      floors: [{ name: 'bulk of the same documents, each once', value: bulk.secondsPerMillion }],
    },
    { ...ms(`ack to searchable p50, ${load}`, freshness, 0.5), ...atMost(freshnessMsMax) },
    ms(`ack to searchable p99, ${load}`, freshness, 0.99),
    ms(`ack p50, ${load}`, paced.latencies, 0.5),
    ms(`ack p99, ${load}`, paced.latencies, 0.99),
  ]
}

/** What it costs a cluster to take telemetry in and to make it searchable by every attribute, and how soon it is found. */
export async function benchClusterProject(context: BenchContext): Promise<readonly Section[]> {
  const driver = startDriver()
  try {
    const sections: Section[] = []
    for (const kind of ['traces', 'logs'] as const) {
      context.say(`making ${kind}, and starting a cluster`)
      const input = makeInput(kind, context)
      const found = await withCluster({ roles: ['ingest', 'project', 'query'] }, (cluster) =>
        run(driver, cluster, input, context),
      )
      const title = `Cluster: ${input.noun} from senders to searches, with every attribute`
      sections.push({ title, rows: rowsOf(input, found) })
    }
    return sections
  } finally {
    driver.stop()
  }
}
