import { assert } from '../assert.ts'
import { fail, ok, type Result } from '../result.ts'
import { parseClass, parseEscape } from './parse-class.ts'
import { escapeRegex, sizeOf, type RegexNode } from './regex-node.ts'
import { createScanner, SyntaxStop, type Scanner } from './scanner.ts'

/** Where the text stops being an expression of regex-node.ts (UTF-16 units from 0), and why. */
type RegexSyntaxError = Readonly<{ position: number; message: string }>

/** Applied to every literal character: the texts to match are folded alike. */
type Fold = (text: string) => string
const asIs: Fold = (text) => text

const repeatMax = 64
const sizeMax = 2_000
const depthMax = 32

/**
 * Parses an expression without anything that needs backtracking. Refused with a position: look-around, back-references,
 * word boundaries, anchors inside (at the ends they are taken, since the whole text is matched), too large repeats.
 */
export const parseRegex = (source: string): Result<RegexNode, RegexSyntaxError> =>
  parse(createScanner(source, asIs), { size: sizeMax, depth: depthMax })

function parse(scanner: Scanner, most: Readonly<{ size: number; depth: number }>): Result<RegexNode, RegexSyntaxError> {
  try {
    scanner.take(/\^/)
    const node = parseChoice(scanner, most.depth)
    if (!scanner.ended()) scanner.stop('a parenthesis that closes nothing: write \\)')
    if (sizeOf(node) > most.size) scanner.stop(`its repeats come to more than ${sizeMax} characters`, 0)
    return ok(node)
  } catch (error) {
    if (error instanceof SyntaxStop) return fail({ position: error.position, message: error.message })
    throw error
  }
}

/**
 * An expression that was accepted before, as those of filters are. It may be longer and deeper by now: what is printed of it has a group for each
 * repeat of a repeat, and the name of a field before it.
 */
export function parseKnownRegex(source: string, fold = asIs): RegexNode {
  const parsed = parse(createScanner(source, fold), { size: Infinity, depth: Infinity })
  assert(parsed.ok, `not a linear expression: ${source}`)
  return parsed.value
}

const notSupported: readonly (readonly [RegExp, string])[] = [
  [/^\\[1-9k]/, 'back-references are not supported'],
  [/^\\[bBAzZG]/, 'word boundaries and anchors are not supported: the expression matches one word, whole'],
  [/^\(\?<?[=!]/, 'look-around is not supported'],
  [/^\(\?[a-z-]+[):]/, 'inline flags are not supported (case is ignored already)'],
  [/^\(\?(?!:|<[A-Za-z_])/, 'this kind of group is not supported'],
  [/^[*+?]/, 'there is nothing to repeat'],
  [/^\^/, '`^` may stand only at the beginning: the expression matches one word, whole'],
  [/^\$/, '`$` may stand only at the end: the expression matches one word, whole'],
  [/^[{}]/, 'a brace that repeats nothing: write \\{ or \\}'],
  [/^\]/, 'a bracket that closes nothing: write \\]'],
]

function parseChoice(scanner: Scanner, depthLeft: number): RegexNode {
  const items = [parseSequence(scanner, depthLeft)]
  while (scanner.take(/\|/) !== undefined) items.push(parseSequence(scanner, depthLeft))
  return one(items) ?? { kind: 'choice', of: items }
}

function parseSequence(scanner: Scanner, depthLeft: number): RegexNode {
  const items: RegexNode[] = []
  while (!scanner.ended() && !/^[|)]/.test(scanner.ahead(1))) {
    if (scanner.ahead(2) === '$') scanner.take(/\$/)
    else items.push(parseRepeated(scanner, depthLeft))
  }
  return one(items) ?? { kind: 'sequence', of: items }
}

const one = (items: readonly RegexNode[]): RegexNode | undefined => (items.length === 1 ? items[0] : undefined)

const repeatSigns: Readonly<Record<string, readonly [min: number, max: number | null]>> = {
  '*': [0, null],
  '+': [1, null],
  '?': [0, 1],
}

function parseRepeated(scanner: Scanner, depthLeft: number): RegexNode {
  let node = parseAtom(scanner, depthLeft)
  for (;;) {
    const start = scanner.at()
    const found = scanner.take(/(?:([*+?])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??/)
    if (found === undefined) return node
    const [min, max] = repeatBounds(found)
    if (Math.max(min, max ?? 0) > repeatMax) return scanner.stop(`at most ${repeatMax} repeats`, start)
    if (max !== null && max < min) return scanner.stop('the repeat is out of order', start)
    if (scanner.ahead(1) === '+') return scanner.stop('possessive repeats are not supported')
    node = repeat(node, min, max)
  }
}

function repeatBounds(found: RegExpExecArray): readonly [min: number, max: number | null] {
  const [, sign = '', low = '', comma, high = ''] = found
  const known = repeatSigns[sign]
  if (known !== undefined) return known
  if (comma === undefined) return [Number(low), Number(low)]
  return [Number(low), high === '' ? null : Number(high)]
}

/** A repeat; one within an unbounded one is the same as one (`(a*)*` is `a*`). */
function repeat(of: RegexNode, min: number, max: number | null): RegexNode {
  if (of.kind === 'repeat' && of.max === null && of.min <= 1 && max === null && min <= 1) {
    return { kind: 'repeat', of: of.of, min: Math.min(of.min, min), max: null }
  }
  return { kind: 'repeat', of, min, max }
}

function parseAtom(scanner: Scanner, depthLeft: number): RegexNode {
  const ahead = scanner.ahead(64)
  for (const [pattern, message] of notSupported) if (pattern.test(ahead)) return scanner.stop(message)
  if (ahead.startsWith('(')) return parseGroup(scanner, depthLeft)
  if (ahead.startsWith('[')) return { kind: 'character', source: parseClass(scanner) }
  if (ahead.startsWith('\\')) {
    const escape = parseEscape(scanner)
    return 'escape' in escape ? { kind: 'character', source: escape.escape } : literals(scanner.fold(escape.character))
  }
  const character = scanner.take(/[^]/)?.[0] ?? ''
  return character === '.' ? { kind: 'character', source: '.' } : literals(scanner.fold(character))
}

function parseGroup(scanner: Scanner, depthLeft: number): RegexNode {
  const start = scanner.at()
  scanner.take(/\((?:\?:|\?<[A-Za-z_][A-Za-z0-9_]*>)?/)
  if (depthLeft <= 0) return scanner.stop(`groups deeper than ${depthMax}`, start)
  const node = parseChoice(scanner, depthLeft - 1)
  return scanner.take(/\)/) === undefined ? scanner.stop('the group is not closed: expected )') : node
}

/** A folded character may be several. */
function literals(text: string): RegexNode {
  const characters = Array.from(text, (literal): RegexNode => ({
    kind: 'character',
    source: escapeRegex(literal),
    literal,
  }))
  return one(characters) ?? { kind: 'sequence', of: characters }
}
