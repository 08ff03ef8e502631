import { bareName, sameAsMessageToken } from '#src/events/tokens.ts'
import type { Filter } from '../index-store.ts'
import { join, none } from './filters.ts'
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

/** What a table of a schema has under a name. */
export function namedIn<T>(table: Readonly<Record<string, T>> | undefined, field: string): T | undefined {
  const name = bareName(field)
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}

/** What a search compares under a name instead of the free fields of that name; `number`: not by text. */
export type OwnField = KeywordField | 'number'

export function ownField(
  { keywords, numbers }: Pick<FieldSchema, 'keywords' | 'numbers'>,
  name: string,
): OwnField | undefined {
  return namedIn(keywords, name) ?? (namedIn(numbers, name) === undefined ? undefined : 'number')
}

/** The `tokens` field of plain words that a name means. */
export function wordsField(field: string, schema: FieldSchema): string | undefined {
  return schema.message !== undefined && bareName(field) === schema.message.name ? schema.message.field : undefined
}

/** If a record holds its message under this name, the words to look for are those of the message. */
export function orInMessage(
  field: string,
  schema: FieldSchema,
  ofField: Filter,
  ofMessage: (text: readonly string[]) => Filter,
): Filter {
  if (schema.message === undefined || !mayBeMessage(field)) return ofField
  const same = phrase(schema.fields, [sameAsMessageToken(field)])
  return join('or', [ofField, join('and', [same, ofMessage([schema.message.field])])])
}

/** Tokens beside each other, in any of the fields. */
export const phrase = (fields: readonly string[], tokens: readonly string[], prefix = false): Filter =>
  tokens.length === 0 ? none : { kind: 'phrase', fields, tokens, ...(prefix ? { prefix } : {}) }
