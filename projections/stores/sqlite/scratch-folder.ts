import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isOperatingFailure, PermanentError } from '#src/lib/failure.ts'
import { makeFolder } from '#src/lib/make-folder.ts'
import { holdLock, type HeldLock } from './hold-lock.ts'

type ScratchFolder = Readonly<{ folder: string; remove(): void }>

const lockOf = (folder: string): string => join(folder, 'lock')

/** Under another name first, so that nobody takes for their own what is just going. Another process may be removing it too. */
function removeFolder(folder: string): void {
  const going = `${folder}.going`
  try {
    renameSync(folder, going)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  rmSync(going, { recursive: true, force: true, maxRetries: 3 })
}

/** Removes the folders of processes that have ended: nobody holds their lock. */
export function removeStale(parent: string): void {
  if (!existsSync(parent)) return
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    const lock = holdLock(lockOf(folder))
    if (lock === undefined) continue
    removeFolder(folder)
    lock.release()
  }
}

/** Until its lock is held, another process may take a new folder for one that was left: then another is made. */
function makeLocked(parent: string): Readonly<{ folder: string; lock: HeldLock }> {
  for (;;) {
    const folder = mkdtempSync(join(parent, 'builds-'))
    const lock = holdLock(lockOf(folder))
    if (lock !== undefined && existsSync(lockOf(folder))) return { folder, lock }
    lock?.release()
  }
}

/** The parent was made before, perhaps by another user, or on a disk that takes nothing by now. */
function makeOne(parent: string): Readonly<{ folder: string; lock: HeldLock }> {
  try {
    removeStale(parent)
    return makeLocked(parent)
  } catch (cause) {
    if (isOperatingFailure(cause)) throw cause
    const hint = 'this user must be able to write to it; or choose another with --data'
    throw new PermanentError({ operation: 'make a folder in', subject: parent, hint, cause })
  }
}

/** A new folder for this process's own builds. */
export function createScratchFolder(parent: string): ScratchFolder {
  makeFolder(parent, {
    operation: 'make the folder',
    hint: 'this user must be able to make it, and its disk must have room for a file; or choose another with --data',
  })
  const { folder, lock } = makeOne(parent)
  return {
    folder,
    remove() {
      removeFolder(folder)
      lock.release()
    },
  }
}
