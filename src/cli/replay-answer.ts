import type { EventType } from '#src/events/envelope.ts'
import { isJsonObject, parseJson, type Json } from '#src/lib/json.ts'

/** What of an event the other installation has refused, though it took the request; and why, where it says so. */
export type Rejected = Readonly<{ records: number; reason: string | undefined }>

/** The numbers and the bytes of a protobuf message by their fields, the last of each; undefined where it is none. */
function fieldsOf(message: Uint8Array): ReadonlyMap<number, number | Uint8Array> | undefined {
  const found = new Map<number, number | Uint8Array>()
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++]
      if (byte === undefined || scale > 128 ** 9) return Number.NaN
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const value = varint()
    const [field, wire] = [Math.floor(tag / 8), tag % 8]
    if (wire === 0 && !Number.isNaN(value)) found.set(field, value)
    else if (wire === 2 && at + value <= message.length) found.set(field, message.subarray(at, (at += value)))
    else return undefined
  }
  return found
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** A count as JSON has it: int64 is a string in OTLP, and what is 0 is left out. */
function countOf(value: Json | undefined): number | undefined {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : (value ?? 0)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

const rejected = (records: number | undefined, reason: string | undefined): Rejected | undefined =>
  records === undefined ? undefined : { records, reason }

/** ExportTraceServiceResponse: `partial_success` (1) with `rejected_spans` (1) and `error_message` (2). */
function ofProtobuf(body: Uint8Array): Rejected | undefined {
  const fields = fieldsOf(body)
  if (fields === undefined) return undefined
  const partial = fields.get(1) ?? new Uint8Array()
  const inner = typeof partial === 'number' ? undefined : fieldsOf(partial)
  if (inner === undefined) return undefined
  const [spans = 0, message = new Uint8Array()] = [inner.get(1), inner.get(2)]
  if (typeof spans !== 'number' || typeof message === 'number') return undefined
  return rejected(spans, textOf(Buffer.from(message).toString()))
}

/** The same in JSON. */
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

/** What an ingest route says of an event that it has taken; undefined for what none of them says. */
export function rejectedOf(type: EventType, contentType: string, body: Uint8Array): Rejected | undefined {
  const isSpans = type === 'spans.received'
  if (isSpans && contentType.startsWith('application/x-protobuf')) return ofProtobuf(body)
  const json = jsonOf(body)
  if (json === undefined) return undefined
  return isSpans ? ofSpans(json) : ofRecords(json)
}
