import type { Span } from '#src/events/telemetry.ts'
import type { OtlpContentType } from './content-type.ts'
import { decodeJson } from './decode-json.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import type { DecodeLimits } from './span-parts.ts'

/**
 * The spans of an ExportTraceServiceRequest that passed the scanner (scan.ts), in request order; spans without usable ids are
 * left out. For the fold: ingest never decodes. Lenient, because one odd span never costs the others: bad UTF-8 becomes U+FFFD,
 * what is too deep, too many or too large is cut and named in `cuts`, unknown enum values are unset, the last of equal
 * attribute names counts. Throws only on bytes that the scanner would refuse.
 */
export function decodeSpans(payload: Uint8Array, contentType: OtlpContentType, limits: DecodeLimits): readonly Span[] {
  return contentType === 'application/json' ? decodeJson(payload, limits) : decodeProtobuf(payload, limits)
}
