import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { dayMs } from '#src/lib/day.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { Key } from './directory.ts'
import { noSuchWorkspace, refuse, type DirectoryWriter, type Refused } from './directory-writer.ts'
import { keyCreated, successorId, tooManyKeys, type CreatedKey, type KeyLimits } from './new-key.ts'

/** How long an old key keeps working by default. */
export const overlapMsUsual = dayMs

/** The new key, and the old one with the time until which it works. */
export type RotatedKey = CreatedKey & Readonly<{ rotated: Key }>
export type WantedRotation = Readonly<{
  workspaceId: WorkspaceId
  keyId: string
  overlapMs: number
  by?: string | null
}>

/** `successor`: of the rotated key. Whoever sends the form again, as by a reload, learns which key that has made. */
function rotatedAlready(state: string, successor: Key | undefined): Result<never, Refused> {
  const which = successor === undefined ? '' : `, ${successor.prefix}…${successor.last4}`
  return refuse('invalid', 'key', `This key ${state}; rotate the one that took its place${which}.`)
}

function checkRotation(
  key: Key,
  successor: Key | undefined,
  overlapMs: number,
  overlapMsMax: number,
): Result<void, Refused> {
  if (key.revokedAt !== null && successor !== undefined) return rotatedAlready('is revoked', successor)
  if (key.revokedAt !== null) return refuse('invalid', 'key', 'This key is revoked; create a new one.')
  if (key.worksUntil !== null) return rotatedAlready('has been rotated already', successor)
  if (Number.isSafeInteger(overlapMs) && overlapMs >= 0 && overlapMs <= overlapMsMax) return ok(undefined)
  return refuse('invalid', 'overlap', `An old key may work on for at most ${overlapMsMax / dayMs} days.`)
}

/**
 * Creates a key like an old one, in one step with the old one's end. The old one keeps working for `overlapMs` (at most `keyOverlapMsMax`),
 * so that programs can switch one after another. Refused for a key that is revoked, or already rotated, be that at the same moment.
 */
export async function rotateKey(
  writer: DirectoryWriter,
  { pepper, limits }: Readonly<{ pepper: string; limits: KeyLimits }>,
  key: Key,
  { overlapMs, by = null }: WantedRotation,
): Promise<Result<RotatedKey, Refused>> {
  const { view, clock, writeFirst } = writer
  const id = successorId(pepper, key.id)
  const checked = checkRotation(key, view.key(id), overlapMs, limits.keyOverlapMsMax)
  if (!checked.ok) return checked
  const tooMany = tooManyKeys(view, key.workspaceId, limits.keysPerWorkspaceMax)
  if (tooMany !== undefined) return tooMany
  const { workspaceId, id: keyId, kind, name, scopes, origins } = key
  const { event, secret } = keyCreated(writer, pepper, { workspaceId, kind, name, scopes, origins, by }, id)
  const worksUntil = Math.trunc(clock()) + overlapMs
  const rotation = { workspaceId, keyId, replacedBy: event.keyId, worksUntil, by }
  const rotated = { type: 'directory.key.rotated', ...rotation } as const
  const written = await writeFirst([event, rotated])
  if (!written.ok) return rotatedAlready('has been rotated already', view.key(id))
  if (view.workspace(workspaceId) === undefined) return noSuchWorkspace
  const created = present(view.key(event.keyId), 'a created key is in the view')
  return ok({ key: created, secret, rotated: view.key(keyId) ?? key })
}
