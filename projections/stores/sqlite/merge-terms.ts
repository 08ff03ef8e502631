import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dayOf } from '#src/lib/day.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { daysIn, workspacesIn } from './build-folders.ts'
import { openDatabase, type Database } from './database.ts'
import { fileOfDay, workspaceFolder, type Tables } from './layout.ts'

/** Pages that FTS5 writes in one turn: some 10 ms. */
const pagesPerTurn = 250
/** Files that a turn may look at and find merged. */
const filesPerTurn = 16
const turnEveryMs = 1_000
/** Files that were written are looked through again after so long. */
const writtenEveryMs = 60_000
/** A build that is behind by more has other work. */
const behindMaxMs = 2_000

const changesOf = (database: Database): bigint => database.get('SELECT total_changes() AS n')?.['n'] as bigint

/**
 * Merges some of the segments of one table; whether there were any to merge. Below zero `pages` makes one of all segments in the
 * end, whatever their levels; above, one of four or more of a level, so that a file that is written to is not written anew each
 * time. Source: SQLite's FTS5, 6.9.
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

/** The same for a file that may have gone, or be damaged, or have no room on its disk: who needs it will say so. */
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
 * Merges what FTS5 holds, a little in each turn, so that a term is looked up in few places: in one of each day that is over, for an id
 * is looked for in all days that are kept, and in a few of what is written to, not fifteen. What is found stays the same. One for
 * each build.
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
  /** Days that are over, once; then, now and then, what was written meanwhile. */
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
    /** A turn at the time of a heartbeat, at most each second; of a build that is behind there is none. */
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
