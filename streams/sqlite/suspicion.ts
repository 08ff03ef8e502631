import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import { isFile } from './file-stat.ts'

// Who meets damage leaves a note beside the log. The next start then looks at all of the log, which it does not do otherwise.

const noteOf = (file: string): string => `${file}.suspect`

/** Asks the next start to look at all of the log. Never throws: who meets damage has something else to say. */
export function suspect(file: string, reason: string): void {
  try {
    if (isFile(file)) writeDurably(noteOf(file), `${reason}\n`)
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
