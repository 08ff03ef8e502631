import { membersSubject, type DirectoryEvent } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { MemberRole, User } from './directory.ts'
import { normalEmail } from './normal-form.ts'
import { noSuchWorkspace, refuse, type DirectoryWriter, type Refused } from './directory-writer.ts'
import { passwordProblem, type Passwords } from './passwords.ts'

/** RFC 5321 §4.5.3.1.3. */
const emailCharactersMax = 254

type Membership = Readonly<{ workspaceId: WorkspaceId; role?: MemberRole; by?: string | null }>

export interface UserCommands {
  /**
   * A new person, as a member of one workspace. Addresses are unique, ignoring case. If the workspace is erased at the same moment, the account may
   * exist without it; the refusal then says so.
   */
  createUser(wanted: Membership & Readonly<{ email: string; password: string }>): Promise<Result<User, Refused>>
  /** Idempotent. An existing member gets the role, if one is given. The last owner stays an owner. */
  addMember(wanted: Membership & Readonly<{ userId: string }>): Promise<Result<User, Refused>>
  /** Refused for the last member and the last owner. Ends the person's sessions in the workspace. */
  removeMember(wanted: Membership & Readonly<{ userId: string }>): Promise<Result<void, Refused>>
  /**
   * Ends all sessions of the person. `passwordPosition`: of the password that was given for it (`authenticate`); refused if that has been changed
   * since, also at the same moment. Resolves with the position of the new one.
   */
  changePassword(
    wanted: Readonly<{ userId: string; password: string; passwordPosition?: Position }>,
  ): Promise<Result<Position, Refused>>
  /** The person, if this is their password, and where it was set. Takes the same work if nobody has the address. */
  authenticate(email: string, password: string): Promise<Authenticated | undefined>
}

/** A person, and the position of the password that was checked. */
export type Authenticated = User & Readonly<{ passwordPosition: Position }>

function emailProblem(email: string): string | undefined {
  if (email.length > emailCharactersMax) return `An e-mail address has at most ${emailCharactersMax} characters.`
  if (!/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email)) return `${JSON.stringify(email)} is not an e-mail address.`
  return undefined
}

/** An append can depend on one subject only, and for an account that is its address, not the workspace. */
const outlived = (email: string) =>
  refuse(
    'unknown',
    'workspace',
    `The workspace was erased at this moment. There is an account ${email} now, in no workspace: give it another password, and add it to one.`,
  )

export function userCreated(
  { newId }: Pick<DirectoryWriter, 'newId'>,
  email: string,
  passwordHash: string,
): Extract<DirectoryEvent, { type: 'directory.user.created' }> {
  return { type: 'directory.user.created', userId: newId('u'), email: normalEmail(email), passwordHash }
}

function createMembershipCommands({
  view,
  writeDecided,
}: DirectoryWriter): Pick<UserCommands, 'addMember' | 'removeMember'> {
  /** Decided by the command, not when events are folded: what older logs and programs allowed stays valid. */
  const isLastOwner = (workspaceId: WorkspaceId, userId: string): boolean => {
    const owners = view.members(workspaceId).filter(({ role }) => role === 'owner')
    return owners.length === 1 && owners[0]?.userId === userId
  }
  const lastOwner = refuse(
    'invalid',
    'user',
    'This is the last owner of the workspace: make another member an owner first.',
  )

  return {
    addMember: async ({ workspaceId, userId, role, by = null }) => {
      const user = view.user(userId)
      if (user === undefined) return refuse('unknown', 'user', 'There is no such user.')
      if (view.workspace(workspaceId) === undefined) return noSuchWorkspace
      const written = await writeDecided(membersSubject(workspaceId), () => {
        const before = view.members(workspaceId).find((member) => member.userId === userId)?.role
        const after = role ?? before ?? 'member'
        if (after !== 'owner' && isLastOwner(workspaceId, userId)) return lastOwner
        return ok(before === after ? [] : [{ type: 'directory.member.added', workspaceId, userId, role: after, by }])
      })
      if (!written.ok) return written
      return view.workspace(workspaceId) === undefined ? noSuchWorkspace : ok(view.user(userId) ?? user)
    },
    removeMember: async ({ workspaceId, userId, by = null }) => {
      const written = await writeDecided(membersSubject(workspaceId), () => {
        if (!view.isMember(workspaceId, userId)) return ok([])
        if (view.members(workspaceId).length > 1 && isLastOwner(workspaceId, userId)) return lastOwner
        return ok([{ type: 'directory.member.removed', workspaceId, userId, by }])
      })
      if (!written.ok || !view.isMember(workspaceId, userId)) return written
      return refuse('invalid', 'user', 'The last member of a workspace cannot be removed.')
    },
  }
}

export function createUserCommands(writer: DirectoryWriter, passwords: Passwords): UserCommands {
  const { view, write, writeFirst } = writer
  return {
    ...createMembershipCommands(writer),
    createUser: async (wanted) => {
      const { workspaceId, role = 'member', by = null, password } = wanted
      const email = normalEmail(wanted.email)
      const problem = emailProblem(email)
      if (problem !== undefined) return refuse('invalid', 'email', problem)
      const weakness = passwordProblem(password)
      if (weakness !== undefined) return refuse('invalid', 'password', weakness)
      const taken = refuse('exists', 'email', `There is a user ${email} already.`)
      const check = (): Result<void, Refused> => {
        if (view.workspace(workspaceId) === undefined) return noSuchWorkspace
        return view.userByEmail(email) === undefined ? ok(undefined) : taken
      }
      const before = check()
      if (!before.ok) return before
      const event = userCreated(writer, email, await passwords.hash(password))
      // To hash takes time: others may have written meanwhile.
      const now = check()
      if (!now.ok) return now
      const membership = { type: 'directory.member.added', workspaceId, userId: event.userId, role, by } as const
      const written = await writeFirst([event, membership])
      if (!written.ok) return taken
      if (view.workspace(workspaceId) === undefined) return outlived(email)
      return ok(present(view.user(event.userId), 'a created user is in the view'))
    },
    changePassword: async ({ userId, password, passwordPosition }) => {
      const weakness = passwordProblem(password)
      if (weakness !== undefined) return refuse('invalid', 'password', weakness)
      if (view.user(userId) === undefined) return refuse('unknown', 'user', 'There is no such user.')
      const passwordHash = await passwords.hash(password)
      const given = passwordPosition === undefined ? {} : { passwordPosition }
      const change = { userId, passwordHash, keptSession: null, ...given }
      const position = await write([{ type: 'directory.user.passwordChanged', ...change }])
      if (view.passwordPosition(userId) === position) return ok(position)
      return refuse('invalid', 'current', 'The password has been changed elsewhere meanwhile.')
    },
    authenticate: async (email, password) => {
      const user = view.userByEmail(email)
      const stored = user && view.password(user.id)
      const isRight = await passwords.verify(password, stored?.hash)
      if (user === undefined || stored === undefined || !isRight) return undefined
      // The password changed during the check: the old one is no longer valid.
      const { position } = stored
      if (view.passwordPosition(user.id) !== position) return undefined
      return { ...(view.user(user.id) ?? user), passwordPosition: position }
    },
  }
}
