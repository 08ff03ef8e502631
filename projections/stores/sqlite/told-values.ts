import type { DayCollection } from './day-query.ts'
import { parseKeywords } from './layout.ts'

/** By the id in a rowid: the texts of its counted fields (layout.ts: formatKeywords), in their order, and what they mean. */
export type ToldValues = ReadonlyMap<
  number,
  Readonly<{ texts: readonly unknown[]; values: readonly (readonly string[])[] }>
>

const read = new WeakMap<object, ToldValues>()

/** What the rowids of a file tell, read once for all that is asked of one moment. */
export function toldValues({ database, tables, compiled }: DayCollection): ToldValues {
  const known = read.get(compiled)
  if (known !== undefined) return known
  const rows = tables.together === undefined ? [] : database.all(`SELECT id, vals FROM ${tables.together.values}`)
  const told = new Map(
    rows.map(({ id, vals }) => {
      const texts = JSON.parse(String(vals)) as readonly unknown[]
      return [Number(id), { texts, values: texts.map(parseKeywords) }]
    }),
  )
  read.set(compiled, told)
  return told
}
