import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import {
  heartbeatMaxMs,
  isFolded,
  reachedFor,
  type IndexName,
  type IndexReader,
  type MissedDay,
  type Progress,
} from '../index-store.ts'
import { readUsage } from './query.ts'

/**
 * The spans of a workspace's month, from all events up to a position and perhaps some later ones; undefined if the index is not known to be that far,
 * or to hold all of them.
 */
type CountedSpans = (workspaceId: WorkspaceId, month: string, position: Position) => Promise<number | undefined>

export type CountingOptions = Readonly<{
  /** It says which builds are of another version. */
  reader: IndexReader
  clock: Clock
  /** Whether an index that has reached a position leaves out spans of a workspace's month, which were used all the same. */
  leavesOut: (workspaceId: WorkspaceId, month: string, reached: Position) => Promise<boolean>
  /** Days of a workspace that are gone, where that can be told sooner than by the index's progress. */
  missed?: (index: IndexName, workspaceId: WorkspaceId) => readonly MissedDay[]
}>

/**
 * Undefined until a projector is seen running: after a power cut the files may hold less than the heartbeat says, and only a projector that opens
 * them corrects that. Undefined too once none runs any more: then nobody notes that a day is lost. Also undefined for a build that is of another
 * version, began later than the log, skips events (`leavesOut`), or has lost a day of the month: their spans were used all the same.
 */
export function createCountedSpans({ reader, clock, leavesOut, missed = () => [] }: CountingOptions): CountedSpans {
  let firstBeat: number | undefined
  let isLive = false
  /** How far the build that readers use has all of a workspace's month; undefined if it is not known to have all of it. */
  const reachedWhole = (progress: Progress | undefined, workspaceId: WorkspaceId, month: string) => {
    if (progress === undefined || progress.isOfAnotherVersion === true || progress.after > beforeAll) return undefined
    const lost = [...(progress.lostDays ?? []), ...missed(progress.index, workspaceId)]
    const isOwn = (day: MissedDay): boolean => (day.workspaceId ?? workspaceId) === workspaceId
    if (lost.some((each) => isOwn(each) && each.day.startsWith(month))) return undefined
    firstBeat ??= progress.at
    isLive ||= progress.at !== firstBeat
    const isBeating = isFolded(progress, clock()) && progress.at - clock() <= heartbeatMaxMs
    return isLive && isBeating ? { index: progress.index, position: reachedFor(progress, workspaceId) } : undefined
  }
  return async (workspaceId, month, position) => {
    const { progress, spans } = await readUsage(reader, workspaceId, month)
    const before = reachedWhole(progress, workspaceId, month)
    if (before === undefined || before.position < position) return undefined
    // A day may be lost, or readers may move to another build, while the days are read.
    const after = reachedWhole(await reader.progress('allowance'), workspaceId, month)
    if (after?.index !== before.index) return undefined
    return (await leavesOut(workspaceId, month, before.position)) ? undefined : spans
  }
}
