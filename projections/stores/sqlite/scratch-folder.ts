import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
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

/** A new folder for this process's own builds. */
export function createScratchFolder(parent: string): ScratchFolder {
  makeFolder(parent, {
    operation: 'make the folder',
    hint: 'this user must be able to make it; or choose another with --data',
  })
  removeStale(parent)
  const folder = mkdtempSync(join(parent, 'builds-'))
  const lock = holdLock(lockOf(folder))
  return {
    folder,
    remove() {
      rmSync(folder, { recursive: true, force: true })
      lock?.release()
    },
  }
}
