import { numberOf, parseQuantity } from '#src/events/quantity.ts'
import type { Bound, QueryTree } from '#src/events/query-tree.ts'
import {
  bareName,
  fieldToken,
  foldCase,
  numberToken,
  presenceToken,
  sameAsMessageToken,
  sortableAbove,
  sortableBelow,
  sortableNumber,
  wholePrefix,
  wholeText,
  wholeToken,
  words,
  wordToken,
} from '#src/events/tokens.ts'
import {
  wildcardAtEndOnly,
  wildcardIsAnywhere,
  wildcardOverWhole,
  wildcardShapes,
  type WildcardShape,
} from '#src/events/wildcard.ts'
import { parseRegex } from '#src/lib/regex/parse-regex.ts'
import { escapeRegex, literalPrefix, regexSource } from '#src/lib/regex/regex-node.ts'
import type { Filter } from '../index-store.ts'
import { wholePattern } from '../stores/pattern.ts'
import { all, isOneOf, join, negate, none } from './filters.ts'
import { mayBeMessage } from './record-tokens.ts'

/** A field that is a `keyword` of the collection. `canonical` returns the form in which it is stored; undefined: not a value of it. */
export type KeywordField = Readonly<{
  field: string
  canonical?: (text: string) => string | undefined
  /**
   * Its values are in no `tokens` field, so existence and patterns are looked for in the keyword itself: among `values`, if these are all that
   * there are, otherwise by prefix. `always`: every record has one.
   */
  apart?: Readonly<{ values?: readonly string[]; always?: boolean }>
}>

/** Where a collection keeps what a search can name. Field names are compared case folded, without a leading `@`. */
export type FieldSchema = Readonly<{
  /** `tokens` fields of plain words: where a bare word is looked for. */
  text: readonly string[]
  /** `tokens` fields that hold the tokens of named fields (record-tokens.ts). Any of them. */
  fields: readonly string[]
  /** The name that means one of the plain-word fields. Its whole values are in `fields` under that name. */
  message?: Readonly<{ name: string; field: string }>
  /**
   * Names that mean a `keyword` field: compared whole by `=`, and by `:` when the text is a canonical value. The same
   * values are in `fields` too, under the same name, so that words, prefixes and patterns find them, unless they are `apart`.
   */
  keywords?: Readonly<Record<string, KeywordField>>
  /** Names that mean a `number` field of integers. */
  numbers?: Readonly<Record<string, string>>
}>

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

const phrase = (fields: readonly string[], tokens: readonly string[], prefix = false): Filter =>
  tokens.length === 0 ? none : { kind: 'phrase', fields, tokens, ...(prefix ? { prefix } : {}) }

function own<T>(table: Readonly<Record<string, T>> | undefined, field: string): T | undefined {
  const name = bareName(field)
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}

/** What a search compares under a name instead of the free fields of that name; `number`: not by text. */
export type OwnField = KeywordField | 'number'

export function ownField(
  { keywords, numbers }: Pick<FieldSchema, 'keywords' | 'numbers'>,
  name: string,
): OwnField | undefined {
  return own(keywords, name) ?? (own(numbers, name) === undefined ? undefined : 'number')
}

/** The `tokens` field of plain words that a name means. */
function wordsField(field: string, schema: FieldSchema): string | undefined {
  return schema.message !== undefined && bareName(field) === schema.message.name ? schema.message.field : undefined
}

