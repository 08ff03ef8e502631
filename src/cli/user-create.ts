import type { Refused } from '#src/directory/directory-writer.ts'
import { fail, ok } from '#src/lib/result.ts'
import { shellWord } from '#src/lib/shell-quote.ts'
import { firstRole, roleText, wantedRole } from './members.ts'
import { choosePassword } from './read-password.ts'
import { required } from './options.ts'
import { unknownWorkspace } from './refusals.ts'
import { unseenPassword } from './show.ts'
import type { Outcome, Verb } from './verb.ts'

function refused(created: Readonly<{ ok: false; error: Refused }>, workspace: string): Outcome {
  const { error } = created
  if (error.code !== 'exists') return created
  return fail({
    ...error,
    detail: `${error.detail} Add them with: throughline user add EMAIL --workspace ${shellWord(workspace)}`,
  })
}

export const userCreate: Verb = {
  names: ['EMAIL'],
  usage: '--workspace W [--role owner|member] [--password-stdin]',
  about:
    'creates an account in a workspace, whose first member is its owner; the password is the first line of standard input, or generated and shown once',
  options: { workspace: { type: 'string' }, role: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
  writes: true,
  run: async (context) => {
    const [email = ''] = context.names
    const workspaceName = required(context, 'workspace')
    const wanted = wantedRole(context)
    const { password, isGenerated } = await choosePassword(context)
    const directory = await context.directory()
    const workspace = directory.workspaceNamed(workspaceName)
    if (workspace === undefined) return unknownWorkspace(workspaceName)
    const role = wanted ?? firstRole(directory, workspace)
    const created = await directory.createUser({ email, password, workspaceId: workspace.id, role })
    if (!created.ok) return refused(created, workspace.name)
    const user = { id: created.value.id, email: created.value.email, workspace: workspace.id, role }
    const shown = isGenerated ? { password } : {}
    const unseen = isGenerated ? { unseen: unseenPassword(created.value) } : {}
    const once = isGenerated ? `\nPassword, shown this once: ${password}` : ''
    const text = `${user.email} is ${roleText(role)} of ${workspace.name}.${once}`
    return ok({ json: { ...user, ...shown }, text, ...unseen })
  },
}
