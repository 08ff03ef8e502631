import type { Clock } from '#src/lib/clock.ts'
import { beforeAll, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { isDeadLetterDecision } from '#src/events/dead-letter.ts'
import { isErasure } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import {
  reachedFor,
  storedBuild,
  type Ahead,
  type IndexName,
  type IndexWriter,
  type LastFolded,
  type StoredBuild,
  type WorkspaceEntries,
} from '../index-store.ts'
import type { DecodedEvent, Projection } from '../projection.ts'
import { buildVersion } from '../rosters/build-name.ts'
import { leftOut, type DeadLetters } from './dead-letters.ts'
import { createDocumentCache, type CacheLimits } from './documents.ts'
import { findPoison, refuseMost } from './find-poison.ts'
import { foldBatch } from './fold-batch.ts'
import { createLacking, type Lacking } from './lacking.ts'
import { lastFolded } from './log-tail.ts'
import { withSeenEvents } from './seen-events.ts'

/** Folds one build of a projection: keeps its position in the log and its loaded documents. */
export type Lane = Readonly<{
  projection: string
  index: IndexName
  /** The last event that readers can find. */
  position(): Position
  /** The build as it was stored before it was opened; undefined if it is new. A log that lacks what it had read is another log. */
  storedBefore: StoredBuild | undefined
  /**
   * Folds and writes those of these events that it has not folded yet; may be retried after a failure. An event that cannot be folded
   * becomes a dead letter, and the others are folded. After an erasure, the workspace's earlier events are gone from the build.
   */
  fold(events: readonly DecodedEvent[], last: Position): Promise<void>
  /** Until when all that was received is folded (ms). */
  caughtUpAt(): number
  /** What the lane has folded beyond its position. */
  ahead(): Ahead | undefined
  /** Folds events ahead of the position, of workspaces that are not in `to.behind`; the position does not move. `to`: the new state. */
  foldAhead(events: readonly DecodedEvent[], to: Ahead): Promise<void>
  /** Tells readers how far the index is. `head`: of the log, read before. */
  heartbeat(head: Position): Promise<void>
}>

type LaneOptions = Readonly<{
  writer: IndexWriter
  epoch: string
  clock: Clock
  limits: CacheLimits
  decode: (event: RecordedEvent) => DecodedEvent
  deadLetters: DeadLetters
  /** Called for each event that becomes a dead letter. */
  onDeadLetter?: (letter: LeftOut) => void
  /** Whether it may leave out most events as well, as where readers use the build already; if not given, it may. */
  mayLeaveOutMost?: () => boolean
  /** The build that readers use now, if there is one. */
  live?: () => Promise<IndexName | undefined>
}>

/** An event that folds of this version of the projection skip from now on, and why. */
export type LeftOut = Readonly<{ projection: string; position: Position; reason: string }>

/** `lacking`: of whom it leaves out events. */
type OwnOptions = LaneOptions & Readonly<{ lacking: Lacking }>

/** The events as this projection folds them: a dead letter that is retried takes the place of the decision to retry it. */
async function withBrought(
  projection: Projection,
  events: readonly DecodedEvent[],
  { decode, deadLetters, lacking }: OwnOptions,
): Promise<readonly DecodedEvent[]> {
  if (events.some(({ event }) => isDeadLetterDecision(event))) await lacking.look()
  const folded: DecodedEvent[] = []
  for (const one of events) {
    const brought = one.event.type === 'deadletter.retried' && (await deadLetters.brought(projection, one.event))
    folded.push(brought ? decode(brought) : one)
  }
  return folded
}

/** Whichever of both is further on in the log. */
const furthestOf = (last: LastFolded | undefined, events: readonly DecodedEvent[]): LastFolded | undefined => {
  const event = events.at(-1)?.event
  return event === undefined || event.position <= (last?.position ?? beforeAll) ? last : lastFolded(event)
}

/** Within a batch, the workspace that has sent least is written first: its few records need not wait for megabytes of another one. */
function leastFirst(
  changes: readonly WorkspaceEntries[],
  events: readonly DecodedEvent[],
): readonly WorkspaceEntries[] {
  const sent = new Map<WorkspaceId, number>()
  for (const { event } of events) {
    sent.set(event.workspaceId, (sent.get(event.workspaceId) ?? 0) + event.counts.bytes)
  }
  const bytesOf = ({ workspaceId }: WorkspaceEntries): number => sent.get(workspaceId) ?? 0
  return [...changes].sort((a, b) => bytesOf(a) - bytesOf(b))
}

/** The position that a fold leads to, and whether it is ahead of the lane's turn. */
type Aim = Readonly<{ position: Position; isAhead?: boolean }>

/** What readers do not find now either: what the build that they use leaves out, and nobody had folded again. */
async function lackedNow({ name }: Projection, { deadLetters, live }: LaneOptions): Promise<ReadonlySet<Position>> {
  const index = await live?.()
  if (index === undefined) return new Set()
  const letters = await deadLetters.letters({ name, version: buildVersion(index) })
  return leftOut(letters.filter(({ state }) => state !== 'retried'))
}

/** Decides to skip those of these events that are to blame for a failure; all positions that are skipped then. */
async function leaveOut(
  projection: Projection,
  events: readonly DecodedEvent[],
  failure: unknown,
  options: OwnOptions,
): Promise<ReadonlySet<Position>> {
  const { deadLetters, lacking, onDeadLetter = () => {}, mayLeaveOutMost = () => true } = options
  const poison = await findPoison(projection, events, failure)
  if (!mayLeaveOutMost()) refuseMost(projection, events, { poison, lacked: await lackedNow(projection, options) })
  for (const one of poison) {
    await deadLetters.put(projection, one)
    onDeadLetter({ projection: projection.name, position: one.event.position, reason: one.message })
  }
  return leftOut(await lacking.look())
}

/** Those parts of a heartbeat that there are. */
const partsOf = (ahead: Ahead | undefined, last: LastFolded | undefined, lacking: readonly WorkspaceId[]) => ({
  ...(ahead && { ahead }),
  ...(last && { last }),
  ...(lacking.length > 0 && { lacking }),
})

/** Opens a build of this log, or creates it, starting after `after`. */
export async function openLane(
  projection: Projection,
  index: IndexName,
  options: LaneOptions,
  after: Position = 0,
): Promise<Lane> {
  const { writer, epoch, clock, limits } = options
  const own = { ...options, lacking: createLacking(options.deadLetters, projection) }
  const complete = withSeenEvents(projection)
  await writer.open(index, complete, epoch, after)
  let { position } = await writer.checkpoint(index)
  let cache = createDocumentCache(limits)
  let ahead: Ahead | undefined
  const storedBefore = await storedBuild(writer, projection.name, index)
  // Of one that is new, lag is counted from now on.
  let caughtUpAt = storedBefore?.heartbeat.caughtUpAt || clock()
  let last = storedBefore?.heartbeat.last
  let skipped = leftOut(await own.lacking.look())
  /** Folds up to the next erasure, carries it out, and goes on after it: what it erases must be in the index by then. */
  const foldParts = async (events: readonly DecodedEvent[], to: Aim): Promise<void> => {
    const at = events.findIndex(({ event }) => isErasure(event))
    const erasure = events[at]?.event
    if (erasure === undefined) return foldOnce(events, to)
    // Just before the erasure, where no event is: if the erasure is interrupted, it is read again.
    if (at > 0) await foldOnce(events.slice(0, at), { ...to, position: erasure.position - 1 })
    await writer.eraseWorkspace(index, erasure.workspaceId, erasure.position)
    cache = createDocumentCache(limits)
    await foldParts(events.slice(at + 1), to)
  }
  const foldOnce = async (events: readonly DecodedEvent[], to: Aim): Promise<void> => {
    const wanted = events.filter(({ event }) => !skipped.has(event.position))
    try {
      await foldBatch(complete, wanted, cache, (keys) => writer.load(index, keys))
      await writer.write(index, leastFirst(cache.takeChanged(), wanted), { epoch, ...to })
    } catch (error) {
      // The cache may hold half an event: a retry starts from what is stored.
      cache = createDocumentCache(limits)
      skipped = await leaveOut(complete, wanted, error, own)
      await foldOnce(events, to)
    }
  }
  return {
    projection: projection.name,
    index,
    position: () => position,
    storedBefore,
    caughtUpAt: () => caughtUpAt,
    async fold(events, to) {
      if (to <= position) return
      const fresh = events.filter(({ event }) => event.position > reachedFor({ position, ahead }, event.workspaceId))
      await foldParts(await withBrought(projection, fresh, own), { position: to })
      position = to
      last = furthestOf(last, events)
      if (ahead !== undefined && ahead.position <= position) ahead = undefined
      // What came later waits since then at most; a clock that was set back tells of times to come.
      caughtUpAt = Math.max(caughtUpAt, Math.min(clock(), events.at(-1)?.event.receivedAt ?? 0))
      cache.trim()
    },
    ahead: () => ahead,
    async foldAhead(events, to) {
      const folded = await withBrought(projection, events, own)
      if (folded.length > 0) await foldParts(folded, { position: to.position, isAhead: true })
      ahead = to
      last = furthestOf(last, events)
      cache.trim()
    },
    async heartbeat(head) {
      const at = clock()
      // Of a clock that was set back meanwhile, the time until which all was there is still to come: nobody would hear that more waits until then.
      caughtUpAt = position >= head ? at : Math.min(caughtUpAt, at)
      if (ahead !== undefined && ahead.caughtUpAt > at) ahead = { ...ahead, caughtUpAt: at }
      const told = { position, head: Math.max(head, position), at, caughtUpAt }
      await writer.heartbeat(index, { ...told, ...partsOf(ahead, last, own.lacking.workspaces()) })
    },
  }
}
