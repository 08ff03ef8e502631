import { bareName } from '#src/events/tokens.ts'
import { printQuery } from '#src/query/searches.ts'
import type { OwnField } from '#projections/logs/query.ts'

/** What a value of a field is looked for by: the whole of it (`=`), or its words side by side (`:`). */
export type Condition = Readonly<{ field: string; operator: '=' | ':'; text: string }>

/** A condition in the search language. */
export function clauseOf({ field, operator, text }: Condition, isNegated: boolean): string {
  const tree =
    operator === '=' ? ({ kind: 'equals', field, value: text } as const) : ({ kind: 'match', field, text } as const)
  return printQuery(isNegated ? { kind: 'not', of: tree } : tree)
}

/** Without line breaks, which the field of a form cannot hold. To the index they are blanks. */
export const oneLine = (text: string): string => text.replace(/[\r\n]/g, ' ')

/** The language has no words for an empty name. */
export const canBeNamed = (field: string): boolean => bareName(field).trim() !== ''

/** What a record has of the fields that a search compares under names of its own. */
export type OwnValues = Readonly<Record<string, string | null>>

/** What finds a record by a value of a field, though a search may compare something else under the name; undefined: nothing does. */
export function besideOwn(condition: Condition, own: OwnField | undefined, values: OwnValues): Condition | undefined {
  if (own === undefined) return condition
  if (own === 'number') return undefined
  const value = values[own.field]
  // Without a form of its own words of the field itself are found.
  if (own.canonical === undefined) return condition.text === value ? condition : { ...condition, operator: ':' }
  const compared = own.canonical(condition.text)
  return compared === undefined || compared === value ? condition : undefined
}
