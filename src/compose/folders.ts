import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PermanentError } from '#src/lib/failure.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'

/** Where the embedded engines keep their files: the log of their one partition, and beside it the directory’s. */
export type Folders = Readonly<{
  log: LogFile
  directory: LogFile
  logFolder: string
  indexFolder: string
  /** For damaged logs that were set aside. */
  quarantineFolder: string
}>

export function foldersOf(dataFolder: string): Folders {
  const logFolder = join(dataFolder, 'log')
  return {
    log: { file: join(logFolder, '0.db'), partition: '0' },
    directory: { file: join(dataFolder, 'directory.db'), partition: 'directory' },
    logFolder,
    indexFolder: join(dataFolder, 'index'),
    quarantineFolder: join(dataFolder, 'quarantine'),
  }
}

/** A file that a backup has until it is whole: its server would begin with what there is, and with nothing at all where that is nothing. */
export const unfinishedNoteIn = (folder: string): string => join(folder, 'backup.unfinished')

function checkFinished(dataFolder: string, operation: string): void {
  const note = unfinishedNoteIn(dataFolder)
  if (!existsSync(note)) return
  const hint =
    'it is a backup that was not finished, and may lack anything: take another one; or, to go on with what is in this one, and ' +
    `to begin anew where that is nothing, remove ${note}`
  throw new PermanentError({ operation, subject: `the data folder ${dataFolder}`, hint })
}

function refuse(operation: string, subject: string, found: string): PermanentError {
  const hint = `${found}: move it away, or name another data folder`
  return new PermanentError({ operation, subject, hint })
}

function kindOf(operation: string, subject: string): 'file' | 'folder' | undefined {
  try {
    const found = statSync(subject, { throwIfNoEntry: false })
    return found === undefined ? undefined : found.isDirectory() ? 'folder' : 'file'
  } catch (cause) {
    const hint = 'this user must be able to look at it; or name another data folder'
    throw new PermanentError({ operation, subject, hint, cause })
  }
}

/**
 * Throws PermanentError if a file stands in a folder's place, or a folder in a file's: to open them would look like a failing disk. Also if the
 * folder is a backup that was not finished.
 */
export function checkPlaces(dataFolder: string, operation: string): void {
  const { log, directory, logFolder, indexFolder, quarantineFolder } = foldersOf(dataFolder)
  for (const folder of [dataFolder, logFolder, indexFolder, quarantineFolder]) {
    if (kindOf(operation, folder) === 'file') throw refuse(operation, folder, 'it is a file, and must be a folder')
  }
  const others = ['lock', 'lock.pid', 'lock.workers', 'secrets.json', 'first-run.json', 'reserve']
  for (const file of [directory.file, log.file, ...others.map((name) => join(dataFolder, name))]) {
    if (kindOf(operation, file) === 'folder') throw refuse(operation, file, 'it is a folder, and must be a file')
  }
  checkFinished(dataFolder, operation)
}
