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

// The reserve is a file of random bytes on each disk of a data folder. When the disk is full, the file is emptied. The freed room is for what must
// still work: the files that SQLite makes beside each database, sessions, revoked keys, and the verbs that free space. Telemetry is neither accepted
// nor folded until the file is whole again: it would use up that room at once. An empty file means that the reserve is given up. No file means that
// it was never made, because the disk had no room for it or does not say what is free: then nothing waits.

/** `bytesLeft`: what is free on the disk of a folder; undefined if the disk does not say. */
type RoomBounds = Pick<Limits, 'reserveFreeBytesMin'> & Readonly<{ bytesLeft?: (folder: string) => number | undefined }>
type Bounds = RoomBounds & Pick<Limits, 'reserveBytes'>

type Tell = (line: string) => void

const name = 'reserve'

/** Undefined also if this user may not look at it: whoever opens it reports that. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** What waits while a disk that it needs is full: accepting telemetry, or folding it. */
type Use = 'accepted' | 'folded'
type ReserveFile = Readonly<{ file: string; uses: ReadonlySet<Use> }>

/** One file for each disk that a data folder lies on. */
function filesIn(dataFolder: string): readonly ReserveFile[] {
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
    const reserve = onDisks.get(disk) ?? { file: join(folder, name), uses: new Set<Use>() }
    reserve.uses.add(use)
    onDisks.set(disk, reserve)
  }
  return [...onDisks.values()]
}

const usesOf = ({ uses }: ReserveFile, word: 'and' | 'or'): string => [...uses].join(` ${word} `)

const leftBeside = (file: string, { bytesLeft = bytesLeftIn }: RoomBounds): number | undefined =>
  bytesLeft(dirname(file))

function isFull(file: string, bounds: RoomBounds): boolean {
  const left = leftBeside(file, bounds)
  return left !== undefined && left < bounds.reserveFreeBytesMin
}

const isGivenUp = (file: string): boolean => statOf(file)?.size === 0
/** Whether the disk is full and the reserve still holds room. */
const mustGiveUp = (file: string, bounds: RoomBounds): boolean => (statOf(file)?.size ?? 0) > 0 && isFull(file, bounds)
const newOf = (file: string): string => `${file}.new`
const shown = (bytes: number): string => `${Math.floor(bytes / 1_024)} KiB`

/** Makes the file, of random bytes, which no file system can store in less. It gets its name once it is whole. */
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

type Settle = (reserve: ReserveFile, bounds: Bounds) => string | undefined | Promise<string | undefined>

/** What the operator can do. Builds take room only on the disk of the indexes. */
const remedy = ({ uses }: ReserveFile): string =>
  uses.has('folded') ? 'remove something beside it, or throughline drop BUILD' : 'remove something beside it'

const giveUpWhereNeeded: Settle = (reserve, bounds) => {
  const { file } = reserve
  const { reserveBytes } = bounds
  if (!mustGiveUp(file, bounds)) return undefined
  // To empty a file takes no room and no inode.
  truncateSync(file, 0)
  return (
    `the disk of ${dirname(file)} is full: ${file} is given up, which leaves ${shown(reserveBytes)} for searches, sign-ins and what makes room. ` +
    `No telemetry is ${usesOf(reserve, 'or')} until ${shown(2 * reserveBytes)} are free: ${remedy(reserve)}`
  )
}

const keepWhereThereIsRoom: Settle = async (reserve, bounds) => {
  const { file } = reserve
  const isEmpty = isGivenUp(file)
  if (existsSync(file) && !isEmpty) return undefined
  const left = leftBeside(file, bounds)
  // The data folder was copied to a disk that does not say what is free: the reserve could not be made again there.
  if (left === undefined) rmSync(file, { force: true })
  if (left === undefined || left < 2 * bounds.reserveBytes) return undefined
  await keep(file, bounds.reserveBytes)
  return isEmpty ? `the disk of ${dirname(file)} has room again: telemetry is ${usesOf(reserve, 'and')}` : undefined
}

