import type { Span } from '#src/events/telemetry.ts'
import type { OtlpContentType } from './content-type.ts'
import { decodeJson } from './decode-json.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import type { DecodeLimits } from './span-parts.ts'

/**
 * The spans of an ExportTraceServiceRequest that the scanner (scan.ts) accepted, in request order, without spans that have no usable ids. Only the
 * fold decodes, never ingest.
 * Lenient, so that one odd span never costs the others: bad UTF-8 becomes U+FFFD; what is too deep, too many or too large is cut and listed in
 * `cuts`; unknown enum values are unset; of equal attribute names the last counts. Throws only on bytes that the scanner would refuse.
 */
export function decodeSpans(payload: Uint8Array, contentType: OtlpContentType, limits: DecodeLimits): readonly Span[] {
  return contentType === 'application/json' ? decodeJson(payload, limits) : decodeProtobuf(payload, limits)
}
