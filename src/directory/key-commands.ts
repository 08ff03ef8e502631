import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import type { Key, KeyKind } from './directory.ts'
import { normalName } from './normal-form.ts'
import { noSuchWorkspace, refuse, type DirectoryWriter, type Refused } from './directory-writer.ts'
import { defaultScopes, keyScopes } from './keys.ts'
import { keyCreated, tooManyKeys, type CreatedKey, type KeyLimits, type WantedKey } from './new-key.ts'
import { rotateKey, type RotatedKey, type WantedRotation } from './rotate-key.ts'
import { nameProblem } from './workspace-commands.ts'

type OneKey = Readonly<{ workspaceId: WorkspaceId; keyId: string; by?: string | null }>

export interface KeyCommands {
  /** `exists`: the same wish has made a key before, whose secret was shown then (`WantedKey.once`). */
  createKey(wanted: WantedKey): Promise<Result<CreatedKey, Refused>>
  /** Idempotent. A key of another workspace is unknown. */
  revokeKey(which: OneKey): Promise<Result<Key, Refused>>
  /** Replaces a key by a new one; the old one keeps working for a while (rotate-key.ts). */
  rotateKey(wanted: WantedRotation): Promise<Result<RotatedKey, Refused>>
  changeOrigins(which: OneKey & Readonly<{ origins: readonly string[] }>): Promise<Result<Key, Refused>>
  /** A secret was found where everybody can read it. Written once per key. */
  flagExposed(key: Key, where: string): Promise<void>
}

/** `https://shop.example`, `http://localhost:3000`: scheme, host and port as a browser sends them (RFC 6454 §6.2). */
function parseOrigin(text: string): string | undefined {
  // A URL may have a star in its host. No browser sends one, so a key bound to it would be refused everywhere.
  if (!URL.canParse(text) || text.includes('*')) return undefined
  const url = new URL(text)
  const isOrigin = /^https?:$/.test(url.protocol) && (text === url.origin || text === `${url.origin}/`)
  return isOrigin ? url.origin : undefined
}

function checkOrigins(
  kind: KeyKind,
  origins: readonly string[],
  originsMax: number,
): Result<readonly string[], Refused> {
  if (origins.length > 0 && kind !== 'publishable') {
    return refuse('invalid', 'origins', 'Only publishable keys are bound to origins.')
  }
  if (origins.length > originsMax) return refuse('invalid', 'origins', `A key may have at most ${originsMax} origins.`)
  const parsed = origins.map((text) => parseOrigin(text.trim().toLowerCase()))
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) {
    const detail = `${JSON.stringify(origins[wrong])} is not an origin; an origin looks like https://shop.example, and stands for itself alone.`
    return refuse('invalid', 'origins', detail)
  }
  return ok([...new Set(parsed.filter((origin) => origin !== undefined))])
}

function checkKey(
  wanted: WantedKey,
  { originsPerKeyMax }: KeyLimits,
): Result<Required<Pick<WantedKey, 'name' | 'scopes' | 'origins'>>, Refused> {
  const name = normalName(wanted.name ?? '')
  const problem = name === '' ? undefined : nameProblem(name, 'name of a key')
  if (problem !== undefined) return refuse('invalid', 'name', problem)
  const scopes = wanted.scopes ?? defaultScopes(wanted.kind)
  const allowed = keyScopes[wanted.kind]
  if (scopes.length === 0 || scopes.some((scope) => !allowed.includes(scope))) {
    return refuse('invalid', 'scopes', `A key of kind ${wanted.kind} may have: ${allowed.join(', ')}.`)
  }
  const origins = checkOrigins(wanted.kind, wanted.origins ?? [], originsPerKeyMax)
  return origins.ok ? ok({ name, scopes: [...new Set(scopes)], origins: origins.value }) : origins
}

/** The refusal if the key was made before: nobody can be told its secret again. */
function madeBefore(view: DirectoryWriter['view'], keyId: string): Refused {
  const key = view.key(keyId)
  const which = key === undefined ? 'a key' : `the key ${key.prefix}…${key.last4}`
  const detail = `This was sent before, and has made ${which} already. Its secret was shown that one time: if nobody has copied it, revoke that key and create another one.`
  return { code: 'exists', field: 'key', detail, keyId }
}

export function createKeyCommands(writer: DirectoryWriter, pepper: string, limits: KeyLimits): KeyCommands {
  const { view, write, writeFirst } = writer
  const unknown = refuse('unknown', 'key', 'There is no such key.')
  const flagging = new Set<string>()
  const ownKey = ({ workspaceId, keyId }: OneKey): Key | undefined => {
    const key = view.key(keyId)
    return key?.workspaceId === workspaceId ? key : undefined
  }
  return {
    createKey: async (wanted) => {
      const { workspaceId } = wanted
      if (view.workspace(workspaceId) === undefined) return noSuchWorkspace
      const checked = checkKey(wanted, limits)
      if (!checked.ok) return checked
      const { event, secret } = keyCreated(writer, pepper, { ...wanted, ...checked.value })
      if (view.key(event.keyId) !== undefined) return fail(madeBefore(view, event.keyId))
      const tooMany = tooManyKeys(view, workspaceId, limits.keysPerWorkspaceMax)
      if (tooMany !== undefined) return tooMany
      const written = await writeFirst([event])
      if (!written.ok) return fail(madeBefore(view, event.keyId))
      if (view.workspace(workspaceId) === undefined) return noSuchWorkspace
      return ok({ key: present(view.key(event.keyId), 'a created key is in the view'), secret })
    },
    revokeKey: async (which) => {
      const key = ownKey(which)
      if (key === undefined) return unknown
      const { workspaceId, keyId, by = null } = which
      if (key.revokedAt === null) await write([{ type: 'directory.key.revoked', workspaceId, keyId, by }])
      return ok(view.key(keyId) ?? key)
    },
    rotateKey: async (wanted) => {
      const key = ownKey(wanted)
      return key === undefined ? unknown : rotateKey(writer, { pepper, limits }, key, wanted)
    },
    changeOrigins: async (which) => {
      const key = ownKey(which)
      if (key === undefined) return unknown
      const origins = checkOrigins(key.kind, which.origins, limits.originsPerKeyMax)
      if (!origins.ok) return origins
      const { workspaceId, keyId, by = null } = which
      const change = { workspaceId, keyId, by, origins: [...origins.value] }
      await write([{ type: 'directory.key.originsChanged', ...change }])
      return ok(view.key(keyId) ?? key)
    },
    flagExposed: async ({ id, workspaceId }, where) => {
      if (view.key(id)?.exposed !== false || flagging.has(id)) return
      flagging.add(id)
      try {
        await write([{ type: 'directory.key.exposed', workspaceId, keyId: id, where: where.slice(0, 200) }])
      } finally {
        flagging.delete(id)
      }
    },
  }
}
