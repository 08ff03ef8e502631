import type { Position } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Directory } from './create-directory.ts'
import type { Session, SignedIn } from './directory.ts'

/** A process that is behind the directory position in a cookie waits this long before it looks why. */
const behindTimeoutMs = 1_000

/** Sessions as the directory keeps them, for the session middleware (http/session.ts). */
export function createSessionStore(directory: Directory) {
  /** Nobody is signed out because a process is slow. One that is where the log ends knows of no such position: it is another log's. */
  async function untilThere(position: Position): Promise<void> {
    if (await directory.followed(position, behindTimeoutMs)) return
    if (await directory.caughtUp()) return
    throw new TransientError({ operation: 'find', subject: 'session', hint: 'this process is slow to follow' })
  }
  return {
    /** The session, if it is neither ended nor over; noted as in use. Rejects while it cannot be told. */
    get: async (id: string, position: Position): Promise<Session | undefined> => {
      // A forged position cannot be here (the cookie is signed), and one of a recreated log only costs the wait.
      if (position > directory.position()) await untilThere(position)
      const session = directory.session(id)
      if (session === undefined) return undefined
      // Not awaited, and a failure is no reason to turn anybody away: the next request notes it again.
      directory.continueSession(id).catch(() => undefined)
      return session
    },
    start: (id: string, { userId, workspaceId, startedAt, passwordPosition, address = '' }: SignedIn) =>
      directory.startSession({ id, userId, workspaceId, address, passwordPosition, since: startedAt }),
    end: (id: string): Promise<void> => directory.endSession(id),
  }
}
