import { toNfc } from '#src/lib/to-nfc.ts'

/**
 * The one tokenizer of search. Everything searchable becomes a text of tokens with blanks between, and the index engines
 * only split on blanks; queries are cut by the same functions, so every engine matches alike.
 *
 * A token is a maximal run of letters, marks and digits, lower-cased (case folds, diacritics do not), NFC, cut at 64
 * characters. In scripts written without blanks (CJK, Thai …) each character is a token, and a word of them a phrase. So
 * identifiers and paths split at their punctuation, and the whole identifier is the phrase of its parts:
 * `/api/v1/orders` finds `api v1 orders`, adjacent.
 */
const tokenLengthMax = 64
const fieldLengthMax = 128
const wholeLengthMax = 96
const unspaced =
  '[[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Bopomofo}' +
  '\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]&&[\\p{L}\\p{N}]]'
/** A character that can be in a token of several characters: the source of a class of a regular expression with the flag `v`. */
export const runCharacter = `[[\\p{L}\\p{N}\\p{M}]--${unspaced}]`
const token = new RegExp(`${unspaced}\\p{M}*|${runCharacter}+`, 'gv')
const asciiWord = /[a-z0-9]+/g
// oxlint-disable-next-line no-control-regex
const onlyAscii = /^[\x00-\x7f]*$/
const onlyPrintableAscii = /^[ -~]*$/
/** Printable, without blanks and capitals: most identifiers and numbers. */
const wholeAlready = /^[!-@[-~]*$/
const letterOrDigit = /^[\p{L}\p{N}\p{M}]$/u
const unspacedCharacter = new RegExp(`^${unspaced}$`, 'v')

/** Separates two values, so that a phrase does not match across them. No user text can produce it. */
export const sentinel = '\u00b7'

/**
 * Lower case and NFC: the form in which values are compared. A final sigma is a sigma, since which of the two
 * `toLowerCase` gives depends on the next letter, which a prefix does not know.
 */
export function foldCase(text: string): string {
  if (onlyAscii.test(text)) return text.toLowerCase()
  return toNfc(toNfc(text).toLowerCase().replaceAll('ς', 'σ'))
}

// oxlint-disable-next-line no-control-regex
const colours = /\u001b\[[\d:;]*m/g

const replaceColours = (text: string, replacement: (found: string) => string): string =>
  text.includes('\u001b') ? text.replace(colours, replacement) : text

/** Removes terminal colour codes (ECMA-48 §8.3.117, SGR) from a text. */
export const withoutColours = (text: string): string => replaceColours(text, () => '')

/** Replaces them with as many blanks, so that offsets stay the same: colours separate words. */
export const blankColours = (text: string): string => replaceColours(text, (found) => ' '.repeat(found.length))

/** The tokens of a text, in order. */
export function words(given: string): string[] {
  const text = blankColours(given)
  const found = onlyAscii.test(text) ? text.toLowerCase().match(asciiWord) : foldCase(text).match(token)
  if (found === null) return []
  for (const [index, word] of found.entries())
    if (word.length > tokenLengthMax) found[index] = cut(word, tokenLengthMax)
  return found
}

export type PlacedWord = Readonly<{ word: string; start: number; end: number }>

/** The tokens of a text with their places in it (UTF-16 units, end exclusive), for highlights. */
export function placedWords(given: string): PlacedWord[] {
  const text = blankColours(given)
  return onlyAscii.test(text) || toNfc(text) === text ? placedIn(text) : placedInComposed(text)
}

function placedIn(text: string): PlacedWord[] {
  return [...text.matchAll(token)].map((match) => ({
    word: cut(foldCase(match[0]), tokenLengthMax),
    start: match.index,
    end: match.index + match[0].length,
  }))
}

/** Made when it is first needed, which is rare: it takes 20 ms, which each thread and each verb would spend at its start. */
let graphemes: Intl.Segmenter | undefined

/** As `placedWords`, for a text that is not NFC: it is composed character by character, and the place of each in the text is kept. */
function placedInComposed(text: string): PlacedWord[] {
  const places: Readonly<{ start: number; end: number }>[] = []
  let composed = ''
  graphemes ??= new Intl.Segmenter()
  for (const { segment, index } of graphemes.segment(text)) {
    const piece = toNfc(segment)
    for (let unit = 0; unit < piece.length; unit++) {
      const [start, length] = piece === segment ? [index + unit, 1] : [index, segment.length]
      places.push({ start, end: start + length })
    }
    composed += piece
  }
  return placedIn(composed).map(({ word, start, end }) => ({
    word,
    start: places[start]?.start ?? 0,
    end: places[end - 1]?.end ?? 0,
  }))
}

/** True when the character (one code point) can be in a token. */
export const isWordCharacter = (character: string): boolean => letterOrDigit.test(character)

/** True when the character (one code point), with the marks behind it, is a token by itself. */
export const isUnspaced = (character: string): boolean => unspacedCharacter.test(character)

/** At most `max` UTF-16 units, never half of a surrogate pair. */
function cut(text: string, max: number): string {
  const short = text.slice(0, max)
  return /[\ud800-\udbff]$/.test(short) ? short.slice(0, -1) : short
}

/** Folding may shorten a name: composing makes at most four units one. From this many characters on, the token is certainly full. */
const fieldReadMax = 8 * fieldLengthMax

/**
 * As much of a field's name as its token uses. A sender may write names of a megabyte, and nest thousands of values under one. So joined names are
 * cut: otherwise each value would cost more than the bytes it came in.
 */
export const tellingName = (field: string): string => field.slice(0, fieldReadMax)
/** Whether the name may be longer than what its token uses. */
export const isCutName = (field: string): boolean => field.length >= fieldReadMax

const fieldTokensKnown = new Map<string, string>()
const fieldTokensKnownMax = 4_096

/** A field's name as it stands in tokens: folded, without blanks; `@field` is `field`. */
export function fieldToken(field: string): string {
  // Not remembered: a part of a text keeps the whole text in memory.
  if (isCutName(field)) return makeFieldToken(tellingName(field))
  const known = fieldTokensKnown.get(field)
  if (known !== undefined) return known
  if (fieldTokensKnown.size >= fieldTokensKnownMax) fieldTokensKnown.clear()
  const made = makeFieldToken(field)
  fieldTokensKnown.set(field, made)
  return made
}

/** `@field` is `field`. */
export const withoutMark = (field: string): string => field.replace(/^@+(?=[^@])/, '')

/** A field's name as searches compare it with names of their own. */
export const bareName = (field: string): string => foldCase(withoutMark(field))

function makeFieldToken(field: string): string {
  const short = cut(foldCase(withoutMark(field).toWellFormed()), fieldLengthMax)
  return short.replace(/[\s\p{Cc}\u00b7=#]/gu, '_')
}

/** `field=word`: a word of a value of that field. */
export const wordToken = (field: string, word: string): string => `${fieldToken(field)}=${word}`

/**
 * A value as it stands in a whole token: folded, and every blank and control character a no-break space (engines split on
 * some of them, and a NUL would end an engine's text).
 */
export function wholeText(value: string): string {
  if (wholeAlready.test(value)) return value
  if (onlyPrintableAscii.test(value)) return value.toLowerCase().trim().replaceAll(' ', '\u00a0')
  return foldCase(value.toWellFormed())
    .trim()
    .replace(/[\s\p{Cc}]/gu, '\u00a0')
    .replaceAll(sentinel, '_')
}

/**
 * `field==value`: the whole value; long values keep their head and a checksum of the whole.
 * A value that is one token has only this form, so `field:word` must look for both (projections/reading/field-query.ts does).
 */
export const wholeToken = (field: string, value: string): string => `${fieldToken(field)}==${wholeBody(value)}`

/**
 * An id made by somebody else, such as a session's, compared exactly. Whole tokens are folded, so an id that folding changes gets a
 * checksum of the original appended.
 */
export const opaqueId = (id: string): string => (wholeText(id) === id ? id : `${id} ${checksum(id)}`)

/** The beginning of the whole tokens of a field's values that begin like this. Of values beyond `wholeLengthMax`, a token has only the first 64 characters. */
export const wholePrefix = (field: string, beginning: string): string => `${fieldToken(field)}==${wholeText(beginning)}`

function wholeBody(value: string): string {
  const text = wholeText(value)
  return text.length <= wholeLengthMax ? text : `${cut(text, tokenLengthMax)}\u00a0${checksum(text)}`
}

/** FNV-1a over UTF-16 code units, twice with different bases: 64 bits, enough to tell two long values of a field apart. */
function checksum(text: string): string {
  let a = 0x811c9dc5
  let b = 0xcbf29ce4
  for (let index = 0; index < text.length; index++) {
    a = Math.imul(a ^ text.charCodeAt(index), 0x01000193)
    b = Math.imul(b ^ text.charCodeAt(index), 0x5bd1e995)
  }
  return (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0')
}

/**
 * The tokens of one value of a field, adjacent ones in order: the whole token, and for several words each word too. The
 * whole token comes first, so that no phrase of words crosses from one value into the next. `parts` are the value's words.
 */
export function valueTokens(field: string, value: string, parts: readonly string[] = words(value)): string[] {
  const name = fieldToken(field)
  const body = wholeBody(value)
  const tokens = [`${name}==${body}`]
  if (parts.length === 1 && parts[0] === body) return tokens
  for (const part of parts) tokens.push(`${name}=${part}`)
  return tokens
}

/** `field=~`: the value of this field is the record's message, whose words are not repeated under the field. */
export const sameAsMessageToken = (field: string): string => `${fieldToken(field)}=~`

/** `field=`: the field is there, and its value is not looked for as text. */
export const presenceToken = (field: string): string => `${fieldToken(field)}=`

/** Whether a token is a word of a field, and not a whole value or a mark, whose tokens begin alike. */
export const isFieldWord = (token: string): boolean => /^[^=]*=[^=~]/.test(token)

/** The signs behind a field's name in its tokens; words have none. */
export const fieldSigns = '=#'

/** The beginning of a field's token, up to and with its sign; undefined for a word. */
export function fieldBeginning(token: string): string | undefined {
  const end = token.search(/[=#]/)
  return end === -1 ? undefined : token.slice(0, end + 1)
}

const float = new DataView(new ArrayBuffer(8))

/**
 * `field#hex`: a number in a form whose text order is its numeric order (IEEE 754 bits, sign adjusted, 16 hex digits).
 * Integers beyond 2^53 share the token of the nearest double; 16 more hex digits behind them settle their order.
 */
export function numberToken(field: string, value: number | bigint): string {
  return `${fieldToken(field)}#${sortableNumber(value)}`
}

export function sortableNumber(value: number | bigint): string {
  const number = Number(value)
  float.setFloat64(0, number + 0)
  const [high, low] = [float.getUint32(0), float.getUint32(4)]
  const isNegative = high >= 0x80000000
  const head = isNegative ? hex8(~high) + hex8(~low) : hex8(high | 0x80000000) + hex8(low)
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER) return head
  const rest = typeof value === 'bigint' && Number.isFinite(number) ? value - BigInt(number) : 0n
  return head + hex16(BigInt.asUintN(64, rest + (1n << 62n)))
}

const hex8 = (bits: number): string => (bits >>> 0).toString(16).padStart(8, '0')
const hex16 = (bits: bigint): string => bits.toString(16).padStart(16, '0')

/** The smallest sortable text above that of a number. */
export function sortableAbove(value: number | bigint): string {
  const text = sortableNumber(value)
  return (BigInt(`0x${text}`) + 1n).toString(16).padStart(text.length, '0')
}

/** The greatest sortable text below that of a number. */
export function sortableBelow(value: number | bigint): string {
  const text = sortableNumber(value)
  const below = (BigInt(`0x${text}`) - 1n).toString(16).padStart(text.length, '0')
  return text.length === 16 ? `${below}${'f'.repeat(16)}` : below
}
