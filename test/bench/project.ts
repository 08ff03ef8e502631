import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { BenchFailure, expectCount, type Kind } from './bench-client.ts'
import { withServer, type Cost, type Sizes } from './bench-server.ts'
import { bodyCount, type Bodies } from './bodies.ts'
import { startDriver, type Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import { floorOfLogIndex, floorOfSpanIndex, type IndexLeast } from './index-floors.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { pauseThread } from './pause-thread.ts'
import { atMost, percentile, type Row, type Section } from './report.ts'
import { recordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

type Input = Readonly<{ kind: Kind; noun: string; bodies: Bodies; warmUp: Bodies; paced: Bodies; least: IndexLeast }>
type Make = (name: string, seed: number, records: number, perRequest: number) => Bodies

/** The paced load: small requests, so that there are enough of them, and a tenth of what a projector takes. */
const pacedRecords = 50
const pacedPerSecond = 100
const pacedLoads = 3
const connections = 8

/** Runs it while another process of the lowest priority keeps one processor busy: what the machine itself makes of that. */
async function besideBusyProcess<T>(task: () => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  const stop = (): void => void child.kill('SIGKILL')
  process.once('exit', stop)
  await once(child, 'spawn')
  try {
    setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW)
    return await task()
  } finally {
    stop()
    process.off('exit', stop)
  }
}

type Run = Readonly<{
  /**
   * Acks of the same paced load: with the projector halted, the same while a process that has nothing to do with the server keeps a processor
   * busy, and while the projector was catching up.
   */
  halted: DriverAnswer
  besideBusy: DriverAnswer
  running: DriverAnswer
  /** Whether the projector still had work when the second load ended: else its figure is of an idle one. */
  wasBusy: boolean
  cost: Cost
  folded: number
  sizes: Sizes
  stored: number
}>

function makeInput(kind: Kind, { scale }: BenchContext, make: Make): Input {
  const noun = kind === 'traces' ? 'spans' : 'logs'
  const bodies = make('records', scale.seed, kind === 'traces' ? scale.spans : scale.logs, recordsPerRequest)
  const warmUp = make('warm-up', warmUpSeed(scale), scale.warmUp, recordsPerRequest)
  const paced = make('paced', warmUpSeed(scale) + 1, pacedLoads * scale.pacedRequests * pacedRecords, pacedRecords)
  const least = kind === 'traces' ? floorOfSpanIndex(bodies) : floorOfLogIndex(bodies)
  return { kind, noun, bodies, warmUp, paced, least }
}

async function run(driver: Driver, input: Input, sinceMs: number): Promise<Run> {
  const { kind, bodies, warmUp, paced, noun } = input
  return withServer(async (server) => {
    const post = (load: Readonly<{ bodies: Bodies; from?: number; to?: number; perSecond?: number }>) =>
      server.post(driver, kind, { connections, ...load })
    await server.indexed((await post({ bodies: warmUp })).position)
    const [one, two] = [bodyCount(paced) / pacedLoads, (2 * bodyCount(paced)) / pacedLoads]
    const resume = await pauseThread(server.server, 'projector')
    const stored = await post({ bodies })
    const halted = await post({ bodies: paced, to: one, perSecond: pacedPerSecond })
    const besideBusy = await besideBusyProcess(() =>
      post({ bodies: paced, from: one, to: two, perSecond: pacedPerSecond }),
    )
    const { result, cost } = await server.measure(async () => {
      await resume()
      const running = await post({ bodies: paced, from: two, perSecond: pacedPerSecond })
      const wasBusy = (await server.position()) < stored.position
      await server.indexed(running.position)
      return { running, wasBusy }
    })
    const records = bodies.records + warmUp.records + paced.records
    const found = kind === 'traces' ? await server.countSpans(sinceMs) : await server.countLogs(sinceMs)
    expectCount(noun, found, records)
    const folded = bodies.records + paced.records
    return { ...result, halted, besideBusy, cost, folded, sizes: await server.stop(), stored: records }
  })
}

function rowsOf({ noun, least }: Input, found: Run, cpuMax: number): readonly Row[] {
  const { cost, folded, halted, besideBusy, running, wasBusy, sizes, stored } = found
  const perMillion = (seconds: number): number => (seconds * 1e6) / folded
  const floors = [
    { name: 'decoding alone', value: least.decoding.cpuPerMillion },
    { name: 'bare FTS5, same token texts', value: least.inserting.cpuPerMillion },
  ]
  const [p99Halted, p99Running] = [percentile(halted.latencies, 0.99), percentile(running.latencies, 0.99)]
  const meanwhile = wasBusy ? 'projector catching up' : 'projector had caught up already'
  const load = `${pacedPerSecond} requests a second of ${pacedRecords}`
  return [
    {
      figure: `projector with V8's threads, per million ${noun}`,
      unit: 'CPU s',
      measured: perMillion(cost.cpu.project + cost.cpu.runtime),
      floors,
      ...atMost(cpuMax),
    },
    { figure: "projector's own thread, per million", unit: 'CPU s', measured: perMillion(cost.cpu.project), floors },
    {
      figure: 'until a million are searchable',
      unit: 's',
      measured: perMillion(cost.seconds),
      floors: [{ name: 'bare FTS5, same token texts', value: 1e6 / least.inserting.perSecond }],
    },
    {
      figure: 'index on disk, a record',
      unit: 'bytes',
      measured: sizes.index / stored,
      floors: [
        { name: 'bare FTS5, same token texts', value: least.inserting.bytesPerRecord },
        { name: 'the record as sent, uncompressed', value: least.decoding.bytesPerRecord },
      ],
    },
    { figure: 'peak memory', unit: 'MiB', measured: cost.peakBytes / 1024 ** 2 },
    {
      figure: `ack p50, ${load}, ${meanwhile}`,
      unit: 'ms',
      measured: percentile(running.latencies, 0.5),
      floors: [{ name: 'the same, projector halted', value: percentile(halted.latencies, 0.5) }],
    },
    {
      figure: `ack p99, ${load}, ${meanwhile}`,
      unit: 'ms',
      measured: p99Running,
      floors: [
        { name: 'the same, projector halted', value: p99Halted },
        {
          name: 'the same, another process busy at the lowest priority',
          value: percentile(besideBusy.latencies, 0.99),
        },
      ],
      ...atMost(2 * p99Halted),
    },
  ]
}

/** What it costs to make stored telemetry searchable by every attribute, and what acks feel of it. */
export async function benchProject(context: BenchContext): Promise<readonly Section[]> {
  const { folder, startMs, say } = context
  const driver = startDriver()
  const makeSpans: Make = (name, seed, spans, spansPerRequest) =>
    makeSpanCorpus(join(folder, name), { seed, spans, spansPerRequest, startMs }).bodies
  const makeLogs: Make = (name, seed, records, recordsPerRequest) =>
    makeLogCorpus(join(folder, name), { seed, records, recordsPerRequest, startMs }).bodies
  try {
    const sections: Section[] = []
    for (const [kind, make, cpuMax] of [
      ['traces', makeSpans, 42],
      ['logs', makeLogs, 28],
    ] as const) {
      say(`making ${kind}, and their floors`)
      const input = makeInput(kind, context, make)
      say(`storing ${kind} with the projector halted, then letting it follow`)
      const found = await run(driver, input, startMs)
      if (found.halted.position === 0) throw new BenchFailure('acks carry no Throughline-Position')
      const title = `Stored ${input.noun} to searchable ones, with every attribute`
      sections.push({ title, rows: rowsOf(input, found, cpuMax) })
    }
    return sections
  } finally {
    driver.stop()
  }
}
