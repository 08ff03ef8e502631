import { bareName } from '#src/events/tokens.ts'
import { printQuery } from '#src/query/searches.ts'
import type { OwnField } from '#projections/logs/query.ts'

/** A condition on a field: its whole value (`=`), or a phrase in it (`:`). */
export type Condition = Readonly<{ field: string; operator: '=' | ':'; text: string }>

/** A condition in the search language. */
export function clauseOf({ field, operator, text }: Condition, isNegated: boolean): string {
  const tree =
    operator === '=' ? ({ kind: 'equals', field, value: text } as const) : ({ kind: 'match', field, text } as const)
  return printQuery(isNegated ? { kind: 'not', of: tree } : tree)
}

/** The text without line breaks, which a form field cannot hold. The index treats them as blanks. */
export const oneLine = (text: string): string => text.replace(/[\r\n]/g, ' ')

/** The search language cannot name an empty field. */
export const canBeNamed = (field: string): boolean => bareName(field).trim() !== ''

/** A record's values of the fields that a search compares under names of its own. */
export type OwnValues = Readonly<Record<string, string | null>>

/** A condition that finds a record by a field's value, even if a search compares something else under that name; undefined if there is none. */
export function besideOwn(condition: Condition, own: OwnField | undefined, values: OwnValues): Condition | undefined {
  if (own === undefined) return condition
  if (own === 'number') return undefined
  const value = values[own.field]
  // Without a canonical form, words of the field itself are found.
  if (own.canonical === undefined) return condition.text === value ? condition : { ...condition, operator: ':' }
  const compared = own.canonical(condition.text)
  return compared === undefined || compared === value ? condition : undefined
}
