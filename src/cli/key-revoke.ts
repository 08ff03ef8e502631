import { ok } from '#src/lib/result.ts'
import { keyJson } from './show.ts'
import { unknownKey } from './refusals.ts'
import type { Verb } from './verb.ts'

export const keyRevoke: Verb = {
  names: ['ID'],
  about: 'revokes a key for good, at once',
  writes: true,
  run: async ({ names: [id = ''], directory: open }) => {
    const directory = await open()
    const key = directory.key(id)
    if (key === undefined) return unknownKey(id)
    const revoked = await directory.revokeKey({ workspaceId: key.workspaceId, keyId: id })
    if (!revoked.ok) return revoked
    return ok({ json: keyJson(revoked.value), text: `${key.prefix}…${key.last4} is revoked.` })
  },
}
