import { ConflictError, type Stream } from '#streams/stream.ts'
import { sealBeginning } from '#src/events/allowance.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { daysOfClass } from '#src/events/retention.ts'
import type { Clock } from '#src/lib/clock.ts'
import { dayMs, dayOf } from '#src/lib/day.ts'
import type { Timers } from '#src/lib/timers.ts'
import { isFolded, type IndexName, type IndexWriter } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { changeRoster, followedAs, followedBuild, giveUp, holding } from '../rosters/roster.ts'
import { daysNeeded, type Keepings } from './first-days.ts'

type RetentionLimits = Readonly<{
  retentionEveryMs: number
  /** An event stays in the log for the days of its plan, but at least `logDaysMin`, plus `logDaysMore`. */
  logDaysMin: number
  logDaysMore: number
  /** How long it stays for a build that has not folded it, if nobody folds that build and readers do not use it. */
  logDaysHeldMax: number
  projectorBatchEventsMax: number
}>
export type RetentionOptions = Readonly<{
  stream: Stream
  writer: Pick<IndexWriter, 'builds' | 'roster' | 'changeRoster' | 'dropDays'>
  projections: readonly Projection[]
  clock: Clock
  timers: Timers
  limits: RetentionLimits
  /** How long the records of each workspace are kept, by the directory's current state. */
  keepings(): Promise<Keepings>
}>

/**
 * What one run has done: how many days of indexes it dropped, and up to where it cut the log, if it did. `heldBy`: the builds that kept it from
 * cutting more. `givenUp`: builds that have held the cut for too long and are dropped. `standsAt`: if more has expired than it cut, the time
 * (ms) that it has come to.
 */
export type Retained = Readonly<{
  dropped: number
  cutTo: Position | undefined
  heldBy: readonly IndexName[]
  givenUp: readonly IndexName[]
  standsAt?: number
}>

/** How much of the log a run cuts: events of so many days of receipt; and, if more has expired, whether any that expired only lately. */
type Pace = Readonly<{ daysMax: number; mayCatchUp: boolean }>

type Build = Readonly<{
  projection: Projection
  index: IndexName
  checkpoint: Position
  isFolded: boolean
  /** Nobody folds it, and readers do not use it. */
  isLeft: boolean
  /** It has read events that the log has lost: nothing is folded into it any more. */
  isLost: boolean
  heldSinceMs: number | undefined
}>

const pollMs = 1_000
/** How often it looks whether the builds have reached the head of the log. */
const pollsMax = 60

/** The builds of this log that are not being dropped. All projections are asked about at once: a store then looks once for all of them. */
async function buildsOf(options: RetentionOptions): Promise<readonly Build[]> {
  const { stream, writer, projections, clock } = options
  const each = projections.map(async (projection): Promise<readonly Build[]> => {
    const { name } = projection
    const roster = await writer.roster(name)
    const ours = (await writer.builds(name)).filter(
      ({ index, epoch }) => epoch === stream.epoch && followedAs(roster, index) !== 'dropped',
    )
    return ours.map(({ index, checkpoint, heartbeat }): Build => {
      const followed = followedBuild(roster, index)
      const as = followed?.as
      const isLost = followed?.lost === true
      return {
        projection,
        index,
        checkpoint,
        isFolded: roster.live === index || as === 'candidate' || (as === 'kept' && !isLost),
        isLost,
        isLeft: roster.live !== index && !isFolded(heartbeat, clock()),
        heldSinceMs: followed?.heldSinceMs,
      }
    })
  })
  return (await Promise.all(each)).flat()
}

const areAllBuilt = ({ projections }: RetentionOptions, builds: readonly Build[]): boolean =>
  projections.every((projection) => builds.some((build) => build.projection === projection))

