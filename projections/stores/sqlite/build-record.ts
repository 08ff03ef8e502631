import { parseJson, stringifyJson } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { formatAhead, parseAhead } from '../ahead-text.ts'
import type { Heartbeat, IndexName, LastFolded } from '../../index-store.ts'
import {
  hasColumn,
  hasTable,
  openDatabase,
  openDatabaseToRead,
  prepared,
  transaction,
  type Database,
} from './database.ts'
import { makeFolderOf } from './make-folder-of.ts'
import { openIfThere, readIfThere } from './if-there.ts'
import { otherCollections, otherLog } from '../refusals.ts'
import type { Shapes } from '../row.ts'
import { layoutOf, layoutVersion } from './layout.ts'
import { metaPath } from './paths.ts'

/** The record of a build: the log that it follows and from where, its collections, the position that is durable in every file, and the last heartbeat. */
type BuildRecord = Readonly<{ epoch: string; shapes: Shapes; after: Position; safe: Position; progress: Heartbeat }>

/** Tables that were added after the first release of this layout. Older programs do not need them. */
const laterTables = `
  CREATE TABLE IF NOT EXISTS origin (after INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS shares (name TEXT PRIMARY KEY, safe INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS days (workspace TEXT NOT NULL, day TEXT NOT NULL, PRIMARY KEY (workspace, day)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS lostDays (workspace TEXT NOT NULL, day TEXT NOT NULL, PRIMARY KEY (workspace, day)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS named (safe INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS erased (workspace TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
`

function layOut(database: Database, epoch: string, shapes: Shapes, after: Position): void {
  database.exec(`CREATE TABLE build (epoch TEXT NOT NULL, shapes TEXT NOT NULL, safe INTEGER NOT NULL)`)
  database.exec(
    'CREATE TABLE progress (position INTEGER, head INTEGER, at INTEGER, caughtUpAt INTEGER, ahead TEXT, last TEXT, lacking TEXT)',
  )
  database.run('INSERT INTO build (epoch, shapes, safe) VALUES (?, ?, ?)', epoch, stringifyJson(shapes), after)
  database.run('INSERT INTO progress (position, head, at, caughtUpAt) VALUES (?, ?, 0, 0)', after, after)
  database.exec(laterTables)
  database.run('INSERT INTO origin (after) VALUES (?)', after)
  database.exec(`PRAGMA user_version = ${layoutVersion}`)
}

/** Undefined while the file is being created. */
export function readBuildRecord(database: Database): BuildRecord | undefined {
  if (layoutOf(database) === 0n) return undefined
  const build = database.get('SELECT epoch, shapes, safe FROM build')
  if (build === undefined) return undefined
  const shapes = parseJson(String(build['shapes'])) as unknown as Shapes
  const safe = Number(build['safe'])
  return { epoch: String(build['epoch']), shapes, after: readAfter(database), safe, progress: readProgress(database) }
}

/** Where the fold of a build began. */
function readAfter(database: Database): Position {
  if (!hasTable(database, 'origin')) return 0
  return Number(database.get('SELECT after FROM origin')?.['after'] ?? 0n)
}

/** The progress of one of several writers that share a build; undefined before its first. */
export function readShare(database: Database, name: string): Position | undefined {
  const safe = database.get('SELECT safe FROM shares WHERE name = ?', name)?.['safe']
  return typeof safe === 'bigint' ? Number(safe) : undefined
}

export const writeShare = (database: Database, name: string, safe: Position): void =>
  database.run(
    'INSERT INTO shares (name, safe) VALUES (?, ?) ON CONFLICT DO UPDATE SET safe = excluded.safe',
    name,
    safe,
  )

export function readProgress(database: Database): Heartbeat {
  // Columns may be missing in a build that only older programs have opened.
  const row = database.get('SELECT * FROM progress')
  const number = (name: string): number => Number(row?.[name] ?? 0)
  const told = {
    position: number('position'),
    head: number('head'),
    at: number('at'),
    caughtUpAt: number('caughtUpAt'),
  }
  const ahead = parseAhead(row?.['ahead'])
  const last = row?.['last']
  const lacking = row?.['lacking']
  return {
    ...told,
    ...(ahead && { ahead }),
    ...(typeof last === 'string' && { last: JSON.parse(last) as LastFolded }),
    ...(typeof lacking === 'string' && { lacking: JSON.parse(lacking) as readonly WorkspaceId[] }),
  }
}

