import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { readCurrent } from '#streams/follow.ts'
import { createLookAhead, type LookAhead } from './ahead.ts'
import { inBatches } from './batches.ts'
import { heartbeatMs, type Folding } from './folding.ts'
import type { IndexWriter } from './index-store.ts'
import type { Lane, LeftOut } from './lane.ts'
import { createLanes, type Lanes, type ProjectionFailure } from './lanes.ts'
import { checkTail } from './log-tail.ts'

export type { ProjectionFailure } from './lanes.ts'

export type ProjectorOptions = Folding &
  Readonly<{
    writer: IndexWriter
    /** Hears of every failure, at once. */
    onFailure?: (failure: ProjectionFailure) => void
    /** Hears of each event that a projection leaves out for the first time. */
    onDeadLetter?: (letter: LeftOut) => void
  }>

export type Projector = Readonly<{
  /**
   * Follows the log until the signal aborts. An event of which a fold itself says that it cannot take it becomes a dead letter. A
   * projection that fails otherwise stops alone, reported and visible to readers as lag: nothing is skipped. Rejects when the log
   * cannot be read; and when no projection is left, with the failure of the last.
   */
  run(signal: AbortSignal): Promise<void>
}>

/** Runs tasks one after the other: heartbeats and batches of one writer do not overlap. */
function createTurns(): (task: () => Promise<void>) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const turn = last.then(task)
    last = turn.catch(() => {})
    return turn
  }
}

type Run = Readonly<{
  options: ProjectorOptions
  lanes: Lanes
  inTurn: ReturnType<typeof createTurns>
  lookAhead: LookAhead
  until: AbortSignal
}>

/** Tells readers how far the indexes are. */
const beat = ({ lanes, inTurn, until }: Run): Promise<void> => inTurn(() => lanes.heartbeat(until))

/** How many reads of the log look for somebody who need not wait, between two batches. */
const readsAheadMax = 8

/** What follows where nothing keeps the lanes from looking; none where it cannot be read: the fold meets that in its turn, and says so. */
async function readAhead({ stream, limits }: ProjectorOptions, after: Position): Promise<readonly RecordedEvent[]> {
  try {
    return await readCurrent(stream, after, limits.projectorBatchEventsMax)
  } catch (error) {
    // A log that ends before what was read of it is another one: what comes there must not be taken for what was there.
    if ((await stream.head()) < after) throw error
    return []
  }
}

/**
 * Between two batches of a backlog folds about a batch of what stands behind it, of workspaces that have sent little: they do not wait
 * until all is folded of those that have sent much.
 */
async function foldBeyond({ options, lanes, inTurn, lookAhead, until }: Run, group: readonly Lane[]): Promise<void> {
  for (let [reads, work] = [0, 0]; reads < readsAheadMax && work < 1 && !until.aborted; reads++) {
    // One that has failed, or has come later, folds everything in its order.
    const [first] = group.toSorted((a, b) => (b.ahead()?.position ?? 0) - (a.ahead()?.position ?? 0))
    if (first === undefined) return
    const [position, ahead] = [first.position(), first.ahead()]
    const alike = group.filter((lane) => lane.ahead() === ahead)
    const events = await readAhead(options, ahead?.position ?? position)
    const step = lookAhead.step({ position, ahead }, events, options.clock())
    if (step === undefined) return
    await inTurn(() => lanes.foldAhead(alike, step, until))
    if (alike.every((lane) => lane.ahead() !== step.ahead)) return
    work += step.work
    await options.timers.turn()
  }
}

/**
 * `limit`: where the next lanes stand. `atHead`: readers were told that nothing is missing, which is taken back before the fold begins.
 * `looksAhead`: the furthest of those that readers use.
 */
type Turn = Readonly<{ limit: Position; atHead: boolean; looksAhead: boolean }>

/** `head`: the log's; what stands before it is a backlog. */
async function foldBatchOf(
  run: Run,
  lanes: readonly Lane[],
  batch: readonly RecordedEvent[],
  { head, looksAhead }: Pick<Turn, 'looksAhead'> & Readonly<{ head: Position }>,
): Promise<void> {
  const { inTurn, lookAhead, until } = run
  const last = batch.at(-1)?.position ?? head
  const wasAhead = lanes.some((lane) => lane.ahead() !== undefined)
  await inTurn(async () => {
    await run.lanes.fold(lanes, batch, until)
    await run.lanes.promoteDue(head, until)
  })
  if (!looksAhead) return
  if (last >= head) return lookAhead.rest()
  // What was met ahead of its turn has been counted then.
  if (!wasAhead) lookAhead.passed(batch)
  const moved = lanes.filter((lane) => lane.position() === last)
  await foldBeyond(run, moved)
}

