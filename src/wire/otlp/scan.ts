import type { Refusal } from '#src/events/refusal.ts'
import type { Result } from '#src/lib/result.ts'
import type { OtlpContentType } from './content-type.ts'
import { scanJson } from './scan-json.ts'
import { scanProtobuf } from './scan-protobuf.ts'
import type { ScanLimits, SpanScan } from './span-scan.ts'

/**
 * Checks the bytes of an ExportTraceServiceRequest (decompressed) in one pass, without building objects: structure, limits and span ids. Refuses with
 * `invalid_body` if it is no such request, and with `payload_too_large` above a limit. A body that passes can be decoded (decode.ts), to exactly its
 * valid spans. An empty body is a request without spans. Source: opentelemetry-proto 1.x collector/trace/v1, OTLP specification "OTLP/HTTP".
 */
export function scanSpans(
  body: Uint8Array,
  contentType: OtlpContentType,
  limits: ScanLimits,
): Result<SpanScan, Refusal> {
  return contentType === 'application/json' ? scanJson(body, limits) : scanProtobuf(body, limits)
}
