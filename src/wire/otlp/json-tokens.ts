import { hexValues } from './ids.ts'

/** Longer numbers are refused: making an integer of many digits costs more than linear time. */
const numberCharactersMax = 1_000

const escapeLetters = new TextEncoder().encode('"\\/bfnrt')
const digit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

/** The place of the first byte at or after `pos` that is not JSON white space. */
export function skipSpace(body: Uint8Array, start: number): number {
  let pos = start
  for (;;) {
    const byte = body[pos]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return pos
    pos++
  }
}

/**
 * Where the string that begins at `start` (its quote) ends, behind the closing quote; -1 when it is malformed. Bytes that are
 * not UTF-8 are let through: decoding replaces them, and never touches a quote. Source: RFC 8259 section 7.
 */
export function afterString(body: Uint8Array, start: number): number {
  const end = body.length
  for (let pos = start + 1; pos < end; pos++) {
    const byte = body[pos] as number
    if (byte === 0x22) return pos + 1
    if (byte < 0x20) return -1
    if (byte === 0x5c && ++pos < end) {
      pos = endOfEscape(body, pos)
      if (pos < 0) return -1
    }
  }
  return -1
}

/** The last byte of the escape whose letter stands at `pos`, or -1. */
function endOfEscape(body: Uint8Array, pos: number): number {
  const letter = body[pos] as number
  if (letter !== 0x75) return escapeLetters.includes(letter) ? pos : -1
  for (let hex = pos + 1; hex <= pos + 4; hex++) if ((hexValues[body[hex] ?? 0] ?? 255) === 255) return -1
  return pos + 4
}

function afterDigits(body: Uint8Array, start: number): number {
  let pos = start
  while (digit(body[pos])) pos++
  return pos === start ? -1 : pos
}

/** Where the number that begins at `start` ends, or -1. Source: RFC 8259 section 6. */
export function afterNumber(body: Uint8Array, start: number): number {
  const first = body[start] === 0x2d ? start + 1 : start
  let pos = body[first] === 0x30 ? first + 1 : afterDigits(body, first)
  if (pos >= 0 && body[pos] === 0x2e) pos = afterDigits(body, pos + 1)
  if (pos >= 0 && ((body[pos] ?? 0) | 0x20) === 0x65) {
    const sign = body[pos + 1]
    pos = afterDigits(body, sign === 0x2b || sign === 0x2d ? pos + 2 : pos + 1)
  }
  return pos - start > numberCharactersMax ? -1 : pos
}

const literals = ['true', 'false', 'null'].map((text) => new TextEncoder().encode(text))

/** Where `true`, `false` or `null` at `start` ends, or -1. */
export function afterLiteral(body: Uint8Array, start: number): number {
  for (const literal of literals) if (equalsAt(body, start, literal)) return start + literal.length
  return -1
}

export function equalsAt(body: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) if (body[start + index] !== expected[index]) return false
  return true
}
