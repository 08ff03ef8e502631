import type { Member, MemberRole } from '#src/directory/directory.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import { fail, ok } from '#src/lib/result.ts'
import { optional, required, unknownWorkspace, UsageError, type Verb, type VerbContext } from './verb.ts'

const roleText = (role: MemberRole): string => (role === 'owner' ? 'an owner' : 'a member')

/** Who comes first is its owner: a workspace of members alone would have nobody to see its audit. */
function roleFor(context: VerbContext, members: readonly Member[]): MemberRole {
  const wanted = optional(context, 'role') ?? (members.length === 0 ? 'owner' : 'member')
  if (wanted === 'owner' || wanted === 'member') return wanted
  throw new UsageError(`--role ${wanted} is neither owner nor member`)
}

export const userAdd: Verb = {
  name: 'user add',
  names: ['EMAIL'],
  usage: '--workspace W [--role owner|member]',
  about: 'makes somebody who has an account a member of a further workspace; the first is its owner',
  options: { workspace: { type: 'string' }, role: { type: 'string' } },
  run: async (context) => {
    const [email = ''] = context.names
    const workspaceName = required(context, 'workspace')
    const directory = await context.directory()
    const workspace = directory.workspaceNamed(workspaceName)
    if (workspace === undefined) return unknownWorkspace(workspaceName)
    const user = directory.userByEmail(email)
    if (user === undefined) {
      return fail<Refused>({ code: 'unknown', field: 'email', detail: `There is no user ${JSON.stringify(email)}.` })
    }
    const members = directory.members(workspace.id)
    const before = members.find(({ userId }) => userId === user.id)
    const role = before?.role ?? roleFor(context, members)
    const added = await directory.addMember({ workspaceId: workspace.id, userId: user.id, role })
    if (!added.ok) return added
    const json = { id: user.id, email: user.email, workspace: workspace.id, role, workspaces: added.value.workspaceIds }
    return ok({ json, text: `${user.email} is ${roleText(role)} of ${workspace.name}.` })
  },
}
