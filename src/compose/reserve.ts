import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statSync, truncateSync, type Stats } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FullDisk } from '#src/cli/services.ts'
import type { Limits } from '#src/config.ts'
import { systemTicks, type Ticks } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import { bytesLeftIn, filesLeftIn } from '#src/lib/room-left.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { foldersOf } from './folders.ts'

// Room that a full disk gives back: a file that says nothing. What SQLite needs beside each file that it opens has room then, and so have
// sessions, revoked keys, and what makes room. It would be gone at once if telemetry were taken and folded meanwhile: neither is, until the file
// is there again. A file that is empty was given up; none, as on a disk that never had the room, or that does not say what it has, keeps nobody from
// anything.

/** `bytesLeft`: on the disk of a folder, unless it is asked itself; undefined where that is not known. */
type RoomBounds = Pick<Limits, 'reserveFreeBytesMin'> & Readonly<{ bytesLeft?: (folder: string) => number | undefined }>
type Bounds = RoomBounds & Pick<Limits, 'reserveBytes'>

type Tell = (line: string) => void

const name = 'reserve'

/** Undefined also where this user may not look at it: who opens it says so. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** What is done with telemetry, which waits while a disk that it needs is full. */
type Use = 'accepted' | 'folded'
type Kept = Readonly<{ file: string; uses: ReadonlySet<Use> }>

/** One file for each disk that a data folder lies on. */
function filesIn(dataFolder: string): readonly Kept[] {
  const { logFolder, indexFolder } = foldersOf(dataFolder)
  const onDisks = new Map<number, Readonly<{ file: string; uses: Set<Use> }>>()
  const places = [
    [dataFolder, 'accepted'],
    [logFolder, 'accepted'],
    [indexFolder, 'folded'],
  ] as const
  for (const [folder, use] of places) {
    const disk = statOf(folder)?.dev
    if (disk === undefined) continue
    const kept = onDisks.get(disk) ?? { file: join(folder, name), uses: new Set<Use>() }
    kept.uses.add(use)
    onDisks.set(disk, kept)
  }
  return [...onDisks.values()]
}

const usesOf = ({ uses }: Kept, word: 'and' | 'or'): string => [...uses].join(` ${word} `)

const leftBeside = (file: string, { bytesLeft = bytesLeftIn }: RoomBounds): number | undefined =>
  bytesLeft(dirname(file))

function isFull(file: string, bounds: RoomBounds): boolean {
  const left = leftBeside(file, bounds)
  return left !== undefined && left < bounds.reserveFreeBytesMin
}

const isGivenUp = (file: string): boolean => statOf(file)?.size === 0
/** Whether there is no room but what it holds. */
const isNeeded = (file: string, bounds: RoomBounds): boolean => (statOf(file)?.size ?? 0) > 0 && isFull(file, bounds)
const newOf = (file: string): string => `${file}.new`
const shown = (bytes: number): string => `${Math.floor(bytes / 1_024)} KiB`

