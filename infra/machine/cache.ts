import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** What is brought once and kept: outside the checkout, shared by all of this user's. */
const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'throughline')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The locks that this process holds. */
const held = new Set<string>()

/** The lock is a file that holds its owner's pid from the moment it is there; a dead owner's is taken away. */
async function takeLock(file: string): Promise<void> {
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, String(process.pid))
  for (;;) {
    try {
      linkSync(mine, file)
      rmSync(mine)
      held.add(file)
      return
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'EEXIST') throw failure
    }
    if (!isHeld(file)) rmSync(file, { force: true })
    await setTimeout(100)
  }
}

/** A lock with our pid that is not ours was left by one who was killed: in a container, each run may have the pid of the one before. */
function isHeld(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    return pid === process.pid ? held.has(file) : isAlive(pid)
  } catch {
    return false // It was given back just now.
  }
}

/** What a process that was killed left half made, or left when it waited for the lock. */
function removeLeftovers(place: string): void {
  const [folder, name] = [join(place, '..'), `${basename(place)}.`]
  for (const each of readdirSync(folder).filter((each) => each.startsWith(name))) {
    const pid = Number(each.slice(name.length).replace(/^lock\./, ''))
    if (pid > 0 && !isAlive(pid)) rmSync(join(folder, each), { recursive: true, force: true })
  }
}

/** Two may have taken a dead owner's lock at once: the first brings the thing to its place. */
function bring(making: string, place: string): void {
  try {
    renameSync(making, place)
  } catch (failure) {
    if (!existsSync(place)) throw failure
  }
}

/**
 * The file or folder `name` of the cache. `make` makes it under another name, and it is moved when done, so that it is whole or
 * not there at all. Of processes that want it at once one makes it and the others wait: that saves a download; the move is what
 * keeps it right.
 */
export async function bringOnce(name: string, make: (making: string) => Promise<void>): Promise<string> {
  const place = join(cacheFolder(), name)
  if (existsSync(place)) return place
  mkdirSync(cacheFolder(), { recursive: true })
  const lock = `${place}.lock`
  await takeLock(lock)
  try {
    removeLeftovers(place)
    const making = `${place}.${process.pid}`
    if (!existsSync(place)) {
      try {
        // Of one who was killed and had our pid.
        rmSync(making, { recursive: true, force: true })
        await make(making)
        bring(making, place)
      } finally {
        rmSync(making, { recursive: true, force: true })
      }
    }
  } finally {
    held.delete(lock)
    rmSync(lock, { force: true })
  }
  return place
}
