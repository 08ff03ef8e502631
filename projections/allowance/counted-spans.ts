import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { reachedFor, type IndexReader } from '../index-store.ts'
import { readUsage } from './query.ts'

/**
 * The spans of a workspace's month, from all events up to a position and perhaps some later ones; undefined if the index is not known to be that far.
 */
type CountedSpans = (workspaceId: WorkspaceId, month: string, position: Position) => Promise<number | undefined>

/**
 * Undefined until a projector is seen running: after a power cut the files may hold less than the heartbeat says, and only a projector that opens
 * them corrects that. Also undefined for a build whose fold began later than the log or that skips events (`leavesOut`): their spans were used all
 * the same.
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
