import type { Limits } from '#src/config.ts'
import { openPayload } from '#src/events/codec.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { parseOtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { fillTimes } from '#src/wire/otlp/fill-times.ts'
import { decodeRum } from '#src/wire/rum/decode.ts'
import type { Decoders } from './decoded-event.ts'

/** The decoders of the wire protocols, as the projector uses them. */
export function createDecoders(limits: Limits): Decoders {
  return {
    open: openPayload,
    spans(payload, contentType, receivedAt) {
      const type = parseOtlpContentType(contentType)
      if (type === undefined) throw new Error(`spans are never stored as ${contentType}`)
      return fillTimes(decodeSpans(payload, type, limits), receivedAt)
    },
    logs: (payload, contentType, receivedAt) => decodeLogs(payload, contentType, { receivedAt, limits }),
    rum: (payload, contentType, receivedAt) => decodeRum(payload, contentType, { receivedAt, limits }),
  }
}
