import type { Scanner } from './scanner.ts'

/** An escape: one character, or a class of them (`\d`) in JavaScript's syntax. */
type Escape = Readonly<{ character: string } | { escape: string }>

/** A range of more characters than this keeps its own case outside ASCII. */
const foldedRangeMax = 256
const classSyntax = /[\^\\\]\-[&|~!#$%*+,.:;<=>?@`{}/()]/
const controls: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', '0': '\0' }

export function parseEscape(scanner: Scanner): Escape {
  const start = scanner.at()
  const escape = scanner.take(/\\(?:[dDwWsS]|[pP]\{[A-Za-z_=]{1,40}\})/)
  if (escape !== undefined) {
    try {
      return { escape: new RegExp(escape[0], 'u').source }
    } catch {
      return scanner.stop('no such Unicode property', start)
    }
  }
  const code = scanner.take(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{0{0,5}([0-9a-fA-F]{1,5}|10[0-9a-fA-F]{4})\})/)
  if (code !== undefined) return { character: String.fromCodePoint(parseInt(code[1] ?? code[2] ?? code[3] ?? '', 16)) }
  const plain = scanner.take(/\\([^0-9A-Za-z]|[ntrfv]|0(?![0-9]))/)
  if (plain?.[1] !== undefined) return { character: controls[plain[1]] ?? plain[1] }
  return scanner.stop(scanner.ahead(2) === '\\' ? 'the escape at the end lacks its character' : 'unknown escape')
}

/** A class `[…]` in JavaScript's syntax, with what its characters fold to. */
export function parseClass(scanner: Scanner): string {
  const start = scanner.at()
  const head = scanner.take(/\[\^?/)?.[0] ?? ''
  const items: string[] = []
  while (scanner.take(/\]/) === undefined) items.push(parseItem(scanner))
  if (items.length === 0) return scanner.stop('the class is empty', start)
  return `${head}${items.join('')}]`
}

function parseItem(scanner: Scanner): string {
  const start = scanner.at()
  const from = classCharacter(scanner)
  if ('escape' in from) return from.escape
  const to = scanner.take(/-(?!\])/) === undefined ? from : classCharacter(scanner)
  if ('escape' in to) return scanner.stop('a range ends with a character', start)
  const [low, high] = [codeOf(from.character), codeOf(to.character)]
  return high < low ? scanner.stop('the range is out of order', start) : foldedRange(low, high, scanner.fold)
}

function classCharacter(scanner: Scanner): Escape {
  if (scanner.ahead(1) === '\\') return parseEscape(scanner)
  const character = scanner.take(/[^\]]/)
  return character === undefined ? scanner.stop('the class is not closed: expected ]') : { character: character[0] }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0

/** Characters that mean something in a class of the `u` or `v` flag are written by their code. */
const classItem = (code: number): string => {
  const character = String.fromCodePoint(code)
  return classSyntax.test(character) ? `\\u{${code.toString(16)}}` : character
}

/** The range and what it folds to. */
function foldedRange(from: number, to: number, fold: (text: string) => string): string {
  const items = [from === to ? classItem(from) : `${classItem(from)}-${classItem(to)}`]
  const [first, last] = to - from < foldedRangeMax ? [from, to] : [Math.max(from, 0x41), Math.min(to, 0x5a)]
  for (let code = first; code <= last; code++) {
    const character = String.fromCodePoint(code)
    const folded = fold(character)
    if (folded !== character && Array.from(folded).length === 1) items.push(classItem(codeOf(folded)))
  }
  return items.join('')
}
