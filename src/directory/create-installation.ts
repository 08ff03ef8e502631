import { present } from '#src/lib/assert.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { KeyKind, Workspace } from './directory.ts'
import { refuse, type DirectoryWriter, type Refused } from './directory-writer.ts'
import { keyCreated } from './new-key.ts'
import { keyKinds } from './keys.ts'
import type { Passwords } from './passwords.ts'
import { userCreated } from './user-commands.ts'
import { workspaceCreated } from './workspace-commands.ts'

export type WantedInstallation = Readonly<{ name: string; plan: string; email: string; password: string }>
/** Called with the keys' secrets before anything is written, so that they are not lost if the process stops right after. */
export type KeepSecrets = (secrets: Readonly<Record<KeyKind, string>>) => void
export type Installation = Readonly<{ workspace: Workspace; secrets: Readonly<Record<KeyKind, string>> }>

/**
 * Appends a new installation's workspace, its owner and one key of each kind in one step. A crash leaves all or nothing, and of two
 * processes at once one is refused.
 */
export async function createInstallation(
  writer: DirectoryWriter,
  { pepper, passwords }: Readonly<{ pepper: string; passwords: Passwords }>,
  { name, plan, email, password }: WantedInstallation,
  keep: KeepSecrets,
): Promise<Result<Installation, Refused>> {
  const taken = refuse('exists', 'workspace', 'There is a workspace already.')
  const { view } = writer
  if (!view.isEmpty()) return taken
  const workspace = workspaceCreated(writer, name, plan)
  const { workspaceId } = workspace
  const user = userCreated(writer, email, await passwords.hash(password))
  const owner = { type: 'directory.member.added', workspaceId, userId: user.userId, role: 'owner', by: null } as const
  const keyOf = (kind: KeyKind) => keyCreated(writer, pepper, { workspaceId, kind, name: 'first run' })
  const keys = { publishable: keyOf('publishable'), logs: keyOf('logs'), tracing: keyOf('tracing'), api: keyOf('api') }
  const events = [workspace, user, owner, ...keyKinds.map((kind) => keys[kind].event)]
  const { publishable, logs, tracing, api } = keys
  const secrets = { publishable: publishable.secret, logs: logs.secret, tracing: tracing.secret, api: api.secret }
  keep(secrets)
  const written = await writer.writeFirst(events)
  if (!written.ok) return taken
  return ok({ workspace: present(view.workspace(workspaceId), 'a created workspace is in the view'), secrets })
}
