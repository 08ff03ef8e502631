import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { PermanentError } from '#src/lib/failure.ts'

/** Which log: its file, and the partition the file must hold. */
export type LogFile = Readonly<{ file: string; partition: string }>

/** `TLog` in ASCII. SQLite keeps it in the file's header, so another program's database is not mistaken for a log. */
export const applicationId = 0x54_4c_6f_67
export const formatVersion = 1

/**
 * `events.crc` covers the sequence and the header's text. The header's own `crc` covers the payload. `ids` lets the repeat rule find
 * earlier ids (ids.ts).
 */
const schema = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    crc INTEGER NOT NULL,
    subject TEXT,
    header TEXT NOT NULL,
    payload BLOB NOT NULL
  ) STRICT;
  CREATE INDEX events_of_subject ON events (subject, seq) WHERE subject IS NOT NULL;
  CREATE TABLE ids (
    bucket INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (bucket, hash, seq)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`

export const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]

/** What a file says of itself, of one moment: another process may just be making a log in it. */
function look(database: DatabaseSync) {
  database.exec('SAVEPOINT look')
  try {
    const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()
    const version = Number(pragma(database, 'user_version'))
    return { version, owner: pragma(database, 'application_id'), isEmpty: tables?.['tables'] === 0 }
  } finally {
    database.exec('RELEASE look')
  }
}

/** True if the file already holds a log, false if it is empty. Anything else is a PermanentError. */
export function isLog(database: DatabaseSync, file: string): boolean {
  const { version, owner, isEmpty } = look(database)
  const refuse = (hint: string): PermanentError => new PermanentError({ operation: 'open log', subject: file, hint })
  if (owner === applicationId && version > formatVersion) {
    throw refuse(`it was made by a newer version of Throughline (format ${version}, this is ${formatVersion}): upgrade`)
  }
  if (owner === applicationId && version === formatVersion) return true
  if (owner !== 0 || version !== 0 || !isEmpty) throw refuse('it is not a log of Throughline')
  return false
}

/** The epoch of a log. Throws PermanentError if its file holds another partition. */
export function readEpoch(database: DatabaseSync, { file, partition }: LogFile): string {
  const select = database.prepare('SELECT value FROM meta WHERE name = ?')
  const epoch = select.get('epoch')?.['value']
  const found = select.get('partition')?.['value']
  if (typeof epoch !== 'string' || found !== partition) {
    const hint = `it holds partition ${String(found)}, not ${partition}`
    throw new PermanentError({ operation: 'open log', subject: file, hint })
  }
  return epoch
}

/** Makes a log in an empty file. Where that fails, the connection is to be closed. */
export function createSchema(database: DatabaseSync, { file, partition }: LogFile): void {
  database.exec('BEGIN IMMEDIATE')
  // Another process may have been first.
  if (!isLog(database, file)) {
    database.exec(schema)
    const insert = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)')
    insert.run('epoch', randomUUID())
    insert.run('partition', partition)
  }
  database.exec('COMMIT')
}
