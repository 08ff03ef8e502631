import type { Limits } from '#src/config.ts'
import type { Reader } from './reader.ts'
import type { Part } from './tree.ts'

export type QueryLimits = Pick<
  Limits,
  | 'queryCharactersMax'
  | 'queryTermsMax'
  | 'queryRepeatsMax'
  | 'queryDepthMax'
  | 'queryWarningsMax'
  | 'regexCharactersMax'
>

/** Where the parse stands. `field` is the field of the group that it is in: `field:(a OR b)`. */
export type Parse = Readonly<{
  reader: Reader
  limits: QueryLimits
  field: FieldContext | undefined
  /** Parentheses and negations around this place. */
  depth: number
  warn(message: string): void
  /** Counts a condition that begins at this position, and the words of its text. */
  countTerm(position: number, text?: string): void
  /** The expression in the parentheses that open here. */
  parenthesized(parse: Parse): Part
}>
export type FieldContext = Readonly<{ name: string; exact: boolean }>
