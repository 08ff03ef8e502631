import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'

/** The decoder of the charset that a `Content-Type` names. Undefined if it names none, an unknown one, or UTF-8. */
function decoderOf(contentType: string): TextDecoder | undefined {
  const [, label] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? []
  if (label === undefined || /^(?:utf-?8|us-ascii)$/i.test(label)) return undefined
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

/** Bytes that are decoded at once: in UTF-8 a body may be three times as long. */
const stepBytes = 1 << 20

/** The body in UTF-8; undefined, before it is built whole, if it is longer than `bytesMax`. */
function decoded(body: Uint8Array, decoder: TextDecoder, bytesMax: number): Uint8Array | undefined {
  const parts: Buffer[] = []
  let length = 0
  for (let at = 0; at < body.length; at += stepBytes) {
    const isLast = at + stepBytes >= body.length
    const part = Buffer.from(decoder.decode(body.subarray(at, at + stepBytes), { stream: !isLast }))
    length += part.length
    if (length > bytesMax) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/**
 * The body of text in UTF-8; nearly every body already is. Java's usual clients write ISO-8859-1 by default and say so. Some name that charset but
 * send UTF-8, which is recognised by its form. Without a charset, or with an unknown one, the body is taken for UTF-8.
 * Undefined if the result is longer than `bytesMax`.
 */
export function inUtf8(body: Uint8Array, contentType: string | undefined, bytesMax: number): Uint8Array | undefined {
  if (contentType === undefined || /^[^;]*msgpack/i.test(contentType)) return body
  const decoder = decoderOf(contentType)
  // ASCII in UTF-16 is also well-formed UTF-8, with zero bytes. Text in other charsets hardly ever is.
  if (decoder === undefined || (!decoder.encoding.startsWith('utf-16') && isUtf8(body))) return body
  return decoded(body, decoder, bytesMax)
}
