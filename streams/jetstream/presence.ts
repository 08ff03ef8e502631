import { DebugEvents, ErrorCode, Events, type NatsConnection, type Status } from 'nats'
import { TransientError } from '#src/lib/failure.ts'
import { isUntrusted, untrustedHint } from '#src/lib/untrusted.ts'

type Presence = Readonly<{
  /** Throws if there is no connection. */
  check(operation: string): void
  /** The promise; rejects if the connection breaks first. */
  guard<T>(operation: string, promise: Promise<T>): Promise<T>
  onReconnect(listener: () => void): () => void
  /** Hears why an attempt to connect failed. */
  attemptFailed(error: unknown): void
}>

const forbiddenHint = 'the user of NATS_URL lacks a right: let it publish and subscribe to all subjects of its account'

/** The server lets this user not publish there, or not hear the answers. */
export class ForbiddenError extends TransientError {
  constructor(operation: string, subject: string, cause: unknown) {
    super({ operation, subject, hint: forbiddenHint, cause })
  }
}

export const refusedHint = 'it refuses the user, password or token of NATS_URL'
const plainHint = 'it speaks no TLS, as tls:// in NATS_URL asks: turn it on there'
const refusals: ReadonlySet<unknown> = new Set([ErrorCode.AuthorizationViolation, ErrorCode.AuthenticationExpired])

/** What is wrong between a server and us that no other attempt mends; undefined where it may just not be there. */
export function reasonOf(error: unknown): Readonly<{ hint: string; cause?: unknown }> | undefined {
  if (isUntrusted(error)) return { hint: untrustedHint, cause: error }
  const { code } = (error ?? {}) as Readonly<{ code?: unknown }>
  return code === ErrorCode.ServerOptionNotAvailable ? { hint: plainHint } : undefined
}

type Reason = Readonly<{
  hear(status: Status): void
  failed(error: unknown): void
  say(): Readonly<{ hint: string; cause?: unknown }>
}>

/** Why there is no connection, by what the client tells of its attempts: the last one ended, and the one under way. */
function createReason(): Reason {
  let [refusedBefore, refusedNow] = [false, false]
  let failure: ReturnType<typeof reasonOf>
  return {
    failed: (error) => void (failure = reasonOf(error)),
    hear: ({ type, data }) => {
      if (type === DebugEvents.Reconnecting) [refusedBefore, refusedNow] = [refusedNow, false]
      if (type === Events.Error && refusals.has(data)) refusedNow = true
      if (type !== Events.Reconnect) return
      ;[refusedBefore, refusedNow] = [false, false]
      failure = undefined
    },
    say: () => {
      if (refusedBefore || refusedNow) return { hint: refusedHint }
      return failure ?? { hint: 'the connection is lost; is nats-server running there?' }
    },
  }
}

/** Follows what the client tells of its connection to `subject`. */
export function watchPresence(connection: NatsConnection, subject: string): Presence {
  let here = true
  const reason = createReason()
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const lost = (operation: string): TransientError => new TransientError({ operation, subject, ...reason.say() })
  const leave = (): void => {
    here = false
    for (const letGo of waiting) letGo()
  }
  const listen = async (): Promise<void> => {
    for await (const status of connection.status()) {
      const { type } = status
      reason.hear(status)
      if (type === Events.Disconnect) leave()
      if (type !== Events.Reconnect) continue
      here = true
      for (const listener of listeners) listener()
    }
  }
  void listen()
  void connection.closed().then(leave)
  return {
    check: (operation) => {
      if (!here || connection.isClosed() || connection.isDraining()) throw lost(operation)
    },
    guard: (operation, promise) =>
      new Promise((resolve, reject) => {
        const letGo = (): void => reject(lost(operation))
        waiting.add(letGo)
        promise.then(resolve, reject).finally(() => waiting.delete(letGo))
      }),
    onReconnect: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    attemptFailed: reason.failed,
  }
}
