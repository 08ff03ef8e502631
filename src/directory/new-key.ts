import { createHmac } from 'node:crypto'
import type { Limits } from '#src/config.ts'
import type { DirectoryEvent } from '#src/events/directory.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Key, KeyKind, KeyScope } from './directory.ts'
import type { HeldView } from './directory-view.ts'
import { refuse, type DirectoryWriter } from './directory-writer.ts'
import { createKeySecret, defaultScopes, hashKey, keyLast4, keyPrefixes, type RandomBytes } from './keys.ts'
import { pepperMark } from './pepper.ts'

export type KeyLimits = Pick<Limits, 'keysPerWorkspaceMax' | 'originsPerKeyMax' | 'keyOverlapMsMax'>

export type WantedKey = Readonly<{
  workspaceId: WorkspaceId
  kind: KeyKind
  name?: string
  /** A subset of what the kind allows; the smallest by default. */
  scopes?: readonly KeyScope[]
  /** Publishable keys only: origins that browsers may send from; none means any. */
  origins?: readonly string[]
  by?: string | null
  /** For a request that may be sent again, such as a form: the same text with the same wish makes one key. */
  once?: string | undefined
}>
/** The secret exists only here: it is shown once and cannot be recovered. */
export type CreatedKey = Readonly<{ key: Key; secret: string }>
/** The id of a key that can exist only once. Nobody without the pepper can find a text that leads to an existing id. */
const idOfOne = (pepper: string, of: unknown): string =>
  `k${createHmac('sha256', pepper).update(JSON.stringify(of)).digest('hex').slice(0, 16)}`

/** The id of the key that takes the place of this one. */
export const successorId = (pepper: string, keyId: string): string => idOfOne(pepper, ['successor', keyId])

/** A new key as an event, and its secret, which no event contains. */
export function keyCreated(
  { newId, random }: Readonly<{ newId: DirectoryWriter['newId']; random: RandomBytes }>,
  pepper: string,
  { workspaceId, kind, name = '', scopes = defaultScopes(kind), origins = [], by = null, once }: WantedKey,
  id?: string,
): Readonly<{ event: Extract<DirectoryEvent, { type: 'directory.key.created' }>; secret: string }> {
  const secret = createKeySecret(kind, random)
  const shown = { kind, scopes: [...scopes], name, prefix: keyPrefixes[kind], last4: keyLast4(secret) }
  const hashed = { hash: hashKey(pepper, secret), pepper: pepperMark(pepper) }
  const idOnce = once === undefined ? undefined : idOfOne(pepper, [once, workspaceId, by, kind, name, scopes, origins])
  const own = { workspaceId, keyId: id ?? idOnce ?? newId('k'), origins: [...origins], ...hashed, by }
  return { event: { type: 'directory.key.created', ...own, ...shown }, secret }
}

/** The refusal of one more key; undefined while there is room. */
export function tooManyKeys(view: HeldView, workspaceId: WorkspaceId, keysMax: number) {
  const live = view.keys(workspaceId).filter(({ revokedAt }) => revokedAt === null).length
  if (live < keysMax) return undefined
  return refuse('invalid', 'workspace', `A workspace may have at most ${keysMax} keys; revoke some.`)
}