/**
 * Folds what the lanes that stand at one place have not had, at most up to `limit`, where the next lanes stand, which they then join.
 * False when there was nothing.
 */
async function foldGroup(run: Run, group: readonly Lane[], { limit, atHead, looksAhead }: Turn): Promise<boolean> {
  const { options, until } = run
  const { limits } = options
  const head = await options.stream.head()
  let at = group[0]?.position() ?? 0
  const read = await readCurrent(options.stream, at, limits.projectorBatchEventsMax)
  const events = read.filter(({ position }) => position <= limit)
  if (events.length === 0) return false
  if (atHead) await beat(run)
  for (const batch of inBatches(events, limits)) {
    if (until.aborted) return true
    // One that has failed has not had the batch before, and reads on from there by itself.
    const there = group.filter((lane) => lane.position() === at)
    if (there.length === 0) return true
    await foldBatchOf(run, there, batch, { head, looksAhead })
    at = batch.at(-1)?.position ?? at
    await beat(run)
    // Where log and index answer at once, nothing else here waits while there is more to fold, and nobody could stop it.
    await options.timers.turn()
  }
  return true
}

/**
 * One batch for each group of lanes. One that is behind reads the log by itself until it stands where the others do, so that it
 * makes them slower but never makes them wait for it. False when all stand at the head.
 */
async function foldOnce(run: Run, atHead: boolean): Promise<boolean> {
  let [advanced, hasLooked] = [false, false]
  let limit = Number.POSITIVE_INFINITY
  for (const group of run.lanes.groups()) {
    if (run.until.aborted) return advanced
    const looksAhead = !hasLooked && group.some(run.lanes.isLive)
    hasLooked ||= looksAhead
    advanced = (await foldGroup(run, group, { limit, atHead: atHead && !advanced, looksAhead })) || advanced
    limit = Math.min(limit, ...group.map((lane) => lane.position()))
  }
  return advanced
}

/** Folds until the signal aborts. `wake`: a signal that aborts when there may be something to do without a new event. */
async function foldOn(run: Run, wake: () => AbortSignal): Promise<void> {
  const { options, lanes, inTurn, until } = run
  let atHead = true
  while (!until.aborted) {
    const woken = wake()
    const [furthest] = lanes.groups()
    if (lanes.failure() !== undefined) throw lanes.failure()
    const head = furthest?.[0]?.position() ?? (await options.stream.head())
    if (await foldOnce(run, atHead)) {
      atHead = false
      continue
    }
    atHead = true
    await inTurn(() => lanes.promoteDue(head, until))
    await beat(run)
    await options.stream.changed(head, AbortSignal.any([until, woken]))
  }
}

/**
 * Folds one partition's log into the indexes of all projections. Each event is decoded once for all that stand at one place.
 */
export function createProjector(options: ProjectorOptions): Projector {
  const { timers, onFailure = () => {} } = options
  return {
    async run(signal) {
      const lanes = createLanes({ ...options, onFailure })
      const inTurn = createTurns()
      const stopped = new AbortController()
      const lookAhead = createLookAhead(options.limits)
      const run: Run = { options, lanes, inTurn, lookAhead, until: AbortSignal.any([signal, stopped.signal]) }
      let failure: unknown
      let wake = new AbortController()
      await lanes.openAll(signal)
      // Before anything is told of them: that would be that the log ends where it does now.
      for (const build of lanes.left()) await checkTail(options.stream, build)
      // While one waits for its turn, the next need not.
      let isWaiting = false
      const beatOnce = async (): Promise<void> => {
        if (isWaiting) return
        isWaiting = true
        const task = async (): Promise<void> => {
          isWaiting = false
          const goesOn = lanes.goOn()
          const opened = await lanes.refresh(run.until)
          await lanes.promoteDue(await options.stream.head(), run.until)
          await lanes.heartbeat(run.until)
          if (opened || goesOn) wake.abort()
        }
        await inTurn(task).catch((error: unknown) => {
          failure = error
          stopped.abort()
        })
      }
      const stopBeating = timers.every(heartbeatMs, () => void beatOnce())
      try {
        await foldOn(run, () => {
          if (wake.signal.aborted) wake = new AbortController()
          return wake.signal
        })
        if (stopped.signal.aborted) throw failure
      } finally {
        stopBeating()
        await inTurn(async () => {})
      }
    },
  }
}
