import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PermanentError } from '#src/lib/failure.ts'
import { makeFolder } from '#src/lib/make-folder.ts'
import { holdLock } from './hold-lock.ts'

type ScratchFolder = Readonly<{ folder: string; remove(): void }>

const lockOf = (folder: string): string => join(folder, 'lock')

/** Removes the folders of processes that have ended: nobody holds their lock. */
export function removeStale(parent: string): void {
  if (!existsSync(parent)) return
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    const lock = holdLock(lockOf(folder))
    if (lock === undefined) continue
    lock.release()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The parent was made before, perhaps by another user, or on a disk that takes nothing by now. */
function makeOne(parent: string): string {
  try {
    removeStale(parent)
    return mkdtempSync(join(parent, 'builds-'))
  } catch (cause) {
    const hint = 'this user must be able to write to it; or choose another with --data'
    throw new PermanentError({ operation: 'make a folder in', subject: parent, hint, cause })
  }
}

/** A new folder for this process's own builds. */
export function createScratchFolder(parent: string): ScratchFolder {
  makeFolder(parent, {
    operation: 'make the folder',
    hint: 'this user must be able to make it; or choose another with --data',
  })
  const folder = makeOne(parent)
  const lock = holdLock(lockOf(folder))
  return {
    folder,
    remove() {
      rmSync(folder, { recursive: true, force: true })
      lock?.release()
    },
  }
}
