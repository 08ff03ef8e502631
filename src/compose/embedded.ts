import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { withLogHead } from '#projections/reading/log-head.ts'
import { missedDays } from '#projections/stores/sqlite/known-days.ts'
import { createSqliteQueryThreads } from '#projections/stores/sqlite/reading/query-threads.ts'
import { limits, type Config } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { describeFirstRun, firstRunFile, prepareFirstRun, readFirstRun } from '#src/directory/first-run.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { createClock, type Clock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'
import { joinFolder } from '#streams/sqlite/lock.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { isProcessGone, openAllowance } from './allowance.ts'
import { giveUp, openDirectory, type Engines } from './engines.ts'
import { lent, withEraser } from './eraser.ts'
import { foldersOf, type Folders } from './folders.ts'
import { retainedReaders } from './keepings.ts'
import { embeddedFilesOpen, fewFilesOpen } from './open-files.ts'
import { setAsideOf } from './quarantines.ts'
import { createRoomCheck, fullDisksOf } from './reserve.ts'
import type { ProjectorData } from './threads/projector-messages.ts'
import { createProjectorThread, withBeside } from './threads/projector.ts'
import { createSampler } from './threads/sampler.ts'
import { tellUnknownWorkspaces } from './unknown-workspaces.ts'

/**
 * How often the server polls the directory for changes by the command line: often enough that a change is in force when its verb has
 * ended. One poll takes 4 µs.
 */
const directoryPollMs = 10

/** When a log is broken, everyone who waits for it is refused, and so is what still comes. This is how long these refusals may take to be sent. */
const refusalsMs = 250

/** Prints what the first run of a data folder has made. */
async function showFirstRun(directory: Directory, clock: Clock, dataFolder: string, baseUrl: string): Promise<void> {
  const firstRun = await prepareFirstRun({ directory, dataFolder, baseUrl, random: randomBytes })
  if (firstRun !== undefined) console.log(describeFirstRun(firstRun, clock(), randomBytes))
}

/** A first run leaves its file when log and directory are written: without them it is what is left of an installation, which would be replaced. */
function checkNeverRan(dataFolder: string): void {
  if (readFirstRun(dataFolder) === undefined) return
  const hint =
    'it is of an installation whose log and directory are not here: put them back from a backup, or begin with another data folder; or, if the ' +
    'keys and the password in it are of no more use, remove it'
  throw new PermanentError({ operation: 'start', subject: join(dataFolder, firstRunFile), hint })
}

/**
 * Opens the log and the directory. If only one of them is there, half of an installation is lost: creating the other would hide that.
 * A first start creates the log first, and writes nothing to it before the directory exists.
 */
async function openLogs({ log, directory }: Folders, dataFolder: string): Promise<readonly [Stream, Stream]> {
  const refuse = (subject: string, found: string): PermanentError => {
    const hint = `it is gone, and ${found} is there: put it back from a backup, or begin with another data folder`
    return new PermanentError({ operation: 'start', subject, hint })
  }
  const open = (options: LogFile & Readonly<{ pollMs?: number }>): Promise<Stream> =>
    createSqliteStream({
      ...options,
      thread: true,
      limits,
      onBroken: giveUp(`the log ${options.file}`, refusalsMs),
    })
  const hasDirectory = existsSync(directory.file)
  if (!hasDirectory && !existsSync(log.file)) checkNeverRan(dataFolder)
  if (hasDirectory && !existsSync(log.file)) throw refuse(log.file, 'the directory of its workspaces')
  const telemetry = await open(log)
  if (!hasDirectory && (await telemetry.head()) > 0) throw refuse(directory.file, 'a log of its workspaces')
  return [telemetry, await open({ ...directory, pollMs: directoryPollMs })]
}

/** Log, directory and indexes of a data folder, in SQLite: the log's writer, the projector and the queries run in threads. */
export async function openEmbeddedEngines(config: Config): Promise<Engines> {
  const { dataFolder, sessionKeys, pepper, sampleEveryMs: everyMs } = config
  const folder = joinFolder(dataFolder)
  const folders = foldersOf(dataFolder)
  const secrets = loadSecrets({ dataFolder, random: randomBytes, sessionKeys, pepper })
  const clock = createClock()
  mkdirSync(folders.logFolder, { recursive: true })
  const [telemetry, directoryStream] = await openLogs(folders, dataFolder)
  const directory = await openDirectory(directoryStream, clock, secrets.pepper)
  tellUnknownWorkspaces(folders, directory)
  const thread = createProjectorThread('projector-thread.ts', { ...folders, dataFolder } satisfies ProjectorData)
  // A sample needs room for what the index is compared with.
  const places = () =>
    fullDisksOf(dataFolder).length > 0 ? [] : thread.folded().map((partition) => ({ dataFolder, partition }))
  const sampler = createSampler({ places, everyMs })
  const sampled = withBeside(thread, sampler)
  const projector = withEraser(sampled, { directory, partitions: 1, openLog: async () => lent(telemetry), clock })
  const filesOf = (indexFilesOpenMax: number) => ({
    folder: folders.indexFolder,
    limits: { ...limits, indexFilesOpenMax },
  })
  const queries = createSqliteQueryThreads(filesOf(embeddedFilesOpen(limits)), limits.queryThreadsMax)
  const ownQueries = createSqliteQueryThreads(filesOf(fewFilesOpen(limits)), 1)
  const reader = ownQueries.readerFor('server')
  const allowance = await openAllowance({
    stream: telemetry,
    reader,
    missed: (index, workspaceId) => missedDays(folders.indexFolder, index, workspaceId),
    clock,
    isGone: isProcessGone,
  })
  return {
    clock,
    secrets,
    directory,
    streams: [telemetry],
    readers: [reader],
    readerOf: retainedReaders(
      (id) => withLogHead(queries.readerFor(id, abortScope.signal()), telemetry),
      directory,
      clock,
    ),
    projector,
    sampler,
    allowances: [allowance],
    files: {
      folder: dataFolder,
      names: ['log', 'directory'],
      setAside: () => setAsideOf(dataFolder),
      checkRoom: createRoomCheck(dataFolder, 'accepted', limits),
    },
    sweep: () => void allowance.sweep(directory.workspaces().map(({ id }) => id)),
    greet: (baseUrl) => showFirstRun(directory, clock, dataFolder, baseUrl),
    close: async () => {
      await allowance.close()
      await Promise.all([ownQueries.close(), queries.close()])
      await projector.stop()
      await directory.close()
      await directoryStream.close()
      await telemetry.close()
      folder.release()
    },
  }
}
