import { parseKeywords } from '../layout.ts'
import { rowidValues } from '../rowid-values.ts'
import type { DayCollection } from './day-query.ts'

/** The texts of fields from JSON. */
export const readTexts = (json: string): readonly unknown[] => JSON.parse(json) as readonly unknown[]

const read = new WeakMap<object, ReadonlyMap<number, readonly unknown[]>>()

/** The values that rowids encode, parsed, once for all questions of one moment. */
function toldTexts({ database, tables, compiled }: DayCollection): ReadonlyMap<number, readonly unknown[]> {
  const known = read.get(compiled)
  if (known !== undefined) return known
  const told = new Map([...rowidValues(database, tables)].map(([id, vals]) => [id, readTexts(vals)]))
  read.set(compiled, told)
  return told
}

/**
 * A function from ids to the texts of some counted fields, as JSON: thousands of ids mostly have only a few. Undefined for an id whose values do not
 * pass `isAsked`.
 */
export function textsOfIds(
  day: DayCollection,
  fields: readonly string[],
  isAsked: (values: readonly (readonly string[])[]) => boolean = () => true,
): (id: number) => string | undefined {
  const places = fields.map((field) => day.tables.counted.indexOf(field))
  const told = toldTexts(day)
  const known = new Map<number, string | undefined>()
  return (id) => {
    if (!known.has(id)) {
      const texts = told.get(id) ?? []
      const asked = isAsked(texts.map(parseKeywords))
      known.set(id, asked ? JSON.stringify(places.map((place) => texts[place] ?? null)) : undefined)
    }
    return known.get(id)
  }
}
