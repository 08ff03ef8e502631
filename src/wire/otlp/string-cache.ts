const slots = 4_096
const bytesMax = 40
const texts: (string | undefined)[] = Array.from({ length: slots }, () => undefined)

/**
 * The text of UTF-8 bytes; what is not UTF-8 becomes U+FFFD. Short ASCII texts (names of attributes, services, operations) are frequent, so the last
 * text of each hash is kept and reused. This cache is bounded and does not influence the result.
 */
export function textOf(body: Buffer, start: number, end: number): string {
  const length = end - start
  if (length === 0) return ''
  if (length > bytesMax) return body.toString('utf8', start, end)
  let hash = length
  for (let pos = start; pos < end; pos++) {
    const byte = body[pos] as number
    if (byte > 0x7f) return body.toString('utf8', start, end)
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  const slot = (hash ^ (hash >>> 15)) & (slots - 1)
  const known = texts[slot]
  if (known !== undefined && known.length === length && equals(known, body, start)) return known
  return (texts[slot] = body.toString('latin1', start, end))
}

function equals(text: string, body: Buffer, start: number): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) !== body[start + index]) return false
  return true
}