/** Of random bytes, which no disk can store in less. It gets its name once it is whole: until then it is none, or still given up. */
async function keep(file: string, bytes: number): Promise<void> {
  try {
    const handle = await open(newOf(file), 'w', 0o600)
    try {
      await handle.writeFile(randomBytes(bytes))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(newOf(file), file)
  } catch (error) {
    await rm(newOf(file), { force: true })
    throw error
  }
}

type Settle = (kept: Kept, bounds: Bounds) => string | undefined | Promise<string | undefined>

/** Builds take room where they are folded. */
const remedy = ({ uses }: Kept): string =>
  uses.has('folded') ? 'remove something beside it, or throughline drop BUILD' : 'remove something beside it'

const giveUpWhereNeeded: Settle = (kept, bounds) => {
  const { file } = kept
  const { reserveBytes } = bounds
  if (!isNeeded(file, bounds)) return undefined
  // Which takes no room itself, and no inode.
  truncateSync(file, 0)
  return (
    `the disk of ${dirname(file)} is full: ${file} is given up, which leaves ${shown(reserveBytes)} for searches, sign-ins and what makes room. ` +
    `No telemetry is ${usesOf(kept, 'or')} until ${shown(2 * reserveBytes)} are free: ${remedy(kept)}`
  )
}

const keepWhereThereIsRoom: Settle = async (kept, bounds) => {
  const { file } = kept
  const isEmpty = isGivenUp(file)
  if (existsSync(file) && !isEmpty) return undefined
  const left = leftBeside(file, bounds)
  // Of a data folder that was copied to such a disk: it could not be kept again.
  if (left === undefined) rmSync(file, { force: true })
  if (left === undefined || left < 2 * bounds.reserveBytes) return undefined
  await keep(file, bounds.reserveBytes)
  return isEmpty ? `the disk of ${dirname(file)} has room again: telemetry is ${usesOf(kept, 'and')}` : undefined
}

async function settleEach(settle: Settle, dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> {
  for (const kept of filesIn(dataFolder)) {
    try {
      const line = await settle(kept, bounds)
      if (line !== undefined) tell(line)
    } catch {
      // A disk that cannot be written to says so where something must be.
    }
  }
}

const giveUpAtStart: Settle = (kept, bounds) => {
  // Left by a server that was killed.
  rmSync(newOf(kept.file), { force: true })
  return giveUpWhereNeeded(kept, bounds)
}

/** Gives room up where a disk is full. Before a start, and while no other server runs there. */
export const giveUpReserve = (dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> =>
  settleEach(giveUpAtStart, dataFolder, bounds, tell)

/** As of a quota, which a disk does not count when it says what is free. */
const isOutOfRoom = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')

/** Turns that are let pass after it could not be kept for that: while it is tried, it takes what others could. */
const restTurns = 120

/**
 * Returns what does this, but only where it was needed when it was asked before, too: who writes telemetry has seen that meanwhile, and waits
 * (`createRoomCheck`), or would take at once what is given up. Where there is room, it keeps some again.
 */
export function createSettling(dataFolder: string, bounds: Bounds, tell: Tell): () => Promise<void> {
  let neededBefore: ReadonlySet<string> = new Set()
  let rest = 0
  const keepOrRest: Settle = async (kept) => {
    try {
      return await keepWhereThereIsRoom(kept, bounds)
    } catch (error) {
      if (isOutOfRoom(error)) rest = restTurns
      throw error
    }
  }
  return async () => {
    const needed = new Set<string>()
    const giveUpWhereKnown: Settle = (kept) => {
      if (neededBefore.has(kept.file)) return giveUpWhereNeeded(kept, bounds)
      if (isNeeded(kept.file, bounds)) needed.add(kept.file)
      return undefined
    }
    await settleEach(giveUpWhereKnown, dataFolder, bounds, tell)
    neededBefore = needed
    if (rest > 0) rest--
    else await settleEach(keepOrRest, dataFolder, bounds, tell)
  }
}

const settleEveryMs = 500

/** Does this now, and from then on twice a second. Returns what ends it. */
export async function keepReserve(dataFolder: string, bounds: Bounds, tell: Tell): Promise<() => void> {
  const settle = createSettling(dataFolder, bounds, tell)
  let settling: Promise<void> | undefined
  const settleAgain = (): void => {
    settling ??= settle().finally(() => (settling = undefined))
  }
  await settle()
  return systemTimers.every(settleEveryMs, settleAgain)
}

/** More than a start makes: SQLite's beside each log and each build, locks, and the process id. */
const startFiles = 32

/** Where a start has failed, tells which disk lacks room, or inodes, if one does, and how much it takes. */
export function tellMissingRoom(
  dataFolder: string,
  bounds: Bounds,
  tell: Tell,
  filesLeft: CountFiles = filesLeftIn,
): void {
  for (const { file } of filesIn(dataFolder)) {
    const left = filesLeft(dirname(file)) ?? startFiles
    if (left < startFiles)
      tell(
        `a start makes some ${startFiles} files on the disk of ${dirname(file)}, which has room for ${left} more (df -i): remove files beside it, and start again`,
      )
    if (!isFull(file, bounds)) continue
    const where = `on the disk of ${dirname(file)}, where ${shown(leftBeside(file, bounds) ?? 0)} are free`
    tell(`a start takes ${shown(bounds.reserveFreeBytesMin)} ${where}: remove something beside it, and start again`)
  }
}

type CountFiles = (folder: string) => number | undefined

/** Where there is no room but what was given up; or no inode, which a server meets when it must make a file. */
export const fullDisksOf = (dataFolder: string, filesLeft: CountFiles = filesLeftIn): readonly FullDisk[] =>
  filesIn(dataFolder).flatMap((kept): readonly FullDisk[] => {
    const told = { folder: dirname(kept.file), not: usesOf(kept, 'or') }
    if (isGivenUp(kept.file)) return [told]
    return filesLeft(told.folder) === 0 ? [{ ...told, lacks: 'inodes' }] : []
  })

/** How long there is believed to be room: less than `settleEveryMs`. And none: until it is given up, where that is needed for so long. */
const [roomBelievedMs, fullBelievedMs] = [200, 3 * settleEveryMs]

/** `compared`: files that are there for a while, beside the indexes or not. */
export type RoomUse = Use | 'compared'

const needs = (dataFolder: string, use: RoomUse, { file, uses }: Kept): boolean =>
  use === 'compared' ? file === join(dataFolder, name) : uses.has(use)

/** Whether its room is given up, or about to be. Not where that is no more than an empty file says of a disk that does not say what it has. */
const isWanting = (file: string, bounds: RoomBounds): boolean =>
  isGivenUp(file) ? leftBeside(file, bounds) !== undefined : isNeeded(file, bounds)

/** Throws TransientError while the room on a disk is given up that is needed for this, or about to be. */
export function createRoomCheck(
  dataFolder: string,
  use: RoomUse,
  bounds: RoomBounds,
  ticks: Ticks = systemTicks,
): () => void {
  let [believedUntil, full] = [Number.NEGATIVE_INFINITY, undefined as Kept | undefined]
  return () => {
    const now = ticks()
    if (now >= believedUntil) {
      full = filesIn(dataFolder).find((kept) => needs(dataFolder, use, kept) && isWanting(kept.file, bounds))
      believedUntil = now + (full === undefined ? roomBelievedMs : fullBelievedMs)
    }
    if (full === undefined) return
    const hint = 'its disk is full: free some space'
    throw new TransientError({ operation: 'write to', subject: dirname(full.file), hint })
  }
}
