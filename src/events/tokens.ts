/**
 * The one tokenizer of search. Everything searchable becomes a text of tokens with blanks between, and the index engines
 * only split on blanks; queries are cut by the same functions, so every engine matches alike.
 *
 * A token is a maximal run of letters, marks and digits, lower-cased (case folds, diacritics do not), NFC, cut at 64
 * characters; a CJK character is a token by itself, and a longer word of them a phrase. So identifiers and paths split at
 * their punctuation, and the whole identifier is the phrase of its parts: `/api/v1/orders` finds `api v1 orders`, adjacent.
 */
const tokenLengthMax = 64
const wordOrCjk =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}\p{M}])+/gu
const asciiWord = /[a-z0-9]+/g
// oxlint-disable-next-line no-control-regex
const onlyAscii = /^[\x00-\x7f]*$/

/** Stands between two values, so that a phrase does not cross them; no user text can make it. */
export const sentinel = '\u00b7'

/** Lower case and NFC: the form in which values are compared. */
export function foldCase(text: string): string {
  return onlyAscii.test(text) ? text.toLowerCase() : text.normalize('NFC').toLowerCase().normalize('NFC')
}

/** The tokens of a text, in order. */
export function words(text: string): string[] {
  const found = onlyAscii.test(text) ? text.toLowerCase().match(asciiWord) : foldCase(text).match(wordOrCjk)
  if (found === null) return []
  for (const [index, word] of found.entries()) if (word.length > tokenLengthMax) found[index] = cut(word)
  return found
}

function cut(word: string): string {
  const short = word.slice(0, tokenLengthMax)
  return /[\ud800-\udbff]$/.test(short) ? short.slice(0, -1) : short
}

/** A field's name as it stands in tokens: folded, without blanks. */
export function fieldToken(field: string): string {
  return foldCase(field)
    .replace(/[\s\u00a0\u00b7=#]/gu, '_')
    .slice(0, 128)
}

/** `field=word`: a word of a value of that field. */
export const wordToken = (field: string, word: string): string => `${fieldToken(field)}=${word}`

/**
 * `field==value`: the whole value, folded, blanks made visible; long values keep their head and a checksum of the whole.
 * A value that is one token has only this form, so `field:word` must look for both (see matchTokens in field-query).
 */
export function wholeToken(field: string, value: string): string {
  const folded = foldCase(value).trim().replace(/\s/gu, '\u00a0').replaceAll(sentinel, '_')
  if (folded.length <= 96) return `${fieldToken(field)}==${folded}`
  return `${fieldToken(field)}==${cut(folded)}\u00a0${checksum(folded)}`
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

/** The tokens of one value of a field, adjacent ones in order: one whole token, and for several words each word too. */
export function valueTokens(field: string, value: string): string[] {
  const parts = words(value)
  const whole = wholeToken(field, value)
  if (parts.length === 1 && parts[0] === foldCase(value)) return [whole]
  const name = fieldToken(field)
  return [whole, ...parts.map((part) => `${name}=${part}`)]
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
  float.setFloat64(0, Number(value) + 0)
  const bits = float.getBigUint64(0)
  const ordered = bits >> 63n ? ~bits & 0xffffffffffffffffn : bits | 0x8000000000000000n
  const head = ordered.toString(16).padStart(16, '0')
  if (Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER) return head
  const rest = typeof value === 'bigint' ? value - BigInt(Number(value)) : 0n
  return `${head}${BigInt.asUintN(64, rest + (1n << 62n))
    .toString(16)
    .padStart(16, '0')}`
}
