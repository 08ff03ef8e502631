import type { DatabaseSync } from 'node:sqlite'
import { sequenceOf } from './row.ts'

/**
 * Where the beginning of a log was cut off: the last removed sequence, kept in `meta`. The mark is set first, so all readers stop seeing
 * those events at once. The rows are deleted later in small steps, because appends wait while a step runs.
 */
export type Cut = Readonly<{
  /** The last removed sequence; 0 if none. */
  mark(): number
  /** Moves the mark up to a sequence if it is lower. */
  set(seq: number): void
  /** Removes as many rows at or below the mark as one transaction should, and returns how many. */
  sweep(): number
}>

/** The most that one step removes: a step is one transaction, so one sync. */
const stepRowsMax = 512
const stepBytesMax = 8 * 1024 * 1024

const markSql = "SELECT CAST(value AS INTEGER) AS seq FROM meta WHERE name = 'cut'"

export function createCutMark(database: DatabaseSync): Cut['mark'] {
  const select = database.prepare(markSql)
  return () => sequenceOf(select.get())
}

export function createCut(database: DatabaseSync): Cut {
  const mark = createCutMark(database)
  const write = database.prepare(
    `INSERT INTO meta (name, value) VALUES ('cut', ?) ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
  const select = database.prepare(
    'SELECT seq, length(payload) AS bytes FROM events WHERE seq <= ? ORDER BY seq LIMIT ?',
  )
  const remove = database.prepare('DELETE FROM events WHERE seq <= ?')
  return {
    mark,
    set: (seq) => {
      if (seq > mark()) write.run(String(seq))
    },
    sweep: () => {
      let [last, rows, bytes] = [0, 0, 0]
      for (const row of select.iterate(mark(), stepRowsMax)) {
        bytes += Number(row['bytes'])
        if (rows > 0 && bytes > stepBytesMax) break
        last = Number(row['seq'])
        rows++
      }
      if (rows > 0) remove.run(last)
      return rows
    },
  }
}
