import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statfsSync, statSync, truncateSync, type Stats } from 'node:fs'
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

type RoomBounds = Pick<Limits, 'reserveFreeBytesMin'>
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

const bytesIn = ({ bavail, bsize }: Readonly<{ bavail: number; bsize: number }>): number => bavail * bsize
const freeBytesBeside = async (file: string): Promise<number> => bytesIn(await statfs(dirname(file)))

const isGivenUp = (file: string): boolean => statOf(file)?.size === 0
/** Whether there is no room but what it holds. */
const isNeeded = async (file: string, { reserveFreeBytesMin }: Bounds): Promise<boolean> =>
  existsSync(file) && !isGivenUp(file) && (await freeBytesBeside(file)) < reserveFreeBytesMin
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

const giveUpWhereNeeded: Settle = async (kept, bounds) => {
  const { file } = kept
  const { reserveBytes } = bounds
  if (!(await isNeeded(file, bounds))) return undefined
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
  settleEach(giveUpWhereNeeded, dataFolder, bounds, tell)

/**
 * Returns what does this, but only where it was needed when it was asked before, too: who writes telemetry has seen that meanwhile, and waits
 * (`createRoomCheck`), or would take at once what is given up. Where there is room, it keeps some again.
 */
export function createSettling(dataFolder: string, bounds: Bounds, tell: Tell): () => Promise<void> {
  let neededBefore: ReadonlySet<string> = new Set()
  return async () => {
    const needed = new Set<string>()
    const giveUpWhereKnown: Settle = async (kept) => {
      if (neededBefore.has(kept.file)) return giveUpWhereNeeded(kept, bounds)
      if (await isNeeded(kept.file, bounds)) needed.add(kept.file)
      return undefined
    }
    await settleEach(giveUpWhereKnown, dataFolder, bounds, tell)
    neededBefore = needed
    await settleEach(keepWhereThereIsRoom, dataFolder, bounds, tell)
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

/** How long there is believed to be room: less than `settleEveryMs`. And none: until it is given up, where that is needed for so long. */
const [roomBelievedMs, fullBelievedMs] = [200, 3 * settleEveryMs]

/** `compared`: files that are there for a while, beside the indexes or not. */
export type RoomUse = Use | 'compared'

const needs = (dataFolder: string, use: RoomUse, { file, uses }: Kept): boolean =>
  use === 'compared' ? file === join(dataFolder, name) : uses.has(use)

function hasRoom(file: string, { reserveFreeBytesMin }: RoomBounds): boolean {
  const found = statOf(file)
  if (found === undefined) return true
  return found.size > 0 && bytesIn(statfsSync(dirname(file))) >= reserveFreeBytesMin
}

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
      full = filesIn(dataFolder).find((kept) => needs(dataFolder, use, kept) && !hasRoom(kept.file, bounds))
      believedUntil = now + (full === undefined ? roomBelievedMs : fullBelievedMs)
    }
    if (full === undefined) return
    const hint = 'its disk is full: free some space'
    throw new TransientError({ operation: 'write to', subject: dirname(full.file), hint })
  }
}
