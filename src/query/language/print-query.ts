import type { Bound, QueryTree } from '#src/events/query-tree.ts'
import { levels, type Level } from '#src/events/telemetry.ts'
import { wildcardPieces } from '#src/events/wildcard.ts'
import { plainField } from './words.ts'

const operatorWords = new Set(['and', 'or', 'not', 'AND', 'OR', 'NOT'])
const plainText = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.-]*$/u

export const inQuotes = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
/** A value as it is written in the group of a field. */
export const groupItem = (value: string): string =>
  /^[\p{L}\p{N}_*][\p{L}\p{N}\p{M}_.*-]*$/u.test(value) && !/^(?:and|or|not)$/i.test(value) ? value : inQuotes(value)
const textOf = (text: string): string => (plainText.test(text) && !operatorWords.has(text) ? text : inQuotes(text))
const valueOf = (text: string): string => (plainText.test(text) ? text : inQuotes(text))

function fieldOf(field: string): string {
  const plain = plainField.test(field) && !field.startsWith('@') && !operatorWords.has(field) && field !== '_exists_'
  return plain ? field : inQuotes(field)
}

/** The canonical text of a search: it parses to the same tree. */
export function printQuery(tree: QueryTree): string {
  if (!('of' in tree)) return printLeaf(tree)
  if (tree.kind !== 'not') {
    const other = tree.kind === 'and' ? 'or' : 'and'
    return tree.of.map((part) => printPart(part, part.kind === other)).join(` ${tree.kind.toUpperCase()} `)
  }
  if (tree.of.kind === 'equals') return `${fieldOf(tree.of.field)}!=${valueOf(tree.of.value)}`
  return `NOT ${printPart(tree.of, tree.of.kind === 'and' || tree.of.kind === 'or')}`
}

const printPart = (part: QueryTree, inParentheses: boolean): string =>
  inParentheses ? `(${printQuery(part)})` : printQuery(part)

type Leaf = Exclude<QueryTree, { of: unknown }>

function printLeaf(leaf: Leaf): string {
  switch (leaf.kind) {
    case 'all':
      return '*'
    case 'text':
      return textOf(leaf.text)
    case 'pattern':
      return `${leaf.field === null ? '' : `${fieldOf(leaf.field)}:`}${patternOf(leaf)}`
    case 'match':
      return `${fieldOf(leaf.field)}:${valueOf(leaf.text)}`
    case 'equals':
      return `${fieldOf(leaf.field)}=${valueOf(leaf.value)}`
    case 'exists':
      return `${fieldOf(leaf.field)}:*`
    case 'range':
      return `${fieldOf(leaf.field)}:${rangeOf(leaf.from, leaf.to)}`
    case 'levels':
      break
  }
  return levelsOf(leaf.levels)
}

function patternOf({ syntax, pattern }: Extract<QueryTree, { kind: 'pattern' }>): string {
  if (syntax === 'regex') return `/${pattern}/`
  const pieces = wildcardPieces(pattern).map((piece) => {
    if (piece === 'any') return '*'
    if (piece === 'one') return '?'
    return /[\p{L}\p{N}\p{M}_.]/u.test(piece.literal) ? piece.literal : `\\${piece.literal}`
  })
  return pieces.join('')
}

const operatorOf = ({ inclusive }: Bound, sign: string): string => (inclusive ? `${sign}=` : sign)

function rangeOf(from: Bound | undefined, to: Bound | undefined): string {
  if (from !== undefined && to === undefined) return `${operatorOf(from, '>')}${from.value}`
  if (to !== undefined && from === undefined) return `${operatorOf(to, '<')}${to.value}`
  const [open, close] = [from?.inclusive === false ? '{' : '[', to?.inclusive === false ? '}' : ']']
  return `${open}${edgeOf(from)} TO ${edgeOf(to)}${close}`
}

const edgeOf = (bound: Bound | undefined): string => bound?.value ?? '*'

/** The levels of a query are neighbours: they come from a comparison or a range. */
function levelsOf(chosen: readonly Level[]): string {
  const [first, last] = [chosen[0], chosen.at(-1)]
  if (first === undefined || last === undefined) return `level>${levels.at(-1)}`
  if (last === levels.at(-1)) return `level>=${first}`
  return first === levels[0] ? `level<=${last}` : `level:[${first} TO ${last}]`
}