async function settleEach(settle: Settle, dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> {
  for (const reserve of filesIn(dataFolder)) {
    try {
      const line = await settle(reserve, bounds)
      if (line !== undefined) tell(line)
    } catch {
      // If the disk cannot be written to, whoever has to write reports it.
    }
  }
}

const giveUpAtStart: Settle = (reserve, bounds) => {
  // Left by a server that was killed.
  rmSync(newOf(reserve.file), { force: true })
  return giveUpWhereNeeded(reserve, bounds)
}

/** Gives up the reserve of each full disk. To be called before a start, while no other server runs on the folder. */
export const giveUpReserve = (dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> =>
  settleEach(giveUpAtStart, dataFolder, bounds, tell)

/** Out of room, also by a quota: what a disk says is free does not count quotas. */
const isOutOfRoom = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')

/** How many turns to wait after there was no room for the reserve: each attempt takes room from others while it lasts. */
const restTurns = 120

/**
 * Returns a function that takes one turn. A turn gives up the reserve of a full disk only if the turn before found that disk full too: by then those
 * who write telemetry know it and wait (`createRoomCheck`), so they do not take the freed room. Where there is room again, it makes the file anew.
 */
export function createSettling(dataFolder: string, bounds: Bounds, tell: Tell): () => Promise<void> {
  let neededBefore: ReadonlySet<string> = new Set()
  let rest = 0
  const keepOrRest: Settle = async (reserve) => {
    try {
      return await keepWhereThereIsRoom(reserve, bounds)
    } catch (error) {
      if (isOutOfRoom(error)) rest = restTurns
      throw error
    }
  }
  return async () => {
    const needed = new Set<string>()
    const giveUpWhereKnown: Settle = (reserve) => {
      if (neededBefore.has(reserve.file)) return giveUpWhereNeeded(reserve, bounds)
      if (mustGiveUp(reserve.file, bounds)) needed.add(reserve.file)
      return undefined
    }
    await settleEach(giveUpWhereKnown, dataFolder, bounds, tell)
    neededBefore = needed
    if (rest > 0) rest--
    else await settleEach(keepOrRest, dataFolder, bounds, tell)
  }
}

const settleEveryMs = 500

/** Takes a turn now, and from then on two a second. Returns a function that ends it. */
export async function keepReserve(dataFolder: string, bounds: Bounds, tell: Tell): Promise<() => void> {
  const settle = createSettling(dataFolder, bounds, tell)
  let settling: Promise<void> | undefined
  const settleAgain = (): void => {
    settling ??= settle().finally(() => (settling = undefined))
  }
  await settle()
  return systemTimers.every(settleEveryMs, settleAgain)
}

/** More files than a start makes: locks, the process id, and SQLite's files beside each log and each build. */
const startFiles = 32

type CountFiles = (folder: string) => number | undefined

/** After a failed start: tells which disk lacks room or inodes, if one does, and how much a start takes. */
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

/** The disks whose reserve is given up, and those without an inode, which a server notices when it has to make a file. */
export const fullDisksOf = (dataFolder: string, filesLeft: CountFiles = filesLeftIn): readonly FullDisk[] =>
  filesIn(dataFolder).flatMap((reserve): readonly FullDisk[] => {
    const told = { folder: dirname(reserve.file), not: usesOf(reserve, 'or') }
    if (isGivenUp(reserve.file)) return [told]
    return filesLeft(told.folder) === 0 ? [{ ...told, lacks: 'inodes' }] : []
  })

/**
 * How long a check believes what it saw. That there is room: for less than `settleEveryMs`, so that writers know of a full disk before its reserve
 * is given up. That there is none: until the reserve has been given up, if the disk stays full.
 */
const [roomBelievedMs, fullBelievedMs] = [200, 3 * settleEveryMs]

/** `compared`: temporary files that an index is compared with. */
export type RoomUse = Use | 'compared'

const needs = (dataFolder: string, use: RoomUse, { file, uses }: ReserveFile): boolean =>
  use === 'compared' ? file === join(dataFolder, name) : uses.has(use)

/** Whether the reserve is given up, or about to be. On a disk that does not say what is free, an empty file means nothing. */
const lacksRoom = (file: string, bounds: RoomBounds): boolean =>
  isGivenUp(file) ? leftBeside(file, bounds) !== undefined : mustGiveUp(file, bounds)

/** Returns a check that throws TransientError while the reserve of a disk that this use needs is given up, or about to be. */
export function createRoomCheck(
  dataFolder: string,
  use: RoomUse,
  bounds: RoomBounds,
  ticks: Ticks = systemTicks,
): () => void {
  let [believedUntil, full] = [Number.NEGATIVE_INFINITY, undefined as ReserveFile | undefined]
  return () => {
    const now = ticks()
    if (now >= believedUntil) {
      full = filesIn(dataFolder).find((reserve) => needs(dataFolder, use, reserve) && lacksRoom(reserve.file, bounds))
      believedUntil = now + (full === undefined ? roomBelievedMs : fullBelievedMs)
    }
    if (full === undefined) return
    const hint = 'its disk is full: free some space'
    throw new TransientError({ operation: 'write to', subject: dirname(full.file), hint })
  }
}
