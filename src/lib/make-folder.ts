import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { PermanentError } from './failure.ts'

function missingOf(folder: string): readonly string[] {
  const missing: string[] = []
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.unshift(at)
  return missing
}

/** Another process may be creating the same folder. */
function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}

/**
 * Creates a folder, with missing parents, for its owner alone. Throws PermanentError with the hint if that fails. Step by step, because
 * Node's recursive mkdir never returns where a file system answers ENOENT, as /proc does.
 */
export function makeFolder(folder: string, { operation, hint }: Readonly<{ operation: string; hint: string }>): void {
  try {
    for (const each of missingOf(folder)) makeOne(each, 0o700)
  } catch (cause) {
    throw new PermanentError({ operation, subject: folder, hint, cause })
  }
}

/** The same in the system's temporary folder, where another user may have made the folder before: it must belong to this user alone. */
export function makeOwnFolder(folder: string): void {
  const [operation, hint] = ['make the folder', 'choose another by TMPDIR']
  makeFolder(folder, { operation, hint })
  const { uid, mode } = lstatSync(folder)
  if (process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)) return
  throw new PermanentError({ operation, subject: folder, hint: `it is not this user's alone: remove it, or ${hint}` })
}

/** The same for a server's own folder. */
export const makeDataFolder = (folder: string): void =>
  makeFolder(folder, {
    operation: 'make the data folder',
    hint: 'this user must be able to make it; or choose another with --data',
  })
