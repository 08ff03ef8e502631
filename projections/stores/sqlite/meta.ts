import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { PermanentError } from '#src/lib/failure.ts'
import { parseJson, stringifyJson } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { openDatabase, transaction, type Database } from './database.ts'
import { layoutOf, layoutVersion, livePath, metaPath, type Shapes } from './layout.ts'

/** What stands beside a build: whose log it follows, its collections, how far every file is safe, what readers are told. */
export type Meta = Readonly<{ epoch: string; shapes: Shapes; safe: Position; progress: Heartbeat }>

function layOut(database: Database, epoch: string, shapes: Shapes): void {
  database.exec(`CREATE TABLE build (epoch TEXT NOT NULL, shapes TEXT NOT NULL, safe INTEGER NOT NULL)`)
  database.exec('CREATE TABLE progress (position INTEGER, head INTEGER, at INTEGER, caughtUpAt INTEGER)')
  database.run('INSERT INTO build (epoch, shapes, safe) VALUES (?, ?, 0)', epoch, stringifyJson(shapes))
  database.exec('INSERT INTO progress VALUES (0, 0, 0, 0)')
  database.exec(`PRAGMA user_version = ${layoutVersion}`)
}

/** Undefined while the file is only just being made. */
export function readMeta(database: Database): Meta | undefined {
  if (layoutOf(database) === 0n) return undefined
  const build = database.get('SELECT epoch, shapes, safe FROM build')
  if (build === undefined) return undefined
  const shapes = parseJson(String(build['shapes'])) as unknown as Shapes
  return { epoch: String(build['epoch']), shapes, safe: Number(build['safe']), progress: readProgress(database) }
}

export function readProgress(database: Database): Heartbeat {
  const row = database.get('SELECT position, head, at, caughtUpAt FROM progress')
  const number = (name: string): number => Number(row?.[name] ?? 0)
  return { position: number('position'), head: number('head'), at: number('at'), caughtUpAt: number('caughtUpAt') }
}

export function writeProgress(database: Database, { position, head, at, caughtUpAt }: Heartbeat): void {
  database.run(
    'UPDATE progress SET position = ?, head = ?, at = ?, caughtUpAt = ?',
    position,
    head,
    Math.round(at),
    Math.round(caughtUpAt),
  )
}

export const writeSafe = (database: Database, safe: Position): void => database.run('UPDATE build SET safe = ?', safe)

function refusalOf(meta: Meta | undefined, epoch: string, shapes: Shapes): string | undefined {
  if (meta?.epoch !== epoch) return 'it follows another log: start a new build'
  if (stringifyJson(meta.shapes) === stringifyJson(shapes)) return undefined
  return 'its collections are others: raise the version of the projection'
}

/**
 * Opens a build's record, making it when it is not there. A build of another log or of other collections is refused. What
 * readers are told goes back to what is surely there: after a power cut the files may hold less than was said.
 */
export function openMeta(folder: string, index: IndexName, epoch: string, shapes: Shapes): Database {
  const path = metaPath(folder, index)
  mkdirSync(dirname(path), { recursive: true })
  // Not synced at each heartbeat: a record that a power cut takes back only makes us read more of the log again.
  const database = openDatabase(path, { readOnly: false, synchronous: 'NORMAL' })
  transaction(database, () => {
    if (layoutOf(database) === 0n) layOut(database, epoch, shapes)
    const meta = readMeta(database)
    const refusal = refusalOf(meta, epoch, shapes)
    if (refusal !== undefined) throw new PermanentError({ operation: 'open', subject: index, hint: refusal })
    if (meta !== undefined)
      writeProgress(database, { ...meta.progress, position: Math.min(meta.progress.position, meta.safe) })
  })
  return database
}

/** The record of a build that is there, for reading. */
export function openMetaToRead(folder: string, index: IndexName): Database | undefined {
  const path = metaPath(folder, index)
  return existsSync(path) ? openDatabase(path, { readOnly: true, synchronous: 'NORMAL' }) : undefined
}

/** Which build readers use, for each projection: one file for the folder. */
export function openLive(folder: string): Database {
  mkdirSync(folder, { recursive: true })
  const database = openDatabase(livePath(folder), { readOnly: false, synchronous: 'FULL' })
  transaction(database, () => {
    if (layoutOf(database) !== 0n) return
    database.exec('CREATE TABLE live (projection TEXT PRIMARY KEY, build TEXT NOT NULL, revision INTEGER NOT NULL)')
    database.exec(`PRAGMA user_version = ${layoutVersion}`)
  })
  return database
}

export function readLive(database: Database, projection: string): IndexName | undefined {
  const build = database.get('SELECT build FROM live WHERE projection = ?', projection)?.['build']
  return typeof build === 'string' ? build : undefined
}

export function writeLive(database: Database, projection: string, index: IndexName): void {
  database.run(
    `INSERT INTO live (projection, build, revision) VALUES (?, ?, 1)
     ON CONFLICT DO UPDATE SET build = excluded.build, revision = revision + 1`,
    projection,
    index,
  )
}
