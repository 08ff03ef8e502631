import type { SearchItem } from '../../../index-audit.ts'
import { countedSql, isCounted } from '../counted-where.ts'
import type { Columns, Database } from '../database.ts'
import { bucketSql, grainsNs, keywordColumn, minuteNs, numberColumn, untoldGrain, type Tables } from '../layout.ts'
import { isToldId, unknownValueIds, valueIdOf, valueIdSql } from '../rowid-parts.ts'
import type { RowidValues } from '../rowid-values.ts'

type Held = Readonly<{ tables: Tables; values: RowidValues }>

/** Whether a rowid encodes the values of its row, or no values. */
export function tellsValues(columns: Columns, { tables: { shape, counted, together }, values }: Held): boolean {
  const { row } = columns
  if (together === undefined || typeof row !== 'bigint') return true
  const valueId = valueIdOf(row)
  if (!isToldId(valueId)) return true
  if (!isCounted(shape, (field) => columns[numberColumn(field)])) return false
  return values.get(valueId) === JSON.stringify(counted.map((field) => columns[keywordColumn(field)]))
}

/** The right counts of a grain, computed from the rows. */
function rightCounts({ rows, shape }: Tables, grain: bigint): string {
  const id = valueIdSql('row')
  const isUntold = grain === untoldGrain
  const [ns, of, where] = isUntold
    ? [minuteNs, '0', `${id} < ${unknownValueIds}`]
    : [grain, id, `${id} >= ${unknownValueIds}`]
  return `SELECT ${grain} AS grain, ${bucketSql('time', ns)} AS slice, ${of} AS id, count(*) AS count FROM ${rows}
    WHERE ${where}${countedSql(shape)} GROUP BY 2, 3`
}

/** Counts of values together that differ from the rows, in order of their names; normally none. Which values have which ids does not matter. */
export function* wrongCounts(database: Database, { tables }: Held): Generator<SearchItem> {
  const { together } = tables
  if (together === undefined) return
  const right = [...grainsNs, untoldGrain].map((grain) => `SELECT * FROM (${rightCounts(tables, grain)})`)
  const kept = `SELECT grain, slice, id, count FROM ${together.counts} WHERE count <> 0`
  const name = `'count ' || grain || ' ' || slice || ' ' || id`
  const sql = `SELECT ${name} || ' kept' AS name, count FROM (${[kept, ...right].join(' EXCEPT ')})
    UNION ALL SELECT ${name} || ' rows' AS name, count FROM (SELECT * FROM (${right.join(' UNION ALL ')}) EXCEPT ${kept})
    ORDER BY name`
  for (const row of database.iterate(sql)) yield { name: String(row['name']), value: String(row['count']) }
}