/** If a record holds its message under this name, the words to look for are those of the message. */
function orInMessage(
  field: string,
  schema: FieldSchema,
  ofField: Filter,
  ofMessage: (text: readonly string[]) => Filter,
): Filter {
  if (schema.message === undefined || !mayBeMessage(field)) return ofField
  const same = phrase(schema.fields, [sameAsMessageToken(field)])
  return join('or', [ofField, join('and', [same, ofMessage([schema.message.field])])])
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
  const number = own(schema.numbers, field)
  if (number !== undefined) return numberEquals(number, text)
  const keyword = own(schema.keywords, field)
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
  const number = own(schema.numbers, field)
  if (number !== undefined) return numberEquals(number, value)
  const keyword = own(schema.keywords, field)
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
  const number = own(schema.numbers, field)
  if (number !== undefined) return { kind: 'number', field: number }
  const name = fieldToken(field)
  return join('or', [
    keywordExists(own(schema.keywords, field)),
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
  const number = own(schema.numbers, field)
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
  const keyword = own(schema.keywords, 'level')
  if (keyword !== undefined) return isOneOf(keyword.field, levels)
  return join(
    'or',
    levels.map((level) => phrase(schema.fields, [wholeToken('level', level)])),
  )
}

type PatternLeaf = Extract<QueryTree, { kind: 'pattern' }>

function patternFilter(leaf: PatternLeaf, schema: FieldSchema): Filter {
  if (leaf.syntax === 'regex') return regexFilter(leaf, schema)
  const { field, pattern } = leaf
  const shapes = wildcardShapes(pattern)
  // A pattern without any part matches nothing.
  const inWords = (fields: readonly string[]): Filter => {
    const parts = shapes.map((shape) => shapeFilter(fields, shape))
    return parts.length === 0 ? none : join('and', parts)
  }
  if (field === null) return inWords(schema.text)
  const plain = wordsField(field, schema)
  if (plain !== undefined) return inWords([plain])
  const inKeyword = keywordPattern(own(schema.keywords, field), wildcardOverWhole(pattern, wholeForm), {
    isPrefix: wildcardAtEndOnly(pattern),
  })
  const inField = join('or', [inKeyword, wildcardInField(field, pattern, shapes, schema)])
  return orInMessage(field, schema, inField, inWords)
}

/** A pattern over the whole value of a keyword that is `apart`. `isPrefix`: the pattern is only a prefix. */
function keywordPattern(
  keyword: KeywordField | undefined,
  { regex, prefix }: Expression,
  { isPrefix }: Readonly<{ isPrefix: boolean }>,
): Filter {
  if (keyword?.apart === undefined) return none
  const { field, apart } = keyword
  if (apart.values === undefined) return isPrefix ? { kind: 'keywordPrefix', field, prefix } : none
  const pattern = wholePattern(regex)
  const values = apart.values.filter((value) => pattern.test(value))
  return values.length === 0 ? none : { kind: 'keyword', field, values }
}

function shapeFilter(fields: readonly string[], shape: WildcardShape): Filter {
  if (shape.kind === 'phrase') return phrase(fields, shape.words, shape.prefix)
  return { kind: 'pattern', fields, prefix: shape.prefix, regex: shape.regex, ofWords: true }
}

/** A wildcard in a named field matches words, or the whole value if it contains separators. */
function wildcardInField(
  field: string,
  pattern: string,
  shapes: readonly WildcardShape[],
  schema: FieldSchema,
): Filter {
  const name = fieldToken(field)
  const [shape, ...more] = shapes
  if (shape?.kind === 'word' && more.length === 0) return inWordsOrWhole(field, shape, shape, schema)
  const isPhrase = wildcardAtEndOnly(pattern) || wildcardIsAnywhere(pattern)
  if (shape?.kind === 'phrase' && more.length === 0 && isPhrase) return phraseInField(name, pattern, shape, schema)
  return patternOfWhole(field, wildcardOverWhole(pattern, wholeForm), schema)
}

function phraseInField(
  name: string,
  pattern: string,
  { words: found, prefix }: Extract<WildcardShape, { kind: 'phrase' }>,
  schema: FieldSchema,
): Filter {
  const tokens = found.map((word) => `${name}=${word}`)
  const parts = [phrase(schema.fields, tokens, prefix)]
  const beginning = numberBeginning(pattern)
  if (beginning !== undefined) parts.push(phrase(schema.fields, [`${name}==${beginning}`], true))
  if (tokens.length === 1 && beginning?.startsWith('-') !== true)
    parts.push(phrase(schema.fields, [`${name}==${found.join('')}`], prefix))
  return join('or', parts)
}

/** What `-5*` and `1.5*` begin with: a number has only its whole form, of which the words `5` and `1 5` tell too little. */
function numberBeginning(pattern: string): string | undefined {
  const { prefix } = wildcardOverWhole(pattern, wholeForm)
  return wildcardAtEndOnly(pattern) && /^(?:-\d+|-?\d+\.)\d*$/.test(prefix) ? prefix : undefined
}

/** The form that a piece of a value has within a whole token. */
const wholeForm = (text: string): string => (/^\s$/.test(text) ? '\u00a0' : wholeText(text))

type Expression = Readonly<{ regex: string; prefix: string }>

const patternOfWhole = (field: string, { regex, prefix }: Expression, schema: FieldSchema): Filter => {
  const start = `${fieldToken(field)}==`
  const source = `${escapeRegex(start)}${regex}`
  return { kind: 'pattern', fields: schema.fields, prefix: start + prefix, regex: source }
}

function inWordsOrWhole(field: string, inWord: Expression, inWhole: Expression, schema: FieldSchema): Filter {
  const start = `${fieldToken(field)}=`
  const source = `${escapeRegex(start)}${inWord.regex}`
  const prefix = start + inWord.prefix
  const word: Filter = { kind: 'pattern', fields: schema.fields, prefix, regex: source, ofField: true }
  return join('or', [word, patternOfWhole(field, inWhole, schema)])
}

/** An expression over words, or over whole values, as `fold` writes them; undefined where it is none. */
function expressionOf(pattern: string, fold: (text: string) => string): Expression | undefined {
  const parsed = parseRegex(pattern, { fold })
  return parsed.ok ? { regex: `(?:${regexSource(parsed.value)})`, prefix: literalPrefix(parsed.value) } : undefined
}

function regexFilter({ field, pattern }: PatternLeaf, schema: FieldSchema): Filter {
  const expression = expressionOf(pattern, foldCase)
  if (expression === undefined) return none
  const inWords = (fields: readonly string[]): Filter => ({ kind: 'pattern', fields, ...expression, ofWords: true })
  if (field === null) return inWords(schema.text)
  const plain = wordsField(field, schema)
  if (plain !== undefined) return inWords([plain])
  const whole = expressionOf(pattern, wholeForm) ?? expression
  const inKeyword = keywordPattern(own(schema.keywords, field), whole, { isPrefix: false })
  const inField = join('or', [inKeyword, inWordsOrWhole(field, expression, whole, schema)])
  return orInMessage(field, schema, inField, inWords)
}
