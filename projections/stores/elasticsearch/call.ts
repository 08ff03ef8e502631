import type { JsonObject } from '#src/lib/json.ts'

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
  /**
   * It may be done twice, the second time much later: what reads, or what its own condition keeps from a second effect. Where the node that it was
   * sent to is lost, it is then sent to another. Every GET may.
   */
  mayRepeat?: boolean
  /** Aborts the request: the call then rejects with the signal's reason. */
  signal?: AbortSignal
}>

/**
 * Parameters of a read: from the copy of each shard that the asked node itself has, if it has one. Another node may hang. Reads from its copies would
 * wait until the master removes it from the cluster, and nobody removes it where it is the master.
 */
export const nearest = { preference: '_local' } as const

/** Parameters of a request that names indices by a wildcard: all that exist and are open, hidden ones (`index.hidden`) too. */
export const everyOpen = { ignore_unavailable: true, allow_no_indices: true, expand_wildcards: 'open,hidden' } as const

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
