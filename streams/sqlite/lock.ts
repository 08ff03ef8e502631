import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PermanentError } from '#src/lib/failure.ts'
import { isBusy, isCorrupt } from '#src/lib/sqlite-errors.ts'
import { failureOf } from './failure.ts'
import { inodeOf } from './file-stat.ts'

type FolderLock = Readonly<{ release(): void }>
/** `check` throws PermanentError if the locked folder no longer has this name. */
export type HeldFolder = FolderLock & Readonly<{ check(): void }>

/** Another process holds the lock. */
export class FolderInUse extends PermanentError {}

const operation = 'lock data folder'
const workersFile = 'lock.workers'
/** How long the workers of a killed server may take to notice. */
const workersTimeoutMsDefault = 5_000

function readPid(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'unknown'
  }
}

/** Its write, which is never committed, is refused where this user may only read the file: SQLite would take a shared lock without a word. */
const exclusively = 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1'

/** Operators signal the process of that id, which is somebody else's one day. */
function forgetPid(file: string, isOwn: () => boolean): void {
  try {
    if (isOwn()) rmSync(file, { force: true })
  } catch {
    // The next server writes its own over it.
  }
}

type Hold = Readonly<{ file: string; begin: string; timeoutMs: number; hint: string }>

/** Not removed here: a server may hold it as it was, which nobody can tell any more. */
function damaged(subject: string, cause: unknown): PermanentError {
  const hint = 'this file is damaged; nothing is kept in it: remove it, when no server uses its folder'
  return new PermanentError({ operation, subject, hint, cause })
}

/**
 * A lock that is a transaction on an empty database, whose journal is in memory: a full disk has room for it. Throws FolderInUse with the hint if
 * another process holds it, PermanentError where the folder is not there: somebody may have moved it while a worker was started, and in its place none is
 * made.
 */
function hold(folder: string, { file, begin, timeoutMs, hint }: Hold): FolderLock {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(join(folder, file), { timeout: timeoutMs })
    database.exec(begin)
  } catch (cause) {
    database?.close()
    if (isBusy(cause)) throw new FolderInUse({ operation, subject: folder, hint })
    if (isCorrupt(cause)) throw damaged(join(folder, file), cause)
    throw failureOf(cause, operation, join(folder, file))
  }
  const held = database
  return { release: () => held.close() }
}

/** Returns when no worker process holds the folder any more. */
function awaitWorkers(folder: string, timeoutMs: number): void {
  const hint = 'a worker of a server that was killed is still at it: end that process'
  hold(folder, { file: workersFile, begin: exclusively, timeoutMs, hint }).release()
}

/**
 * Locks the data folder for this process, so that two servers cannot share one. Throws FolderInUse naming the other process's id. The
 * lock is an exclusive transaction on an empty SQLite database: the operating system releases it when the process ends, however it ends.
 * The file with the id is for the message, and for who signals the server. Command-line tools do not need the lock. Waits, blocking, for the
 * workers of a server that was killed.
 */
export function lockFolder(folder: string, workersTimeoutMs = workersTimeoutMsDefault): HeldFolder {
  const pidFile = join(folder, 'lock.pid')
  const hint = `another server is using it: process ${readPid(pidFile)}; stop that one or choose another folder`
  const begin = `PRAGMA locking_mode = EXCLUSIVE; ${exclusively}`
  const lock = hold(folder, { file: 'lock', begin, timeoutMs: 0, hint })
  try {
    awaitWorkers(folder, workersTimeoutMs)
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (cause) {
    // One that was made, and had no room for what it says.
    forgetPid(pidFile, () => readPid(pidFile) === '')
    lock.release()
    throw failureOf(cause, operation, folder)
  }
  const held = inodeOf(join(folder, 'lock'))
  const isThere = (): boolean => inodeOf(join(folder, 'lock')) === held
  return {
    release: () => {
      forgetPid(pidFile, isThere)
      lock.release()
    },
    check: () => {
      if (isThere()) return
      const hint = 'it was moved or removed while the server runs: put it back, or stop the server'
      throw new PermanentError({ operation: 'use the data folder', subject: folder, hint })
    },
  }
}

/** A shared lock for each worker process of the server. As long as one worker is alive, even without its server, no other server starts. */
export function joinFolder(folder: string): FolderLock {
  const hint = 'another server is just beginning to use it'
  const begin = 'BEGIN; SELECT count(*) FROM sqlite_schema'
  return hold(folder, { file: workersFile, begin, timeoutMs: workersTimeoutMsDefault, hint })
}
