import { crc32 } from 'node:zlib'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexName, IndexWriter } from '../index-store.ts'
import type { DecodedEvent } from '../projection.ts'
import { inBatches } from './batches.ts'
import { createDeadLetters } from './dead-letters.ts'
import { heartbeatMs, type Folding } from './folding.ts'
import { openLane, type Lane } from './lane.ts'
import { readUpTo } from './read-up-to.ts'

/** A build to be folded from one position (exclusive) to another. */
export type BuildTask = Readonly<{ projection: string; index: IndexName; after: Position; until: Position }>

/** What one of several workers folds: its share of the workspaces of these builds. Plain data, because a worker may be a thread. */
export type FoldTask = Readonly<{
  builds: readonly BuildTask[]
  /** About how many events they lack: at least those that this worker reads. */
  events: number
  share: Readonly<{ number: number; of: number }>
  workspaces?: readonly WorkspaceId[] | undefined
  /** Events a second that this worker reads at most. */
  eventsPerSecondMax?: number | undefined
  /** The fold only serves a comparison: it ends at an event that cannot be folded and on which nobody has decided. */
  compares?: boolean | undefined
}>

/** The name under which a worker's progress is kept. Other numbers of workers have other shares; earlier programs, which divided otherwise, said "of". */
export const shareName = ({ number, of }: FoldTask['share']): string => `${number}/${of}`

type FoldShareOptions = Folding &
  Readonly<{
    /** A writer that keeps the progress of this share. */
    writer: IndexWriter
    /** Called after each batch. */
    onProgress?: (position: Position) => void
  }>

/**
 * Which of several workers folds a workspace for the projection at a place of the list. Workspaces are independent of each other, and so are
 * projections. So the work is divided by both, and even one large workspace has several workers. The first projections take the most work:
 * each has a worker of its own as long as there are so many, and the others share the last one.
 */
export function workerOf(workspaceId: WorkspaceId, place: number, workers: number): number {
  // Mixed, and taken from the upper bits: similar names, or those of one partition, must not all fall to one worker.
  const mixed = Math.imul(crc32(workspaceId), 0x9e37_79b1) >>> 12
  return (mixed + Math.min(place, workers - 1)) % workers
}

type ShareLane = Readonly<{ lane: Lane; until: Position; takes: (workspaceId: WorkspaceId) => boolean }>

async function openShareLanes(task: FoldTask, given: FoldShareOptions) {
  const { stream, clock } = given
  const deadLetters = createDeadLetters({ stream, clock, decides: task.compares !== true })
  const wanted = task.workspaces && new Set(task.workspaces)
  const mayLeaveOutMost = (): boolean => task.compares === true
  const lanes: ShareLane[] = []
  for (const [place, projection] of given.projections.entries()) {
    const build = task.builds.find((one) => one.projection === projection.name)
    if (build === undefined) continue
    const live = async (): Promise<IndexName | undefined> => (await given.writer.roster(projection.name)).live
    const options = { ...given, epoch: stream.epoch, deadLetters, mayLeaveOutMost, live }
    const takes = (workspaceId: WorkspaceId): boolean =>
      workerOf(workspaceId, place, task.share.of) === task.share.number && (wanted?.has(workspaceId) ?? true)
    lanes.push({ lane: await openLane(projection, build.index, options, build.after), until: build.until, takes })
  }
  return lanes
}

async function foldInLanes(
  lanes: readonly ShareLane[],
  events: readonly DecodedEvent[],
  last: Position,
): Promise<void> {
  for (const { lane, until, takes } of lanes) {
    const mine = events.filter(({ event }) => event.position <= until && takes(event.workspaceId))
    await lane.fold(mine, Math.min(last, until))
  }
}

/** Waits until as much time has passed as this number of events should take. */
async function keepPace(events: number, sinceMs: number, perSecond: number, options: FoldShareOptions): Promise<void> {
  const earlyMs = sinceMs + (events / perSecond) * 1_000 - options.clock()
  if (earlyMs > 0) await options.timers.pause(earlyMs)
}

/**
 * Folds one worker's share from where it was left, and resolves once it is folded up to its target. It may be interrupted at any time, and
 * resumed by any number of workers.
 */
export async function foldShare(task: FoldTask, options: FoldShareOptions): Promise<void> {
  const { stream, clock, limits, decode, onProgress = () => {} } = options
  const lanes = await openShareLanes(task, options)
  const until = Math.max(0, ...task.builds.map((build) => build.until))
  const startedAt = clock()
  let position = Math.min(until, ...lanes.map(({ lane }) => lane.position()))
  let beatAt = startedAt
  let events = 0
  while (position < until) {
    const read = await readUpTo(stream, { after: position, until }, limits.projectorBatchEventsMax)
    for (const batch of inBatches(read, limits)) {
      const last = batch.at(-1)?.position ?? position
      await foldInLanes(lanes, batch.map(decode), last)
      position = last
      events += batch.length
      onProgress(Math.min(position, until))
      if (task.eventsPerSecondMax !== undefined) await keepPace(events, startedAt, task.eventsPerSecondMax, options)
      if (clock() - beatAt < heartbeatMs) continue
      beatAt = clock()
      for (const { lane } of lanes) await lane.heartbeat(until)
    }
  }
  // The last batch may still be under way (write-behind.ts).
  for (const { lane } of lanes) await lane.heartbeat(until)
}
