import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { FrozenPart, Part } from '../index-audit.ts'
import type { Sides } from './compare.ts'
import type { Limit } from './expected-fold.ts'
import { awaitReached, erasedAt, reachedIn, type VerifyTarget } from './verify-target.ts'

/** Whether the index should hold anything of a part, at the position that it has reached for the part's workspace. */
async function isDue(
  { collections, expectedParts, index }: VerifyTarget,
  part: Part,
  reached: Position,
): Promise<boolean> {
  const expected = await expectedParts.freeze(index, part)
  try {
    for (const name of collections) {
      for await (const { created, position } of expected.entries(name))
        if ((created ?? position) <= reached) return true
    }
    return false
  } finally {
    await expected.release()
  }
}

/** Computes the digest of the expected part in another worker, if there is one, while this one digests the indexed part. */
async function freezeExpected(
  { context, scratch, expectedParts, index }: VerifyTarget,
  part: Part,
): Promise<FrozenPart> {
  const frozen = await expectedParts.freeze(index, part)
  const { digests } = scratch
  if (digests === undefined || context.workers === 1) return frozen
  return { ...frozen, digests: async () => (await digests(index, part)).digests }
}

/** With the digests that were made ahead, if they were. */
function withAhead({ ahead, index }: VerifyTarget, part: Part, frozen: FrozenPart): FrozenPart {
  if (!frozen.exact) return frozen
  const digests = async () => (await ahead.take(index, part, frozen.position)) ?? (await frozen.digests())
  return { ...frozen, digests }
}

/** The fold may be far behind at first; what comes meanwhile is less each time. */
const roundsMax = 3

/** Folds what the part has now, while nothing holds it: the engine of a part that is held must keep all that is written to it meanwhile. */
async function catchUp({ indexed, expected, index }: VerifyTarget, part: Part, limit: () => Promise<Limit>) {
  const { workspaceId } = part
  for (let round = 0; round < roundsMax; round++) {
    const frozen = await indexed.freeze(index, part)
    await frozen.release()
    if (frozen.position <= expected.positionOf(workspaceId)) return
    await expected.foldTo(workspaceId, frozen.position, await limit())
  }
}

/**
 * Freezes a part and advances the expected fold to the part's position. A part that is behind the fold of its workspace is right only if
 * the index has reached that position without changing the part. Undefined for a part that need not exist yet, and for one of a workspace
 * that was erased from the log while the index has not reached the erasure: it may hold all of it, some of it or nothing.
 */
export async function freezeBoth(
  target: VerifyTarget,
  part: Part,
  beside: (limit: Limit) => Limit,
): Promise<Sides | undefined> {
  const { indexed, expected, index } = target
  const { workspaceId } = part
  await catchUp(target, part, async () => beside(await reachedIn(target)))
  for (;;) {
    const at = expected.positionOf(workspaceId)
    const limit = await reachedIn(target)
    const reached = limit(workspaceId)
    const frozen = await indexed.freeze(index, part)
    const erased = await erasedAt(target, workspaceId)
    if (erased > Math.max(at, frozen.position)) {
      await frozen.release()
      if (!frozen.exact || (await reachedIn(target))(workspaceId) < erased) return undefined
      await expected.foldTo(workspaceId, erased, beside(limit))
      continue
    }
    if (frozen.position < at && reached < at) {
      await frozen.release()
      // The fold is beyond the reported position of the index: another part of the workspace was beyond it too.
      if (frozen.position === beforeAll && !(await isDue(target, part, reached))) return undefined
      await awaitReached(target, workspaceId, at)
      continue
    }
    try {
      await expected.foldTo(workspaceId, frozen.position, beside(limit))
      const expectedPart = await freezeExpected(target, part)
      return { part, indexed: withAhead(target, part, frozen), expected: expectedPart, horizon: target.horizon }
    } catch (error) {
      await frozen.release()
      throw error
    }
  }
}
