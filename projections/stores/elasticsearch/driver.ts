import { Client, errors, Serializer, type DiagnosticResult } from '@elastic/elasticsearch'
import { parseHttpAddresses } from '#src/lib/http-addresses.ts'
import { isOperatingFailure, LateError, PermanentError, TransientError } from '#src/lib/failure.ts'
import { isJsonObject, parseJson, stringifyJson } from '#src/lib/json.ts'
import { onceDone } from '#src/lib/once.ts'
import { untrustedHint } from '#src/lib/untrusted.ts'
import { LargeAnswerError, type Call, type Elasticsearch } from './call.ts'
import { askAgainIfDropped, isNotMember, isNotTrusted, isUnsent } from './connection-errors.ts'
import { Nodes, OneOfSeveral, OnlyConnection } from './nodes.ts'
import {
  blockedHint,
  busyHint,
  closedHint,
  forbiddenHint,
  isBlocked,
  isClosed,
  isLoweredLimit,
  isMasterless,
  isSnapshotted,
  isTooLarge,
  loweredLimitHint,
  masterlessHint,
  reasonOf,
  snapshotHint,
  tooLongHint,
} from './reasons.ts'

/** The oldest version that has all that we use; tests run with it. */
const leastVersion = [8, 19] as const
const requestTimeoutMsDefault = 60_000

/** Keeps all digits of 64-bit integers. */
class ExactSerializer extends Serializer {
  override serialize(value: unknown): string {
    return stringifyJson(value)
  }
  override deserialize<T = unknown>(text: string): T {
    try {
      return parseJson(text) as T
    } catch (error) {
      throw new errors.DeserializationError(error instanceof Error ? error.message : String(error), text)
    }
  }
}

/** 409: another writer was faster. Callers that handle it accept it as an answer. 500: as of a disk without a free byte. */
const isPassing = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500

/** The request has more bytes than Elasticsearch takes, or what stands before it; each says so without its name. */
const isTooLong = (status: number): boolean => status === 413

/** Elasticsearch says so in each answer, but that a setting may not be changed for a block. A proxy's own, as a 404 of one that has no backend for a moment, says nothing of an index. */
const isOurs = (headers: Readonly<Record<string, unknown>> | null | undefined): boolean =>
  headers?.['x-elastic-product'] === 'Elasticsearch'

function notOurs({ operation, subject }: Call, host: string, cause?: Error): TransientError {
  const hint = `the answer was cut off, or is none of Elasticsearch's: look at what stands before ${host}`
  return new TransientError({ operation, subject, hint, cause })
}

/** One that has let us in before knows no user for seconds after a start, and a role may be changed for a while. */
function notLetIn({ operation, subject }: Call, hint: string, cause: Error, isKnown: boolean): Error {
  return new (isKnown ? TransientError : PermanentError)({ operation, subject, hint, cause })
}

/** Of the node that failed, or of the last one where it was asked of several. */
function hostIn(error: unknown): string | undefined {
  // In its errors the driver has a copy of the connection, whose address is a text without user and password.
  const { meta } = error as Readonly<{ meta?: Readonly<{ meta?: DiagnosticResult['meta'] }> }>
  const url = String(meta?.meta?.connection?.url)
  return URL.canParse(url) ? new URL(url).host : undefined
}

/** `isKnown`: it has answered us before. */
type Server = Readonly<{ host: string; isKnown: boolean; requestTimeoutMs: number }>

/** What goes by itself, or is there for somebody to lift. */
function passingHint(status: number, reason: string): string | undefined {
  if (isClosed(reason)) return closedHint
  if (isMasterless(reason)) return masterlessHint
  if (isBlocked(reason)) return blockedHint
  if (isLoweredLimit(reason)) return loweredLimitHint
  if (isSnapshotted(reason)) return snapshotHint
  if (isTooLong(status)) return tooLongHint
  return status === 429 ? busyHint : undefined
}

function responseFailure(error: errors.ResponseError, call: Call, { host, isKnown }: Server): Error {
  const { operation, subject } = call
  const status = error.statusCode ?? 0
  const reason = reasonOf(error.body)
  const cause = new Error(`Elasticsearch answered ${status} ${reason}`.trim())
  if (call.bytesMax !== undefined && isTooLarge(reason)) return new LargeAnswerError(subject, { cause })
  const hint = passingHint(status, reason)
  if (hint !== undefined) return new TransientError({ operation, subject, hint, cause })
  if (status === 401) return notLetIn(call, 'check user and password in ELASTICSEARCH_URL', cause, isKnown)
  if (status === 403) return notLetIn(call, forbiddenHint, cause, isKnown)
  if (!isOurs(error.headers)) return notOurs(call, host, cause)
  if (isPassing(status)) return new TransientError({ operation, subject, cause })
  return new PermanentError({ operation, subject, cause })
}

function hintOfConnection(message: string, host: string): string {
  if (isNotMember(message)) return masterlessHint
  if (isNotTrusted(message)) return `at ${host} ${untrustedHint}`
  return `is Elasticsearch running at ${host}? Its address is ELASTICSEARCH_URL`
}