/** Waits for the folded builds to reach a position, but not forever: what is behind is left for the next run. */
async function buildsAt(options: RetentionOptions, position: Position, signal: AbortSignal): Promise<readonly Build[]> {
  for (let poll = 1; ; poll++) {
    const builds = await buildsOf(options)
    const isThere =
      areAllBuilt(options, builds) && builds.every((build) => !build.isFolded || build.checkpoint >= position)
    if (isThere || poll === pollsMax || signal.aborted) return builds
    await options.timers.pause(pollMs, signal)
  }
}

/**
 * The time of receipt (ms) of the first event that a build has not folded; now if it has all. Undefined if that is unknown: another process may
 * fold a build that is behind the head and that no projector of ours folds.
 */
async function foldsFrom(
  { stream }: RetentionOptions,
  { checkpoint, isFolded, isLost }: Build,
  { head, now }: Readonly<{ head: Position; now: number }>,
): Promise<number | undefined> {
  if (isLost || checkpoint >= head) return now
  if (!isFolded) return undefined
  const [next] = await stream.read(checkpoint, 1)
  return next && Math.min(now, next.receivedAt)
}

/**
 * Drops the days of builds in which no further event can find a document. Also of a build that makes no progress: if the disk is full, it never
 * will unless something is dropped. What has expired is judged by `at`, the time that the log has come to; or by now, if a build holds back
 * the cut.
 */
async function dropDays(options: RetentionOptions, { next, at }: Expired, signal: AbortSignal): Promise<number> {
  const { stream, writer, clock, keepings } = options
  const head = await stream.head()
  const kept = await keepings()
  const builds = await buildsAt(options, head, signal)
  const isHeld = builds.some(({ checkpoint, isLost }) => !isLost && checkpoint < next)
  const now = isHeld ? clock() : Math.min(clock(), at)
  let dropped = 0
  for (const build of builds) {
    if (signal.aborted) return dropped
    const from = await foldsFrom(options, build, { head, now })
    if (from !== undefined) dropped += await writer.dropDays(build.index, daysNeeded(build.projection, kept, from))
  }
  return dropped
}

/** The last moment (ms) at which an event must be in the log. */
function keptUntil(
  { receivedAt, retentionClass }: RecordedEvent,
  { logDaysMin, logDaysMore }: RetentionLimits,
): number {
  const days = Math.max(daysOfClass(retentionClass), logDaysMin) + logDaysMore
  return Date.parse(dayOf(receivedAt)) + (days + 1) * dayMs - 1
}

/** The first event after `position` that was received after a time (ms), found by bisection: times in the log ascend. */
async function firstAfter(stream: Stream, { position }: RecordedEvent, ms: number): Promise<RecordedEvent | undefined> {
  let [low, high] = [position, await stream.head()]
  const next = async (after: Position): Promise<RecordedEvent | undefined> => (await stream.read(after, 1))[0]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (((await next(middle))?.receivedAt ?? Infinity) > ms) high = middle
    else low = middle
  }
  return next(high)
}

/** If events were received on so many days since, the clock is right and the event has expired, even if no process ever runs for long. */
const daysLivedMin = 7

async function isLongOver(stream: Stream, first: RecordedEvent, untilMs: number): Promise<boolean> {
  let [last, ms] = [first, untilMs]
  for (let days = 0; days < daysLivedMin; days++) {
    const event = await firstAfter(stream, last, ms)
    if (event === undefined) return false
    ;[last, ms] = [event, Date.parse(dayOf(event.receivedAt)) + dayMs - 1]
  }
  return true
}

/**
 * The part of the log from its beginning whose events have all expired, as far as the pace allows in this run: `end`. `next`: how far the next
 * run that cuts may go. `isBehind`: whether more has expired. `at`: the time that the cut has come to; now, unless more has expired.
 */
type Expired = Readonly<{ end: Position; next: Position; at: number; isBehind: boolean }>

