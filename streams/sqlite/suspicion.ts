import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

// Who meets damage leaves a note beside the log. The next start then looks at all of the log, which it does not do otherwise.

const noteOf = (file: string): string => `${file}.suspect`

/** Makes sure that what was created in, renamed into or removed from a folder is so after a power loss. */
export function syncFolder(folder: string): void {
  // Windows cannot open a folder, and keeps its entries by itself.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Writes a file that only its owner may read; it is on the disk when this returns. `flags` as for open(2). */
export function writeSynced(file: string, text: string, flags: 'w' | 'wx'): void {
  const descriptor = openSync(file, flags, 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}

export const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true

/** Asks the next start to look at all of the log. Never throws: who meets damage has something else to say. */
export function suspect(file: string, reason: string): void {
  try {
    if (isFile(file)) writeSynced(noteOf(file), `${reason}\n`, 'wx')
  } catch {
    // It has been asked already; or nothing can be written here, and the damage will be met again.
  }
}

/** Why somebody asked; undefined when nobody did. */
export function suspicionOf(file: string): string | undefined {
  try {
    return readFileSync(noteOf(file), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function clearSuspicion(file: string): void {
  if (!existsSync(noteOf(file))) return
  rmSync(noteOf(file), { force: true })
  syncFolder(dirname(file))
}
