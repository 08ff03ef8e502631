import { join } from 'node:path'
import { expectCount, type Kind } from './bench-client.ts'
import { totalCpu, withServer, type BenchServer, type Cost, type Sizes } from './bench-server.ts'
import type { Bodies } from './bodies.ts'
import { startDriver, type Driver } from './drive.ts'
import type { DriverAnswer } from './driver-task.ts'
import {
  floorOfPacking,
  floorOfReading,
  floorOfStoring,
  startBareServer,
  storedForm,
  type BareAnswer,
  type BareServer,
  type Least,
} from './floors.ts'
import { makeLogCorpus } from './log-corpus.ts'
import { pauseThread } from './pause-thread.ts'
import { atLeast, atMost, percentile, type Floor, type Row, type Section } from './report.ts'
import { recordsPerRequest, warmUpRecordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

/** One kind of request: its bodies, others to warm up with, and its floors but for the bare server's. */
type Input = Readonly<{ kind: Kind; noun: string; bodies: Bodies; warmUp: Bodies; least: LeastOf }>
type LeastOf = Readonly<{ reading: Least; packing: Least; storing: Least }>
type Run = Readonly<{ answer: DriverAnswer; cost: Cost; sizes: Sizes; records: number }>

const megabyte = 1024 * 1024

function leastOf(bodies: Bodies, groupSize: number): LeastOf {
  return {
    reading: floorOfReading(bodies),
    packing: floorOfPacking(bodies),
    storing: floorOfStoring(bodies, groupSize),
  }
}

function makeTraceInput({ scale, folder, startMs }: BenchContext): Input {
  const make = (name: string, seed: number, spans: number, spansPerRequest: number): Bodies =>
    makeSpanCorpus(join(folder, name), { seed, spans, spansPerRequest, startMs }).bodies
  const bodies = make('spans', scale.seed, scale.spans, recordsPerRequest)
  const warmUp = make('warm-spans', warmUpSeed(scale), scale.warmUp, warmUpRecordsPerRequest)
  return { kind: 'traces', noun: 'spans', bodies, warmUp, least: leastOf(bodies, 8) }
}

function makeLogInput(context: BenchContext, noun: string, records: number, perRequest: number, group: number): Input {
  const { scale, folder, startMs } = context
  const make = (name: string, seed: number, count: number, recordsPerRequest: number): Bodies =>
    makeLogCorpus(join(folder, name), { seed, records: count, recordsPerRequest, startMs }).bodies
  const bodies = make(noun, scale.seed, records, perRequest)
  const warmUpPerRequest = Math.min(perRequest, warmUpRecordsPerRequest)
  const warmUp = make(`warm-${noun}`, warmUpSeed(scale), Math.ceil(scale.warmUp / 2), warmUpPerRequest)
  return { kind: 'logs', noun, bodies, warmUp, least: leastOf(bodies, group) }
}

async function checkCount(server: BenchServer, { kind, noun }: Input, sinceMs: number, sent: number): Promise<void> {
  const found = kind === 'traces' ? await server.countSpans(sinceMs) : await server.countLogs(sinceMs)
  expectCount(noun, found, sent)
}

/** A server of its own for each figure, so that its memory and its disk are this figure's alone. */
async function run(
  driver: Driver,
  input: Input,
  options: Readonly<{ connections: number; halted: boolean; startMs: number }>,
): Promise<Run> {
  const { kind, bodies, warmUp } = input
  const { connections, halted, startMs } = options
  return withServer(async (server) => {
    const warm = await server.post(driver, kind, { bodies: warmUp, connections })
    await server.indexed(warm.position)
    const resume = halted ? await pauseThread(server.server, 'projector') : async () => {}
    const { result, cost } = await server.measure(() => server.post(driver, kind, { bodies, connections }))
    await resume()
    await server.indexed(result.position)
    const records = bodies.records + warmUp.records
    await checkCount(server, input, startMs, records)
    return { answer: result, cost, sizes: await server.stop(), records }
  })
}

const perMillion = (seconds: number, bodies: Bodies): number => (seconds * 1e6) / bodies.records

function floorsOfCpu({ bodies, least }: Input, bare: BareAnswer): readonly Floor[] {
  return [
    { name: 'gunzip and CRC-32', value: least.reading.cpuPerMillion },
    { name: storedForm(bodies), value: least.packing.cpuPerMillion },
    { name: 'bare SQLite, WAL, FULL', value: least.storing.cpuPerMillion },
    { name: 'bare node:http', value: bare.cpuPerMillion },
  ]
}

function latencyRows({ answer }: Run, bare: BareAnswer, p99Max?: number): readonly Row[] {
  const row = (name: string, part: number): Row => ({
    figure: `ack ${name}`,
    unit: 'ms',
    measured: percentile(answer.latencies, part),
    floors: [{ name: 'bare node:http', value: percentile(bare.answer.latencies, part) }],
  })
  return [row('p50', 0.5), { ...row('p99', 0.99), ...(p99Max === undefined ? {} : atMost(p99Max)) }]
}

/** How fast it went, and how busy the driver was with it. */
function throughputRows({ bodies, noun, least }: Input, { answer }: Run, bare: BareAnswer): readonly [Row, Row] {
  const rate = {
    figure: `${noun} a second`,
    unit: '/s',
    measured: bodies.records / answer.seconds,
    floors: [
      { name: 'bare node:http', value: bodies.records / bare.answer.seconds },
      { name: 'bare SQLite, WAL, FULL', value: least.storing.perSecond },
    ],
  }
  const busy = ({ cpuSeconds, seconds }: DriverAnswer): number => (cpuSeconds * 100) / seconds
  const driver = {
    figure: 'load driver beside it, of a core',
    unit: '%',
    measured: busy(answer),
    floors: [{ name: 'beside bare node:http', value: busy(bare.answer) }],
  }
  return [rate, driver]
}

function sizeRows({ bodies, least }: Input, { cost, sizes, records }: Run, bare: BareAnswer): readonly Row[] {
  return [
    {
      figure: 'peak memory',
      unit: 'MiB',
      measured: cost.peakBytes / megabyte,
      floors: [{ name: 'bare node:http', value: bare.peakBytes / megabyte }],
    },
    {
      figure: 'log on disk, a record',
      unit: 'bytes',
      measured: sizes.log / records,
      floors: [{ name: `payloads alone, ${storedForm(bodies)}`, value: least.packing.bytesPerRecord }],
    },
  ]
}

/** The projector halted: all CPU of the process is ingest's. */
function haltedRows(
  input: Input,
  result: Run,
  bare: BareAnswer,
  cpuMax: number | undefined,
  p99Max?: number,
): readonly Row[] {
  const cpu: Row = {
    figure: `server process, per million ${input.noun}`,
    unit: 'CPU s',
    measured: perMillion(totalCpu(result.cost), input.bodies),
    floors: floorsOfCpu(input, bare),
    ...(cpuMax === undefined ? {} : atMost(cpuMax)),
  }
  return [
    ...throughputRows(input, result, bare),
    cpu,
    ...latencyRows(result, bare, p99Max),
    ...sizeRows(input, result, bare),
  ]
}

/** As in production: the projector follows meanwhile, in its own thread. */
function runningRows(input: Input, result: Run, bare: BareAnswer, p99Max?: number): readonly Row[] {
  const { cpu } = result.cost
  const row = (figure: string, seconds: number): Row => ({
    figure: `${figure}, per million ${input.noun}`,
    unit: 'CPU s',
    measured: perMillion(seconds, input.bodies),
  })
  return [
    ...throughputRows(input, result, bare),
    { ...row('HTTP, log writer and pool', cpu.ingest), floors: floorsOfCpu(input, bare) },
    row("V8's threads, of ingest and projector", cpu.runtime),
    row('projector, of what it did meanwhile', cpu.project),
    ...latencyRows(result, bare, p99Max),
    ...sizeRows(input, result, bare),
  ]
}

type Stage = Readonly<{ context: BenchContext; driver: Driver; bare: BareServer }>

async function tracesSections({ context, driver, bare }: Stage): Promise<readonly Section[]> {
  const { say, startMs } = context
  say('making traces, and their floors')
  const input = makeTraceInput(context)
  const sections: Section[] = []
  for (const connections of [8, 32]) {
    const floor = await bare.post(driver, { ...input, connections })
    const p99Max = connections === 8 ? 25 : undefined
    say(`traces over ${connections} connections, projector halted`)
    const halted = await run(driver, input, { connections, halted: true, startMs })
    const title = `Traces, gzipped protobuf, ${recordsPerRequest} spans a request, ${connections} connections`
    sections.push({ title: `${title}, projector halted`, rows: haltedRows(input, halted, floor, 2.6, p99Max) })
    say(`traces over ${connections} connections, projector running`)
    const running = await run(driver, input, { connections, halted: false, startMs })
    sections.push({ title: `${title}, projector running`, rows: runningRows(input, running, floor, p99Max) })
  }
  return sections
}

async function logsSections({ context, driver, bare }: Stage): Promise<readonly Section[]> {
  const { say, startMs, scale } = context
  say('making logs, and their floors')
  const input = makeLogInput(context, 'logs', scale.logs, recordsPerRequest, 8)
  const floor = await bare.post(driver, { ...input, connections: 8 })
  say('logs over 8 connections, projector halted')
  const halted = await run(driver, input, { connections: 8, halted: true, startMs })
  say('logs over 8 connections, projector running')
  const running = await run(driver, input, { connections: 8, halted: false, startMs })
  const title = `Logs, JSON, ${recordsPerRequest} a request, 8 connections`
  return [
    { title: `${title}, projector halted`, rows: haltedRows(input, halted, floor, 3.6) },
    { title: `${title}, projector running`, rows: runningRows(input, running, floor) },
  ]
}

async function linesSections({ context, driver, bare }: Stage): Promise<readonly Section[]> {
  const { say, startMs, scale } = context
  say('one line a request over 64 connections')
  const input = makeLogInput(context, 'lines', scale.lines, 1, 64)
  const floor = await bare.post(driver, { ...input, connections: 64 })
  const halted = await run(driver, input, { connections: 64, halted: true, startMs })
  const running = await run(driver, input, { connections: 64, halted: false, startMs })
  const title = 'Logs, one line a request, 64 connections'
  const rows = runningRows(input, running, floor).map((row, place) =>
    place === 0 ? { ...row, ...atLeast(5_000) } : row,
  )
  return [
    // A second of CPU a million lines is a microsecond a request.
    { title: `${title}, projector halted`, rows: haltedRows(input, halted, floor, undefined) },
    { title: `${title}, projector running`, rows },
  ]
}

/** What it costs to take telemetry in, until it is durable and acknowledged. */
export async function benchIngest(context: BenchContext): Promise<readonly Section[]> {
  const driver = startDriver()
  const bare = await startBareServer()
  try {
    const stage = { context, driver, bare }
    return [...(await tracesSections(stage)), ...(await logsSections(stage)), ...(await linesSections(stage))]
  } finally {
    driver.stop()
    bare.stop()
  }
}
