import { backup } from 'node:sqlite'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import { syncFile } from '#src/lib/durable-files.ts'
import { noteCopied } from './copied.ts'
import { closeTidily } from './checkpoints.ts'
import { openForReading } from './open-log.ts'
import { damageOf, notedFailureOf } from './failure.ts'
import type { LogFile } from './log-file.ts'
import { examine } from './mending/examine.ts'

const operation = 'back up'
const busyTimeoutMs = 5_000
/** All pages in one step. With several, the log's writer would write between them and the copy would start again each time. */
const pagesAtOnce = 2 ** 31 - 1

async function copyPages(log: LogFile, target: string): Promise<void> {
  const { database } = openForReading(log, busyTimeoutMs)
  try {
    await backup(database, target, { rate: pagesAtOnce })
  } catch (error) {
    throw notedFailureOf(error, operation, log.file)
  } finally {
    closeTidily({ database, file: log.file })
  }
}

/**
 * Copies a log, as it is at one moment, into a new file. The log's writer may keep writing. Resolves with the last position once the copy
 * is complete, has been read to its end and is on disk, with a note about it (copied.ts). Throws PermanentError if the log is damaged.
 */
export async function backUpLog(log: LogFile, target: string, clock: () => number): Promise<Position> {
  const at = new Date(clock()).toISOString()
  await copyPages(log, target)
  const verdict = examine({ file: target, partition: log.partition, isInUse: false, isThorough: true })
  if (verdict.kind === 'damaged') {
    throw notedFailureOf(damageOf(log.file, { operation, hint: verdict.reason }), operation, log.file)
  }
  syncFile(target)
  const head = verdict.kind === 'sound' ? verdict.head : beforeAll
  noteCopied(target, { at, head })
  return head
}
