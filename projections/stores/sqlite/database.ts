import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { hasNoRoomToShare, isCorrupt, isDiskFull, sqliteCodeOf, sqliteCodes } from '#src/lib/sqlite-errors.ts'
import { unwritableOf } from '#src/lib/unwritable.ts'

export type Value = SQLInputValue
export type Columns = Readonly<Record<string, SQLOutputValue>>

const { busy, locked, noMemory, readOnly, ioError, full, cannotOpen } = sqliteCodes

/** Failures that may pass; a file cannot be opened where the process has no handle left. */
const passing: ReadonlySet<number> = new Set([busy, locked, noMemory, ioError, full, cannotOpen])

/** Of an error that `guarded` threw. */
export const isDamage = (error: unknown): boolean => error instanceof Error && isCorrupt(error.cause)

const remedies: Readonly<Record<number, string>> = {
  [readOnly]: 'this user may not write it: check its owner and mode, and how its disk is mounted',
  [ioError]: 'check the disk, and whether it is full',
  [cannotOpen]:
    'it and its folder must be there and writable for this user: check owner and mode; or too few files may be open (ulimit -n)',
}

/** What the operator can do about it. The log can restore whatever an index holds. */
function hintOf(cause: unknown, code: number): { hint?: string } {
  if (isCorrupt(cause)) {
    const remedy = 'throughline rebuild folds its index again; where it cannot, stop the server and start it again'
    return { hint: `damaged: ${remedy}` }
  }
  const hint = isDiskFull(cause) ? 'the disk is full: free some space' : remedies[code]
  return hint === undefined ? {} : { hint }
}

/** Runs an operation of the engine, and turns its errors into ours. */
function guarded<T>(operation: string, subject: string, run: () => T): T {
  try {
    return run()
  } catch (cause) {
    const code = sqliteCodeOf(cause)
    if (code === undefined) throw cause
    const isPassing = passing.has(code) && !isCorrupt(cause)
    const named = code === readOnly ? unwritableOf(subject) : subject
    throw new (isPassing ? TransientError : PermanentError)({
      operation,
      subject: named,
      cause,
      ...hintOf(cause, code),
    })
  }
}

/** The same of what we have found ourselves. */
export const throwDamage = (path: string, what: string): never =>
  guarded('read', path, () => {
    throw Object.assign(new Error(what), { errcode: sqliteCodes.corrupt })
  })

/** Prepared statements per connection. A query's text depends only on its shape, so there are few. */
const statementsMax = 100

/** Called with two numbers of a row. */
type HearNumbers = (first: number, second: number) => void
const deaf: HearNumbers = () => undefined

/** Throws when nobody waits any more for what is read. */
export type Look = () => void
const noLook: Look = () => undefined

/** A function of SQL that calls a connection's `Look`: SQLite cannot be interrupted here, so what walks many rows asks it now and then. */
export const lookSql = (rowid: string): string => `(${rowid} % ${rowsBetweenLooks} <> 0 OR look())`
/** A prime number, so that whatever rowids have in common does not matter. */
const rowsBetweenLooks = 61

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

/**
 * Makes the folder of a file for its owner alone, in one that is there. Where that is gone, somebody has moved it or is removing it: in its
 * place nothing is made, which would be in the way when it is put back. Throws TransientError.
 */
export function makeFolderOf(path: string): void {
  const folder = dirname(path)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    if (existsSync(folder)) return
    const hint = 'the folder above it must be there, and be writable for this user, and its disk must have room'
    throw new TransientError({ operation: 'make the folder', subject: folder, hint, cause })
  }
}

/**
 * Opens a file, or makes it, to be written to. A new one can give back pages that it does not need any more; in one that is there, to say so again
 * would write a page, which a full disk has no room for.
 */
export const openDatabase = (path: string, synchronous: 'OFF' | 'NORMAL' | 'FULL' = 'NORMAL'): Database =>
  openWith(path, false, (database) => {
    if (database.prepare('PRAGMA page_count').get()?.['page_count'] === 0)
      database.exec('PRAGMA auto_vacuum = INCREMENTAL')
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384`,
    )
  })

/**
 * Opens a file that is there, for reading. It is not opened as a read-only file, only kept from writing: otherwise what a killed writer
 * left half done could not be rolled back.
 */
export const openDatabaseToRead = (path: string, look = noLook): Database =>
  openWith(path, true, (database) => database.exec('PRAGMA query_only = 1; PRAGMA temp_store = MEMORY'), look)

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
    run: (sql, ...values) => void guarded('write', path, () => prepare(sql).run(...values)),
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

/**
 * Reads a file; undefined if there is none. If a file is removed meanwhile, SQLite reports it as damaged, or a failing disk: that counts as none
 * too.
 */
export function ifThere<T>(path: string, read: () => T): T | undefined {
  if (!existsSync(path)) return undefined
  try {
    return read()
  } catch (error) {
    if (existsSync(path)) throw error
    return undefined
  }
}

/**
 * A file opened by `open`, and what `begin` finds in it; undefined if there is no file, or `begin` finds nothing, as in a file that is just
 * being created.
 */
export function openIfThere<T>(
  path: string,
  open: (path: string) => Database,
  begin: (database: Database) => T | undefined,
): Readonly<{ database: Database; found: T }> | undefined {
  return ifThere(path, () => {
    const database = open(path)
    let found: T | undefined
    try {
      found = begin(database)
    } finally {
      if (found === undefined) database.close()
    }
    return found === undefined ? undefined : { database, found }
  })
}

/** Opens a file that is there, for reading, while nobody else has it open. It needs no file beside it. */
const openDatabaseAlone = (path: string): Database =>
  openWith(path, true, (database) =>
    database.exec('PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA locking_mode = EXCLUSIVE'),
  )

/** As `openIfThere`, but closes the file again; also where the disk is full. */
export function readIfThere<T>(path: string, read: (database: Database) => T | undefined): T | undefined {
  const readBy = (open: (path: string) => Database): T | undefined => {
    const opened = openIfThere(path, open, read)
    opened?.database.close()
    return opened?.found
  }
  try {
    return readBy(openDatabaseToRead)
  } catch (error) {
    if (!(error instanceof Error && hasNoRoomToShare(error.cause))) throw error
    return readBy(openDatabaseAlone)
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
