import { errors } from '@elastic/elasticsearch'
import { isUntrusted } from '#src/lib/untrusted.ts'

// The driver passes on only the message of an error. So what became of a request is said, and found again, in how its message begins.

/** How the message of an error begins if nothing was sent before it. */
const notConnected = 'not connected: '
export const isUnsent = (error: unknown): boolean => error instanceof Error && error.message.startsWith(notConnected)

/** The same, if the server's certificate was refused. */
const notTrusted = `${notConnected}its certificate: `
export const isNotTrusted = (message: string): boolean => message.startsWith(notTrusted)

/**
 * How the message begins if the other side closed the connection before an answer began, and within `droppedWithinMs`. If it closed later, it had
 * given up waiting, and would do so again.
 */
const dropped = 'dropped: '
const isDropped = (error: unknown): boolean => error instanceof Error && error.message.startsWith(dropped)

/** A connection that was closed just as it was used again fails sooner than this. */
const droppedWithinMs = 2_000

/** Asks once more if the connection was dropped: a proxy closes idle connections, perhaps just as one is used again. */
export const askAgainIfDropped = <T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
  ask().catch((error: unknown) => {
    if (!isDropped(error) || signal?.aborted === true) throw error
    return ask()
  })

type Refused = Readonly<{ code?: string; syscall?: string; message: string }>

/** As a proxy does whose server is away. */
const cutInHandshake = /^Client network socket disconnected before secure TLS connection/u

const closedByOther = /^(?:other side closed|read ECONNRESET|write (?:ECONNRESET|EPIPE))/u

/** The error with one of these beginnings, if one fits. An error about several addresses of one name, none of which was reached, has no message. */
export function telling(error: unknown, afterMs: number): unknown {
  const { code = '', syscall = '', message } = error as Refused
  if (isUntrusted(error)) return new Error(notTrusted + message.trim(), { cause: error })
  if (closedByOther.test(message) && afterMs < droppedWithinMs) return new Error(dropped + message, { cause: error })
  const isUnreached =
    error instanceof AggregateError || ['connect', 'getaddrinfo'].includes(syscall) || cutInHandshake.test(message)
  if (!isUnreached && code !== 'UND_ERR_CONNECT_TIMEOUT') return error
  return new Error(notConnected + (message === '' ? code : message), { cause: error })
}

/** Why a request was not sent: its node was asked before whether it is up to date, and did not say so. */
export function unsent(error: unknown): Error {
  if (isUnsent(error)) return error as Error
  return new errors.ConnectionError(notConnected + (error instanceof Error ? error.message : String(error)))
}

/** Part of the message of an error about a node that is left out because it is not in the cluster. */
export const notMember = 'it answers 503, and is not in the cluster'
export const isNotMember = (message: string): boolean => message.includes(notMember)
