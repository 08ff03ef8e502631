import type { EventType } from '#src/events/envelope.ts'
import { isJsonObject, parseJson, type Json } from '#src/lib/json.ts'
import { decodePartialSuccess } from '#src/wire/otlp/reply.ts'

/** What the other installation has refused of an event, though it took the request; and why, if it says so. */
export type Rejected = Readonly<{ records: number; reason: string | undefined }>

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** A count in JSON: OTLP writes int64 as a string, and leaves out 0. */
function countOf(value: Json | undefined): number | undefined {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : (value ?? 0)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

const rejected = (records: number | undefined, reason: string | undefined): Rejected | undefined =>
  records === undefined ? undefined : { records, reason }

function ofProtobuf(body: Uint8Array): Rejected | undefined {
  const partial = decodePartialSuccess(body)
  return partial && rejected(countOf(partial.rejectedSpans), textOf(partial.errorMessage))
}

/** ExportTraceServiceResponse in JSON. */
function ofSpans(body: Json): Rejected | undefined {
  const partial = isJsonObject(body) ? (body['partialSuccess'] ?? {}) : undefined
  if (!isJsonObject(partial)) return undefined
  return rejected(countOf(partial['rejectedSpans']), textOf(partial['errorMessage']))
}

/** `{accepted, rejected}`; of logs also the first `errors`, each with its message. */
function ofRecords(body: Json): Rejected | undefined {
  if (!isJsonObject(body) || typeof body['accepted'] !== 'number') return undefined
  const [first] = Array.isArray(body['errors']) ? (body['errors'] as readonly Json[]) : []
  return rejected(countOf(body['rejected']), isJsonObject(first) ? textOf(first['message']) : undefined)
}

function jsonOf(body: Uint8Array): Json | undefined {
  try {
    return parseJson(Buffer.from(body).toString())
  } catch {
    return undefined
  }
}

/** What an ingest route says about an event that it has taken; undefined if no ingest route would answer so. */
export function rejectedOf(type: EventType, contentType: string, body: Uint8Array): Rejected | undefined {
  const isSpans = type === 'spans.received'
  if (isSpans && contentType.startsWith('application/x-protobuf')) return ofProtobuf(body)
  const json = jsonOf(body)
  if (json === undefined) return undefined
  return isSpans ? ofSpans(json) : ofRecords(json)
}
