import {
  connect,
  DebugEvents,
  ErrorCode,
  Events,
  headers,
  type Msg,
  type NatsConnection,
  type NatsError,
  type Status,
} from 'nats'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { parseNatsUrl, type NatsAddress } from './address.ts'
import { freeSentFrames } from './free-sent.ts'
import { closingWhatFails } from './own-sockets.ts'
import { tlsOptionsFor } from './tls-options.ts'

type NatsOptions = Readonly<{
  /** See address.ts. */
  url: string
  /** The name of the connection, as the server's operator sees it. */
  name?: string
  /** How long one request may take before its outcome counts as unknown. */
  timeoutMs?: number
  /** How long each server may take to say that it is there; shorter by default where others are named. */
  greetingMs?: number
}>

export type Headers = Readonly<Record<string, string>>
/** What the server sent. `code`: its status, if it sent one instead of a message; else 0. */
export type Received = Readonly<{ code: number; data: Uint8Array; header(name: string): string }>

/**
 * A connection to NATS that reconnects for ever; all that this folder needs of the client. Without a connection every request fails at once
 * instead of waiting in memory. Requests under way when it breaks fail too, with an unknown outcome. All failures are TransientError.
 */
export type Nats = Readonly<{
  /** The largest message that the server accepts, headers included; of the last server while there is no connection. */
  payloadBytesMax(): number
  /** Of the server that is connected now, or was last. `cluster`: it is one of several. */
  server(): Readonly<{ id: string; cluster: boolean }>
  /** The first answer. One with the status 503 means that nobody listens to the subject. */
  request(subject: string, data: Uint8Array | string, fields?: Headers): Promise<Received>
  /**
   * All answers, up to and including the first one with a status. `onLate` is called if none has come within a second, as from one of several
   * servers that hangs; they are waited for all the same.
   */
  requestMany(subject: string, data: string, onLate: () => void): Promise<readonly Received[]>
  /** Sends without waiting for an answer. */
  publish(subject: string, data: Uint8Array, fields?: Headers): void
  /** Resolves when the server has the subscription. */
  subscribe(subject: string, listener: (received: Received) => void): Promise<() => void>
  /** Called after a reconnect: messages sent meanwhile were missed. */
  onReconnect(listener: () => void): () => void
  close(): Promise<void>
}>

/** The number of replicas of a stream: as configured, else three if the server belongs to a cluster. */
export const replicasOn = (nats: Pick<Nats, 'server'>, asked: number | undefined): number =>
  asked ?? (nats.server().cluster ? 3 : 1)

const timeoutMsDefault = 5_000
const greetingMsDefault = 20_000
/** Of one of several addresses: where it hangs, another one is tried. */
const greetingMsOfSeveral = 5_000
/** One that takes longer to begin with its answers may hang. */
const lateMs = 1_000
/** Atomic batches came with 2.12. */
const versionMin = [2, 12] as const
const noResponders = 503
const operation = 'connect to NATS at'
const refusedHint = 'it refuses the user, password or token of NATS_URL'
/**
 * So it is for seconds where a server that led is lost. What has a full disk is up, answers reads, and says nothing to what it cannot write, until
 * it is started again.
 */
const lateHint =
  'no answer in time, as for seconds when another server comes to lead; if it lasts, its disk may be full or have failed, see /healthz there: make room and restart it'

/** Why the first connection failed, in one line. */
function refusal(error: unknown, { servers }: NatsAddress): Error {
  const subject = servers.join(', ')
  const { code = '', message = '' } = error as Partial<NatsError>
  if (/AUTH|PERMISSIONS/.test(code) || /auth/i.test(message)) {
    return new PermanentError({ operation, subject, hint: refusedHint })
  }
  return new TransientError({
    operation,
    subject,
    cause: error,
    hint: 'is nats-server running there, and is NATS_URL right?',
  })
}

function checkVersion(version: string, subject: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])) return
  const hint = `it is nats-server ${version}; ${versionMin.join('.')} or newer is needed`
  throw new PermanentError({ operation, subject, hint })
}

const greetingMsFor = ({ servers }: NatsAddress): number =>
  servers.length > 1 ? greetingMsOfSeveral : greetingMsDefault

async function open(address: NatsAddress, name: string, greetingMs: number): Promise<NatsConnection> {
  const { servers, user, password, token, tls } = address
  const connecting = () =>
    connect({
      servers: [...servers],
      name,
      timeout: greetingMs,
      ...(user === undefined ? {} : { user, pass: password ?? '' }),
      ...(token === undefined ? {} : { token }),
      ...(tls ? { tls: tlsOptionsFor(servers) } : {}),
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      reconnectJitter: 250,
      // Credentials may be refused while an operator changes them.
      ignoreAuthErrorAbort: true,
      // A server that hangs is noticed within seconds, and requests to it fail.
      pingInterval: 2_000,
      maxPingOut: 2,
      noAsyncTraces: true,
    })
  try {
    return await closingWhatFails(connecting)
  } catch (error) {
    throw refusal(error, address)
  }
}

const receivedOf = ({ data, headers: fields }: Msg): Received => ({
  code: fields?.code ?? 0,
  data,
  header: (name) => fields?.get(name) ?? '',
})

