import { freeBytes } from '#src/lib/free-bytes.ts'
import { once } from '#src/lib/once.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { isJsonObject, parseJson, type Json } from '#src/lib/json.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { LogRecord, RefusalReason, RefusedSpan, RumEvent, Span } from '#src/events/telemetry.ts'
import type { DecodedEvent } from '../projection.ts'

type RumContent = Readonly<{
  spans: readonly Span[]
  logs: readonly LogRecord[]
  rumEvents: readonly RumEvent[]
}>

/** What understands the payloads: each takes the payload as it was received, uncompressed. Passed in by the composition. */
export type Decoders = Readonly<{
  /** The payload without its content coding; checks the CRC. */
  open(event: RecordedEvent): Uint8Array
  spans(payload: Uint8Array, contentType: string, receivedAt: number): readonly Span[]
  logs(payload: Uint8Array, contentType: string, receivedAt: number): readonly LogRecord[]
  rum(payload: Uint8Array, contentType: string, receivedAt: number): RumContent
}>

const reasons: readonly string[] = [
  'rejected_allowance',
  'rejected_invalid',
  'rejected_entitlement',
] satisfies readonly RefusalReason[]

function refusedSpan(item: Json): RefusedSpan | undefined {
  if (!Array.isArray(item)) return undefined
  const [traceId, spanId, reason] = item as readonly Json[]
  if (typeof traceId !== 'string' || typeof spanId !== 'string') return undefined
  if (typeof reason !== 'string' || !reasons.includes(reason)) return undefined
  return { traceId, spanId, reason: reason as RefusalReason }
}

/** Payload of `spans.refused`: `{"spans":[[traceId,spanId,reason],…]}`. */
function decodeRefusedSpans(payload: Uint8Array): readonly RefusedSpan[] {
  const body = parseJson(new TextDecoder().decode(payload))
  const items = isJsonObject(body) ? body['spans'] : undefined
  if (!Array.isArray(items)) throw new Error('a spans.refused payload holds no list of spans')
  return (items as readonly Json[]).map((item, index) => {
    const refused = refusedSpan(item)
    if (refused === undefined) throw new Error(`spans.refused: item ${index} is not [traceId, spanId, reason]`)
    return refused
  })
}

/** Gives an event's content its meaning, when first asked and at most once. A payload that fails throws PermanentError. */
export function createDecoder(decoders: Decoders): (event: RecordedEvent) => DecodedEvent {
  return (event) => {
    const attempt = <T>(decode: (payload: Uint8Array) => T): T => {
      try {
        const payload = decoders.open(event)
        const decoded = decode(payload)
        // The event keeps its own bytes, which may be what was opened.
        if (payload.buffer !== event.payload.buffer) freeBytes(payload)
        return decoded
      } catch (cause) {
        throw new PermanentError({ operation: `decode ${event.type}`, subject: `at ${event.position}`, cause })
      }
    }
    const { contentType, receivedAt } = event
    const rum = once(() => attempt((payload) => decoders.rum(payload, contentType, receivedAt)))
    const spans = once(() => attempt((payload) => decoders.spans(payload, contentType, receivedAt)))
    const logs = once(() => attempt((payload) => decoders.logs(payload, contentType, receivedAt)))
    const refused = once(() => attempt(decodeRefusedSpans))
    const isRum = event.type === 'rum.received'
    return {
      event,
      spans: () => (isRum ? rum().spans : event.type === 'spans.received' ? spans() : []),
      logs: () => (isRum ? rum().logs : event.type === 'logs.received' ? logs() : []),
      rumEvents: () => (isRum ? rum().rumEvents : []),
      refusedSpans: () => (event.type === 'spans.refused' ? refused() : []),
    }
  }
}
