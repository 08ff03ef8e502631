import type { Database } from './database.ts'
import type { Tables } from './layout.ts'

/** The values that rowids encode, by id: the texts of the counted fields in order (layout.ts: formatKeywords), as JSON. */
export type RowidValues = ReadonlyMap<number, string>

export function rowidValues(database: Database, { together }: Tables): RowidValues {
  if (together === undefined) return new Map()
  return new Map(
    database.all(`SELECT id, vals FROM ${together.values}`).map(({ id, vals }) => [Number(id), String(vals)]),
  )
}
