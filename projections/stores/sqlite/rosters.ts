import { parseJson, stringifyJson } from '#src/lib/json.ts'
import { noRoster, type FollowedBuild, type IndexName, type Roster } from '../../index-store.ts'
import { openDatabase, prepared, transaction, type Database } from './database.ts'
import { makeFolderOf } from './make-folder-of.ts'
import { readIfThere } from './if-there.ts'
import { layoutOf, layoutVersion } from './layout.ts'
import { livePath } from './paths.ts'

/** Opens the file of rosters: which build of each projection readers use, and which are folded. */
export function openRosters(folder: string): Database {
  const path = livePath(folder)
  makeFolderOf(path)
  return prepared(openDatabase(path, 'FULL'), (database) =>
    transaction(database, () => {
      if (layoutOf(database) === 0n) {
        database.exec('CREATE TABLE live (projection TEXT PRIMARY KEY, build TEXT NOT NULL, revision INTEGER NOT NULL)')
        database.exec(`PRAGMA user_version = ${layoutVersion}`)
      }
      database.exec('CREATE TABLE IF NOT EXISTS followed (projection TEXT PRIMARY KEY, builds TEXT NOT NULL)')
    }),
  )
}

/** Stands for no live build: a rebuild may be the first. */
const none = ''

/** The live build and the revision of its roster: after a change, a build of the same name may be another one. */
export type LiveRevision = Readonly<{ index: IndexName; revision: bigint }>

/** The live builds, by projection. */
export function readLiveBuilds(database: Database): ReadonlyMap<string, LiveRevision> {
  const rows = database.all('SELECT projection, build, revision FROM live WHERE build <> ?', none)
  return new Map(
    rows.map(({ projection, build, revision }) => [
      String(projection),
      { index: String(build), revision: revision as bigint },
    ]),
  )
}

/** The same, for a folder that is not open. */
export const storedLiveBuilds = (folder: string): ReadonlyMap<string, LiveRevision> =>
  readIfThere(livePath(folder), (database) => (layoutOf(database) === 0n ? undefined : readLiveBuilds(database))) ??
  new Map<string, LiveRevision>()

/** Makes readers open the build's files anew. */
export const renewLive = (database: Database, index: IndexName): void =>
  database.run('UPDATE live SET revision = revision + 1 WHERE build = ?', index)

export function readRoster(database: Database, projection: string): Roster {
  const row = database.get(
    'SELECT build, revision, builds FROM live LEFT JOIN followed USING (projection) WHERE projection = ?',
    projection,
  )
  if (row === undefined) return noRoster
  const followed = typeof row['builds'] === 'string' ? (parseJson(row['builds']) as unknown as FollowedBuild[]) : []
  const live = row['build'] === none ? undefined : String(row['build'])
  return { revision: Number(row['revision']), live, followed }
}

/**
 * Moves the WAL into the file, so that the next change takes its place instead of more of the disk: where that is full, a build can still be
 * dropped. Readers may be in the way, and then it is left to the next change.
 */
function emptyWal(database: Database): void {
  try {
    database.get('PRAGMA wal_checkpoint(PASSIVE)')
  } catch {
    // The change is in the WAL, and on the disk.
  }
}

/** Compare-and-set: false, and nothing is written, if the roster has another revision by now. */
export function writeRoster(database: Database, projection: string, { revision, live, followed }: Roster): boolean {
  const isWritten = transaction(database, () => {
    if (readRoster(database, projection).revision !== revision) return false
    database.run(
      `INSERT INTO live (projection, build, revision) VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET build = excluded.build, revision = revision + 1`,
      projection,
      live ?? none,
    )
    database.run(
      'INSERT INTO followed (projection, builds) VALUES (?, ?) ON CONFLICT DO UPDATE SET builds = excluded.builds',
      projection,
      stringifyJson(followed),
    )
    return true
  })
  if (isWritten) emptyWal(database)
  return isWritten
}