function headersOf(fields: Headers | undefined): Readonly<{ headers?: ReturnType<typeof headers> }> {
  if (fields === undefined) return {}
  const made = headers()
  for (const [name, value] of Object.entries(fields)) made.set(name, value)
  return { headers: made }
}

type Presence = Readonly<{
  /** Throws if there is no connection. */
  check(operation: string): void
  /** The promise; rejects if the connection breaks first. */
  guard<T>(operation: string, promise: Promise<T>): Promise<T>
  onReconnect(listener: () => void): () => void
}>

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

function watch(connection: NatsConnection, subject: string): Presence {
  let here = true
  const reason = createReason()
  const waiting = new Set<() => void>()
  const listeners = new Set<() => void>()
  const lost = (what: string): TransientError => new TransientError({ operation: what, subject, hint: reason.hint() })
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
    check: (what) => {
      if (!here || connection.isClosed() || connection.isDraining()) throw lost(what)
    },
    guard: (what, promise) =>
      new Promise((resolve, reject) => {
        const letGo = (): void => reject(lost(what))
        waiting.add(letGo)
        promise.then(resolve, reject).finally(() => waiting.delete(letGo))
      }),
    onReconnect: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Collects answers in an inbox of its own, because the client's own method ends by time, not by status. */
function gather(
  connection: NatsConnection,
  subject: string,
  data: string,
  { timeoutMs, onLate }: Readonly<{ timeoutMs: number; onLate: () => void }>,
): Promise<Received[]> {
  const answers: Received[] = []
  return new Promise((resolve, reject) => {
    const inbox = `_INBOX.${crypto.randomUUID()}`
    const soon = setTimeout(onLate, lateMs)
    const late = (): void => {
      subscription.unsubscribe()
      reject(new TransientError({ operation: 'ask', subject, hint: `no answer within ${timeoutMs} ms` }))
    }
    const timer = setTimeout(late, timeoutMs)
    const subscription = connection.subscribe(inbox, {
      callback: (_error, message) => {
        const received = receivedOf(message)
        answers.push(received)
        clearTimeout(soon)
        if (received.code === 0) {
          // The timeout is for each answer, not for all of them.
          timer.refresh()
        } else {
          clearTimeout(timer)
          subscription.unsubscribe()
          resolve(answers)
        }
      },
    })
    connection.publish(subject, data, { reply: inbox })
  })
}

/**
 * Connects once; throws PermanentError (credentials, version) or TransientError (unreachable) with one line that says what
 * to do. JetStream itself is asked for by `provisionLogs`.
 */
export async function connectNats({
  url,
  name = 'throughline',
  timeoutMs = timeoutMsDefault,
  greetingMs,
}: NatsOptions): Promise<Nats> {
  const address = parseNatsUrl(url)
  const where = address.servers.join(', ')
  const connection = await open(address, name, greetingMs ?? greetingMsFor(address))
  let known = connection.info ?? { server_id: '', version: '0', max_payload: 0, cluster: undefined }
  // The client forgets what the server said of itself while it connects again.
  const info = () => (known = connection.info ?? known)
  try {
    checkVersion(info().version, where)
  } catch (error) {
    await connection.close()
    throw error
  }
  const presence = watch(connection, where)
  freeSentFrames(connection)
  presence.onReconnect(() => freeSentFrames(connection))

  const failure = (what: string, error: unknown): Error => {
    if (error instanceof TransientError) return error
    const isLate = (error as Partial<NatsError>).code === ErrorCode.Timeout
    return new TransientError({ operation: what, subject: where, ...(isLate ? { hint: lateHint } : { cause: error }) })
  }
  const ask = async (subject: string, data: Uint8Array | string, fields?: Headers): Promise<Received> => {
    try {
      return receivedOf(await connection.request(subject, data, { timeout: timeoutMs, ...headersOf(fields) }))
    } catch (error) {
      if ((error as Partial<NatsError>).code === String(noResponders)) {
        return { code: noResponders, data: new Uint8Array(), header: () => '' }
      }
      throw failure(`ask ${subject} of`, error)
    }
  }

  return {
    payloadBytesMax: () => info().max_payload,
    server: () => ({ id: info().server_id, cluster: info().cluster !== undefined }),
    request: async (subject, data, fields) => {
      presence.check('ask')
      return presence.guard('ask', ask(subject, data, fields))
    },
    requestMany: async (subject, data, onLate) => {
      presence.check('ask')
      return presence.guard('ask', gather(connection, subject, data, { timeoutMs, onLate }))
    },
    publish: (subject, data, fields) => {
      presence.check('publish to')
      connection.publish(subject, data, headersOf(fields))
    },
    subscribe: async (subject, listener) => {
      presence.check('subscribe to')
      const subscription = connection.subscribe(subject, {
        callback: (_error, message) => listener(receivedOf(message)),
      })
      await presence.guard('subscribe to', connection.flush())
      return () => {
        if (!connection.isClosed()) subscription.unsubscribe()
      }
    },
    onReconnect: presence.onReconnect,
    close: () => connection.close(),
  }
}
