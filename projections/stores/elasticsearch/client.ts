import { Client, errors, Serializer } from '@elastic/elasticsearch'
import { isOperatingFailure, PermanentError, TransientError } from '#src/lib/failure.ts'
import { isJsonObject, parseJson, stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { objectIn, objectsIn, textIn } from './answer-parts.ts'

/** One request. `body` is written as JSON; `lines` is NDJSON as it stands, as text or as its bytes. */
export type Call = Readonly<{
  /** What it is for, in words: failures say it. */
  operation: string
  subject: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string | number | boolean>>
  body?: unknown
  lines?: string | Buffer
  /** Statuses that are answers, not failures. */
  accept?: readonly number[]
  /** An answer of more bytes is not read: LargeAnswerError. */
  bytesMax?: number
  /** Breaks the request off when it is aborted: the call then rejects with its reason. */
  signal?: AbortSignal
}>

/** The answer has more bytes than the call lets it have: who asks for less may get it. */
export class LargeAnswerError extends Error {
  override readonly name = 'LargeAnswerError'
}

export type Answer = Readonly<{ status: number; body: JsonObject }>

/** A connection to Elasticsearch that fails in our words: TransientError or PermanentError, never the driver's. */
export type Elasticsearch = Readonly<{
  send(call: Call): Promise<Answer>
  close(): Promise<void>
}>

/** Of which all that we use is there, and with which it is tested. */
const leastVersion = [8, 19] as const
const requestTimeoutMs = 60_000

/** Integers of 64 bits come and go with their exact digits. */
class ExactSerializer extends Serializer {
  override serialize(value: unknown): string {
    return stringifyJson(value)
  }
  override deserialize<T = unknown>(text: string): T {
    return parseJson(text) as T
  }
}

/** `type: reason` of an error's body, the innermost cause, not longer than a line. */
export function reasonOf(body: unknown): string {
  let error = isJsonObject(body) ? objectIn(body['error']) : {}
  // A search that fails in its parts says why in the first of them.
  const [part] = objectsIn(error['failed_shards'])
  if (part !== undefined) error = objectIn(part['reason'])
  while (isJsonObject(error['caused_by'])) error = error['caused_by']
  const text = [error['type'], error['reason']].map(textIn).filter((each) => each !== '')
  return text.join(': ').slice(0, 500)
}

/** 409: another writer was first, which those who would know what it has written take for an answer. */
const passing: ReadonlySet<number> = new Set([408, 409, 429, 502, 503, 504])

/** A block comes and goes: a node whose disk is too full sets it, or somebody for a while. It is answered with 403 or 429. */
export const isBlocked = (reason: string): boolean => reason.startsWith('cluster_block_exception')
export const blockedHint =
  'it is blocked: make room on the disks, if they are full, and lift the block (index.blocks.*, cluster.blocks.*)'

function responseFailure(error: errors.ResponseError, call: Call): Error {
  const { operation, subject } = call
  const status = error.statusCode ?? 0
  const reason = reasonOf(error.body)
  const cause = new Error(`Elasticsearch answered ${status} ${reason}`.trim())
  if (isBlocked(reason)) return new TransientError({ operation, subject, hint: blockedHint, cause })
  if (status === 401 || status === 403) {
    const hint =
      status === 401 ? 'check user and password in ELASTICSEARCH_URL' : 'the user of ELASTICSEARCH_URL lacks a right'
    return new PermanentError({ operation, subject, hint, cause })
  }
  if (passing.has(status)) return new TransientError({ operation, subject, cause })
  return new PermanentError({ operation, subject, cause })
}

function failureOf(error: unknown, call: Call, host: string): Error {
  const { operation, subject } = call
  if (isOperatingFailure(error)) return error
  if (error instanceof errors.ResponseError) return responseFailure(error, call)
  // The only reason why the driver breaks off what nobody has told it to.
  if (error instanceof errors.RequestAbortedError && call.bytesMax !== undefined) return new LargeAnswerError(subject)
  const text = error instanceof Error ? error.message : String(error)
  const cause = new Error(text.slice(0, 500))
  if (error instanceof errors.ProductNotSupportedError) {
    const hint = `what answers at ${host} is not Elasticsearch: check ELASTICSEARCH_URL`
    return new PermanentError({ operation, subject, hint })
  }
  if (error instanceof errors.ElasticsearchClientError && !(error instanceof errors.ConfigurationError)) {
    const hint = `is Elasticsearch running at ${host}? Its address is ELASTICSEARCH_URL`
    return new TransientError({ operation, subject, hint, cause })
  }
  return new PermanentError({ operation, subject, cause })
}

/** Refuses servers that lack what we need. `GET /` has no handler in the smallest distribution; nodes tell theirs everywhere. */
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

/** `url`: `http(s)://user:password@host:port`. Nothing is sent before the first call; that also checks the server's version. */
export function connectElasticsearch(url: string): Elasticsearch {
  const { host } = new URL(url)
  const client = new Client({ node: url, Serializer: ExactSerializer, maxRetries: 0, requestTimeout: requestTimeoutMs })
  let checked: Promise<void> | undefined
  const ready = (): Promise<void> => {
    checked ??= checkVersions(client, host).catch((error: unknown) => {
      checked = undefined
      throw error
    })
    return checked
  }
  return {
    async send(call) {
      const { method, path, query, body, lines, accept = [], bytesMax, signal } = call
      try {
        await ready()
        signal?.throwIfAborted()
        const params = {
          method,
          path,
          ...(query === undefined ? {} : { querystring: query }),
          ...(body === undefined ? {} : { body: body as object }),
          ...(lines === undefined ? {} : { bulkBody: lines }),
        }
        const size = bytesMax === undefined ? {} : { maxResponseSize: bytesMax, maxCompressedResponseSize: bytesMax }
        const options = { ignore: [...accept], ...size, ...(signal === undefined ? {} : { signal }) }
        const { statusCode, body: answer } = await client.transport.request(params, { meta: true, ...options })
        return { status: statusCode ?? 0, body: isJsonObject(answer) ? answer : {} }
      } catch (error) {
        // Whoever has aborted it knows why.
        signal?.throwIfAborted()
        throw failureOf(error, call, host)
      }
    },
    close: () => client.close(),
  }
}
