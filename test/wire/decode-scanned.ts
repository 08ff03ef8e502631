import { limits } from '#src/config.ts'
import type { Span } from '#src/events/telemetry.ts'
import type { OtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodeSpans } from '#src/wire/otlp/decode.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import { encodeJson, encodeProtobuf, utf8, type MadeRequest } from '#test/support/otlp.ts'

/** Limits in the place of the service's. */
export type OwnLimits = Partial<Record<keyof typeof limits, number>>

/** Decodes after the scanner has passed the body, as the service does. */
export function decodeScanned(body: Uint8Array, contentType: OtlpContentType, own: OwnLimits = {}): readonly Span[] {
  const scan = scanSpans(body, contentType, { ...limits, ...own })
  if (!scan.ok) throw new Error(scan.error.detail)
  return decodeSpans(body, contentType, { ...limits, ...own })
}

/** Each of the forms in which a request may come. */
export const encodings: readonly Readonly<{
  name: string
  decode: (request: MadeRequest, own?: OwnLimits) => readonly Span[]
}>[] = [
  { name: 'protobuf', decode: (request, own) => decodeScanned(encodeProtobuf(request), 'application/x-protobuf', own) },
  {
    name: 'protobuf in reverse field order',
    decode: (request, own) => decodeScanned(encodeProtobuf(request, 'reversed'), 'application/x-protobuf', own),
  },
  { name: 'JSON', decode: (request, own) => decodeScanned(utf8(encodeJson(request)), 'application/json', own) },
]
