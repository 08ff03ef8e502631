import { ok } from '#src/lib/result.ts'
import { firstRole, namedMember, roleText, wantedRole } from './members.ts'
import type { Verb } from './verb.ts'

export const userAdd: Verb = {
  names: ['EMAIL'],
  usage: '--workspace W [--role owner|member]',
  about:
    'adds somebody who has an account to another workspace, whose first member is its owner; or changes the role of a member',
  options: { workspace: { type: 'string' }, role: { type: 'string' } },
  writes: true,
  run: async (context) => {
    const wanted = wantedRole(context)
    const named = await namedMember(context)
    if (!named.ok) return named
    const { directory, workspace, user } = named.value
    const before = directory.members(workspace.id).find(({ userId }) => userId === user.id)
    const role = wanted ?? before?.role ?? firstRole(directory, workspace)
    const added = await directory.addMember({ workspaceId: workspace.id, userId: user.id, role })
    if (!added.ok) return added
    const json = { id: user.id, email: user.email, workspace: workspace.id, role, workspaces: added.value.workspaceIds }
    return ok({ json, text: `${user.email} is ${roleText(role)} of ${workspace.name}.` })
  },
}
