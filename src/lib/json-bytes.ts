/**
 * Reads JSON as bytes: checks the grammar and tells where values stand, without building anything and without recursion.
 * Accepts what JSON.parse accepts of the same bytes decoded as UTF-8 with U+FFFD for what is not UTF-8, but for numbers of
 * more than 1,000 characters, unless it is told otherwise, and nesting beyond 10,000.
 * Source: RFC 8259. A negative result `~offset` means: not JSON, at that offset.
 */
const space = table([0x20, 0x09, 0x0a, 0x0d])
/** Bytes that may stand in a string as they are: all but controls, the quote and the backslash. */
const plain = table(
  Array.from({ length: 256 }, (_unused, byte) => byte).filter((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c),
)
const afterBackslash = table(Buffer.from('"\\/bfnrt'))
const hex = table(Buffer.from('0123456789abcdefABCDEF'))
const literals = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Longer numbers count as broken, or are not made integers: that costs more than linear time. */
export const numberCharactersMax = 1_000

/** Nesting beyond this is not followed at all: the value counts as broken there. */
export const jsonDepthFollowedMax = 10_000

function table(bytes: Iterable<number>): Uint8Array {
  const found = new Uint8Array(256)
  for (const byte of bytes) found[byte] = 1
  return found
}

/** Where a value stands: from its first byte to after its last. */
export type JsonRange = Readonly<{ start: number; end: number }>

export const isSpace = (byte: number | undefined): boolean => byte !== undefined && space[byte] === 1

/** Where a text begins: behind its byte order mark, which some senders on Windows write. */
export const afterMark = (body: Uint8Array): number =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0

/** The first offset at or after `at` that is not JSON white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let index = at
  while (index < bytes.length && space[bytes[index] as number] === 1) index++
  return index
}

/** The end of the string whose opening quote is at `at`. */
export function stringEnd(bytes: Uint8Array, at: number): number {
  let index = at + 1
  for (;;) {
    while (index < bytes.length && plain[bytes[index] as number] === 1) index++
    const byte = bytes[index]
    if (byte === quote) return index + 1
    if (byte !== 0x5c) return ~index
    const escaped = escapeEnd(bytes, index + 1)
    if (escaped < 0) return escaped
    index = escaped
  }
}

function escapeEnd(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) return ~at
  if (afterBackslash[byte] === 1) return at + 1
  if (byte !== 0x75) return ~at
  for (let index = at + 1; index < at + 5; index++) {
    const digit = bytes[index]
    if (digit === undefined || hex[digit] !== 1) return ~index
  }
  return at + 5
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

function digitsEnd(bytes: Uint8Array, at: number): number {
  let index = at
  while (isDigit(bytes[index])) index++
  return index === at ? ~at : index
}

function numberEnd(bytes: Uint8Array, at: number, charactersMax: number): number {
  let index = bytes[at] === 0x2d ? at + 1 : at
  index = bytes[index] === 0x30 ? index + 1 : digitsEnd(bytes, index)
  if (index >= 0 && bytes[index] === 0x2e) index = digitsEnd(bytes, index + 1)
  if (index >= 0 && (bytes[index] === 0x65 || bytes[index] === 0x45)) {
    const sign = bytes[index + 1]
    index = digitsEnd(bytes, sign === 0x2b || sign === 0x2d ? index + 2 : index + 1)
  }
  return index - at > charactersMax ? ~at : index
}

/** The end of the string, number or literal whose first byte is at `at`. `charactersMax` is of numbers. */
export function scalarEnd(bytes: Uint8Array, at: number, charactersMax = numberCharactersMax): number {
  const byte = bytes[at]
  if (byte === quote) return stringEnd(bytes, at)
  if (byte === 0x2d || isDigit(byte)) return numberEnd(bytes, at, charactersMax)
  const literal = byte === undefined ? undefined : literals.get(byte)
  if (literal === undefined) return ~at
  for (let index = 1; index < literal.length; index++) if (bytes[at + index] !== literal[index]) return ~(at + index)
  return at + literal.length
}

/** From the quote of a member's key to the first byte of its value. */
function keyEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return ~at
  const end = stringEnd(bytes, at)
  if (end < 0) return end
  const mark = skipSpace(bytes, end)
  return bytes[mark] === colon ? skipSpace(bytes, mark + 1) : ~mark
}

