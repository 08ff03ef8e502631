import { createHash } from 'node:crypto'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { limits } from '#src/config.ts'
import type { Stream } from '#streams/stream.ts'
import { randomNumbers } from '#test/support/random.ts'
import { createCall, reach, type Call, type Fault } from '#test/support/reach.ts'
import { createProcess, createWorld, type Process, type World } from '#test/support/virtual-world.ts'
import { reachAudit, reachWriter } from './reach-index.ts'
import type { Chance, SimulatedIndex } from './simulated-index.ts'

/** What is broken on purpose, to see that the simulation finds it. */
export type Spoil = Readonly<{
  log?: (stream: Stream) => Stream
  writer?: (writer: IndexWriter) => IndexWriter
}>

/** What every part of a simulation shares. */
export type Stage = Readonly<{
  seed: number
  world: World
  chance: Chance & Readonly<{ random: () => number; happens: (chance: number) => boolean }>
  /** As it is: what it holds is the truth. */
  log: Stream
  index: SimulatedIndex
  projections: readonly Projection[]
  spoil: Spoil
  /** Notes what must not be. */
  violate: (what: string) => void
  newId: () => string
  /** From now on nothing goes wrong. */
  calm: () => void
  isCalm: () => boolean
}>

/** A process that has begun: how it reaches the log and the index, and its clock. */
export type Member = Readonly<{
  name: string
  process: Process
  clock: () => number
  call: Call
  stream: Stream
  writer: (share?: string) => IndexWriter
  audit: () => ReturnType<SimulatedIndex['audit']>
}>

export const decode = createDecoder(createDecoders(limits))

export const foldLimits = {
  projectorBatchEventsMax: 4,
  projectorBatchRecordsMax: 8,
  projectorBatchBytesMax: 1e6,
  cachedDocumentsMax: 12,
  cachedBytesMax: 1e6,
}

type Given = Readonly<{
  seed: number
  startsAt: number | undefined
  spoil: Spoil
  log: Stream
  openIndex: (chance: Chance) => SimulatedIndex
  projections: readonly Projection[]
  violate: (what: string) => void
}>

export function createStage({ seed, startsAt, spoil, log, openIndex, projections, violate }: Given): Stage {
  const random = randomNumbers(seed)
  const below = (max: number): number => Math.floor(random() * max)
  let [made, isCalm] = [0, false]
  const chance = { random, below, happens: (chance: number) => !isCalm && random() < chance }
  return {
    seed,
    world: createWorld(startsAt),
    chance,
    log,
    index: openIndex(chance),
    projections,
    spoil,
    violate,
    newId: () => createHash('sha256').update(`${seed} ${++made}`).digest('hex').slice(0, 32),
    calm: () => {
      isCalm = true
    },
    isCalm: () => isCalm,
  }
}

const kinds: readonly Fault[] = ['before', 'after', 'late', 'twice']
const skewMaxMs = 2_000

/** A process that begins: its calls are slow, fail, come late or twice, and its clock is not quite right, and put right at times. */
export function startMember(stage: Stage, name: string): Member {
  const { world, chance, log, index, spoil } = stage
  const { below, happens } = chance
  const process = createProcess(world)
  let skewMs = below(skewMaxMs)
  let last = 0
  const clock = (): number => {
    if (happens(0.002)) skewMs = below(2 * skewMaxMs) - skewMaxMs
    // As src/lib/clock.ts: it does not go back within a process.
    return (last = Math.max(last, world.now() + skewMs))
  }
  const network = {
    // Mostly prompt, and slow at times.
    delayMs: () => (happens(0.02) ? below(2_000) : below(20)),
    fault: () => (happens(0.02) ? kinds[below(kinds.length)] : undefined),
    lateMs: () => below(20_000),
  }
  const call = createCall(world, process, network, name)
  const between = (): Promise<void> =>
    new Promise((resolve) => void world.after(below(20), () => process.deliver(resolve)))
  const spoiledWriter = spoil.writer ?? ((writer) => writer)
  return {
    name,
    process,
    clock,
    call,
    stream: reach(spoil.log?.(log) ?? log, world, process, network, name),
    writer: (share) => reachWriter(spoiledWriter(index.open(between, share)), call, index),
    audit: () => reachAudit(index.audit(), call),
  }
}
