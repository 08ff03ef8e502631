import type { QueryTree } from '#src/events/query-tree.ts'
import { fieldToken, foldCase, wholeText } from '#src/events/tokens.ts'
import {
  wildcardAtEndOnly,
  wildcardIsAnywhere,
  wildcardOverWhole,
  wildcardShapes,
  type WildcardShape,
} from '#src/events/wildcard.ts'
import { parseKnownRegex } from '#src/lib/regex/parse-regex.ts'
import { escapeRegex, literalPrefix, regexSource } from '#src/lib/regex/regex-node.ts'
import type { Filter } from '../index-store.ts'
import { wholePattern } from '../stores/pattern.ts'
import { namedIn, orInMessage, phrase, wordsField, type FieldSchema, type KeywordField } from './field-schema.ts'
import { join, none } from './filters.ts'

type PatternLeaf = Extract<QueryTree, { kind: 'pattern' }>

/** The filter of a wildcard or a regular expression. */
export function patternFilter(leaf: PatternLeaf, schema: FieldSchema): Filter {
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
  const inKeyword = keywordPattern(namedIn(schema.keywords, field), wildcardOverWhole(pattern, wholeForm), {
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

/** An expression over words, or over whole values, as `fold` writes them. */
function expressionOf(pattern: string, fold: (text: string) => string): Expression {
  const node = parseKnownRegex(pattern, fold)
  return { regex: `(?:${regexSource(node)})`, prefix: literalPrefix(node) }
}

function regexFilter({ field, pattern }: PatternLeaf, schema: FieldSchema): Filter {
  const expression = expressionOf(pattern, foldCase)
  const inWords = (fields: readonly string[]): Filter => ({ kind: 'pattern', fields, ...expression, ofWords: true })
  if (field === null) return inWords(schema.text)
  const plain = wordsField(field, schema)
  if (plain !== undefined) return inWords([plain])
  const whole = expressionOf(pattern, wholeForm)
  const inKeyword = keywordPattern(namedIn(schema.keywords, field), whole, { isPrefix: false })
  const inField = join('or', [inKeyword, inWordsOrWhole(field, expression, whole, schema)])
  return orInMessage(field, schema, inField, inWords)
}
