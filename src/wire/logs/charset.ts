import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'

/** The decoder of another charset than UTF-8 that a `Content-Type` names; undefined where it names none, or none that is known. */
function decoderOf(contentType: string): TextDecoder | undefined {
  const [, label] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? []
  if (label === undefined || /^(?:utf-?8|us-ascii)$/i.test(label)) return undefined
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}

/** So much is decoded at once: a body may come to three times its length. */
const stepBytes = 1 << 20

/** Undefined where it comes to more than `bytesMax`, and then is not made. */
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
 * The body of text in UTF-8, which it nearly always is. Java's usual clients write ISO-8859-1 unless told otherwise and say so; some say
 * so of UTF-8, which is told by its form. A charset that nobody knows is taken for UTF-8, as it is where none is named.
 * Undefined where it comes to more than `bytesMax`.
 */
export function inUtf8(body: Uint8Array, contentType: string | undefined, bytesMax: number): Uint8Array | undefined {
  if (contentType === undefined || /^[^;]*msgpack/i.test(contentType)) return body
  const decoder = decoderOf(contentType)
  // UTF-16 of ASCII is well-formed UTF-8 with zero bytes in it; text in other charsets is hardly ever.
  if (decoder === undefined || (!decoder.encoding.startsWith('utf-16') && isUtf8(body))) return body
  return decoded(body, decoder, bytesMax)
}
