import type { Reader } from './reader.ts'

/** A word as typed: its text without escapes, and as a pattern, where only `*`, `?` and `\` are escaped. */
export type Word = Readonly<{ text: string; pattern: string; wild: boolean; start: number }>

/** Field names that need no quotes: a letter first, and a letter or digit last. */
export const plainField = /^[@\p{L}_$](?:[\p{L}\p{N}\p{M}_.\-/@$]*[\p{L}\p{N}\p{M}_$])?$/u

const operatorHere = /:={0,3}|!={1,2}|<>|={2,3}(?!=)|=(?![=>~])|>=|<=|>|</u
/** By itself behind a name, with blanks before it: `status >= 400`. */
const spacedOperator =
  /\s+(?:(!={1,2}|<>)(?=[^=~])|(={1,3}|>=|<=|>|<)(?=[\s"\p{L}\p{N}.-])|(=)(?=[/(])|(:=)(?=\s)|(:)(?=\s|[<>]=?\s*\d))/u

/** Signs that other languages have for the same: `!==` and `<>` for `!=`, `==`, `===` and `:=` for `=`. */
function inOwnSign(typed: string): string {
  if (/^(?:!|<>)/.test(typed)) return '!='
  return /^:?=/.test(typed) ? '=' : typed
}

/** Regular expressions have no operator of their own: `f=~"x"`, `f !~ x`, `f:~"x"`. Otherwise a `~` behind a colon may begin a path. */
function refuseMatching(reader: Reader): void {
  const found = reader.peek(/(?=:?[=!]~|:~")|\s+(?=[=!]~[\s"/\p{L}\p{N}])/u)
  if (found === undefined) return
  const detail = '=~, !~ and :~ are not operators here: write field:/regex/ or -field:/regex/'
  reader.stop(detail, [':', '=', '!='], reader.at() + found[0].length)
}

/** The operator of a field clause at this place. */
export function takeOperator(reader: Reader): string | undefined {
  refuseMatching(reader)
  const typed = reader.take(operatorHere)?.[0]
  return typed === undefined ? undefined : inOwnSign(typed)
}

/** An operator that stands by itself behind a name. */
export function takeSpacedOperator(reader: Reader): string | undefined {
  const typed = reader
    .take(spacedOperator)
    ?.slice(1)
    .find((sign) => sign !== undefined)
  return typed === undefined ? undefined : inOwnSign(typed)
}

/**
 * A `"quoted text"`; `\"` and `\\` are escapes, other backslashes stay. So is a `“text”` between the quotation marks that word
 * processors and telephones make of typed ones; one that nothing closes is a sign in a word. Undefined when no quote stands here.
 */
export function takeQuoted(reader: Reader): string | undefined {
  const start = reader.at()
  const curly = reader.take(/[“”„]([^“”„"]*)[“”]/)
  if (curly !== undefined) return curly[1]
  if (reader.take(/"/) === undefined) return undefined
  const body = reader.take(/(?:[^"\\]|\\[^])*/)?.[0] ?? ''
  if (reader.take(/"/) === undefined) {
    const before = body.trim() === '' ? '' : ` before ${reader.quote(start + 1)}`
    return reader.stop(`the quotation mark${before} is not closed`, ['"'], reader.text.length)
  }
  return body.replace(/\\(["\\])/g, '$1')
}

/** The body of a `/regex/` that stands here by itself; undefined when this is something else, such as a path. */
export function takeRegex(reader: Reader): Readonly<{ source: string; start: number }> | undefined {
  const start = reader.at() + 1
  const found = reader.take(/\/((?:[^\s/\\[]|\\[^]|\[(?:[^\]\\]|\\[^])*\])+)\/(?=[\s)]|$)/)
  return found === undefined ? undefined : { source: found[1] ?? '', start }
}

/**
 * A bare word: to the next blank, parenthesis or quote, `|` or `&&`. With `stopAtOperator` it also ends where an operator
 * follows what can be the name of a field.
 */
export function takeWord(reader: Reader, stopAtOperator: boolean): Word | undefined {
  const start = reader.at()
  let text = ''
  let pattern = ''
  let wild = false
  for (;;) {
    if (stopAtOperator && endsName(reader, text)) break
    // A backslash before a letter is no escape but part of a path, as in `C:\logs\app`.
    const found = reader.take(/\\([^\p{L}\p{N}])|(?!&&)[^\s()"|]/u)
    if (found === undefined) break
    const [taken, escaped = taken] = found
    const isWild = taken === '*' || (taken === '?' && reader.peek(queryString) === undefined)
    wild ||= isWild
    text += escaped
    pattern += isWild ? taken : literalPattern(escaped)
  }
  return reader.at() === start ? undefined : { text, pattern, wild, start }
}

/** Behind the `?` of a URL, which is no wildcard: `/orders?id=7`. */
const queryString = /[\p{L}\p{N}_.%[\]-]+=/u

const literalPattern = (character: string): string => (/[*?\\]/.test(character) ? `\\${character}` : character)

/** An operator stands here, behind what can be the name of a field. */
const endsName = (reader: Reader, name: string): boolean =>
  /[:!=<>]/.test(reader.next()) && plainField.test(name) && startsOperator(reader)

/** An operator, unless the colon belongs to a URL (`http://`) or to a drive (`C:\logs`), or is one of two (`std::io`). */
function startsOperator(reader: Reader): boolean {
  refuseMatching(reader)
  return reader.peek(operatorHere) !== undefined && reader.peek(/:\/\/|::|:\\[\p{L}\p{N}]/u) === undefined
}
