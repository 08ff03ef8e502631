import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { failureOf, guarded } from './failure.ts'

export type Value = SQLInputValue
export type Columns = Readonly<Record<string, SQLOutputValue>>

/** Prepared statements per connection. A query's text depends only on its shape, so there are few. */
const statementsMax = 100

/** Called with two numbers of a row. */
type HearNumbers = (first: number, second: number) => void
const deaf: HearNumbers = () => undefined

/** Throws when nobody waits any more for what is read. */
export type Look = () => void
const noLook: Look = () => undefined

/** A prime number, so that whatever rowids have in common does not matter. */
const rowsBetweenLooks = 61
/** A function of SQL that calls a connection's `Look`: SQLite cannot be interrupted here, so what walks many rows asks it now and then. */
export const lookSql = (rowid: string): string => `(${rowid} % ${rowsBetweenLooks} <> 0 OR look())`

/** A connection with its prepared statements. Integers are bigint in both directions. */
export type Database = Readonly<{
  path: string
  exec(sql: string): void
  run(sql: string, ...values: readonly Value[]): void
  get(sql: string, ...values: readonly Value[]): Columns | undefined
  all(sql: string, ...values: readonly Value[]): readonly Columns[]
  /** Rows as they are found. The loop may be left early. Never run the same SQL text within it. */
  iterate(sql: string, ...values: readonly Value[]): IterableIterator<Columns>
  /** The same for millions of rows: each as the values of its columns, in their order, which costs less than an object. */
  iterateValues(sql: string): IterableIterator<readonly unknown[]>
  /**
   * Calls `hear` with two numbers of each row, without an object per row: a third of the cost of `iterate`. `numbers`: SQL expressions of integers
   * within 2^53; `from`: `FROM … WHERE …`. `hear` must not use this connection.
   */
  hear(numbers: readonly [string, string], from: string, values: readonly Value[], hear: HearNumbers): void
  close(): void
}>

/** A WAL that has grown larger, because a reader held it or by one large batch, is cut to this once it begins anew. It would keep its size. */
const walBytesKept = 64 * 1_024 * 1_024

/**
 * Opens a file, or makes it, to be written to. A new one can give back pages that it does not need any more; in one that is there, to say so again
 * would write a page, which a full disk has no room for.
 */
export const openDatabase = (path: string, synchronous: 'OFF' | 'NORMAL' | 'FULL' = 'NORMAL'): Database =>
  openWith(path, false, (database) => {
    if (database.prepare('PRAGMA page_count').get()?.['page_count'] === 0)
      database.exec('PRAGMA auto_vacuum = INCREMENTAL')
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${walBytesKept}; PRAGMA synchronous = ${synchronous};
      PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384`,
    )
  })

/**
 * Opens a file that is there, for reading. It is not opened as a read-only file, only kept from writing: otherwise what a killed writer
 * left half done could not be rolled back.
 */
export const openDatabaseToRead = (path: string, look = noLook): Database =>
  openWith(path, true, (database) => database.exec('PRAGMA query_only = 1; PRAGMA temp_store = MEMORY'), look)

/** Opens a file that is there, for reading, while nobody else has it open. It needs no file beside it. */
export const openDatabaseAlone = (path: string): Database =>
  openWith(path, true, (database) =>
    database.exec('PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA locking_mode = EXCLUSIVE'),
  )

/** Opens an existing file to be read whole, with temporary tables, which SQLite keeps in a file of its own. */
export const openDatabaseToAudit = (path: string): Database =>
  openWith(path, true, (database) => database.exec('PRAGMA temp_store = FILE'))

function prepareIn(database: DatabaseSync, sql: string, withoutNames = false): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  statement.setReturnArrays(withoutNames)
  return statement
}

function* rowsOf<Row>(path: string, begin: () => Iterator<unknown>): Generator<Row> {
  const rows = guarded('read', path, begin)
  try {
    for (;;) {
      const next = guarded('read', path, () => rows.next())
      if (next.done === true) return
      yield next.value as Row
    }
  } finally {
    rows.return?.()
  }
}

function openWith(
  path: string,
  isThere: boolean,
  prepareConnection: (database: DatabaseSync) => void,
  look = noLook,
): Database {
  const location = pathToFileURL(path)
  if (isThere) location.searchParams.set('mode', 'rw')
  const database = guarded('open', path, () => new DatabaseSync(location, { timeout: 5_000 }))
  const statements = new Map<string, StatementSync>()
  let hearing = deaf
  const prepare = (sql: string): StatementSync => {
    look()
    const known = statements.get(sql)
    if (known !== undefined) return known
    if (statements.size >= statementsMax) statements.clear()
    const statement = prepareIn(database, sql)
    statements.set(sql, statement)
    return statement
  }
  prepared(database, () => {
    database.function('tell', { directOnly: true }, (first, second) => {
      hearing(Number(first), Number(second))
      return 1
    })
    database.function('look', { directOnly: true }, () => {
      look()
      return 1
    })
    guarded('open', path, () => prepareConnection(database))
  })
  return {
    path,
    exec: (sql) => guarded('write', path, () => database.exec(sql)),
    // Called for each row that is written: no function is made for it, and `get` makes no object of what was changed, which nobody asks for.
    run(sql, ...values) {
      try {
        prepare(sql).get(...values)
      } catch (cause) {
        throw failureOf('write', path, cause)
      }
    },
    get: (sql, ...values) => guarded('read', path, () => prepare(sql).get(...values)),
    all: (sql, ...values) => guarded('read', path, () => prepare(sql).all(...values)),
    iterate: (sql, ...values) => rowsOf(path, () => prepare(sql).iterate(...values)),
    iterateValues: (sql) => rowsOf(path, () => prepareIn(database, sql, true).iterate()),
    hear([first, second], from, values, hear) {
      hearing = hear
      try {
        // The aggregate returns one row, and calls the function for each row that it counts.
        guarded('read', path, () => prepare(`SELECT count(tell(${first}, ${second})) AS n ${from}`).get(...values))
      } finally {
        hearing = deaf
      }
    },
    close: () => database.close(),
  }
}

/** A connection that was just opened, once `prepare` is done with it; closed if that fails. */
export function prepared<Opened extends Readonly<{ close(): void }>>(
  opened: Opened,
  prepare: (opened: Opened) => void,
): Opened {
  try {
    prepare(opened)
    return opened
  } catch (error) {
    // While a file is open, its disk space is not freed when it is removed.
    opened.close()
    throw error
  }
}

export const hasTable = (database: Database, name: string): boolean =>
  database.get(`SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?`, name) !== undefined

export const hasColumn = (database: Database, table: string, name: string): boolean =>
  database.get('SELECT 1 AS found FROM pragma_table_info(?) WHERE name = ?', table, name) !== undefined

/** One transaction; rolled back when `run` throws. */
export function transaction<T>(database: Database, run: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  let result: T
  try {
    result = run()
    database.exec('COMMIT')
  } catch (error) {
    try {
      database.exec('ROLLBACK')
    } catch {
      // The engine has rolled back already; what matters is the error that led here.
    }
    throw error
  }
  return result
}
