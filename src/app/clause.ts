import { foldCase } from '#src/events/tokens.ts'

/** What a value of a field is looked for by: the whole of it (`=`), or its words side by side (`:`). */
export type Condition = Readonly<{ field: string; operator: '=' | ':'; text: string }>

const plainName = /^[A-Za-z_](?:[\w.-]*\w)?$/
const plainText = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.-]*$/u
const takenNames: ReadonlySet<string> = new Set(['and', 'or', 'not', 'AND', 'OR', 'NOT'])

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

/** A condition in the search language (CONTRACT §9), in the form in which the language itself writes it. */
export function clauseOf({ field, operator, text }: Condition, isNegated: boolean): string {
  const name = plainName.test(field) && !takenNames.has(field) ? field : quoted(field)
  const value = plainText.test(text) ? text : quoted(text)
  if (operator === '=') return `${name}${isNegated ? '!=' : '='}${value}`
  return `${isNegated ? 'NOT ' : ''}${name}:${value}`
}

/** Without line breaks, which the field of a form cannot hold. To the index they are blanks. */
export const oneLine = (text: string): string => text.replace(/[\r\n]/g, ' ')

/** The name as searches compare it: folded, without a leading `@`. */
export const bareName = (field: string): string => foldCase(field.replace(/^@+(?=[^@])/, ''))

/** The language has no words for an empty name. */
export const canBeNamed = (field: string): boolean => bareName(field).trim() !== ''

/**
 * What a search compares under some names, in place of the field that bears the name. `canonical`: the form of a text that it
 * compares; undefined for a text, or no function: words of the field itself are found.
 */
export type Own = Readonly<{ value: string | null; canonical?: (text: string) => string | undefined }>

/** What finds a record by a value of a field under whose name a search compares something else; undefined: nothing does. */
export function besideOwn(condition: Condition, own: Own | undefined): Condition | undefined {
  if (own === undefined) return condition
  if (own.canonical === undefined) return condition.text === own.value ? condition : { ...condition, operator: ':' }
  const compared = own.canonical(condition.text)
  return compared === undefined || compared === own.value ? condition : undefined
}
