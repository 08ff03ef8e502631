import { BenchFailure, type Kind } from './bench-client.ts'
import { bodyCount } from './bodies.ts'
import { startDriver, type Driver } from './drive.ts'
import { withJaeger, withOurs, withVictoriaLogs, type Program, type WithProgram } from './peer-programs.ts'
import { logFigures, traceFigures, type Figure, type Side } from './peer-questions.ts'
import { makePeerLogs, makePeerSpans, type PeerRecords } from './peer-records.ts'
import { untilQuiet } from './process-quiet.ts'
import { cpuSeconds, forgetPeak, peakBytes } from './process-usage.ts'
import { percentile, type Row, type Section } from './report.ts'
import type { BenchContext } from './scale.ts'
import { timeQueries } from './search.ts'

type Records = Omit<PeerRecords<unknown>, 'facts'>
type Searched = Readonly<{ latencies: Float64Array; keys: readonly string[] }>
type TakenIn = Readonly<{ acks: Float64Array; cpuPerMillion: number }>
type Measured = TakenIn &
  Readonly<{
    peakBytes: number
    bytesPerRecord: number
    indexPerRecord: number
    laterPerRecord: number
    searches: readonly Searched[]
  }>
type Stage = Readonly<{ driver: Driver; records: Records; figures: readonly Figure[]; searchesAsked: number }>

/** Some of a peer's searches take seconds. */
const searchesPart = 0.2

async function get({ baseUrl, cookie }: Program, path: string): Promise<string> {
  const response = await fetch(baseUrl + path, { headers: { cookie } })
  const text = await response.text()
  if (response.status !== 200) throw new BenchFailure(`GET ${path} answered ${response.status}: ${text.slice(0, 300)}`)
  return text
}

/** What each search finds, which must be as many as were sent; then how long it takes. */
async function search(stage: Stage, side: Side, program: Program, { questions, read }: Figure): Promise<Searched> {
  const keys: string[] = []
  for (const { what, count, [side]: path } of questions) {
    const found = read[side](await get(program, path))
    if (found.count !== count) throw new BenchFailure(`${what}: ${path} found ${found.count}, not ${count}`)
    keys.push(`${what}: ${found.keys?.join(' ')}`)
  }
  const paths = questions.map(({ [side]: path }) => path)
  return { keys, latencies: await timeQueries(stage.driver, program, paths, stage.searchesAsked) }
}

/** Posts records, the first `most` of them, and waits until the program has done all that follows of it. */
async function takeIn({ driver, records }: Stage, program: Program, most = Infinity): Promise<TakenIn> {
  const { bodies, warmUp } = records
  await program.post(driver, warmUp)
  await untilQuiet(program.pid)
  forgetPeak(program.pid)
  const before = cpuSeconds(program.pid)
  const to = Math.min(bodyCount(bodies), Math.ceil(most / bodies.perBody))
  const { latencies: acks } = await program.post(driver, bodies, to)
  await untilQuiet(program.pid)
  const used = cpuSeconds(program.pid) - before
  return { acks, cpuPerMillion: (used * 1e6) / Math.min(bodies.records, most) }
}

async function measure(stage: Stage, side: Side, program: Program): Promise<Measured> {
  const { records, figures } = stage
  const taken = await takeIn(stage, program)
  const peak = peakBytes(program.pid)
  const searches: Searched[] = []
  for (const figure of figures) searches.push(await search(stage, side, program, figure))
  const { bytes, index = 0, laterBytes = bytes } = await program.stop()
  const all = records.bodies.records + records.warmUp.records
  const perRecord = { bytesPerRecord: bytes / all, indexPerRecord: index / all, laterPerRecord: laterBytes / all }
  return { ...taken, peakBytes: peak, ...perRecord, searches }
}

/** Both must have found the same, not only as many. */
function expectSame({ figures }: Stage, ours: Measured, theirs: Measured): void {
  for (const [place, { figure }] of figures.entries()) {
    const [found, wanted] = [ours.searches[place]?.keys ?? [], theirs.searches[place]?.keys ?? []]
    const differs = found.findIndex((keys, index) => keys !== wanted[index])
    if (differs >= 0) throw new BenchFailure(`${figure}: they differ:\n${found[differs]}\n${wanted[differs]}`)
  }
}

/** What the same is for a peer with another setting, as far as that is measured. */
type Variant = Readonly<{ name: string; taken: TakenIn }>

