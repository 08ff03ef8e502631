import { backup } from 'node:sqlite'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import { syncFile } from '#src/lib/durable-files.ts'
import { noteCopied } from './copied.ts'
import { damageOf, openForReading, toldOf, type LogFile } from './database.ts'
import { examine } from './mending/examine.ts'

const operation = 'back up'
const busyTimeoutMs = 5_000
/** All pages in one step: between two of them the log's writer would write, and the copy begin again each time. */
const pagesAtOnce = 2 ** 31 - 1

async function copyPages(log: LogFile, target: string): Promise<void> {
  const { database } = openForReading(log, busyTimeoutMs)
  try {
    await backup(database, target, { rate: pagesAtOnce })
  } catch (error) {
    throw toldOf(error, operation, log.file)
  } finally {
    database.close()
  }
}

/**
 * Copies a log as it stands at one moment into a new file, also beside its writer, which goes on. Resolves with its last position when
 * the copy is whole, has been read to its end and is on the disk, with a note of it (copied.ts). Throws PermanentError where the log is damaged.
 */
export async function backUpLog(log: LogFile, target: string, clock: () => number): Promise<Position> {
  const at = new Date(clock()).toISOString()
  await copyPages(log, target)
  const verdict = examine({ file: target, partition: log.partition, isInUse: false, isThorough: true })
  if (verdict.kind === 'damaged') {
    throw toldOf(damageOf(log.file, { operation, hint: verdict.reason }), operation, log.file)
  }
  syncFile(target)
  const head = verdict.kind === 'sound' ? verdict.head : beforeAll
  noteCopied(target, { at, head })
  return head
}
