import { ok } from '#src/lib/result.ts'
import { namedMember } from './members.ts'
import type { Verb } from './verb.ts'

export const userRemove: Verb = {
  names: ['EMAIL'],
  usage: '--workspace W',
  about: 'removes somebody from a workspace and ends their sessions in it; the last member and the last owner stay',
  options: { workspace: { type: 'string' } },
  writes: true,
  run: async (context) => {
    const named = await namedMember(context)
    if (!named.ok) return named
    const { directory, workspace, user } = named.value
    const removed = await directory.removeMember({ workspaceId: workspace.id, userId: user.id })
    if (!removed.ok) return removed
    const workspaces = directory.user(user.id)?.workspaceIds ?? []
    const json = { id: user.id, email: user.email, workspace: workspace.id, workspaces }
    return ok({ json, text: `${user.email} is no member of ${workspace.name}.` })
  },
}
