import { isIP } from 'node:net'
import { connect, ErrorCode, headers, NatsError, type NatsConnection } from 'nats'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { parseNatsUrl, type NatsAddress } from './address.ts'
import { gatherAnswers, receivedOf } from './answers.ts'
import { freeSentFrames } from './free-sent.ts'
import type { Headers, Nats, Received } from './nats.ts'
import { keepOneSocket } from './one-socket.ts'
import { closingWhatFails } from './own-sockets.ts'
import { ForbiddenError, reasonOf, refusedHint, watchPresence } from './presence.ts'
import { reconnectWait } from './reconnect-wait.ts'
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

const timeoutMsDefault = 5_000
const greetingMsDefault = 20_000
/** Of each of several servers, which one name may stand for: where one hangs, another one is tried. */
const greetingMsOfSeveral = 5_000
/** Atomic batches came with 2.12. */
const versionMin = [2, 12] as const
const noResponders = 503
const operation = 'connect to NATS at'
/** A server with a full disk is up and answers reads, but does not answer what it cannot write, until it is started again. */
const lateHint =
  'no answer in time, as for seconds when another server comes to lead; if it lasts, its disk may be full or have failed, ' +
  'see /healthz there: make room and restart it'

function isRefused(error: unknown): boolean {
  // Not what the system says, as of a name that it does not find: that name may be of any letters.
  const [code, message] = error instanceof NatsError ? [error.code, error.message] : ['', '']
  return /AUTH|PERMISSIONS/.test(code) || /auth/i.test(message)
}

/** So is one that has as many connections as it may: it says so, but the client does not tell. */
const isSilent = (error: unknown): boolean => (error as Partial<NatsError>).code === ErrorCode.Timeout
const silentHint =
  'nothing was heard from there in time: is nats-server running there, is NATS_URL right, and may it have more connections (max_connections)?'

/** Why the first connection failed, in one line. */
function refusal(error: unknown, servers: readonly string[]): Error {
  const subject = servers.join(', ')
  if (isRefused(error)) return new PermanentError({ operation, subject, hint: refusedHint })
  return new TransientError({
    operation,
    subject,
    cause: error,
    hint:
      reasonOf(error)?.hint ?? (isSilent(error) ? silentHint : 'is nats-server running there, and is NATS_URL right?'),
  })
}

function checkVersion(version: string, subject: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])) return
  const hint = `it is nats-server ${version}; ${versionMin.join('.')} or newer is needed`
  throw new PermanentError({ operation, subject, hint })
}

function greetingMsFor({ servers }: NatsAddress): number {
  const isOne = servers.length === 1 && isIP(new URL(`http://${servers[0]}`).hostname.replaceAll(/[[\]]/g, '')) !== 0
  return isOne ? greetingMsDefault : greetingMsOfSeveral
}

type Dial = (servers: readonly string[]) => Promise<NatsConnection>

const isTelling = (error: unknown): boolean => isRefused(error) || reasonOf(error) !== undefined

/** The client says why the last of several servers failed. Where that is only not there, another one may tell more: each is asked alone. */
async function whyNone(dial: Dial, servers: readonly string[], last: unknown): Promise<Error> {
  if (servers.length === 1 || isTelling(last)) return refusal(last, servers)
  const alone = servers.map(async (server) => {
    const failure = await dial([server]).then(
      (connection) => connection.close(),
      (error: unknown) => error,
    )
    return isTelling(failure) ? refusal(failure, [server]) : Promise.reject(failure)
  })
  return Promise.any(alone).catch(() => refusal(last, servers))
}

async function open(address: NatsAddress, name: string, greetingMs: number): Promise<NatsConnection> {
  const { servers: all, user, password, token, tls } = address
  const dial: Dial = async (servers) => {
    let connection: NatsConnection | undefined
    const connecting = () =>
      connect({
        servers: [...servers],
        name,
        timeout: greetingMs,
        ...(user === undefined ? {} : { user, pass: password ?? '' }),
        ...(token === undefined ? {} : { token }),
        ...(tls ? { tls: tlsOptionsFor(all) } : {}),
        maxReconnectAttempts: -1,
        reconnectDelayHandler: () => reconnectWait(connection),
        // Credentials may be refused while an operator changes them.
        ignoreAuthErrorAbort: true,
        // A server that hangs is noticed within seconds, and requests to it fail.
        pingInterval: 2_000,
        maxPingOut: 2,
        noAsyncTraces: true,
      })
    connection = await closingWhatFails(connecting)
    return connection
  }
  return dial(all).catch(async (error: unknown) => {
    throw await whyNone(dial, all, error)
  })
}

function headersOf(fields: Headers | undefined): Readonly<{ headers?: ReturnType<typeof headers> }> {
  if (fields === undefined) return {}
  const made = headers()
  for (const [name, value] of Object.entries(fields)) made.set(name, value)
  return { headers: made }
}

function failureOf(error: unknown, what: string, subject: string): Error {
  if (error instanceof TransientError) return error
  const { code } = error as Partial<NatsError>
  if (code === ErrorCode.PermissionsViolation) return new ForbiddenError(what, subject, error)
  const isLate = code === ErrorCode.Timeout
  return new TransientError({ operation: what, subject, ...(isLate ? { hint: lateHint } : { cause: error }) })
}

/** A subscription, and why it has ended, if the server has refused it. */
function listen(connection: NatsConnection, subject: string, listener: (received: Received) => void) {
  let refusal: NatsError | null = null
  const subscription = connection.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) listener(receivedOf(message))
      else refusal = error
    },
  })
  return [subscription, () => refusal] as const
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
  let lastInfo = connection.info ?? { server_id: '', version: '0', max_payload: 0, cluster: undefined }
  // The client forgets what the server said of itself while it connects again.
  const serverInfo = () => (lastInfo = connection.info ?? lastInfo)
  try {
    checkVersion(serverInfo().version, where)
  } catch (error) {
    await connection.close()
    throw error
  }
  const presence = watchPresence(connection, where)
  const endAttempts = keepOneSocket(connection, presence.attemptFailed)
  freeSentFrames(connection)
  presence.onReconnect(() => freeSentFrames(connection))

  const failure = (what: string, error: unknown): Error => failureOf(error, what, where)
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
    payloadBytesMax: () => serverInfo().max_payload,
    server: () => ({ id: serverInfo().server_id, cluster: serverInfo().cluster !== undefined }),
    request: async (subject, data, fields) => {
      presence.check('ask')
      return presence.guard('ask', ask(subject, data, fields))
    },
    requestMany: async (subject, data, onLate) => {
      presence.check('ask')
      return presence.guard('ask', gatherAnswers(connection, subject, data, { timeoutMs, onLate }))
    },
    publish: (subject, data, fields) => {
      presence.check('publish to')
      try {
        connection.publish(subject, data, headersOf(fields))
      } catch (error) {
        throw failure('publish to', error)
      }
    },
    subscribe: async (subject, listener) => {
      presence.check('subscribe to')
      const [subscription, refused] = listen(connection, subject, listener)
      await presence.guard('subscribe to', connection.flush())
      // The server refuses it before it answers.
      const refusal = refused()
      if (refusal !== null) throw failure(`subscribe to ${subject} of`, refusal)
      return () => {
        if (!connection.isClosed()) subscription.unsubscribe()
      }
    },
    onReconnect: presence.onReconnect,
    close: async () => {
      await connection.close()
      endAttempts()
    },
  }
}
