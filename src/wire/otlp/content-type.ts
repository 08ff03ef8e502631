/** The two encodings of OTLP/HTTP, by their bare media types. Source: OTLP specification 1.x, "OTLP/HTTP". */
export type OtlpContentType = 'application/x-protobuf' | 'application/json'

/**
 * The encoding that a `Content-Type` header names; undefined if OTLP/HTTP has no such encoding. Case does not matter. Parameters are allowed, but a
 * charset must be UTF-8 (or its subset US-ASCII).
 */
export function parseOtlpContentType(header: string | undefined): OtlpContentType | undefined {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase())
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=')
    if (name.trim() !== 'charset') continue
    if (!['utf-8', 'utf8', 'us-ascii'].includes(value.trim().replaceAll('"', ''))) return undefined
  }
  return type === 'application/x-protobuf' || type === 'application/json' ? type : undefined
}
