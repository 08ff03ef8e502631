import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { PermanentError } from './failure.ts'

function missingOf(folder: string): readonly string[] {
  const missing: string[] = []
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.unshift(at)
  return missing
}

/** Somebody else may be making the same. */
function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}

/**
 * Makes a folder, and those above it that are not there, for their owner alone. Throws PermanentError, with the hint, where that cannot be done.
 * Step by step: mkdir of Node with `recursive` never ends where a file system answers ENOENT to it, as /proc does.
 */
export function makeFolder(folder: string, { operation, hint }: Readonly<{ operation: string; hint: string }>): void {
  try {
    for (const each of missingOf(folder)) makeOne(each, 0o700)
  } catch (cause) {
    throw new PermanentError({ operation, subject: folder, hint, cause })
  }
}

/** The same of a server's own folder. */
export const makeDataFolder = (folder: string): void =>
  makeFolder(folder, {
    operation: 'make the data folder',
    hint: 'this user must be able to make it; or choose another with --data',
  })
