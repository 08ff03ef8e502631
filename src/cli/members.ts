import type { Directory } from '#src/directory/create-directory.ts'
import type { MemberRole, User, Workspace } from '#src/directory/directory.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import { ok, type Result } from '#src/lib/result.ts'
import { optional, required } from './options.ts'
import { unknownUser, unknownWorkspace } from './refusals.ts'
import { UsageError, type VerbContext } from './verb.ts'

export const roleText = (role: MemberRole): string => (role === 'owner' ? 'an owner' : 'a member')

/** The role that was asked for; undefined when none was. */
export function wantedRole(context: VerbContext): MemberRole | undefined {
  const role = optional(context, 'role')
  if (role === undefined || role === 'owner' || role === 'member') return role
  throw new UsageError(`--role ${role} is neither owner nor member`)
}

/** The first member is the owner: in a workspace of plain members nobody could see the audit. */
export const firstRole = (directory: Directory, { id }: Workspace): MemberRole =>
  directory.members(id).length === 0 ? 'owner' : 'member'

type Named = Readonly<{ directory: Directory; workspace: Workspace; user: User }>

/** The person and the workspace that a verb is about. */
export async function namedMember(context: VerbContext): Promise<Result<Named, Refused>> {
  const [email = ''] = context.names
  const workspaceName = required(context, 'workspace')
  const directory = await context.directory()
  const workspace = directory.workspaceNamed(workspaceName)
  if (workspace === undefined) return unknownWorkspace(workspaceName)
  const user = directory.userByEmail(email)
  return user === undefined ? unknownUser(email) : ok({ directory, workspace, user })
}
