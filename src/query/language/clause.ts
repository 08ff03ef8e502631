import { withoutMark, words } from '#src/events/tokens.ts'
import { wildcardShapes } from '#src/events/wildcard.ts'
import { toNfc } from '#src/lib/to-nfc.ts'
import { takeComparison, takeRange } from './bounds.ts'
import type { FieldContext, Parse } from './parse.ts'
import { groupItem, inQuotes } from './print-query.ts'
import { checkRegex } from './check-regex.ts'
import { negatePart, type Part } from './tree.ts'
import { plainField, takeOperator, takeQuoted, takeRegex, takeSpacedOperator, takeWord, type Word } from './words.ts'

const valuesExpected = ['a value', '"a phrase"', '*', '>=', '[a TO b]', '(']

/** One condition: a word, a phrase, a pattern, or a field with its value. Within a field's group, a value of that field. */
export function parseClause(parse: Parse): Part {
  const { reader } = parse
  const start = reader.at()
  if (parse.field !== undefined) return parseGroupItem(parse, parse.field)
  reader.take(/\*:(?=\S)/)
  const quoted = takeQuoted(reader)
  if (quoted !== undefined) {
    const operator = takeOperator(reader)
    return operator === undefined ? textPart(parse, quoted, start) : parseField(parse, quoted, operator, start)
  }
  const regex = takeRegex(reader)
  if (regex !== undefined) return regexPart(parse, regex, null)
  const word = takeWord(reader, true)
  if (word === undefined) return reader.stop('a condition is expected here', ['a word', '"a phrase"', 'field:value'])
  const operator = isName(word) ? (takeOperator(reader) ?? takeSpacedOperator(reader)) : undefined
  return operator === undefined ? wordPart(parse, word) : parseField(parse, word.text, operator, start)
}

const isName = (word: Word): boolean => plainField.test(word.text)

function textPart(parse: Parse, text: string, start: number): Part {
  if (words(text).length === 0) {
    if (text.trim() !== '') parse.warn(`${JSON.stringify(text)} has no letter or digit and is left out`)
    return undefined
  }
  parse.countTerm(start, text)
  return { kind: 'text', text }
}

function wordPart(parse: Parse, word: Word): Part {
  if (!word.wild) return textPart(parse, word.text, word.start)
  if (/^\*+$/.test(word.pattern)) return { kind: 'all' }
  if (wildField.test(word.text)) {
    return parse.reader.stop('wildcards in field names are not supported', ['a field name without *'], word.start)
  }
  const shapes = wildcardShapes(word.pattern)
  if (shapes.length === 0) return textPart(parse, word.text, word.start)
  if (shapes.length > 1) {
    parse.warn(`${word.text} is looked for as separate words, in any order: a wildcard matches within one word`)
  }
  parse.countTerm(word.start, word.text)
  return { kind: 'pattern', field: null, syntax: 'wildcard', pattern: canonical(word.pattern) }
}

/** `http.*:500`, and no URL. */
const wildField = /^[@\p{L}_$][^\s:]*\*[^\s:]*:(?!\/\/)/u

/** Several stars are one; a letter and its mark too, where there is such a character. */
const canonical = (pattern: string): string =>
  toNfc(pattern).replace(/(\\[^])|\*+/g, (_all, escaped?: string) => escaped ?? '*')

function regexPart(parse: Parse, regex: Readonly<{ source: string; start: number }>, field: string | null): Part {
  // Texts are compared in NFC, character by character: composed later, a letter and its mark would be two characters of a class.
  const pattern = toNfc(regex.source)
  checkRegex(parse, pattern, regex.start)
  parse.countTerm(regex.start - 1)
  return { kind: 'pattern', field, syntax: 'regex', pattern }
}

/** `field` and what its operator asks of it. */
function parseField(parse: Parse, name: string, operator: string, start: number): Part {
  const { reader } = parse
  const field = withoutMark(name)
  if (field.trim() === '') return reader.stop('the name of the field is empty', ['a field name'], start)
  reader.blanks()
  if (/^[<>]/.test(operator)) return takeComparison(parse, field, operator)
  const exact = operator !== ':'
  if (operator === ':') {
    const negated = reader.take(/(?:!={0,2}|<>)\s*(?=[^\s!=)])/)
    if (negated !== undefined) return negatePart(parseValue(parse, { name: field, exact: negated[0].trim() !== '!' }))
    // In quotes it is a field that bears this name.
    if (field === '_exists_' && reader.text.charAt(start) !== '"') return parseExists(parse)
  }
  const part = parseValue(parse, { name: field, exact })
  return operator === '!=' ? negatePart(part) : part
}

/** Lucene's `_exists_:field`. */
function parseExists(parse: Parse): Part {
  const { reader } = parse
  const start = reader.at()
  const name = takeQuoted(reader) ?? takeWord(reader, false)?.text ?? ''
  if (withoutMark(name).trim() === '') return reader.stop('a field name is expected', ['a field name'], start)
  parse.countTerm(start)
  return { kind: 'exists', field: withoutMark(name) }
}

