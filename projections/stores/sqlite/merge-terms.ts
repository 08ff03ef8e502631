import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dayOf } from '#src/lib/day.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { daysIn, workspacesIn } from './build-folders.ts'
import { openDatabase, type Database } from './database.ts'
import { fileOfDay, workspaceFolder, type Tables } from './layout.ts'

/** Pages that FTS5 writes in one turn: about 10 ms. */
const pagesPerTurn = 250
/** How many files that need no merging a turn may check. */
const filesPerTurn = 16
const turnEveryMs = 1_000
/** How often files that were written are checked, ms. */
const writtenEveryMs = 60_000
/** A build that is further behind is not merged. */
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

type Mergeable = Readonly<{ path: string; pages: number }>

/** The same for a file. It may be gone or damaged, or its disk full: others will report that. */
function mergeFile({ path, pages }: Mergeable, collections: readonly Tables[]): boolean {
  if (!existsSync(path)) return false
  try {
    const database = openDatabase(path)
    try {
      return mergeSome(database, collections, pages)
    } finally {
      database.close()
    }
  } catch (error) {
    if (isOperatingFailure(error)) return false
    throw error
  }
}

type TermsMergerOptions = Readonly<{
  index: IndexName
  collections: readonly Tables[]
  pagesMax?: number | undefined
}>

/**
 * Merges FTS5 segments of a build, a little in each turn, so that a term is looked up in few places: in one segment of each day that is over, because
 * an id is looked for in all kept days; and in a few, not fifteen, of days that are written to. Search results stay the same.
 */
export function createTermsMerger(folder: string, { index, collections, pagesMax = pagesPerTurn }: TermsMergerOptions) {
  let today = ''
  let turnAt = -Infinity
  let writtenAt = -Infinity
  const written = new Set<string>()
  let files: Mergeable[] = []
  const filesBefore = (day: string): Mergeable[] =>
    workspacesIn(folder, index).flatMap((workspaceId) => {
      const own = workspaceFolder(folder, index, workspaceId)
      const over = daysIn(folder, index, workspaceId).filter((one) => one < day)
      return over.map((one) => ({ path: join(own, fileOfDay(one)), pages: -pagesMax }))
    })
  /** First the days that are over, once; then, from time to time, what was written meanwhile. */
  function list(at: number): void {
    if (dayOf(at) !== today) {
      today = dayOf(at)
      files = filesBefore(today)
    } else if (files.length === 0 && Math.abs(at - writtenAt) >= writtenEveryMs) {
      writtenAt = at
      files = [...written].map((path) => ({ path, pages: pagesMax }))
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
        if (file === undefined || mergeFile(file, collections)) return
        files.pop()
      }
    },
  }
}

export type TermsMerger = ReturnType<typeof createTermsMerger>
