import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { reachedFor, type IndexReader } from '../index-store.ts'
import { readUsage } from './query.ts'

/**
 * Spans that count of a workspace's month, by the fold of all events up to a position and maybe of later ones; undefined when the
 * index is not known to be so far.
 */
type CountedSpans = (workspaceId: WorkspaceId, month: string, position: Position) => Promise<number | undefined>

/**
 * Until a projector is seen to live, nothing is known: after a power cut the files may hold less than was said of them, and only
 * a projector that opens them sets that right. Nor of a build whose fold began later than the log, or which events were left out
 * of (`leavesOut`): what they hold was spent all the same.
 */
export function createCountedSpans(reader: IndexReader, leavesOut: () => Promise<boolean>): CountedSpans {
  let firstBeat: number | undefined
  let isLive = false
  return async (workspaceId, month, position) => {
    const usage = await readUsage(reader, workspaceId, month)
    const { progress } = usage
    if (progress === undefined) return undefined
    firstBeat ??= progress.at
    isLive ||= progress.at !== firstBeat
    if (!isLive || reachedFor(progress, workspaceId) < position || progress.after > beforeAll) return undefined
    if (await leavesOut()) return undefined
    return usage.spans
  }
}
