import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'

/** Limits in the place of the service's. */
export type OwnLimits = Partial<Record<keyof typeof limits, number>>

/** Decodes after the scanner has passed the body, as the service does. */
export function decodeScanned(body: Uint8Array, contentType: OtlpContentType, own: OwnLimits = {}): readonly Span[] {
  const scan = scanSpans(body, contentType, { ...limits, ...own })
  if (!scan.ok) throw new Error(scan.error.detail)
  return decodeSpans(body, contentType, { ...limits, ...own })
}
