import { Client, errors, Serializer, UndiciConnection } from '@elastic/elasticsearch'
import { isOperatingFailure, LateError, PermanentError, TransientError } from '#src/lib/failure.ts'
import { isJsonObject, parseJson, stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { objectIn, objectsIn, textIn } from './answer-parts.ts'

/** A request. `body` is sent as JSON; `lines` is ready NDJSON, as text or bytes. */
export type Call = Readonly<{
  /** What the request does, in words, for error messages. */
  operation: string
  subject: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string | number | boolean>>
  body?: unknown
  lines?: string | Buffer
  /** Statuses that are answers, not failures. */
  accept?: readonly number[]
  /** A larger answer is not read, and one may be too large for Elasticsearch to gather: LargeAnswerError. */
  bytesMax?: number
  /** Aborts the request: the call then rejects with the signal's reason. */
  signal?: AbortSignal
}>

/** The answer has more bytes than the call allows. A smaller request may succeed. */
export class LargeAnswerError extends Error {
  override readonly name = 'LargeAnswerError'
}

export type Answer = Readonly<{ status: number; body: JsonObject }>

/** A connection to Elasticsearch. It fails with TransientError or PermanentError, never with the driver's errors. */
export type Elasticsearch = Readonly<{
  send(call: Call): Promise<Answer>
  close(): Promise<void>
}>

/** The oldest version that has all that we use; tests run with it. */
const leastVersion = [8, 19] as const
const requestTimeoutMs = 60_000

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

type Answered = Readonly<{ body: Readonly<{ on(event: 'error', listener: () => void): unknown }> }>
type Ask = (options: unknown) => Promise<Answered>

/**
 * Hears the error of a body that the driver destroys because its length, as announced, is too large. Nobody else does, and an error that
 * nobody hears ends the process.
 */
class HeardConnection extends UndiciConnection {
  constructor(options: ConstructorParameters<typeof UndiciConnection>[0]) {
    super(options)
    const ask = this.pool.request.bind(this.pool) as unknown as Ask
    const heard: Ask = async (request) => {
      const answered = await ask(request)
      answered.body.on('error', () => undefined)
      return answered
    }
    this.pool.request = heard as unknown as UndiciConnection['pool']['request']
  }
}

/** Around the name of the queue stand Java objects by their addresses, so that no two of these are alike. */
const rejected = /rejected execution of .*\[name = ([^,\]]+), queue capacity = .*/s

/** `type: reason` of the innermost cause in an error's body, shortened; with the index, where the reason does not name it. */
export function reasonOf(body: unknown): string {
  let error = isJsonObject(body) ? objectIn(body['error']) : {}
  // If shards of a search fail, the first of them says why.
  const [part] = objectsIn(error['failed_shards'])
  if (part !== undefined) error = objectIn(part['reason'])
  while (isJsonObject(error['caused_by'])) error = error['caused_by']
  const index = textIn(error['index'])
  const parts = [error['type'], error['reason']].map(textIn)
  const text = [...parts, parts.some((part) => part.includes(index)) ? '' : index].filter((each) => each !== '')
  return text.join(': ').replace(rejected, 'the queue of $1 is full').slice(0, 500)
}

/** 409: another writer was faster. Callers that handle it accept it as an answer. */
const passing: ReadonlySet<number> = new Set([408, 409, 429, 502, 503, 504])

/** A block comes and goes: a node whose disk is too full sets it, or somebody for a while. It is answered with 403 or 429. */
export const isBlocked = (reason: string): boolean => reason.startsWith('cluster_block_exception')
export const blockedHint =
  'it is blocked: make room on the disks, if they are full, and lift the block (index.blocks.*, cluster.blocks.*)'

/** Somebody has closed the index. Wildcards pass over it without a word. */
export const isClosed = (reason: string): boolean =>
  reason.startsWith('index_closed_exception') || (isBlocked(reason) && reason.includes('index closed'))
export const closedHint = 'it is closed, and what is in it is not found: open it again (POST /INDEX/_open)'

/** A circuit breaker: the answer may be what its memory has no room for. */
export const isTooLarge = (reason: string): boolean => reason.startsWith('circuit_breaking_exception')

/** A queue that is full, or a circuit breaker: more than its memory allows for now. */
export const busyHint = 'it has no room for more now: look at its load, its memory and its disks'

/** Of an index that was not made by us, or was changed since. */
export const mappingHint =
  'its mapping or settings are not as they were made: rebuild the projection, which makes new indices'

/** Elasticsearch says so in each answer. A proxy's own, as a 404 of one that has no backend for a moment, says nothing of an index. */
const isOurs = (headers: Readonly<Record<string, unknown>> | null | undefined): boolean =>
  headers?.['x-elastic-product'] === 'Elasticsearch'

function notOurs({ operation, subject }: Call, host: string, cause?: Error): TransientError {
  const hint = `the answer was cut off, or is none of Elasticsearch's: look at what stands before ${host}`
  return new TransientError({ operation, subject, hint, cause })
}

function responseFailure(error: errors.ResponseError, call: Call, host: string): Error {
  const { operation, subject } = call
  const status = error.statusCode ?? 0
  const reason = reasonOf(error.body)
  const cause = new Error(`Elasticsearch answered ${status} ${reason}`.trim())
  if (call.bytesMax !== undefined && isTooLarge(reason)) return new LargeAnswerError(subject, { cause })
  if (isClosed(reason)) return new TransientError({ operation, subject, hint: closedHint, cause })
  if (isBlocked(reason)) return new TransientError({ operation, subject, hint: blockedHint, cause })
  if (status === 401 || status === 403) {
    const hint =
      status === 401 ? 'check user and password in ELASTICSEARCH_URL' : 'the user of ELASTICSEARCH_URL lacks a right'
    return new PermanentError({ operation, subject, hint, cause })
  }
  if (status === 429) return new TransientError({ operation, subject, hint: busyHint, cause })
  if (!isOurs(error.headers)) return notOurs(call, host, cause)
  if (passing.has(status)) return new TransientError({ operation, subject, cause })
  return new PermanentError({ operation, subject, cause })
}

function failureOf(error: unknown, call: Call, host: string, isKnown: boolean): Error {
  const { operation, subject } = call
  if (isOperatingFailure(error)) return error
  if (error instanceof errors.ResponseError) return responseFailure(error, call, host)
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
  if (error instanceof errors.TimeoutError) {
    const hint = `not answered in ${requestTimeoutMs / 1000} s: it is busy or away, or a search is too broad for it`
    return new LateError({ operation, subject, hint, cause })
  }
  if (error instanceof errors.ElasticsearchClientError && !(error instanceof errors.ConfigurationError)) {
    const hint = `is Elasticsearch running at ${host}? Its address is ELASTICSEARCH_URL`
    return new TransientError({ operation, subject, hint, cause })
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

/** `url`: `http(s)://user:password@host:port`. Nothing is sent before the first call, which also checks the server's version. */
export function connectElasticsearch(url: string): Elasticsearch {
  const { host } = new URL(url)
  const own = { Serializer: ExactSerializer, Connection: HeardConnection }
  const client = new Client({ node: url, ...own, maxRetries: 0, requestTimeout: requestTimeoutMs })
  let checked: Promise<void> | undefined
  let isKnown = false
  const ready = (): Promise<void> => {
    checked ??= checkVersions(client, host).then(
      () => void (isKnown = true),
      (error: unknown) => {
        checked = undefined
        throw error
      },
    )
    return checked
  }
  return {
    async send(call) {
      const { signal } = call
      try {
        await ready()
        signal?.throwIfAborted()
        const { params, options } = requestOf(call)
        const answer = await client.transport.request(params, { meta: true, ...options })
        const { statusCode: status, headers, body } = answer
        if (!passing.has(status) && !isOurs(headers)) throw notOurs(call, host)
        return { status, body: isJsonObject(body) ? body : {} }
      } catch (error) {
        // An abort is reported with the signal's reason.
        signal?.throwIfAborted()
        throw failureOf(error, call, host, isKnown)
      }
    },
    close: () => client.close(),
  }
}
