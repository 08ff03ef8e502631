import { overlapMsUsual } from '#src/directory/rotate-key.ts'
import { keyKindNames } from '#src/directory/keys.ts'
import { parseDurationNs } from '#src/events/quantity.ts'
import { ok } from '#src/lib/result.ts'
import { isoTime, keyJson, unseenSecret } from './show.ts'
import { optional } from './options.ts'
import { unknownKey } from './refusals.ts'
import { UsageError, type Verb } from './verb.ts'

/** `0` or a duration; the usual one when nothing is said. */
function overlapMsOf(given: string | undefined): number {
  if (given === undefined) return overlapMsUsual
  const ns = given === '0' ? 0n : parseDurationNs(given)
  if (ns === undefined) throw new UsageError('--overlap is a time such as 24h, 90m or 0')
  return Number(ns / 1_000_000n)
}

export const keyRotate: Verb = {
  names: ['ID'],
  usage: '[--overlap 24h]',
  about: 'creates a successor of a key and shows it once; the old key keeps working for the overlap',
  options: { overlap: { type: 'string' } },
  writes: true,
  run: async (context) => {
    const [id = ''] = context.names
    const overlapMs = overlapMsOf(optional(context, 'overlap'))
    const directory = await context.directory()
    const old = directory.key(id)
    if (old === undefined) return unknownKey(id)
    const done = await directory.rotateKey({ workspaceId: old.workspaceId, keyId: id, overlapMs })
    if (!done.ok) return done
    const { key, secret, rotated } = done.value
    const until = isoTime(rotated.worksUntil)
    const text = `${secret}\nThis ${keyKindNames[key.kind]} (${key.id}) is shown this once; ${old.prefix}…${old.last4} works until ${until ?? ''}.`
    const unseen = unseenSecret(key)
    return ok({ json: { ...keyJson(key), secret, rotated: keyJson(rotated) }, text, unseen })
  },
}
