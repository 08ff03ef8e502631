import { existsSync } from 'node:fs'
import { projectionNames } from '#projections/names.ts'
import { removeDamaged } from '#projections/stores/sqlite/remove-damaged.ts'
import { telemetryEventTypes, type RecordedEvent } from '#src/events/envelope.ts'
import { createClock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { readAll } from '#streams/follow.ts'
import type { LogFile } from '#streams/sqlite/database.ts'
import type { Verdict } from '#streams/sqlite/mending/examine.ts'
import { mendLog } from '#streams/sqlite/mending/mend.ts'
import type { Quarantined, QuarantineReport } from '#streams/sqlite/mending/quarantine.ts'
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

/** The same for a directory without damage or events, as after its WAL was removed, where the log holds what senders have sent. */
async function checkNotEmptied({ directoryFile, logFile }: Folders, directory: Verdict): Promise<void> {
  if (directory.kind !== 'sound' || directory.head > 0 || !existsSync(logFile)) return
  const sent: ReadonlySet<string> = new Set(telemetryEventTypes)
  if (!(await holds({ file: logFile, partition: '0' }, ({ type }) => sent.has(type)))) return
  const hint = 'nothing is in it, and the log holds what was sent to its workspaces: restore it from a backup'
  throw new PermanentError({ operation: 'start', subject: directoryFile, hint })
}

const gapsToldMax = 5

function describeLost({ kept, lost, gaps }: QuarantineReport): string {
  if (lost === 0) return kept === 0 ? 'everything; how much that was is not known' : 'none that is known of'
  const told = gaps.slice(0, gapsToldMax).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))
  const more = gaps.length > gapsToldMax ? `, … (all of them in report.json there)` : ''
  return `${lost} events, at positions ${told.join(', ')}${more}`
}

const ofLog = `its indexes are folded again from what is kept, and span allowances are counted again; lost events can no longer be found`
const ofDirectory =
  'what a lost event changed is no longer in force: check keys, members and workspaces, and revoke, change or create again what is wrong'

const ofDisk = 'check the disk and the memory of this machine'
const headings = {
  damaged: { found: 'was damaged, and was set aside', label: 'damage:  ', files: 'the damaged files', check: ofDisk },
  older: {
    found: 'ended before what its indexes have had of it, and was set aside',
    label: 'found:   ',
    files: 'them',
    check: `if a backup was put over this folder, nothing, it is as it was then; if not, ${ofDisk}`,
  },
} as const

/** Files left beside a log when a backup was put over it. */
const describeBeside = (folder: string, { name, at, reason }: QuarantineReport): string =>
  [
    `What was left of the ${name === 'log' ? 'event log' : 'directory'} that was here before (${reason}) was set aside on ${at}: it is not applied to the restored one.`,
    `  set aside in ${folder}; "throughline workspace erase" does not reach it`,
    `  to do:    delete that folder when you no longer need it: this message goes with it`,
  ].join('\n')

/** Shown to the operator at every start, as long as the folder is there. */
function describeQuarantine({ folder, report }: Quarantined): string {
  if (report === undefined) return `A damaged log lies in ${folder}. Delete that folder when you no longer need it.`
  const { kind = 'damaged', name, at, reason, kept } = report
  if (kind === 'beside') return describeBeside(folder, report)
  const { found, label, files, check } = headings[kind]
  const what = name === 'directory' ? 'The directory (workspaces, keys, members)' : 'The event log'
  return [
    `${what} ${found} on ${at}.`,
    `  ${label} ${reason}`,
    `  kept:     ${kept} events, each where it stood`,
    `  lost:     ${describeLost(report)}`,
    `  set aside in ${folder}, byte for byte; "throughline workspace erase" does not reach it`,
    `  since then: ${name === 'directory' ? ofDirectory : ofLog}`,
    `  to do:    ${check}; when you no longer need ${files}, delete that`,
    `            folder: this message goes with it, and so do the metric throughline_quarantined_logs and its line in "throughline status"`,
  ].join('\n')
}

/** Reports everything in quarantine. */
export function tellQuarantines(dataFolder: string): void {
  for (const quarantined of quarantinesOf(dataFolder)) console.error(describeQuarantine(quarantined))
}

/**
 * Sets damaged logs of a data folder aside, continues with what can be read of them, and removes damaged indexes, so that damage never
 * prevents a start. Tells the operator. Call it while holding the folder, before anybody opens its files. Throws PermanentError or
 * TransientError for what is not damage: a newer version, a disk that fails or is full, a log that the indexes do not know. True if any
 * part of a log was set aside this time.
 */
export async function mendDataFolder(dataFolder: string): Promise<boolean> {
  const isSetAside = await mendLogs(dataFolder)
  // What the log can rebuild is not set aside.
  removeDamaged(foldersOf(dataFolder).indexFolder, projectionNames, (line) => console.error(line))
  return isSetAside
}

async function mendLogs(dataFolder: string): Promise<boolean> {
  const folders = foldersOf(dataFolder)
  const { logFile, directoryFile, quarantineFolder: quarantine } = folders
  const clock = createClock()
  const common = { quarantine, clock, onProgress: (line: string) => console.error(line) }
  const log = await mendLog({
    ...common,
    file: logFile,
    partition: '0',
    name: 'log',
    isInUse: existsSync(directoryFile),
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
    file: directoryFile,
    partition: 'directory',
    name: 'directory',
    isInUse: log.mended !== undefined || (log.verdict.kind === 'sound' && log.verdict.head > 0),
    settle: (next) => checkWorkspaces(next, directoryFile),
  })
  await checkNotEmptied(folders, directory.verdict)
  return log.mended !== undefined || directory.mended !== undefined
}