/** A value of a field: what may follow `field:` and `field=`. */
function parseValue(parse: Parse, field: FieldContext): Part {
  const { reader } = parse
  if (reader.next() === '(') return parse.parenthesized({ ...parse, field })
  if (reader.ended() || /[\s)|]/.test(reader.next())) {
    return reader.stop(`a value of ${field.name} is expected`, valuesExpected)
  }
  return parseItem(parse, field)
}

function parseItem(parse: Parse, { name, exact }: FieldContext): Part {
  const { reader } = parse
  const start = reader.at()
  const quoted = takeQuoted(reader)
  if (quoted !== undefined)
    return exact ? equalsPart(parse, name, quoted, start) : matchPart(parse, name, quoted, start)
  if (!exact) {
    const operator = reader.take(/[<>]=?/)?.[0]
    if (operator !== undefined) {
      reader.blanks()
      return takeComparison(parse, name, operator)
    }
    if (/[[{]/.test(reader.next())) return takeRange(parse, name)
    const regex = takeRegex(reader)
    if (regex !== undefined) return regexPart(parse, regex, name)
  }
  warnOfSingle(parse, { name, exact })
  const word = takeWord(reader, false)
  if (word === undefined) return reader.stop(`a value of ${name} is expected`, valuesExpected)
  return exact ? exactWord(parse, name, word) : valueWord(parse, name, word)
}

/** `level = 'error'`, as in SQL: here single quotes are part of the value. */
function warnOfSingle({ reader, warn }: Parse, { name, exact }: FieldContext): void {
  const [, quoted] = reader.peek(/'([^'"]+)'(?=[\s)]|$)/) ?? []
  if (quoted === undefined) return
  const sign = /(?:!={1,2}|<>)\s*$/.test(reader.text.slice(0, reader.at())) ? '!=' : exact ? '=' : ':'
  warn(`' is no quotation mark here; write ${name}${sign}${inQuotes(quoted)}`)
}

function matchPart(parse: Parse, field: string, text: string, start: number): Part {
  parse.countTerm(start, text)
  return { kind: 'match', field, text }
}

function equalsPart(parse: Parse, field: string, value: string, start: number): Part {
  parse.countTerm(start)
  return { kind: 'equals', field, value }
}

function valueWord(parse: Parse, field: string, word: Word): Part {
  warnOfList(parse, `${field}:`, word)
  if (/^-\p{L}/u.test(word.text)) {
    const without = word.text.slice(1)
    parse.warn(`${field}:${word.text} looks for ${without}; write -${field}:${without} to leave it out`)
  }
  if (!word.wild) return matchPart(parse, field, word.text, word.start)
  parse.countTerm(word.start, word.text)
  if (/^\*+$/.test(word.pattern)) return { kind: 'exists', field }
  return { kind: 'pattern', field, syntax: 'wildcard', pattern: canonical(word.pattern) }
}

function exactWord(parse: Parse, field: string, word: Word): Part {
  if (/^\*+$/.test(word.pattern)) {
    parse.countTerm(word.start)
    return { kind: 'exists', field }
  }
  warnOfList(parse, `${field}=`, word)
  if (word.wild) parse.warn(`${field}=${word.text} takes * and ? literally; write ${field}:${word.text} for a pattern`)
  return equalsPart(parse, field, word.text, word.start)
}

/** `level:error,warn` and `level:(error, warn)`: the comma is part of the value, and mostly no value has one. */
function warnOfList({ warn }: Parse, named: string, { text }: Word): void {
  const values = text.split(',').filter((each) => each !== '')
  if (values.length === 0 || !text.includes(',', 1)) return
  const either = [...values.map(groupItem), ...(text.endsWith(',') ? ['…'] : [])]
  if (either.length > 1)
    warn(`the comma in ${named}${text} is no OR; write ${named}(${either.join(' OR ')}) for either`)
}

/** `level:(error warn)`: Lucene takes this for either of them. Here it asks for both, and few fields hold two values. */
export function warnOfBoth({ field, warn }: Parse, parts: readonly Part[]): void {
  if (field === undefined || parts.length < 2) return
  const values = parts.map((part) => {
    if (part?.kind === 'match') return part.text
    return part?.kind === 'equals' ? part.value : undefined
  })
  // A comma gets another warning (`warnOfList`).
  if (!values.every((value): value is string => value !== undefined && !value.includes(','))) return
  // Of a range, (1 TO 5), too (other-forms.ts).
  if (values[1] === 'TO') return
  const [both, either] = [' ', ' OR '].map((sign) => values.map(groupItem).join(sign))
  const named = `${field.name}${field.exact ? '=' : ':'}`
  warn(`${named}(${both}) asks for ${values.length === 2 ? 'both' : 'all'}; write ${named}(${either}) for either`)
}

/** A value within `field:( … )`. */
function parseGroupItem(parse: Parse, field: FieldContext): Part {
  const { reader } = parse
  const start = reader.at()
  if (takeQuoted(reader) === undefined) takeWord(reader, true)
  if (reader.at() > start && takeOperator(reader) !== undefined) {
    return reader.stop(`a field cannot stand within the group of ${field.name}`, ['a value', '"a phrase"', ')'], start)
  }
  reader.moveTo(start)
  return parseItem(parse, field)
}
