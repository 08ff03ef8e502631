import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { readCurrent } from '#streams/follow.ts'
import type { IndexWriter } from '../index-store.ts'
import { createLookAhead, type LookAhead } from './ahead.ts'
import { inBatches } from './batches.ts'
import { heartbeatMs, type Folding } from './folding.ts'
import type { Lane, LeftOut } from './lane.ts'
import { createLanes, type Beside, type Lanes } from './lanes.ts'
import { checkTail } from './log-tail.ts'
import type { ProjectionFailure } from './open-lanes.ts'

type ProjectorOptions = Folding &
  Readonly<{
    writer: IndexWriter
    /** Called for every failure, at once. */
    onFailure?: (failure: ProjectionFailure) => void
    /** Called once for each projection when all its builds are folded, and once more where one has failed and been retried, when they are again. */
    onRecovered?: (projection: string) => void
    /** Called for each event that becomes a dead letter. */
    onDeadLetter?: (letter: LeftOut) => void
    /** Called for each build that is folded for readers beside theirs, when it is opened and when they have moved to it. */
    onBeside?: (beside: Beside) => void
  }>

type Projector = Readonly<{
  /**
   * Follows the log until the signal aborts. An event that cannot be folded, even alone, becomes a dead letter. A projection that fails
   * otherwise stops alone; it is reported and visible to readers as lag, and skips nothing. Rejects when the log cannot be read, and
   * when no projection is left, with the failure of the last.
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

/** How many reads of the log may look ahead, between two batches, for workspaces that need not wait. */
const readsAheadMax = 8

/** The next events further on in the log; none where they cannot be read: the fold will meet that error in its turn, and report it. */
async function readAhead({ stream, limits }: ProjectorOptions, after: Position): Promise<readonly RecordedEvent[]> {
  try {
    return await readCurrent(stream, after, limits.projectorBatchEventsMax)
  } catch (error) {
    // A log that now ends before what was already read is another log: its later events must not be taken for the old ones.
    if ((await stream.head()) < after) throw error
    return []
  }
}

/**
 * Between two batches of a backlog, folds about one batch from further on in the log, of workspaces that have sent little, so that they
 * do not wait for those that have sent much.
 */
async function foldBeyond({ options, lanes, inTurn, lookAhead, until }: Run, group: readonly Lane[]): Promise<void> {
  for (let [reads, work] = [0, 0]; reads < readsAheadMax && work < 1 && !until.aborted; reads++) {
    // The lane that is furthest ahead leads. One that has failed, or was opened later, folds everything in order.
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
 * `limit`: the position of the next group of lanes. `atHead`: readers were told that the index is complete, which is revoked before the
 * fold begins. `looksAhead`: whether this is the furthest group that readers use.
 */
type Turn = Readonly<{ limit: Position; atHead: boolean; looksAhead: boolean }>

/** `head`: of the log; a batch that ends before it is part of a backlog. */
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
  // What was folded ahead of its turn was counted at that time.
  if (!wasAhead) lookAhead.passed(batch)
  const moved = lanes.filter((lane) => lane.position() === last)
  await foldBeyond(run, moved)
}

/**
 * Folds the next events for lanes that are at the same position, at most up to `limit`, where the next group is, which they then join.
 * False when there was nothing to fold.
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
    // A lane that failed did not get the previous batch: it reads on from there by itself.
    const there = group.filter((lane) => lane.position() === at)
    if (there.length === 0) return true
    await foldBatchOf(run, there, batch, { head, looksAhead })
    at = batch.at(-1)?.position ?? at
    await beat(run)
    // If log and index answer without waiting, nothing else here yields to the event loop, and no signal could be handled.
    await options.timers.turn()
  }
  return true
}

/**
 * One round for each group of lanes. A lane that is behind reads the log by itself until it has caught up, so that it slows the others
 * down but never makes them wait for it. False when all are at the head.
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

/** Folds until the signal aborts. `wake`: returns a signal that aborts when there may be work without a new event. */
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
 * Folds one partition's log into the indexes of all projections. Each event is decoded once for all lanes at the same position.
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
      // Before the first heartbeat, which would record that the log ends where it does now.
      for (const build of lanes.storedBefore()) await checkTail(options.stream, build)
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
          if (opened || goesOn || lanes.failure() !== undefined) wake.abort()
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
