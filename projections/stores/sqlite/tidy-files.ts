import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { dayOf } from '#src/lib/day.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { daysIn, workspacesIn } from './build-folders.ts'
import { openDatabase, type Database } from './database.ts'
import { dayOfFile, fileOfDay, workspaceFolder, type Tables } from './layout.ts'
import { giveBackSome, isWorthPacking, packSome } from './pack-bodies.ts'

/** `pagesPerTurn`: how many one turn merges, packs or gives back; 10 to 20 ms. `packedPagesMin`: a smaller file has little to give back. */
export type Tidying = Readonly<{ pagesPerTurn: number; packedPagesMin: number }>
const usualTidying: Tidying = { pagesPerTurn: 250, packedPagesMin: 256 }
/** How many files that need nothing a turn may check. */
const filesPerTurn = 16
const turnEveryMs = 1_000
/** How often files that were written are checked, ms. */
const writtenEveryMs = 60_000
/** A build that is further behind is not tidied. */
const behindMaxMs = 2_000

const changesOf = (database: Database): bigint => database.get('SELECT total_changes() AS n')?.['n'] as bigint

/**
 * Merges some segments of one table; true if there were any to merge. A negative `pages` merges all segments into one in the end, whatever their
 * levels. A positive one merges four or more of a level, so that a file that is still written to is not rewritten each time. See SQLite's FTS5,
 * section 6.9.
 */
function mergeSome(database: Database, collections: readonly Tables[], pages: number): boolean {
  return collections.some(({ terms }) => {
    if (terms === undefined) return false
    const before = changesOf(database)
    database.run(`INSERT INTO ${terms} (${terms}, rank) VALUES ('merge', ?)`, pages)
    return changesOf(database) - before >= 2n
  })
}

/** `isOver`: the day of the file is, so little is written to it any more. */
type Due = Readonly<{ path: string; isOver: boolean }>

/** One turn's work on a file whose day is over; false if there is nothing to do. */
export function tidyOver(database: Database, collections: readonly Tables[], tidying = usualTidying): boolean {
  const { pagesPerTurn, packedPagesMin } = tidying
  if (mergeSome(database, collections, -pagesPerTurn)) return true
  if (!isWorthPacking(database, packedPagesMin)) return false
  return packSome(database, collections, pagesPerTurn) || giveBackSome(database, pagesPerTurn)
}

/** The same for any file, which may be gone or damaged, or its disk full: others will report that. */
function tidyFile({ path, isOver }: Due, collections: readonly Tables[], tidying: Tidying): boolean {
  if (!existsSync(path)) return false
  try {
    const database = openDatabase(path)
    try {
      if (isOver) return tidyOver(database, collections, tidying)
      return mergeSome(database, collections, tidying.pagesPerTurn)
    } finally {
      database.close()
    }
  } catch (error) {
    if (isOperatingFailure(error)) return false
    throw error
  }
}

type TidierOptions = Readonly<{
  index: IndexName
  collections: readonly Tables[]
  tidying?: Tidying | undefined
}>

/**
 * Tidies the files of a build, a little in each turn. FTS5 segments are merged, so that a term is looked up in few places: in one segment of each day
 * that is over, because an id is looked for in all kept days; and in a few, not fifteen, of days that are written to. Then the bodies of days that
 * are over are packed. Search results stay the same.
 */
export function createTidier(folder: string, { index, collections, tidying = usualTidying }: TidierOptions) {
  let today = ''
  let turnAt = -Infinity
  let writtenAt = -Infinity
  const written = new Set<string>()
  /** The files whose day is over that have had their turn today. */
  const listed = new Set<string>()
  let files: Due[] = []
  const pathsBefore = (day: string): readonly string[] =>
    workspacesIn(folder, index).flatMap((workspaceId) => {
      const own = workspaceFolder(folder, index, workspaceId)
      const over = daysIn(folder, index, workspaceId).filter((one) => one < day)
      return over.map((one) => join(own, fileOfDay(one)))
    })
  const dueOf = (path: string): Due => {
    const isOver = (dayOfFile(basename(path)) ?? today) < today && !listed.has(path)
    if (isOver) listed.add(path)
    return { path, isOver }
  }
  /** First the days that are over, once; then, from time to time, what was written meanwhile, and may be a file of an earlier day. */
  function list(at: number): void {
    if (dayOf(at) !== today) {
      today = dayOf(at)
      listed.clear()
      files = pathsBefore(today).map(dueOf)
    } else if (files.length === 0 && Math.abs(at - writtenAt) >= writtenEveryMs) {
      writtenAt = at
      files = [...written].map(dueOf)
      written.clear()
    }
  }
  return {
    wrote: (path: string): void => void written.add(path),
    /** One turn, called with each heartbeat: at most once a second, and never while the build is behind. */
    turn({ at, caughtUpAt }: Heartbeat): void {
      const isBehind = at - caughtUpAt > behindMaxMs
      if (isBehind || Math.abs(at - turnAt) < turnEveryMs) return
      turnAt = at
      list(at)
      for (let looked = 0; looked < filesPerTurn; looked++) {
        const file = files.at(-1)
        if (file === undefined || tidyFile(file, collections, tidying)) return
        files.pop()
      }
    },
  }
}

export type Tidier = ReturnType<typeof createTidier>
