import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PermanentError } from '#src/lib/failure.ts'
import { failureOf } from './database.ts'

export type FolderLock = Readonly<{ release(): void }>

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'unknown'
  }
}

/**
 * Holds the data folder for this process alone, so that two servers cannot share one. Throws PermanentError naming the
 * other's process id. The lock is an exclusive transaction on an empty SQLite database: the operating system lets go of it
 * when the process ends, however it ends; the file with the id is only for the message. Command-line tools do not need it.
 */
export function lockFolder(folder: string): FolderLock {
  const operation = 'lock data folder'
  const pidFile = join(folder, 'lock.pid')
  let database: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true })
    database = new DatabaseSync(join(folder, 'lock'), { timeout: 0 })
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (cause) {
    database?.close()
    const failure = failureOf(cause, operation, folder)
    if (failure instanceof PermanentError) throw failure
    throw new PermanentError({
      operation,
      subject: folder,
      hint: `another server is using it: process ${readPid(pidFile)}; stop that one or choose another folder`,
    })
  }
  const held = database
  return { release: () => held.close() }
}
