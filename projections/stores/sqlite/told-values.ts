import type { Database } from './database.ts'
import type { DayCollection } from './day-query.ts'
import { parseKeywords, type Tables } from './layout.ts'

/** What the values are that rowids tell, by id: the texts of the counted fields in their order (layout.ts: formatKeywords), as JSON. */
export type RowidValues = ReadonlyMap<number, string>

export function rowidValues(database: Database, { together }: Tables): RowidValues {
  if (together === undefined) return new Map()
  return new Map(
    database.all(`SELECT id, vals FROM ${together.values}`).map(({ id, vals }) => [Number(id), String(vals)]),
  )
}

/** The texts of fields that stand together as JSON. */
export const readTexts = (json: string): readonly unknown[] => JSON.parse(json) as readonly unknown[]

const read = new WeakMap<object, ReadonlyMap<number, readonly unknown[]>>()

/** The same texts apart, read once for all that is asked of one moment. */
function toldTexts({ database, tables, compiled }: DayCollection): ReadonlyMap<number, readonly unknown[]> {
  const known = read.get(compiled)
  if (known !== undefined) return known
  const told = new Map([...rowidValues(database, tables)].map(([id, vals]) => [id, readTexts(vals)]))
  read.set(compiled, told)
  return told
}

/**
 * The texts of some of the counted fields, as JSON: of thousands of ids these are mostly a few. Undefined for an id that is not asked for
 * by what all of its texts mean.
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
