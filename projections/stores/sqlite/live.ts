import { mkdirSync } from 'node:fs'
import { parseJson, stringifyJson } from '#src/lib/json.ts'
import type { FollowedBuild, IndexName, Roster } from '../../index-store.ts'
import { noRoster } from '../builds.ts'
import { openDatabase, readIfThere, transaction, type Database } from './database.ts'
import { layoutOf, layoutVersion, livePath } from './layout.ts'

/** Which build readers use, and which are folded, for each projection: one file for the folder. */
export function openLive(folder: string): Database {
  mkdirSync(folder, { recursive: true })
  const database = openDatabase(livePath(folder), 'FULL')
  transaction(database, () => {
    if (layoutOf(database) === 0n) {
      database.exec('CREATE TABLE live (projection TEXT PRIMARY KEY, build TEXT NOT NULL, revision INTEGER NOT NULL)')
      database.exec(`PRAGMA user_version = ${layoutVersion}`)
    }
    database.exec('CREATE TABLE IF NOT EXISTS followed (projection TEXT PRIMARY KEY, builds TEXT NOT NULL)')
  })
  return database
}

/** What stands for no build: a rebuild may come before the first build that readers use. */
const none = ''

/** A build and the revision of the roster that says so: a build of the same name may be another after a change. */
export type LiveRevision = Readonly<{ index: IndexName; revision: bigint }>

/** The live builds, by projection, of one moment. */
export function readLiveBuilds(database: Database): ReadonlyMap<string, LiveRevision> {
  const rows = database.all('SELECT projection, build, revision FROM live WHERE build <> ?', none)
  return new Map(
    rows.map(({ projection, build, revision }) => [
      String(projection),
      { index: String(build), revision: revision as bigint },
    ]),
  )
}

/** The same of a folder that need not be open. */
export const storedLiveBuilds = (folder: string): ReadonlyMap<string, LiveRevision> =>
  readIfThere(livePath(folder), (database) => (layoutOf(database) === 0n ? undefined : readLiveBuilds(database))) ??
  new Map<string, LiveRevision>()

/** The build is another from now on, though its name is the same: readers open its files anew. */
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

/** False, and nothing is written, when the roster is not of that revision any more. */
export function writeRoster(database: Database, projection: string, { revision, live, followed }: Roster): boolean {
  return transaction(database, () => {
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
}
