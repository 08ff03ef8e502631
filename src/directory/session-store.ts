import type { Position } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Directory } from './create-directory.ts'
import type { Session, SessionEnd, SignedIn } from './directory.ts'

/** How long a process that is behind the directory position in a cookie waits before it checks why. */
const behindTimeoutMs = 1_000

/** The directory's sessions, for the session middleware (http/session.ts). */
export function createSessionStore(directory: Directory) {
  /** A slow process must not sign anybody out. But if the view is at the log's head, the position belongs to another log. */
  async function untilThere(position: Position): Promise<void> {
    if (await directory.followed(position, behindTimeoutMs)) return
    if (await directory.caughtUp()) return
    throw new TransientError({ operation: 'find', subject: 'session', hint: 'this process is slow to follow' })
  }
  return {
    /** The session, if it has neither ended nor expired; records its use. Rejects while that cannot be determined. */
    get: async (id: string, position: Position): Promise<Session | undefined> => {
      // A position cannot be forged (the cookie is signed), and one of a recreated log only costs the wait.
      if (position > directory.position()) await untilThere(position)
      const session = directory.session(id)
      if (session === undefined) return undefined
      // Not awaited. A failure must not turn anybody away: the next request records it again.
      directory.continueSession(id).catch(() => undefined)
      return session
    },
    start: (id: string, { userId, workspaceId, startedAt, passwordPosition, address = '' }: SignedIn) =>
      directory.startSession({ id, userId, workspaceId, address, passwordPosition, since: startedAt }),
    end: (id: string, reason: SessionEnd): Promise<void> => directory.endSession(id, reason),
  }
}
