import { readFileSync } from 'node:fs'
import { removeDurably, writeDurably } from '#src/lib/durable-files.ts'
import { isFile } from './file-stat.ts'

// Whoever finds damage leaves a note beside the log. The next start then checks the whole log, which it otherwise does not.

const noteOf = (file: string): string => `${file}.suspect`

/** Asks the next start to check the whole log. Never throws: the caller has the damage itself to report. */
export function suspect(file: string, reason: string): void {
  try {
    if (isFile(file)) writeDurably(noteOf(file), `${reason}\n`)
  } catch {
    // Somebody has asked already; or nothing can be written here, and the damage will be found again.
  }
}

/** Why a check was requested; undefined if none was. */
export function suspicionOf(file: string): string | undefined {
  try {
    return readFileSync(noteOf(file), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export const clearSuspicion = (file: string): void => removeDurably(noteOf(file))
