import { numberOf, parseQuantity } from '#src/events/quantity.ts'
import type { Bound, QueryTree } from '#src/events/query-tree.ts'
import {
  fieldToken,
  foldCase,
  numberToken,
  presenceToken,
  sameAsMessageToken,
  sortableAbove,
  sortableBelow,
  sortableNumber,
  wholePrefix,
  wholeToken,
  words,
  wordToken,
} from '#src/events/tokens.ts'
import type { Filter } from '../index-store.ts'
import { namedIn, orInMessage, phrase, wordsField, type FieldSchema, type KeywordField } from './field-schema.ts'
import { all, isOneOf, join, negate, none } from './filters.ts'
import { patternFilter } from './pattern-query.ts'
import { mayBeMessage } from './record-tokens.ts'

/** A part of a query without parts of its own: one condition. */
export type QueryLeaf = Exclude<QueryTree, { kind: 'and' | 'or' | 'not' }>

/** The filter over a collection that a search means. */
export function filterOf(tree: QueryTree, schema: FieldSchema): Filter {
  if (isLeaf(tree)) return leafFilter(tree, schema)
  if (tree.kind === 'not') return negate(filterOf(tree.of, schema))
  const parts = tree.of.map((part) => filterOf(part, schema))
  return join(tree.kind, parts)
}

export const isLeaf = (tree: QueryTree): tree is QueryLeaf => !('of' in tree)

/** All conditions of a query, those under a negation too, in order. */
export function leavesOf(tree: QueryTree): readonly QueryLeaf[] {
  if (isLeaf(tree)) return [tree]
  return tree.kind === 'not' ? leavesOf(tree.of) : tree.of.flatMap(leavesOf)
}

/** The filter of one condition. */
export function leafFilter(leaf: QueryLeaf, schema: FieldSchema): Filter {
  switch (leaf.kind) {
    case 'all':
      return all
    case 'text':
      return phrase(schema.text, words(leaf.text))
    case 'pattern':
      return patternFilter(leaf, schema)
    case 'match':
      return matchFilter(leaf.field, leaf.text, schema)
    case 'equals':
      return equalsFilter(leaf.field, leaf.value, schema)
    case 'exists':
      return existsFilter(leaf.field, schema)
    case 'range':
      return rangeFilter(leaf.field, leaf.from, leaf.to, schema)
    case 'levels':
      break
  }
  return levelsFilter(leaf.levels, schema)
}

/** `-5` and `1.5` are numbers; their words `5` and `1 5` must not match on their own. */
const isSplitNumber = (text: string, found: readonly string[]): boolean =>
  parseQuantity(text)?.unit === 'none' && found.join('') !== foldCase(text.trim())

function numberFilter(field: string, text: string, schema: FieldSchema): Filter {
  const quantity = parseQuantity(text.trim())
  if (quantity === undefined) return none
  return phrase(schema.fields, [numberToken(field, numberOf(quantity.value))])
}

function matchFilter(field: string, text: string, schema: FieldSchema): Filter {
  const number = namedIn(schema.numbers, field)
  if (number !== undefined) return numberEquals(number, text)
  const keyword = namedIn(schema.keywords, field)
  const canonical = keyword?.canonical?.(text)
  if (keyword !== undefined && canonical !== undefined)
    return { kind: 'keyword', field: keyword.field, values: [canonical] }
  const found = words(text)
  // Without a word the whole value is all that there is to compare.
  if (found.length === 0) return equalsFilter(field, text, schema)
  const plain = wordsField(field, schema)
  if (plain !== undefined) return phrase([plain], found)
  const inWords = phrase(
    schema.fields,
    found.map((word) => wordToken(field, word)),
  )
  const parts = [
    phrase(schema.fields, [wholeToken(field, text)]),
    orInMessage(field, schema, inWords, (fields) => phrase(fields, found)),
  ]
  const [first = ''] = found
  if (found.length === 1 && !isSplitNumber(text, found) && wholeToken(field, first) !== wholeToken(field, text)) {
    parts.push(phrase(schema.fields, [wholeToken(field, first)]))
  }
  parts.push(numberFilter(field, text, schema))
  return join('or', parts)
}

