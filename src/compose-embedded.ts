import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createUsedSpans } from '#projections/allowance/used-spans.ts'
import { createSqliteQueryThread } from '#projections/stores/sqlite/query-thread.ts'
import { joinFolder } from '#streams/sqlite/lock.ts'
import { createSqliteStream, type SqliteStream } from '#streams/sqlite/stream.ts'
import { giveUp, type Engines } from './compose-engines.ts'
import { foldersOf } from './compose-folders.ts'
import { createProjectorThread } from './compose-projector.ts'
import { limits, plans, type Config } from './config.ts'
import { createDirectory, type Directory } from './directory/create-directory.ts'
import { describeFirstRun, prepareFirstRun } from './directory/first-run.ts'
import { createPasswords } from './directory/passwords.ts'
import { loadSecrets } from './directory/secrets.ts'
import { createLocalAllowance } from './ingest/local-allowance.ts'
import { createMovableAllowance } from './ingest/movable-allowance.ts'
import { createClock, type Clock } from './lib/clock.ts'

/** The one partition of an embedded log. */
const partition = '0'

/** Prints what the first run of a data folder has made. */
async function showFirstRun(directory: Directory, clock: Clock, dataFolder: string, baseUrl: string): Promise<void> {
  const firstRun = await prepareFirstRun({ directory, dataFolder, baseUrl, random: randomBytes })
  if (firstRun !== undefined) console.log(describeFirstRun(firstRun, clock(), randomBytes))
}

/** Log, directory and indexes of a data folder, in SQLite: the log's writer, the projector and the queries run in threads. */
export async function openEmbeddedEngines(config: Config): Promise<Engines> {
  const { dataFolder, sessionKeys } = config
  const folder = joinFolder(dataFolder)
  const folders = foldersOf(dataFolder)
  const secrets = loadSecrets({ dataFolder, random: randomBytes, sessionKeys })
  const clock = createClock()
  mkdirSync(folders.logFolder, { recursive: true })
  const open = (file: string, name: string): Promise<SqliteStream> =>
    createSqliteStream({ file, partition: name, thread: true, limits, onBroken: giveUp(`the log ${file}`) })
  const telemetry = await open(folders.logFile, partition)
  const directoryStream = await open(folders.directoryFile, 'directory')
  const directory = await createDirectory({
    stream: directoryStream,
    clock,
    random: randomBytes,
    pepper: secrets.pepper,
    plans,
    limits,
    passwords: createPasswords({ random: randomBytes }),
    onStop: giveUp('the directory can no longer be followed'),
  })
  const projector = createProjectorThread({ logFile: folders.logFile, partition, indexFolder: folders.indexFolder })
  const reader = createSqliteQueryThread({ folder: folders.indexFolder, limits })
  // Mostly read here, so that little is left to read when this worker takes over and others wait for it.
  const usedSpans = await createUsedSpans(reader, telemetry)
  return {
    clock,
    secrets,
    directory,
    streams: [telemetry],
    readers: [reader],
    projector,
    allowance: createMovableAllowance({ waitingMax: limits.appendQueueEventsMax }),
    openAllowance: async () => {
      await usedSpans.catchUp()
      const isStored = async (id: string, at: number): Promise<boolean> => (await telemetry.find([id], at)).has(id)
      return createLocalAllowance({ usedSpans: usedSpans.spans, isStored, clock })
    },
    greet: (baseUrl) => showFirstRun(directory, clock, dataFolder, baseUrl),
    close: async () => {
      await reader.close()
      await projector.stop()
      await directory.close()
      await directoryStream.close()
      await telemetry.close()
      folder.release()
    },
  }
}
