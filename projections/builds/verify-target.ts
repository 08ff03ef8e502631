import { beforeAll, type Position } from '#src/events/envelope.ts'
import { erasureSubject } from '#src/events/erasure.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { IndexAudit } from '../index-audit.ts'
import { reachedBy, storedBuild, type IndexName, type IndexWriter, type StoredBuild } from '../index-store.ts'
import { pollMs, type BuildContext, type BuildPlace } from './build-place.ts'
import type { DigestsAhead } from './digests-ahead.ts'
import type { ExpectedFold, Limit } from './expected-fold.ts'
import type { Horizon } from './horizon.ts'

const patienceMs = 30_000

/** A build that is verified: where it is read, and the fold that it is compared with. */
export type VerifyTarget = Readonly<{
  context: BuildContext
  projection: string
  /** The names of its collections. */
  collections: readonly string[]
  index: IndexName
  writer: IndexWriter
  scratch: BuildPlace
  indexed: IndexAudit
  ahead: DigestsAhead
  expectedParts: IndexAudit
  expected: ExpectedFold
  takes: (workspaceId: WorkspaceId) => boolean
  horizon: Horizon
}>

export async function existingBuild(writer: IndexWriter, projection: string, index: IndexName): Promise<StoredBuild> {
  const found = await storedBuild(writer, projection, index)
  if (found === undefined)
    throw new PermanentError({ operation: 'verify', subject: index, hint: 'there is no such build' })
  return found
}

/** The position that the index has reached for each workspace. */
export async function reachedIn({ context, writer, projection, index }: VerifyTarget): Promise<Limit> {
  const build = await existingBuild(writer, projection, index)
  const now = context.clock()
  return (workspaceId) => reachedBy(build, workspaceId, now)
}

/** Waits until the index has reached the position for the workspace; gives up when it makes no progress. */
export async function awaitReached(target: VerifyTarget, workspaceId: WorkspaceId, position: Position): Promise<void> {
  const { clock, timers } = target.context
  let [best, until] = [-1, 0]
  for (;;) {
    const reached = (await reachedIn(target))(workspaceId)
    if (reached >= position) return
    if (reached > best) [best, until] = [reached, clock() + patienceMs]
    if (clock() > until) {
      const hint = 'its projector does not get on: see throughline status'
      throw new TransientError({ operation: 'verify', subject: `${target.index} at position ${position}`, hint })
    }
    await timers.pause(pollMs)
  }
}

/** The position of the last erasure of a workspace; `beforeAll` where it never was erased. */
export async function erasedAt({ context }: VerifyTarget, workspaceId: WorkspaceId): Promise<Position> {
  return (await context.stream.last(erasureSubject(workspaceId)))?.position ?? beforeAll
}
