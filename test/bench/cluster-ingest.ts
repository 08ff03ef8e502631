import { join } from 'node:path'
import { expectCount, type BenchClient, type Kind } from './bench-client.ts'
import type { Bodies } from './bodies.ts'
import { withCluster, type Cluster, type ClusterCost } from './cluster-form.ts'
import { startDriver, type Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import { floorOfReading, floorOfScanning, type Least } from './floors.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { floorOfPublishing, type NatsLeast } from './nats-floor.ts'
import { atLeast, atMost, percentile, type Floor, type Row, type Section } from './report.ts'
import { recordsPerRequest, warmUpRecordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'
import { storedRecords } from './stored-counts.ts'

/** How many workspaces the lines of the last figures are of. */
const manyWorkspaces = 100
const lineConnections = 64
/** CPU seconds of ingest and NATS for a million spans. */
const spansCpuMax = 3.2
const linesPerSecondMin = { one: 3_000, many: 2_000 } as const

type Stage = Readonly<{ context: BenchContext; driver: Driver; cluster: Cluster }>
type Run = Readonly<{ answer: DriverAnswer; cost: ClusterCost; nats: NatsLeast }>

const perMillion = (seconds: number, { records }: Bodies): number => (seconds * 1e6) / records

async function measurePost(
  { driver, cluster }: Stage,
  kind: Kind,
  post: BenchClient['post'],
  { bodies, warmUp, connections }: Readonly<{ bodies: Bodies; warmUp: Bodies; connections: number }>,
): Promise<Run> {
  await post(driver, kind, { bodies: warmUp, connections })
  const { result, cost } = await cluster.measure(() => post(driver, kind, { bodies, connections }))
  return { answer: result, cost, nats: await floorOfPublishing(cluster, bodies, connections) }
}

/** The two processes that an ack passes through; their floors are the same payloads published by nobody but us. */
function cpuRows(
  { cost, nats }: Run,
  bodies: Bodies,
  noun: string,
  ingestFloors: readonly Floor[],
): readonly [Row, ...Row[]] {
  const row = (figure: string, seconds: number, floors: readonly Floor[]): Row => ({
    ...{ figure: `${figure}, per million ${noun}`, unit: 'CPU s' },
    ...{ measured: perMillion(seconds, bodies), floors },
  })
  const both = { name: 'publishing alone, NATS and its client', value: nats.server + nats.publisher }
  return [
    row('ingest and NATS', cost.cpu.ingest + cost.cpu.nats, [both]),
    row('ingest', cost.cpu.ingest, [...ingestFloors, { name: 'a client that publishes', value: nats.publisher }]),
    row('NATS', cost.cpu.nats, [{ name: 'publishing alone', value: nats.server }]),
  ]
}

function paceRows({ answer, nats }: Run, bodies: Bodies, noun: string): readonly [Row, ...Row[]] {
  const latency = (name: string, part: number): Row => ({
    ...{ figure: `ack ${name}`, unit: 'ms', measured: percentile(answer.latencies, part) },
    floors: [{ name: 'publishing alone', value: percentile(nats.latencies, part) }],
  })
  return [
    {
      ...{ figure: `${noun} a second`, unit: '/s', measured: bodies.records / answer.seconds },
      floors: [{ name: 'publishing alone', value: nats.recordsPerSecond }],
    },
    { figure: 'load driver beside it, of a core', unit: '%', measured: (answer.cpuSeconds * 100) / answer.seconds },
    latency('p50', 0.5),
    latency('p99', 0.99),
  ]
}

async function tracesSections(stage: Stage): Promise<readonly Section[]> {
  const { scale, folder, startMs, say } = stage.context
  const make = (name: string, seed: number, spans: number, spansPerRequest: number): Bodies =>
    makeSpanCorpus(join(folder, name), { seed, spans, spansPerRequest, startMs }).bodies
  say('making traces, and their floors')
  const warmUp = make('warm-spans', warmUpSeed(stage.context.scale), scale.warmUp, warmUpRecordsPerRequest)
  const sections: Section[] = []
  let sent = 0
  for (const [turn, connections] of [8, 32].entries()) {
    // Others each time: a request that comes again is answered without being stored.
    const bodies = make('spans', scale.seed + turn, scale.spans, recordsPerRequest)
    const reading: Least = floorOfReading(bodies)
    const scanning: Least = floorOfScanning(bodies)
    say(`traces over ${connections} connections`)
    const found = await measurePost(stage, 'traces', stage.cluster.post, { bodies, warmUp, connections })
    sent += bodies.records
    const floors = [
      { name: 'gunzip and CRC-32', value: reading.cpuPerMillion },
      { name: 'gunzip and scan', value: scanning.cpuPerMillion },
    ]
    const title = `Cluster: traces, gzipped protobuf, ${recordsPerRequest} spans a request, ${connections} connections`
    const [both, ...parts] = cpuRows(found, bodies, 'spans', floors)
    const rows = [{ ...both, ...atMost(spansCpuMax) }, ...parts, ...paceRows(found, bodies, 'spans')]
    sections.push({ title, rows })
  }
  expectCount('spans', await storedRecords(stage.cluster, 'traces'), sent + warmUp.records)
  return sections
}

async function linesSections(stage: Stage): Promise<readonly Section[]> {
  const { scale, folder, startMs, say } = stage.context
  const { keys, manyLogKeys } = stage.cluster.prepared
  const make = (name: string, seed: number, records: number): Bodies =>
    makeLogCorpus(join(folder, name), { seed, records, recordsPerRequest: 1, startMs }).bodies
  const bodies = make('lines', scale.seed, scale.lines)
  const warmUp = make('warm-lines', warmUpSeed(scale), Math.ceil(scale.lines / 4))
  const senders = [
    ['one workspace', stage.cluster.post, linesPerSecondMin.one],
    [`${manyWorkspaces} workspaces`, stage.cluster.postAs({ ...keys, logs: manyLogKeys }), linesPerSecondMin.many],
  ] as const
  const sections: Section[] = []
  for (const [of, post, perSecondMin] of senders) {
    say(`one line a request from ${of}`)
    const found = await measurePost(stage, 'logs', post, { bodies, warmUp, connections: lineConnections })
    const title = `Cluster: logs, one line a request, ${lineConnections} connections, ${of}`
    const [pace, ...others] = paceRows(found, bodies, 'lines')
    const rows = [{ ...pace, ...atLeast(perSecondMin) }, ...others, ...cpuRows(found, bodies, 'lines', [])]
    sections.push({ title, rows })
  }
  const sent = senders.length * (bodies.records + warmUp.records)
  expectCount('lines', await storedRecords(stage.cluster, 'logs'), sent)
  return sections
}

/** What it costs a cluster to take telemetry in, until NATS has synced and acknowledged it. */
export async function benchClusterIngest(context: BenchContext): Promise<readonly Section[]> {
  const driver = startDriver()
  try {
    context.say('starting a cluster that only takes in')
    return await withCluster({ roles: ['ingest'], otherWorkspaces: manyWorkspaces }, async (cluster) => {
      const stage = { context, driver, cluster }
      return [...(await tracesSections(stage)), ...(await linesSections(stage))]
    })
  } finally {
    driver.stop()
  }
}
