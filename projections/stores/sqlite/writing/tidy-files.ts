import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { dayOf } from '#src/lib/day.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import type { Heartbeat, IndexName } from '../../../index-store.ts'
import { daysIn, workspacesIn } from '../build-folders.ts'
import { openDatabase, type Database } from '../database.ts'
import { isDamage } from '../failure.ts'
import { dayOfFile, dayPath } from '../paths.ts'
import type { Tables } from '../layout.ts'
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

/** What is known of a file: whether its day is over, so that little is written to it; and whether something just was. */
type State = Readonly<{ isOver: boolean; isWritten: boolean }>
const atRest: State = { isOver: true, isWritten: false }

/**
 * One turn's work on a file; false if there is nothing to do. Segments are merged into one only where nothing is written: each new one makes FTS5
 * begin such a merge anew.
 */
export function tidyOnce(
  database: Database,
  collections: readonly Tables[],
  { isOver, isWritten } = atRest,
  { pagesPerTurn, packedPagesMin } = usualTidying,
): boolean {
  if (mergeSome(database, collections, isOver && !isWritten ? -pagesPerTurn : pagesPerTurn)) return true
  if (!isOver || !isWorthPacking(database, packedPagesMin)) return false
  return packSome(database, collections, pagesPerTurn) || giveBackSome(database, pagesPerTurn)
}

type Outcome = 'worked' | 'nothing' | 'later'

/** The same for one that may be gone or damaged, or cannot be written to for now, as on a full disk: others will report that. */
function tidyFile(path: string, collections: readonly Tables[], state: State, tidying: Tidying): Outcome {
  if (!existsSync(path)) return 'nothing'
  try {
    const database = openDatabase(path)
    try {
      return tidyOnce(database, collections, state, tidying) ? 'worked' : 'nothing'
    } finally {
      database.close()
    }
  } catch (error) {
    if (isOperatingFailure(error)) return isDamage(error) ? 'nothing' : 'later'
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
  /** The files that were written since these were last listed. */
  const written = new Set<string>()
  /** Those whose day is over that are done with for today, whatever is written to them. */
  const done = new Set<string>()
  /** Those to be checked, in order. One that has more work stays in its place. */
  let files = new Set<string>()
  const pathsBefore = (day: string): string[] =>
    workspacesIn(folder, index).flatMap((workspaceId) => {
      const over = daysIn(folder, index, workspaceId).filter((one) => one < day)
      return over.map((one) => dayPath(folder, index, workspaceId, one))
    })
  /** First the days that are over, once; then, from time to time, what was written meanwhile, and may be a file of an earlier day. */
  function list(at: number): void {
    if (dayOf(at) !== today) {
      today = dayOf(at)
      done.clear()
      files = new Set(pathsBefore(today).reverse())
    } else if (Math.abs(at - writtenAt) >= writtenEveryMs) {
      writtenAt = at
      for (const path of written) files.add(path)
      written.clear()
    }
  }
  /**
   * One turn's work on the next file; false if it had none. Others come before one that is written, which may have some for ever, and before one that
   * could not be written to.
   */
  function tidyNext(path: string): boolean {
    const isOver = (dayOfFile(basename(path)) ?? today) < today && !done.has(path)
    const isWritten = written.has(path)
    const outcome = tidyFile(path, collections, { isOver, isWritten }, tidying)
    if (outcome === 'worked' && !isWritten) return true
    files.delete(path)
    if (outcome !== 'nothing') files.add(path)
    else if (isOver && !isWritten) done.add(path)
    return outcome !== 'nothing'
  }
  return {
    wrote: (path: string): void => void written.add(path),
    /** One turn, called with each heartbeat: at most once a second, and never while the build is behind. */
    turn({ at, caughtUpAt }: Heartbeat): void {
      const isBehind = at - caughtUpAt > behindMaxMs
      if (isBehind || Math.abs(at - turnAt) < turnEveryMs) return
      turnAt = at
      list(at)
      let looked = 0
      for (const path of files) if (tidyNext(path) || ++looked === filesPerTurn) return
    },
  }
}

export type Tidier = ReturnType<typeof createTidier>
