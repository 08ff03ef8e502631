import type { Key } from '#src/directory/directory.ts'
import { ok } from '#src/lib/result.ts'
import { isoTime, keyJson, table } from './show.ts'
import { required } from './options.ts'
import { unknownWorkspace } from './refusals.ts'
import type { Verb } from './verb.ts'

function stateOf({ revokedAt, worksUntil, exposed }: Key): string {
  const live = worksUntil === null ? 'live' : `works until ${isoTime(worksUntil) ?? ''}`
  const state = revokedAt === null ? live : `revoked ${isoTime(revokedAt) ?? ''}`
  return exposed ? `${state}, seen in a browser` : state
}

export const keyList: Verb = {
  usage: '--workspace W',
  about: 'lists the keys of a workspace, without their secrets',
  options: { workspace: { type: 'string' } },
  run: async (context) => {
    const workspaceName = required(context, 'workspace')
    const directory = await context.directory()
    const workspace = directory.workspaceNamed(workspaceName)
    if (workspace === undefined) return unknownWorkspace(workspaceName)
    const keys = directory.keys(workspace.id)
    const rows = keys.map((key) => [key.id, key.kind, `${key.prefix}…${key.last4}`, stateOf(key), key.name])
    const text = table([['ID', 'KIND', 'KEY', 'STATE', 'NAME'], ...rows])
    return ok({ json: { keys: keys.map(keyJson) }, text })
  },
}