export interface JsonReader {
  /** The end of the value whose first byte is at `at`. */
  value(at: number): number
  /** How deep the value last read is nested: 0 for a scalar, 1 for `{}`. */
  depth(): number
  /** How many values have been read so far, all calls together, with those inside. */
  values(): number
}

/** The open containers of the value being read. Shared: reading a value is one synchronous step that calls nobody. */
const kinds = new Uint8Array(jsonDepthFollowedMax + 1)

/** `charactersMax`: of numbers; a longer one counts as broken. */
export function createJsonReader(bytes: Uint8Array, charactersMax = numberCharactersMax): JsonReader {
  let open = 0
  let deepest = 0
  let values = 0

  /** After a whole value at `at`: closes what ends there. The first byte of the next value, or the end when none is open. */
  const closeEnded = (at: number): number => {
    let index = at
    while (open > 0) {
      index = skipSpace(bytes, index)
      const byte = bytes[index]
      const inObject = kinds[open] === openBrace
      if (byte === comma) {
        const next = skipSpace(bytes, index + 1)
        return inObject ? keyEnd(bytes, next) : next
      }
      if (byte !== (inObject ? closeBrace : closeBracket)) return ~index
      index++
      open--
    }
    return index
  }

  /** Into the container at `at`: the first byte of its first value, or after it when it is empty. */
  const enter = (at: number, kind: number): number => {
    if (++open > jsonDepthFollowedMax) return ~at
    kinds[open] = kind
    if (open > deepest) deepest = open
    const first = skipSpace(bytes, at + 1)
    if (bytes[first] === (kind === openBrace ? closeBrace : closeBracket)) {
      open--
      return closeEnded(first + 1)
    }
    return kind === openBrace ? keyEnd(bytes, first) : first
  }

  const value = (start: number): number => {
    let at = start
    open = 0
    deepest = 0
    for (;;) {
      values++
      const byte = bytes[at]
      if (byte === openBrace || byte === openBracket) at = enter(at, byte)
      else {
        at = scalarEnd(bytes, at, charactersMax)
        if (at >= 0) at = closeEnded(at)
      }
      if (at < 0 || open === 0) return at
    }
  }

  return { value, depth: () => deepest, values: () => values }
}

/**
 * Reads the array whose bracket is at `at`, item by item (`reader.depth()` is the item's). Stops if `visit` returns false. Returns the end of the
 * array, or of the item at which it stopped.
 */
export function eachItem(
  bytes: Uint8Array,
  reader: JsonReader,
  at: number,
  visit: (start: number, end: number) => unknown,
): number {
  let index = skipSpace(bytes, at + 1)
  if (bytes[index] === closeBracket) return index + 1
  for (;;) {
    const end = reader.value(index)
    if (end < 0) return end
    if (visit(index, end) === false) return end
    index = skipSpace(bytes, end)
    if (bytes[index] === closeBracket) return index + 1
    if (bytes[index] !== comma) return ~index
    index = skipSpace(bytes, index + 1)
  }
}

/**
 * Reads the object whose brace is at `at`, member by member, in order, repeated keys too. A key becomes text only when it is asked for; it begins at
 * `keyStart`. Returns the end of the object.
 */
export function eachMember(
  bytes: Uint8Array,
  reader: JsonReader,
  at: number,
  visit: (key: () => string, value: JsonRange, keyStart: number) => void,
): number {
  let index = skipSpace(bytes, at + 1)
  if (bytes[index] === closeBrace) return index + 1
  for (;;) {
    const key = index
    const start = keyEnd(bytes, key)
    if (start < 0) return start
    const end = reader.value(start)
    if (end < 0) return end
    visit(() => keyText(bytes, key), { start, end }, key)
    index = skipSpace(bytes, end)
    if (bytes[index] === closeBrace) return index + 1
    if (bytes[index] !== comma) return ~index
    index = skipSpace(bytes, index + 1)
  }
}

/** A text that has been read. Nearly all names have no escapes. */
function keyText(bytes: Uint8Array, at: number): string {
  const end = stringEnd(bytes, at)
  const text = textOf(bytes, at + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(textOf(bytes, at, end)) as string) : text
}

/** The bytes from `start` to `end` as text; what is not UTF-8 becomes U+FFFD. */
export function textOf(bytes: Uint8Array, start: number, end = bytes.length): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('utf8', start, end)
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
}