/** What only reads one thing cannot be too much to ask. */
function notInTime({ operation, subject, method }: Call, { host, requestTimeoutMs }: Server, cause: Error): Error {
  const why = `not answered in ${requestTimeoutMs / 1000} s: ${host}, or another node that it waits for, is busy or hangs`
  if (method === 'GET') return new TransientError({ operation, subject, hint: why, cause })
  return new LateError({ operation, subject, hint: `${why}, or a search is too broad for it`, cause })
}

function failureOf(error: unknown, call: Call, server: Server): Error {
  const { operation, subject } = call
  const { host, isKnown } = server
  if (isOperatingFailure(error)) return error
  if (error instanceof errors.ResponseError) return responseFailure(error, call, server)
  // The driver aborts requests on its own only for this reason.
  if (error instanceof errors.RequestAbortedError && call.bytesMax !== undefined) return new LargeAnswerError(subject)
  const text = error instanceof Error ? error.message : String(error)
  const cause = new Error(text.slice(0, 500))
  if (error instanceof errors.DeserializationError) return notOurs(call, host, cause)
  if (error instanceof errors.ProductNotSupportedError) {
    if (isKnown) return notOurs(call, host)
    const hint = `what answers at ${host} is not Elasticsearch: check ELASTICSEARCH_URL`
    return new PermanentError({ operation, subject, hint })
  }
  if (error instanceof errors.TimeoutError) return notInTime(call, server, cause)
  if (error instanceof errors.ElasticsearchClientError && !(error instanceof errors.ConfigurationError)) {
    return new TransientError({ operation, subject, hint: hintOfConnection(text, host), cause })
  }
  return new PermanentError({ operation, subject, cause })
}

/** Refuses servers that are too old. `/_nodes` is asked because `GET /` is missing in the smallest distribution. */
async function checkVersions(client: Client, host: string): Promise<void> {
  const answer = await client.transport.request<{ nodes?: Record<string, { version: string }> }>({
    method: 'GET',
    path: '/_nodes',
    querystring: { filter_path: 'nodes.*.version' },
  })
  for (const { version } of Object.values(answer.nodes ?? {})) {
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major > leastVersion[0] || (major === leastVersion[0] && minor >= leastVersion[1])) continue
    const hint = `upgrade it: ${leastVersion.join('.')} or later is needed`
    throw new PermanentError({ operation: 'connect to', subject: `Elasticsearch ${version} at ${host}`, hint })
  }
}

/** A call as the driver takes it. */
function requestOf({ method, path, query, body, lines, accept = [], bytesMax, signal }: Call) {
  const params = {
    method,
    path,
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body: body as object }),
    ...(lines === undefined ? {} : { bulkBody: lines }),
  }
  const size = bytesMax === undefined ? {} : { maxResponseSize: bytesMax, maxCompressedResponseSize: bytesMax }
  return { params, options: { ignore: [...accept], ...size, ...(signal === undefined ? {} : { signal }) } }
}

/** What may be repeated is asked once more where its connection was dropped; what may not is sent to another node only if it has reached none. */
async function ask(client: Client, call: Call) {
  const { params, options } = requestOf(call)
  if (call.method === 'GET' || call.mayRepeat === true)
    return askAgainIfDropped(() => client.transport.request(params, { meta: true, ...options }), options.signal)
  for (let others = client.connectionPool.size - 1; ; others--) {
    try {
      return await client.transport.request(params, { meta: true, ...options, maxRetries: 0 })
    } catch (error) {
      if (others === 0 || !isUnsent(error)) throw error
    }
  }
}

function clientOf(urls: readonly URL[], requestTimeoutMs: number): Client {
  const own = { Serializer: ExactSerializer, requestTimeout: requestTimeoutMs, maxRetries: urls.length - 1 }
  const nodes = urls.map(({ href }) => href)
  return urls.length === 1
    ? new Client({ ...own, nodes, Connection: OnlyConnection })
    : new Client({ ...own, nodes, Connection: OneOfSeveral, ConnectionPool: Nodes })
}

/** See connectElasticsearch. `requestTimeoutMs`: how long an answer is waited for. */
export function openDriver(url: string, requestTimeoutMs = requestTimeoutMsDefault): Elasticsearch {
  const urls = parseHttpAddresses(url)
  const host = urls.map((each) => each.host).join(', ')
  const client = clientOf(urls, requestTimeoutMs)
  let isKnown = false
  const ready = onceDone(async () => {
    await checkVersions(client, host)
    isKnown = true
  })
  return {
    async send(call) {
      const { signal } = call
      try {
        await ready()
        signal?.throwIfAborted()
        const answer = await ask(client, call)
        const { statusCode: status, headers, body } = answer
        const isAnswer = isPassing(status) || isTooLong(status) || isOurs(headers) || isBlocked(reasonOf(body))
        if (!isAnswer) throw notOurs(call, answer.meta.connection?.url.host ?? host)
        return { status, body: isJsonObject(body) ? body : {} }
      } catch (error) {
        // An abort is reported with the signal's reason.
        signal?.throwIfAborted()
        throw failureOf(error, call, { host: hostIn(error) ?? host, isKnown, requestTimeoutMs })
      }
    },
    close: () => client.close(),
  }
}
