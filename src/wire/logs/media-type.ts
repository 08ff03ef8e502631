import { isUtf8 } from 'node:buffer'
import { afterMark, skipSpace } from '#src/lib/json-bytes.ts'

/** The media types under which log bodies are stored. Every accepted name and every sniffed body is mapped to one of them. */
export type LogMediaType =
  /** One JSON value: a record, an array of them, or a wrapper. */
  | 'application/json'
  /** A sequence of JSON values, mostly one per line. */
  | 'application/x-ndjson'
  | 'application/msgpack'
  | 'text/plain'
  | 'application/x-www-form-urlencoded'

const json: LogMediaType = 'application/json'
const lines: LogMediaType = 'application/x-ndjson'
const names: ReadonlyMap<string, LogMediaType> = new Map([
  ['application/json', json],
  ['text/json', json],
  ['application/x-json', json],
  ['application/x-ndjson', lines],
  ['application/ndjson', lines],
  ['application/jsonl', lines],
  ['application/x-jsonl', lines],
  ['application/jsonlines', lines],
  ['application/x-jsonlines', lines],
  ['application/json-lines', lines],
  ['application/stream+json', lines],
  ['application/json-seq', lines],
  ['application/x-json-stream', lines],
  ['application/msgpack', 'application/msgpack'],
  ['application/x-msgpack', 'application/msgpack'],
  ['application/vnd.msgpack', 'application/msgpack'],
  ['text/plain', 'text/plain'],
  // Heroku's drains: syslog lines, each behind its length (RFC 6587 §3.4.1).
  ['application/logplex-1', 'text/plain'],
  ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
])

/** Stands before each value of a JSON text sequence (RFC 7464), as journalctl, jq and Twisted write it. */
export const recordMark = 0x1e

const startsJson = (body: Uint8Array): boolean => {
  const start = skipSpace(body, afterMark(body))
  const first = body[body[start] === recordMark ? start + 1 : start]
  return first === 0x7b || first === 0x5b
}

/**
 * The media type that a body is read as; undefined if it cannot be a log body. Without a type (pino-http-send names none for NDJSON), or with
 * `application/octet-stream`, the first byte decides. A type of form is checked too: `curl -d` and syslog-ng use it for anything.
 */
export function resolveMediaType(contentType: string | undefined, body: Uint8Array): LogMediaType | undefined {
  const name = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'application/octet-stream') return sniff(body)
  if (name === 'application/x-www-form-urlencoded') {
    if (startsJson(body)) return json
    return isForm(body) ? name : 'text/plain'
  }
  return names.get(name) ?? (name.endsWith('+json') ? json : undefined)
}

/** A form has pairs and no white space, which it encodes as `+` or `%20`. */
const isForm = (body: Uint8Array): boolean => body.includes(0x3d) && !body.some((byte) => byte <= 0x20)

function sniff(body: Uint8Array): LogMediaType | undefined {
  if (startsJson(body) || skipSpace(body, afterMark(body)) === body.length) return json
  const first = body[0] ?? 0
  // fixmap and fixarray cannot begin UTF-8 text; array 16/32 and map 16/32 can.
  if (first >= 0x80 && first <= 0x9f) return 'application/msgpack'
  if (isUtf8(body)) return 'text/plain'
  return first >= 0xdc && first <= 0xdf ? 'application/msgpack' : undefined
}
