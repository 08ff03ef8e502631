import { crc32 } from 'node:zlib'
import type { DocumentId, Entry } from '../../../projection.ts'
import type { Database } from '../database.ts'
import type { Tables } from '../layout.ts'

/**
 * `bytesMax`: of what is kept in mind of all files. `idsOfFileMax`: a file that holds more documents is opened each time: to look through it would
 * take longer than that, and there are few of these.
 */
const usualLimits = { bytesMax: 64 * 1024 * 1024, idsOfFileMax: 50_000 }
const bytesOf = { file: 400, stored: 4, given: 32 }

/** Hashes of the ids that a file held when it was looked through, sorted, and of those that it was given since. */
type Ids = Readonly<{ stored: Uint32Array; given: Set<number> }>

/** Two ids may have one hash: then a file is opened in vain. */
const hashOf = (collection: string, id: DocumentId): number => crc32(`${collection}/${id}`)

function has(sorted: Uint32Array, wanted: number): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle] ?? 0) < wanted) from = middle + 1
    else to = middle
  }
  return sorted[from] === wanted
}

/** Undefined if there are more than `max`. */
function idsIn(database: Database, collections: readonly Tables[], max: number): Ids | undefined {
  const hashes: number[] = []
  for (const { shape, rows } of collections) {
    if (shape.kind !== 'document') continue
    for (const [id] of database.iterateValues(`SELECT id FROM ${rows}`)) {
      if (hashes.push(hashOf(shape.name, String(id))) > max) return undefined
    }
  }
  return { stored: Uint32Array.from(hashes).sort(), given: new Set() }
}

/** One that is asked for in the file of an earlier day, from an event of `day`. `open` opens that file. */
type Asked = Readonly<{ day: string; path: string; collection: string; id: DocumentId; open: () => Database }>

/**
 * Which documents the files of earlier days may hold. A new id is in none of them, but is looked for in each day of its look-back: with many
 * workspaces more files than are open at once, and each batch would open them all again. It belongs to the one who writes the files.
 */
export function createKnownIds(collections: readonly Tables[], { bytesMax, idsOfFileMax } = usualLimits) {
  /** Undefined: this file holds too many, or there was no room for them. */
  const files = new Map<string, Ids | undefined>()
  let room = bytesMax
  let emptiedOn: string | undefined
  /** Where there is no room all is forgotten, once a day: most may be of days that nobody looks back to any more. */
  const makeRoom = (day: string): void => {
    if (room > 0 || emptiedOn === day) return
    emptiedOn = day
    files.clear()
    room = bytesMax
  }
  const idsOf = ({ day, path, open }: Asked): Ids | undefined => {
    if (files.has(path)) return files.get(path)
    makeRoom(day)
    const ids = room > 0 ? idsIn(open(), collections, idsOfFileMax) : undefined
    room -= bytesOf.file + (ids?.stored.byteLength ?? 0)
    files.set(path, ids)
    return ids
  }
  return {
    /** False: the file holds no such document. */
    mayHold(asked: Asked): boolean {
      const ids = idsOf(asked)
      if (ids === undefined) return true
      const hash = hashOf(asked.collection, asked.id)
      return has(ids.stored, hash) || ids.given.has(hash)
    },
    /** To be called before entries are written to a file. */
    give(path: string, entries: readonly Entry[]): void {
      const ids = files.get(path)
      if (ids === undefined) return
      for (const { collection, id } of entries) ids.given.add(hashOf(collection, id))
      room -= bytesOf.given * entries.length
    },
    /** The file is removed. */
    forget: (path: string): void => void files.delete(path),
  }
}

export type KnownIds = ReturnType<typeof createKnownIds>