export function writeProgress(database: Database, progress: Heartbeat): void {
  const { position, head, at, caughtUpAt, ahead, last, lacking } = progress
  database.run(
    'UPDATE progress SET position = ?, head = ?, at = ?, caughtUpAt = ?, ahead = ?, last = ?, lacking = ?',
    position,
    head,
    Math.round(at),
    Math.round(caughtUpAt),
    ahead === undefined ? null : formatAhead(ahead),
    last === undefined ? null : JSON.stringify(last),
    lacking === undefined ? null : JSON.stringify(lacking),
  )
}

/** The position up to which each workspace was erased, so that folding a batch again brings nothing back. */
export const readErased = (database: Database): Map<WorkspaceId, Position> =>
  new Map(
    database
      .all('SELECT workspace, position FROM erased')
      .map(({ workspace, position }) => [workspaceIdOf(String(workspace)), Number(position)]),
  )

export const writeErased = (database: Database, workspaceId: WorkspaceId, position: Position): void =>
  database.run(
    'INSERT INTO erased VALUES (?, ?) ON CONFLICT DO UPDATE SET position = max(position, excluded.position)',
    workspaceId,
    position,
  )

export const writeSafe = (database: Database, safe: Position): void => database.run('UPDATE build SET safe = ?', safe)

/** Notes that the named files are complete at the current checkpoint. */
export function writeNamed(database: Database): void {
  database.exec('DELETE FROM named')
  database.exec('INSERT INTO named SELECT safe FROM build')
}

/** False if an older program, which does not name files, has folded the build since. */
export const areDaysNamed = (database: Database): boolean =>
  hasTable(database, 'named') && database.get('SELECT 1 AS found FROM named JOIN build USING (safe)') !== undefined

/**
 * Pages of its WAL, a heartbeat each, after which they go into the file. With SQLite's own thousand, the records of a server that has just started
 * would take 4 MB each of a full disk within a quarter of an hour, and so all that was kept for searches and what makes room.
 */
const recordWalPages = 32

/**
 * Opens a build's record, or creates it. A build of another log or with other collections is refused. The heartbeat goes back to the durable
 * position, because after a power cut the files may hold less than it says.
 */
export function openBuildRecord(
  folder: string,
  index: IndexName,
  { epoch, shapes, after }: Pick<BuildRecord, 'epoch' | 'shapes' | 'after'>,
): Database {
  const path = metaPath(folder, index)
  makeFolderOf(path)
  // Not synced with each heartbeat: if a power cut takes one back, only more of the log is read again.
  return prepared(openDatabase(path), (database) => {
    database.exec(`PRAGMA wal_autocheckpoint = ${recordWalPages}`)
    transaction(database, () => {
      if (layoutOf(database) === 0n) layOut(database, epoch, shapes, after)
      database.exec(laterTables)
      for (const column of ['ahead', 'last', 'lacking']) {
        if (!hasColumn(database, 'progress', column)) database.exec(`ALTER TABLE progress ADD COLUMN ${column} TEXT`)
      }
      const meta = readBuildRecord(database)
      if (meta?.epoch !== epoch) throw otherLog(index)
      if (stringifyJson(meta.shapes) !== stringifyJson(shapes)) throw otherCollections(index)
      const { ahead: _ahead, ...told } = meta.progress
      writeProgress(database, { ...told, position: Math.min(told.position, meta.safe) })
    })
  })
}

/** The record of a build, open for reading, and its content; undefined if there is none, or it is just being created. */
export const openBuildRecordToRead = (
  folder: string,
  index: IndexName,
): Readonly<{ database: Database; found: BuildRecord }> | undefined =>
  openIfThere(metaPath(folder, index), openDatabaseToRead, readBuildRecord)

/** The record of a build that need not be open; undefined as above. */
export const storedBuildRecord = (folder: string, index: IndexName): BuildRecord | undefined =>
  readIfThere(metaPath(folder, index), readBuildRecord)
