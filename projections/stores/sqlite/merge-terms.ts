import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dayOf } from '#src/lib/day.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Heartbeat, IndexName } from '../../index-store.ts'
import { daysIn, workspacesIn } from './build-folders.ts'
import { openDatabase, type Database } from './database.ts'
import { fileOfDay, workspaceFolder, type Tables } from './layout.ts'

/** Pages that FTS5 writes in one turn: some 10 ms. */
const pagesPerTurn = 250
/** Files that a turn may look at and find merged. */
const filesPerTurn = 16
const turnEveryMs = 1_000

/** A table of few rows has no second segment that counts; a segment of several pages has entries here. */
function hasSegments(database: Database, terms: string): boolean {
  const edges = database.get(
    `SELECT (SELECT min(segid) FROM ${terms}_idx) AS first, (SELECT max(segid) FROM ${terms}_idx) AS last`,
  )
  return edges !== undefined && edges['first'] !== edges['last']
}

/** Merges some of the segments of one table that has several; whether there was one. */
function mergeSome(database: Database, collections: readonly Tables[], pagesMax: number): boolean {
  const terms = collections.map((tables) => tables.terms).find((name) => name && hasSegments(database, name))
  if (terms === undefined) return false
  // Below zero: all segments become one in the end, whatever their levels. Source: SQLite's FTS5, 6.9.
  database.run(`INSERT INTO ${terms} (${terms}, rank) VALUES ('merge', ?)`, -pagesMax)
  return true
}

/** The same for a file that may have gone, or be damaged, or have no room on its disk: who needs it will say so. */
function mergeFile(path: string, collections: readonly Tables[], pagesMax: number): boolean {
  if (!existsSync(path)) return false
  try {
    const database = openDatabase(path, { readOnly: false, synchronous: 'NORMAL' })
    try {
      return mergeSome(database, collections, pagesMax)
    } finally {
      database.close()
    }
  } catch (error) {
    if (error instanceof PermanentError || error instanceof TransientError) return false
    throw error
  }
}

type TermsMergerOptions = Readonly<{
  index: IndexName
  collections: readonly Tables[]
  pagesMax?: number | undefined
}>

/**
 * Merges what FTS5 holds of days that are over, a little in each turn, until a term is looked up in one place instead of fifteen: an
 * id is looked for in all days that are kept. What is found stays the same. One for each build.
 */
export function createTermsMerger(folder: string, { index, collections, pagesMax = pagesPerTurn }: TermsMergerOptions) {
  let today = ''
  let turnAt = -Infinity
  let files: string[] = []
  const filesBefore = (day: string): string[] =>
    workspacesIn(folder, index).flatMap((workspaceId) => {
      const own = workspaceFolder(folder, index, workspaceId)
      const over = daysIn(folder, index, workspaceId).filter((one) => one < day)
      return over.map((one) => join(own, fileOfDay(one)))
    })
  return {
    /** A turn at the time of a heartbeat, at most each second; of a build that is behind there is none. */
    turn({ at, position, head }: Heartbeat): void {
      if (position < head || Math.abs(at - turnAt) < turnEveryMs) return
      turnAt = at
      if (dayOf(at) !== today) {
        today = dayOf(at)
        files = filesBefore(today)
      }
      for (let looked = 0; looked < filesPerTurn; looked++) {
        const path = files.at(-1)
        if (path === undefined || mergeFile(path, collections, pagesMax)) return
        files.pop()
      }
    },
  }
}

export type TermsMerger = ReturnType<typeof createTermsMerger>
