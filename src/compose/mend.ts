import { existsSync } from 'node:fs'
import { projectionNames } from '#projections/names.ts'
import { removeDamaged } from '#projections/stores/sqlite/remove-damaged.ts'
import { telemetryEventTypes, type RecordedEvent } from '#src/events/envelope.ts'
import { createClock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { readAll } from '#streams/follow.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'
import type { Verdict } from '#streams/sqlite/mending/examine.ts'
import { mendLog } from '#streams/sqlite/mending/mend.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { foldersOf, type Folders } from './folders.ts'
import { checkKept, checkOwnLog, epochsBeside, seenOf } from './own-log.ts'
import { quarantinesOf } from './quarantines.ts'
import { recountLedgers } from './recount.ts'

const readEventsMax = 1_000

/** Whether any event of a log matches; reads from the beginning up to the first match. */
async function holds(log: LogFile, isSuch: (event: RecordedEvent) => boolean): Promise<boolean> {
  const stream = await openSqliteStreamReader(log)
  try {
    for await (const events of readAll(stream, readEventsMax)) if (events.some(isSuch)) return true
    return false
  } finally {
    await stream.close()
  }
}

/** Without a workspace every sender would be refused, which most take as final, and a first run would replace the installation. */
async function checkWorkspaces(next: LogFile, directoryFile: string): Promise<void> {
  if (await holds(next, ({ type }) => type === 'directory.workspace.created')) return
  const hint = 'it is damaged, and none of its workspaces can be read: restore it from a backup; it was left as it is'
  throw new PermanentError({ operation: 'start', subject: directoryFile, hint })
}

/** The same for an undamaged directory without events, as after its WAL was removed, if the log holds events of senders. */
async function checkNotEmptied({ directory: { file }, log }: Folders, directory: Verdict): Promise<void> {
  if (directory.kind !== 'sound' || directory.head > 0 || !existsSync(log.file)) return
  const sent: ReadonlySet<string> = new Set(telemetryEventTypes)
  if (!(await holds(log, ({ type }) => sent.has(type)))) return
  const hint = 'nothing is in it, and the log holds what was sent to its workspaces: restore it from a backup'
  throw new PermanentError({ operation: 'start', subject: file, hint })
}

/**
 * Sets damaged logs of a data folder aside, continues with what can be read of them, and removes damaged indexes, so that damage never
 * prevents a start. Tells the operator. Call it while holding the folder, before anybody opens its files. Throws PermanentError or
 * TransientError for what is not damage: a newer version, a disk that fails or is full, a log that the indexes do not know. True if any
 * part of a log was set aside this time.
 */
export async function mendDataFolder(dataFolder: string): Promise<boolean> {
  const isSetAside = await mendLogs(dataFolder)
  // Indexes are not set aside: the log can rebuild them.
  removeDamaged(foldersOf(dataFolder).indexFolder, projectionNames, (line) => console.error(line))
  return isSetAside
}

async function mendLogs(dataFolder: string): Promise<boolean> {
  const folders = foldersOf(dataFolder)
  const { quarantineFolder: quarantine } = folders
  const clock = createClock()
  const common = { quarantine, clock, onProgress: (line: string) => console.error(line) }
  const log = await mendLog({
    ...common,
    ...folders.log,
    name: 'log',
    isInUse: existsSync(folders.directory.file),
    knownHead: (epoch) => seenOf(folders, epoch),
    epochsBeside: () => epochsBeside(folders),
    settle: async (next) => {
      await checkKept(folders, next)
      await recountLedgers(next, clock)
    },
  })
  checkOwnLog(folders, log.verdict, quarantinesOf(dataFolder))
  const directory = await mendLog({
    ...common,
    ...folders.directory,
    name: 'directory',
    isInUse: log.mended !== undefined || (log.verdict.kind === 'sound' && log.verdict.head > 0),
    settle: (next) => checkWorkspaces(next, folders.directory.file),
  })
  await checkNotEmptied(folders, directory.verdict)
  return log.mended !== undefined || directory.mended !== undefined
}