async function expiredOf(
  { stream, clock, limits }: RetentionOptions,
  { daysMax, mayCatchUp }: Pace,
  signal: AbortSignal,
): Promise<Expired> {
  const at = clock()
  let first: RecordedEvent | undefined
  let [latest, days] = ['', 0]
  for (let end = beforeAll; ;) {
    const events = await stream.read(end, limits.projectorBatchEventsMax)
    for (const event of events) {
      if (keptUntil(event, limits) >= at) return { end, next: end, at, isBehind: false }
      first ??= event
      const day = dayOf(event.receivedAt)
      // Clocks differ: around midnight, events of the day before may still follow.
      if (day > latest) [latest, days] = [day, days + 1]
      if (days > daysMax) {
        const goes = mayCatchUp || (await isLongOver(stream, first, keptUntil(first, limits)))
        const [to, stays] = goes ? [end, event] : [beforeAll, first]
        return { end: to, next: end, at: Math.min(at, keptUntil(stays, limits)), isBehind: true }
      }
      end = event.position
    }
    if (events.length === 0 || signal.aborted) return { end, next: end, at, isBehind: false }
  }
}

/** Repeats, in what is left of the log, that no span is stored without a reservation: a process that does not find it reads the whole log. */
async function sayBeginningAgain({ stream, clock }: RetentionOptions, upTo: Position): Promise<void> {
  const began = sealBeginning(clock())
  const said = await stream.last(began.subject)
  if (said === undefined || said.position > upTo) return
  try {
    await stream.append([began], { subject: began.subject, position: said.position })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof ConflictError)) throw error
  }
}

/**
 * The builds whose folding may still continue. A build that nobody folds or reads, and that has held back the cut of the log for too long,
 * is abandoned: the process that folds the others removes it. The roster notes since when it holds back the cut.
 */
async function letGoOfLeft(options: RetentionOptions, old: Position) {
  const { writer, clock, limits } = options
  const builds: Build[] = []
  const givenUp: IndexName[] = []
  for (const build of await buildsOf(options)) {
    const { projection, index, isLeft, isLost, checkpoint, heldSinceMs } = build
    if (isLost) continue
    const since = isLeft && checkpoint < old ? (heldSinceMs ?? clock()) : undefined
    const isOver = since !== undefined && clock() - since >= limits.logDaysHeldMax * dayMs
    const change = isOver ? giveUp(index) : holding(index, since)
    const { roster } = await changeRoster(writer, projection.name, change)
    if (followedAs(roster, index) === 'dropped') givenUp.push(index)
    else builds.push(build)
  }
  return { builds, givenUp }
}

const nothingCut = { cutTo: undefined, heldBy: [], givenUp: [] } as const

async function cutLog(
  options: RetentionOptions,
  old: Position,
  signal: AbortSignal,
): Promise<Omit<Retained, 'dropped' | 'standsAt'>> {
  const { stream } = options
  const before = await stream.first()
  if (before === undefined || signal.aborted) return nothingCut
  await sayBeginningAgain(options, old)
  const { builds, givenUp } = await letGoOfLeft(options, old)
  // Only what every build has folded, so that each can continue.
  const upTo = areAllBuilt(options, builds) ? Math.min(old, ...builds.map(({ checkpoint }) => checkpoint)) : beforeAll
  // Also when nothing new has expired: an interrupted cut has left something.
  if (!signal.aborted) await stream.cut(upTo)
  return {
    cutTo: upTo >= before.position ? upTo : undefined,
    heldBy: builds.flatMap(({ index, checkpoint }) => (checkpoint < old ? [index] : [])),
    givenUp,
  }
}

/**
 * One run of retention for a partition: drops expired days of its indexes, then cuts the beginning of its log, at the given pace. It may
 * be interrupted anywhere; the next run does the rest.
 */
export async function applyRetention(options: RetentionOptions, signal: AbortSignal, pace: Pace): Promise<Retained> {
  const expired = await expiredOf(options, pace, signal)
  const dropped = await dropDays(options, expired, signal)
  const cut = signal.aborted ? nothingCut : await cutLog(options, expired.end, signal)
  return { dropped, ...cut, ...(expired.isBehind ? { standsAt: expired.at } : {}) }
}