function equalsFilter(field: string, value: string, schema: FieldSchema): Filter {
  const number = namedIn(schema.numbers, field)
  if (number !== undefined) return numberEquals(number, value)
  const keyword = namedIn(schema.keywords, field)
  if (keyword !== undefined) {
    const canonical = keyword.canonical === undefined ? value : keyword.canonical(value)
    if (canonical !== undefined) return { kind: 'keyword', field: keyword.field, values: [canonical] }
  }
  const parts = [phrase(schema.fields, [wholeToken(field, value)]), numberFilter(field, value, schema)]
  if (schema.message !== undefined && mayBeMessage(field) && wordsField(field, schema) === undefined) {
    const tokens = [sameAsMessageToken(field), wholeToken(schema.message.name, value)]
    const same = tokens.map((token) => phrase(schema.fields, [token]))
    parts.push(join('and', same))
  }
  return join('or', parts)
}

/** The field has a value, or a field below it has one. */
function existsFilter(field: string, schema: FieldSchema): Filter {
  const number = namedIn(schema.numbers, field)
  if (number !== undefined) return { kind: 'number', field: number }
  const name = fieldToken(field)
  return join('or', [
    keywordExists(namedIn(schema.keywords, field)),
    // Each value has a whole token, so its words need not be looked for; one that is not looked for as text, or is the message, has none.
    phrase(schema.fields, [wholePrefix(field, '')], true),
    phrase(schema.fields, [presenceToken(field)]),
    phrase(schema.fields, [sameAsMessageToken(field)]),
    phrase(schema.fields, [`${name}.`], true),
  ])
}

function keywordExists(keyword: KeywordField | undefined): Filter {
  if (keyword?.apart === undefined) return none
  return keyword.apart.always === true ? all : { kind: 'keywordPrefix', field: keyword.field, prefix: '' }
}

function numberEquals(field: string, text: string): Filter {
  const quantity = parseQuantity(text.trim())
  if (quantity === undefined) return none
  const value = numberOf(quantity.value)
  return typeof value === 'number' && !Number.isInteger(value)
    ? none
    : { kind: 'number', field, from: value, to: value }
}

/** A bound as an integer that is included: the next one inward (`step`) where it is a fraction, or excluded. */
function integerBound({ value, inclusive }: Bound, step: 1 | -1): number | bigint {
  const number = numberOf(value)
  if (typeof number === 'number' && !Number.isInteger(number))
    return step === 1 ? Math.ceil(number) : Math.floor(number)
  if (inclusive) return number
  return typeof number === 'bigint' ? number + BigInt(step) : number + step
}

/** Numeric values only: each number has a token whose text order is its numeric order. */
function rangeFilter(field: string, from: Bound | undefined, to: Bound | undefined, schema: FieldSchema): Filter {
  const number = namedIn(schema.numbers, field)
  if (number !== undefined) {
    const bounds = {
      ...(from === undefined ? {} : { from: integerBound(from, 1) }),
      ...(to === undefined ? {} : { to: integerBound(to, -1) }),
    }
    return { kind: 'number', field: number, ...bounds }
  }
  const prefix = `${fieldToken(field)}#`
  const text = (bound: Bound, exclusive: (value: number | bigint) => string): string =>
    prefix + (bound.inclusive ? sortableNumber : exclusive)(numberOf(bound.value))
  return {
    kind: 'tokenRange',
    fields: schema.fields,
    prefix,
    ...(from === undefined ? {} : { from: text(from, sortableAbove) }),
    ...(to === undefined ? {} : { to: text(to, sortableBelow) }),
  }
}

function levelsFilter(levels: readonly string[], schema: FieldSchema): Filter {
  const keyword = namedIn(schema.keywords, 'level')
  if (keyword !== undefined) return isOneOf(keyword.field, levels)
  return join(
    'or',
    levels.map((level) => phrase(schema.fields, [wholeToken('level', level)])),
  )
}
