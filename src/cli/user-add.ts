import type { Refused } from '#src/directory/directory-writer.ts'
import { fail, ok } from '#src/lib/result.ts'
import { required, unknownWorkspace, type Verb } from './verb.ts'

export const userAdd: Verb = {
  name: 'user add',
  names: ['EMAIL'],
  usage: '--workspace W',
  about: 'makes somebody who has an account a member of a further workspace',
  options: { workspace: { type: 'string' } },
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
    const added = await directory.addMember({ workspaceId: workspace.id, userId: user.id })
    if (!added.ok) return added
    const json = { id: user.id, email: user.email, workspace: workspace.id, workspaces: added.value.workspaceIds }
    return ok({ json, text: `${user.email} is a member of ${workspace.name}.` })
  },
}