function rowsOf(
  { figures }: Stage,
  peer: string,
  ours: Measured,
  theirs: Measured,
  variants: readonly Variant[],
): Row[] {
  const row = (figure: string, unit: string, read: (measured: Measured) => number): Row => ({
    ...{ figure, unit, measured: read(ours) },
    floors: [{ name: peer, value: read(theirs) }],
  })
  const takenRow = (figure: string, unit: string, read: (taken: TakenIn) => number): Row => {
    const { floors = [], ...shown } = row(figure, unit, read)
    return { ...shown, floors: [...floors, ...variants.map(({ name, taken }) => ({ name, value: read(taken) }))] }
  }
  const p50 = (sorted: Float64Array | undefined): number => percentile(sorted ?? new Float64Array(), 0.5)
  return [
    takenRow('until searchable and quiet, per million', 'CPU s', ({ cpuPerMillion }) => cpuPerMillion),
    takenRow('ack p50', 'ms', ({ acks }) => p50(acks)),
    takenRow('ack p99', 'ms', ({ acks }) => percentile(acks, 0.99)),
    row('peak memory', 'MiB', ({ peakBytes }) => peakBytes / 1024 ** 2),
    row('on disk, log and index, a record', 'bytes', ({ bytesPerRecord }) => bytesPerRecord),
    { figure: 'of which the index', unit: 'bytes', measured: ours.indexPerRecord },
    row('log and index once their day is over', 'bytes', ({ laterPerRecord }) => laterPerRecord),
    ...figures.map(({ figure }, place) =>
      row(`${figure}: p50`, 'ms', ({ searches }) => p50(searches[place]?.latencies)),
    ),
  ]
}

type Peer = Readonly<{ name: string; withProgram: WithProgram; notes: readonly string[] }>
type Comparison = Readonly<{
  kind: Kind
  noun: string
  peer: Peer
  /** The peer with another setting, which may be slow: how many records it is sent. */
  variant?: Readonly<{ name: string; withProgram: WithProgram; most: number }>
}>

async function compare(
  context: BenchContext,
  stage: Stage,
  { kind, noun, peer, variant }: Comparison,
): Promise<Section> {
  context.say(`${noun}: Throughline`)
  const ours = await withOurs(kind)((program) => measure(stage, 'ours', program))
  context.say(`${noun}: ${peer.name}`)
  const theirs = await peer.withProgram((program) => measure(stage, 'theirs', program))
  expectSame(stage, ours, theirs)
  const variants: Variant[] = []
  if (variant !== undefined) {
    context.say(`${noun}: ${variant.name}`)
    const taken = await variant.withProgram((program) => takeIn(stage, program, variant.most))
    variants.push({ name: variant.name, taken })
  }
  const title = `${stage.records.bodies.records} ${noun}, 8 connections: Throughline, embedded, beside ${peer.name}`
  return { title, beside: 'peer', rows: rowsOf(stage, peer.name, ours, theirs, variants), notes: peer.notes }
}

const quiet =
  'CPU seconds end when a program uses less than 2 % of a core for 6 seconds. Resident files count as memory.'
const logNotes = [
  'Throughline acknowledges what is synced to the disk. VictoriaLogs acknowledges what is in its memory: it syncs within 5 s, its default.',
  'A word is looked for in the message and all string values, in any case; by VictoriaLogs in the message, as it is written. Both find the same here.',
  'Throughline keeps in mind which words a pattern met: part of a word that nobody has looked for yet takes a second or more.',
  'VictoriaLogs has its defaults, and a log stream for each service.',
  quiet,
]
const spanNotes = [
  'Throughline acknowledges what is synced to the disk. Jaeger acknowledges what its batch processor has taken, before Badger has it.',
  'Jaeger has its defaults, but that it keeps connections of searches and does not measure or trace itself. Synced: Badger syncs each span when it writes it, of fewer spans.',
  'Found traces are summaries in an answer of Throughline; in one of Jaeger they are whole, with all spans.',
  'Jaeger takes the duration of any span of the trace: operations are asked for of which both find the same traces. Its newest are by span, not by trace.',
  quiet,
]
/** Each is synced alone, which takes milliseconds. */
const syncedSpans = 20_000

/** What peers need for the same records and the same searches, with their defaults and documented endpoints. */
export async function benchPeers(context: BenchContext): Promise<readonly Section[]> {
  const { scale, folder, say } = context
  const driver = startDriver()
  const searchesAsked = Math.ceil(scale.queries * searchesPart)
  try {
    say('making logs')
    const { facts: logFacts, ...logs } = makePeerLogs(context)
    const ofLogs = { driver, records: logs, searchesAsked, figures: logFigures(logFacts, logs.startMs) }
    const victoriaLogs = { name: 'VictoriaLogs', withProgram: withVictoriaLogs(folder), notes: logNotes }
    const logSection = await compare(context, ofLogs, { kind: 'logs', noun: 'logs', peer: victoriaLogs })
    say('making spans')
    const { facts: spanFacts, ...spans } = makePeerSpans(context)
    const ofSpans = { driver, records: spans, searchesAsked, figures: traceFigures(spanFacts, spans.startMs) }
    const jaeger = { name: 'Jaeger with Badger', withProgram: withJaeger(folder), notes: spanNotes }
    const synced = { name: 'the same, synced', withProgram: withJaeger(folder, { isSynced: true }), most: syncedSpans }
    return [
      logSection,
      await compare(context, ofSpans, { kind: 'traces', noun: 'spans', peer: jaeger, variant: synced }),
    ]
  } finally {
    driver.stop()
  }
}
