import { DebugEvents, ErrorCode, Events, type NatsConnection, type Status } from 'nats'
import { TransientError } from '#src/lib/failure.ts'

type Presence = Readonly<{
  /** Throws if there is no connection. */
  check(operation: string): void
  /** The promise; rejects if the connection breaks first. */
  guard<T>(operation: string, promise: Promise<T>): Promise<T>
  onReconnect(listener: () => void): () => void
}>

export const refusedHint = 'it refuses the user, password or token of NATS_URL'
const refusals: ReadonlySet<unknown> = new Set([ErrorCode.AuthorizationViolation, ErrorCode.AuthenticationExpired])

/** Why there is no connection, by what the client tells of its attempts: the last one ended, and the one under way. */
function createReason(): Readonly<{ hear(status: Status): void; hint(): string }> {
  let [refusedBefore, refusedNow] = [false, false]
  return {
    hear: ({ type, data }) => {
      if (type === DebugEvents.Reconnecting) [refusedBefore, refusedNow] = [refusedNow, false]
      if (type === Events.Error && refusals.has(data)) refusedNow = true
      if (type === Events.Reconnect) [refusedBefore, refusedNow] = [false, false]
    },
    hint: () => (refusedBefore || refusedNow ? refusedHint : 'the connection is lost; is nats-server running there?'),
  }
}

/** Follows what the client tells of its connection to `subject`. */
export function watchPresence(connection: NatsConnection, subject: string): Presence {
  let here = true
  const reason = createReason()
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const lost = (operation: string): TransientError => new TransientError({ operation, subject, hint: reason.hint() })
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
  }
}
