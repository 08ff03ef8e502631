import { randomBytes } from 'node:crypto'
import { constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { BackedUp } from '#src/cli/services.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { createClock } from '#src/lib/clock.ts'
import { removeDurably, syncFile, syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import { isOperatingFailure, PermanentError } from '#src/lib/failure.ts'
import { shellWord } from '#src/lib/shell-quote.ts'
import { makeFolder } from '#src/lib/make-folder.ts'
import { backUpLog } from '#streams/sqlite/back-up.ts'
import { foldersOf, unfinishedNoteIn } from './folders.ts'

/** Small files that are written once and completely. */
const copied = ['secrets.json', 'first-run.json']

/** File system errors in our words, above all a full disk. */
function toldOf(error: unknown, folder: string): unknown {
  if (isOperatingFailure(error) || !(error instanceof Error) || !('code' in error)) return error
  const hint = 'it must have room for the log, and this user must be able to write there; or name another folder'
  return new PermanentError({ operation: 'back up', subject: folder, hint, cause: error })
}

/**
 * Copies what a data folder cannot rebuild into a new folder, which then exists completely or not at all. The log is copied first, so every
 * workspace it names is also in the copied directory.
 */
export async function backUpFolder(dataFolder: string, to: string): Promise<BackedUp> {
  // Without a trailing slash.
  const folder = resolve(to)
  const refuse = (subject: string, hint: string): PermanentError =>
    new PermanentError({ operation: 'back up', subject, hint })
  const making = `${folder}.making`
  if (existsSync(folder)) throw refuse(folder, 'it is there already: name a folder that is not')
  if (existsSync(making))
    throw refuse(
      making,
      `a backup is being made there; if none is, one was broken off: rm -r ${shellWord(making)}, and run this again`,
    )
  const within = relative(resolve(dataFolder), folder)
  if (!isAbsolute(within) && within.split(sep, 1)[0] !== '..')
    throw refuse(folder, 'it lies in the data folder, and would be lost with it: name another')
  // Without them nothing could be started on the copy.
  loadSecrets({ dataFolder, random: randomBytes })
  const clock = createClock()
  const [from, made] = [foldersOf(dataFolder), foldersOf(making)]
  makeFolder(making, { operation: 'back up', hint: 'this user must be able to make it; or name another folder' })
  try {
    writeDurably(unfinishedNoteIn(making), '')
    mkdirSync(made.logFolder, { mode: 0o700 })
    const log = await backUpLog(from.log, made.log.file, clock)
    const directory = await backUpLog(from.directory, made.directory.file, clock)
    for (const name of copied) {
      if (!existsSync(join(dataFolder, name))) continue
      copyFileSync(join(dataFolder, name), join(making, name), constants.COPYFILE_EXCL)
      syncFile(join(making, name))
    }
    for (const each of [made.logFolder, making]) syncFolder(each)
    removeDurably(unfinishedNoteIn(making))
    renameSync(making, folder)
    syncFolder(dirname(folder))
    return { log, directory }
  } catch (error) {
    rmSync(making, { recursive: true, force: true, maxRetries: 3 })
    throw toldOf(error, folder)
  }
}
