import { floorTo } from '../row.ts'
import type { Database } from './database.ts'
import { beyondFirst, formatKeywords, minuteNs, noValue, parseKeywords, type Tables } from './layout.ts'

type MinuteChange = Readonly<{ field: string; minute: bigint; value: string; by: number }>

/** Whether a row is among those of which counts are kept. `numberOf`: its number of a field. */
export function isCounted({ shape: { countedWhere } }: Tables, numberOf: (field: string) => unknown): boolean {
  if (countedWhere === undefined) return true
  const number = numberOf(countedWhere.field)
  return typeof number === 'bigint' && number >= BigInt(countedWhere.from)
}

/** Adds changes of one value in one minute up; those that come to nothing are left out. */
function createChanges() {
  const changes = new Map<string, { -readonly [Key in keyof MinuteChange]: MinuteChange[Key] }>()
  return {
    add({ field, minute, value, by }: MinuteChange): void {
      const name = `${field} ${minute} ${value}`
      const known = changes.get(name)
      if (known === undefined) changes.set(name, { field, minute, value, by })
      else known.by += by
    },
    all: (): readonly MinuteChange[] => [...changes.values()].filter(({ by }) => by !== 0),
  }
}

/** A change of what rows have together (layout.ts: formatKeywords), as changes of single values. */
function singleValues({ value: text, by, ...of }: MinuteChange): readonly MinuteChange[] {
  const values = text === noValue ? [] : parseKeywords(text)
  if (values.length < 2) return [{ ...of, value: text, by }]
  return [
    ...values.map((value) => ({ ...of, value: formatKeywords([value]) ?? noValue, by })),
    { ...of, value: beyondFirst, by: by * (values.length - 1) },
  ]
}

/**
 * Adds up what a batch does to the counts per minute. Each value counts by itself: there are few, where nearly every row may have its own
 * set of them.
 */
export function createMinutes(database: Database, { counted, minutes }: Tables) {
  // By their texts at first: what a row has before and after a batch is mostly the same, and need not be taken apart.
  const changes = createChanges()
  return {
    /** `texts`: of each counted field; undefined of a row that is not counted. */
    add(timeNs: bigint, texts: readonly unknown[] | undefined, by: 1 | -1): void {
      if (counted.length === 0 || texts === undefined) return
      const minute = floorTo(timeNs, minuteNs) / minuteNs
      for (const [at, field] of counted.entries()) {
        const text = texts[at]
        changes.add({ field, minute, value: typeof text === 'string' ? text : noValue, by })
      }
    },
    write(): void {
      const single = createChanges()
      for (const change of changes.all()) for (const one of singleValues(change)) single.add(one)
      const sql = `INSERT INTO ${minutes} (field, minute, value, count) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET count = count + excluded.count`
      for (const { field, minute, value, by } of single.all()) database.run(sql, field, minute, value, BigInt(by))
    },
  }
}
export type Minutes = ReturnType<typeof createMinutes>
