import type { QueryTree } from '#src/events/query-tree.ts'
import { words } from '#src/events/tokens.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { parseClause, warnOfBoth } from './clause.ts'
import { otherFormsIn } from './other-forms.ts'
import type { Parse, QueryLimits } from './parse.ts'
import { printQuery } from './print-query.ts'
import { createReader, type Reader } from './reader.ts'
import { QueryStop, type QuerySyntaxRefusal } from './refuse.ts'
import { joinParts, negatePart, type Part } from './tree.ts'

export type ParsedQuery = Readonly<{
  tree: QueryTree
  /** Canonical text; it parses to the same tree. '' for everything. */
  normalized: string
  /** What of the text was left out, or is understood otherwise than it may look. */
  warnings: readonly string[]
}>

const termsExpected = ['a word', '"a phrase"', 'field:value', '(', 'NOT']

/**
 * The search language, text to checked tree. `NOT` binds over `AND` over `OR`; words side by side are `AND`.
 * Time and memory are bounded by the limits.
 */
export function parseQuery(text: string, limits: QueryLimits): Result<ParsedQuery, QuerySyntaxRefusal> {
  const reader = createReader(text)
  const warnings = new Set<string>()
  let terms = 0
  const said = new Set<string>()
  let repeats = 0
  const parse: Parse = {
    reader,
    limits,
    field: undefined,
    depth: 0,
    warn: (message) => void (warnings.size < limits.queryWarningsMax && warnings.add(message)),
    countTerm(position, termText = '') {
      if (++terms > limits.queryTermsMax) {
        reader.stop(`a search may have at most ${limits.queryTermsMax} conditions`, ['the end of the search'], position)
      }
      for (const word of words(termText)) {
        if (said.has(word)) repeats++
        said.add(word)
      }
      if (repeats > limits.queryRepeatsMax) {
        const most = `at most ${limits.queryRepeatsMax} words that it has said before`
        reader.stop(`a search may have ${most}; of a long text the first words are enough`, ['fewer words'], position)
      }
    },
    parenthesized: parseParenthesized,
  }
  try {
    if (text.length > limits.queryCharactersMax) {
      const most = limits.queryCharactersMax
      reader.stop(`a search may have at most ${most} characters`, ['the end of the search'], most)
    }
    for (const warning of otherFormsIn(text)) parse.warn(warning)
    const tree = parseWhole(parse) ?? { kind: 'all' as const }
    return ok({ tree, normalized: tree.kind === 'all' ? '' : printQuery(tree), warnings: [...warnings] })
  } catch (error) {
    if (error instanceof QueryStop) return fail(error.refusal)
    throw error
  }
}

function parseWhole(parse: Parse): Part {
  const { reader } = parse
  reader.blanks()
  if (reader.ended()) return undefined
  const part = parseOr(parse)
  if (reader.next() === ')') {
    reader.stop('this parenthesis closes nothing; quote it to search for it', ['AND', 'OR', 'the end of the search'])
  }
  return part
}

const operatorEnd = '(?=[\\s()"]|$)'
const orHere = new RegExp(`(?:OR|or)${operatorEnd}|\\|\\|`)
const andHere = new RegExp(`(?:AND|and)${operatorEnd}|&&`)
const notHere = new RegExp(`(?:NOT|not)${operatorEnd}`)
const signHere = /-(?![-\s)>]|$)|!(?![=~]|\s*(?:\)|$))/

const takeOperatorWord = (reader: Reader, pattern: RegExp): boolean => {
  reader.blanks()
  return reader.take(pattern) !== undefined
}

function parseOr(parse: Parse): Part {
  const parts = [parseAnd(parse)]
  while (takeOperatorWord(parse.reader, orHere)) parts.push(parseAnd(parse))
  refusePipe(parse.reader)
  return joinParts('or', parts)
}

function refusePipe(reader: Reader): void {
  if (reader.next() !== '|') return
  reader.stop('pipes such as `| stats` are not supported; quote the sign to search for it, or write OR between words', [
    'OR',
    '||',
    '"|"',
    'the end of the search',
  ])
}

/** `f:(-5 OR 3)`: a minus sign that comes first may be meant as part of a number; the one of `f:(500 -502)` is not. */
function warnOfNumber({ reader, field, warn }: Parse): void {
  reader.blanks()
  const number = field === undefined ? undefined : reader.peek(/-\d[\d.]*/)?.[0]
  if (number !== undefined)
    warn(`${number} in parentheses leaves out ${number.slice(1)}; write "${number}" for the number`)
}

function parseAnd(parse: Parse): Part {
  const { reader } = parse
  warnOfNumber(parse)
  const parts = [parseNot(parse)]
  let isWritten = false
  for (;;) {
    const joined = takeOperatorWord(reader, andHere)
    const ends = reader.ended() || reader.next() === ')' || reader.next() === '|' || reader.peek(orHere) !== undefined
    if (ends && !joined) break
    isWritten ||= joined
    parts.push(parseNot(parse))
  }
  if (!isWritten) warnOfBoth(parse, parts)
  return joinParts('and', parts)
}

function parseNot(parse: Parse): Part {
  const { reader } = parse
  reader.blanks()
  reader.take(/\+(?=[\p{L}\p{N}_"(@])/u)
  const start = reader.at()
  if (reader.take(notHere) === undefined && reader.take(signHere) === undefined) return parsePrimary(parse)
  return negatePart(parseNot(deeper(parse, start)))
}

function deeper(parse: Parse, position: number): Parse {
  const depth = parse.depth + 1
  if (depth > parse.limits.queryDepthMax) {
    const detail = `parentheses and negations may stand at most ${parse.limits.queryDepthMax} deep`
    parse.reader.stop(detail, ['a search with fewer levels'], position)
  }
  return { ...parse, depth }
}

function parsePrimary(parse: Parse): Part {
  const { reader } = parse
  if (reader.next() === '(') return parseParenthesized(parse)
  refuseNoTerm(reader)
  return parseClause(parse)
}

function refuseNoTerm(reader: Reader): void {
  if (reader.ended()) reader.stop('the search ends where a condition is expected', termsExpected)
  if (reader.next() === ')') reader.stop('a condition is expected before this parenthesis', termsExpected)
  if (reader.peek(orHere) === undefined && reader.peek(andHere) === undefined) return refusePipe(reader)
  reader.stop('an operator stands where a condition is expected; quote it to search for the word', termsExpected)
}

function parseParenthesized(parse: Parse): Part {
  const { reader } = parse
  const start = reader.at()
  reader.take(/\(/)
  const part = parseOr(deeper(parse, start))
  if (reader.take(/\)/) === undefined) {
    reader.stop(`the parenthesis before ${reader.quote(start + 1)} is not closed`, [')', 'AND', 'OR'])
  }
  return part
}
