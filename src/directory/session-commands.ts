import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { SessionEnd } from './directory.ts'
import { sessionHashOf } from './directory-view.ts'
import type { SessionLimits } from './directory-state.ts'
import type { DirectoryWriter } from './directory-writer.ts'

/** How often per idle time the use of a session is recorded, so that it ends neither early nor on a restart. */
const continuationsPerIdleTime = 8
/** Failed sign-ins recorded one by one, per hour and process: of one account, and of all. */
const failuresWrittenPerHour = { account: 5, all: 100 }
const exportQueryCharactersMax = 8_192

type WantedSession = Readonly<{
  id: string
  userId: string
  workspaceId: WorkspaceId
  address: string
  passwordPosition?: Position
  since?: number
}>

export interface SessionCommands {
  /**
   * `id` is what the cookie will hold; only its hash is kept. The address is remembered as one of the person's. `passwordPosition` and
   * `since` (ms): the password that was checked, and when; by default the current one, now. Creates no session if the password has changed
   * since.
   */
  startSession(wanted: WantedSession): Promise<Position>
  /** Ends it in every process. Idempotent. */
  endSession(id: string, reason: SessionEnd): Promise<void>
  /** Records that a session is in use; writes only now and then. */
  continueSession(id: string): Promise<void>
  /** The audit entry of an export; it is durable when this resolves. */
  recordExport(
    exported: Readonly<{ workspaceId: WorkspaceId; userId: string; query: string; format: string }>,
  ): Promise<void>
  /** The audit entry of a refused sign-in. Limited, so that a flood of them does not grow the log. */
  recordFailedSignIn(failed: Readonly<{ userId: string | null; address: string }>): Promise<void>
}

/**
 * The directory's log is never cut, and anybody can cause refusals. So there are a few entries an hour for each account, a limit for all
 * together, and one entry for all unknown accounts. Refusals beyond the limit, or that could not be written, are counted in the first entry
 * of a later hour.
 */
function createFailureLedger({ clock, write }: DirectoryWriter): SessionCommands['recordFailedSignIn'] {
  /** One entry for each person, and one for all unknown accounts together, so it stays bounded. */
  const kept = new Map<string | null, { hour: number; written: number; missed: number }>()
  const all = { hour: 0, written: 0 }
  return async ({ userId, address }) => {
    const hour = Math.floor(clock() / 3_600_000)
    const before = kept.get(userId)
    const missed = before === undefined || before.hour === hour ? 0 : before.missed
    const held = before?.hour === hour ? before : { hour, written: 0, missed: 0 }
    kept.set(userId, held)
    if (all.hour !== hour) [all.hour, all.written] = [hour, 0]
    const most = userId === null ? 1 : failuresWrittenPerHour.account
    if (held.written >= most || all.written >= failuresWrittenPerHour.all) {
      held.missed += 1 + missed
      return
    }
    held.written++
    all.written++
    const type = 'directory.signIn.failed'
    const events = [{ type, userId, address: address.slice(0, 64), count: 1 } as const]
    const flood = { type, userId, address: 'various', count: missed } as const
    try {
      await write(missed === 0 ? events : [...events, flood])
    } catch (error) {
      // The entry may have been written after all: count it twice rather than not at all. Its place in this hour stays used.
      held.missed += 1 + missed
      throw error
    }
  }
}

export function createSessionCommands(writer: DirectoryWriter, limits: SessionLimits): SessionCommands {
  const { view, clock, write } = writer
  const continuing = new Set<string>()
  return {
    startSession: ({ id, userId, workspaceId, address, passwordPosition = view.passwordPosition(userId), since }) => {
      const session = sessionHashOf(id)
      const carried = since === undefined ? {} : { since }
      const started = { workspaceId, session, userId, address: address.slice(0, 64), passwordPosition, ...carried }
      return write([{ type: 'directory.session.started', ...started }])
    },
    endSession: async (id, reason) => {
      const session = view.session(id)
      if (session === undefined) return
      const { userId } = session
      await write([{ type: 'directory.session.ended', session: sessionHashOf(id), userId, reason }])
    },
    continueSession: async (id) => {
      const seenAt = view.sessionSeenAt(id)
      if (seenAt === undefined || continuing.has(id)) return
      if (clock() - seenAt < limits.sessionIdleMs / continuationsPerIdleTime) return
      continuing.add(id)
      try {
        await write([{ type: 'directory.session.continued', session: sessionHashOf(id) }])
      } finally {
        continuing.delete(id)
      }
    },
    recordExport: async ({ workspaceId, userId, query, format }) => {
      const shortened = query.slice(0, exportQueryCharactersMax)
      await write([{ type: 'directory.logs.exported', workspaceId, userId, query: shortened, format }])
    },
    recordFailedSignIn: createFailureLedger(writer),
  }
}
