import { floorTo } from '../row.ts'
import type { Database } from './database.ts'
import { beyondFirst, formatKeywords, minuteNs, noValue, parseKeywords, type Tables } from './layout.ts'

type MinuteChange = Readonly<{ field: string; minute: bigint; value: string }> & { by: number }

/** Whether a row is among those of which counts are kept. `numberOf`: its number of a field. */
export function isCounted({ shape: { countedWhere } }: Tables, numberOf: (field: string) => unknown): boolean {
  if (countedWhere === undefined) return true
  const number = numberOf(countedWhere.field)
  return typeof number === 'bigint' && number >= BigInt(countedWhere.from)
}

/**
 * Adds up what a batch does to the counts per minute. Each value counts by itself: there are few, where nearly every row may have its own
 * set of them.
 */
export function createMinutes(database: Database, { counted, minutes }: Tables) {
  const changes = new Map<string, MinuteChange>()
  const change = (field: string, minute: bigint, value: string, by: number): void => {
    const name = `${field} ${minute} ${value}`
    const known = changes.get(name)
    if (known === undefined) changes.set(name, { field, minute, value, by })
    else known.by += by
  }
  const changeValues = (field: string, minute: bigint, text: unknown, by: 1 | -1): void => {
    const values = parseKeywords(text)
    if (values.length === 0) change(field, minute, noValue, by)
    for (const value of values) change(field, minute, formatKeywords([value]) ?? noValue, by)
    if (values.length > 1) change(field, minute, beyondFirst, by * (values.length - 1))
  }
  return {
    /** `texts`: of each counted field (layout.ts: formatKeywords); undefined of a row that is not counted. */
    add(timeNs: bigint, texts: readonly unknown[] | undefined, by: 1 | -1): void {
      if (counted.length === 0 || texts === undefined) return
      const minute = floorTo(timeNs, minuteNs) / minuteNs
      for (const [at, field] of counted.entries()) changeValues(field, minute, texts[at], by)
    },
    write(): void {
      const sql = `INSERT INTO ${minutes} (field, minute, value, count) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET count = count + excluded.count`
      for (const { field, minute, value, by } of changes.values())
        if (by !== 0) database.run(sql, field, minute, value, BigInt(by))
    },
  }
}
export type Minutes = ReturnType<typeof createMinutes>
