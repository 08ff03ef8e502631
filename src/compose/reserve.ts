import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statSync, truncateSync, type Stats } from 'node:fs'
import { open, rename, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FullDisk } from '#src/cli/services.ts'
import type { Limits } from '#src/config.ts'
import { systemTicks, type Ticks } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { foldersOf } from './folders.ts'

// Room that a full disk gives back: a file that says nothing. What SQLite needs beside each file that it opens has room then, and so have
// sessions, revoked keys, and what makes room. It would be gone at once if telemetry were taken and folded meanwhile: neither is, until the file
// is there again. A file that is empty was given up; none, as on a disk that never had the room, keeps nobody from anything.

type Bounds = Pick<Limits, 'reserveBytes' | 'reserveFreeBytesMin'>

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

async function freeBytesBeside(file: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(file))
  return bavail * bsize
}

const isGivenUp = (file: string): boolean => statOf(file)?.size === 0
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

/** Empties it, which takes no room itself, and no inode. */
function giveUp(file: string): void {
  rmSync(newOf(file), { force: true })
  truncateSync(file, 0)
}

type Settle = (kept: Kept, bounds: Bounds) => Promise<string | undefined>

/** Builds take room where they are folded. */
const remedy = ({ uses }: Kept): string =>
  uses.has('folded') ? 'remove something beside it, or throughline drop BUILD' : 'remove something beside it'

const giveUpWhereFull: Settle = async (kept, { reserveBytes, reserveFreeBytesMin }) => {
  const { file } = kept
  if (!existsSync(file) || isGivenUp(file) || (await freeBytesBeside(file)) >= reserveFreeBytesMin) return undefined
  giveUp(file)
  return (
    `the disk of ${dirname(file)} is full: ${file} is given up, which leaves ${shown(reserveBytes)} for searches, sign-ins and what makes room. ` +
    `No telemetry is ${usesOf(kept, 'or')} until ${shown(2 * reserveBytes)} are free: ${remedy(kept)}`
  )
}

const keepWhereThereIsRoom: Settle = async (kept, { reserveBytes }) => {
  const { file } = kept
  const isEmpty = isGivenUp(file)
  if ((existsSync(file) && !isEmpty) || (await freeBytesBeside(file)) < 2 * reserveBytes) return undefined
  await keep(file, reserveBytes)
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

/** Gives room up where a disk is full. Before a start: even its lock takes some. */
export const giveUpReserve = (dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> =>
  settleEach(giveUpWhereFull, dataFolder, bounds, tell)

/** Does this, or keeps room again where there is some. */
export async function settleReserve(dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> {
  await settleEach(giveUpWhereFull, dataFolder, bounds, tell)
  await settleEach(keepWhereThereIsRoom, dataFolder, bounds, tell)
}

const settleEveryMs = 1_000

/** Does this now, and from then on each second. Returns what ends it. */
export async function keepReserve(dataFolder: string, bounds: Bounds, tell: Tell): Promise<() => void> {
  let settling: Promise<void> | undefined
  const settleAgain = (): void => {
    settling ??= settleReserve(dataFolder, bounds, tell).finally(() => (settling = undefined))
  }
  await settleReserve(dataFolder, bounds, tell)
  return systemTimers.every(settleEveryMs, settleAgain)
}

/** Where a start has failed, tells which disk lacks room, if one does, and how much it takes. */
export async function tellMissingRoom(dataFolder: string, bounds: Bounds, tell: Tell): Promise<void> {
  const { reserveFreeBytesMin: taken } = bounds
  for (const { file } of filesIn(dataFolder)) {
    const free = await freeBytesBeside(file).catch(() => taken)
    if (free >= taken) continue
    const where = `on the disk of ${dirname(file)}, where ${shown(free)} are free`
    tell(`a start takes ${shown(taken)} ${where}: remove something beside it, and start again`)
  }
}

/** Where there is no room but what was given up. */
export const fullDisksOf = (dataFolder: string): readonly FullDisk[] =>
  filesIn(dataFolder)
    .filter(({ file }) => isGivenUp(file))
    .map((kept) => ({ folder: dirname(kept.file), not: usesOf(kept, 'or') }))

/** How long it is believed to be as it was found. */
const believedMs = 250

/** `compared`: files that are there for a while, beside the indexes or not. */
export type RoomUse = Use | 'compared'

const needs = (dataFolder: string, use: RoomUse, { file, uses }: Kept): boolean =>
  use === 'compared' ? file === join(dataFolder, name) : uses.has(use)

/** Throws TransientError while the room on a disk is given up that is needed for this. */
export function createRoomCheck(dataFolder: string, use: RoomUse, ticks: Ticks = systemTicks): () => void {
  let [askedAt, full] = [Number.NEGATIVE_INFINITY, undefined as Kept | undefined]
  return () => {
    if (ticks() - askedAt >= believedMs) {
      askedAt = ticks()
      full = filesIn(dataFolder).find((kept) => needs(dataFolder, use, kept) && isGivenUp(kept.file))
    }
    if (full === undefined) return
    const hint = 'its disk is full: free some space'
    throw new TransientError({ operation: 'write to', subject: dirname(full.file), hint })
  }
}
