import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createSqliteQueryThread } from '#projections/stores/sqlite/query-thread.ts'
import { joinFolder } from '#streams/sqlite/lock.ts'
import { createSqliteStream, type SqliteStream } from '#streams/sqlite/stream.ts'
import { isProcessGone, openAllowance } from './compose-allowance.ts'
import { giveUp, type Engines } from './compose-engines.ts'
import { lent, withEraser } from './compose-eraser.ts'
import { foldersOf } from './compose-folders.ts'
import { createProjectorThread, withBeside, type ProjectorData } from './compose-projector.ts'
import { retainedReaders } from './compose-retention.ts'
import { createSampler } from './compose-sampler.ts'
import { limits, plans, type Config } from './config.ts'
import { createDirectory, type Directory } from './directory/create-directory.ts'
import { describeFirstRun, prepareFirstRun } from './directory/first-run.ts'
import { createPasswords } from './directory/passwords.ts'
import { loadSecrets } from './directory/secrets.ts'
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
  const { dataFolder, sessionKeys, sampleEveryMs: everyMs } = config
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
  const { logFile, indexFolder, directoryFile } = folders
  const data: ProjectorData = { logFile, partition, indexFolder, directoryFile }
  const thread = createProjectorThread('compose-projector-thread.ts', data)
  const places = () => thread.folded().map((each) => ({ dataFolder, partition: each }))
  const sampler = createSampler({ places, everyMs, eventsPerSecondMax: limits.sampledEventsPerSecondMax })
  const sampled = withBeside(thread, sampler)
  const projector = withEraser(sampled, { directory, partitions: 1, openLog: async () => lent(telemetry), clock })
  const reader = createSqliteQueryThread({ folder: folders.indexFolder, limits })
  const allowance = await openAllowance({ stream: telemetry, reader, clock, isGone: isProcessGone })
  return {
    clock,
    secrets,
    directory,
    streams: [telemetry],
    readers: retainedReaders([reader], directory, clock),
    projector,
    sampler,
    allowances: [allowance],
    sweep: () => void allowance.sweep(directory.workspaces().map(({ id }) => id)),
    greet: (baseUrl) => showFirstRun(directory, clock, dataFolder, baseUrl),
    close: async () => {
      await allowance.close()
      await reader.close()
      await projector.stop()
      await directory.close()
      await directoryStream.close()
      await telemetry.close()
      folder.release()
    },
  }
}
