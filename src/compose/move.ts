import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { MoveRequest, OpenMove } from '#src/cli/services.ts'
import { limits, readLogConfig, type LogConfig } from '#src/config.ts'
import { withoutGaps } from '#src/directory/fill-gaps.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { directoryWorkspaceId } from '#src/events/directory.ts'
import type { Position } from '#src/events/envelope.ts'
import { partitionNumber } from '#src/events/partition.ts'
import { createClock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { CopiedLog } from '#streams/copy-log.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openCopyTarget } from '#streams/jetstream/copy-target.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'
import { examine } from '#streams/sqlite/mending/examine.ts'
import { refuseUnmended } from '#streams/sqlite/mending/unmended.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { suspicionOf } from '#streams/sqlite/suspicion.ts'
import { connectLogs, openLog, partitionNames } from './cluster-logs.ts'
import { checkPlaces, foldersOf, type Folders } from './folders.ts'
import { seenOf } from './own-log.ts'
import { lockData } from './processes/lock-data.ts'
import { giveUpReserve } from './reserve.ts'

type Closers = (() => unknown)[]

async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.reverse()) await close()
}

const tell = (line: string): void => console.error(line)

function checkFolder(dataFolder: string): void {
  checkPlaces(dataFolder, 'move')
  const { directory, log } = foldersOf(dataFolder)
  if (existsSync(directory.file) && existsSync(log.file)) return
  const hint = 'there is no log in it: name the data folder of an embedded server'
  throw new PermanentError({ operation: 'move', subject: `the data folder ${dataFolder}`, hint })
}

/** Throws PermanentError for what a start would set aside, or mend: the copy would be of what is left of it. */
function refuseDamaged(folders: Folders): void {
  const { log, directory } = folders
  const knownHead = (epoch: string | undefined): Position => seenOf(folders, epoch)
  for (const looked of [{ ...log, knownHead }, directory]) {
    refuseUnmended(looked.file, 'move', (file) => {
      const verdict = examine({ ...looked, isInUse: true, isThorough: suspicionOf(file) !== undefined })
      return verdict.kind === 'damaged' ? verdict.reason : undefined
    })
  }
}

type Copying = Pick<CopiedLog, 'targetsOf' | 'keepsPositions'> & Readonly<{ from: LogFile; to: readonly string[] }>

async function openCopied(
  nats: Nats,
  { indexPrefix: prefix }: LogConfig,
  { from, to, targetsOf, keepsPositions }: Copying,
  closers: Closers,
): Promise<CopiedLog> {
  const source = await openSqliteStreamReader(from)
  closers.push(() => source.close())
  const clock = createClock()
  const targets = []
  for (const name of to) {
    const log = await openLog(nats, { indexPrefix: prefix }, name)
    closers.push(() => log.close())
    const options = { partition: name, prefix, source: source.epoch, keepsPositions, clock }
    targets.push({ ...(await openCopyTarget(nats, options)), partition: name, log })
  }
  return { source: keepsPositions ? withoutGaps(source) : source, targets, targetsOf, keepsPositions }
}

/** Locks the data folder and opens both sides. Missing settings are a ConfigError. */
export async function openMove(request: MoveRequest, environment: NodeJS.ProcessEnv): Promise<OpenMove> {
  const { dataFolder, natsUrl, verifyOnly } = request
  const config = readLogConfig({ ...environment, ...(natsUrl === undefined ? {} : { NATS_URL: natsUrl }) })
  checkFolder(dataFolder)
  const closers: Closers = []
  try {
    const lock = await lockData(dataFolder, limits, tell)
    closers.push(() => lock.release())
    const folders = foldersOf(dataFolder)
    const { log, directory: directoryLog } = folders
    refuseDamaged(folders)
    // What it opens takes room beside it, as a start does.
    await giveUpReserve(dataFolder, limits, tell)
    // An empty variable counts as not set.
    const { SESSION_KEYS: keys = '' } = environment
    const sessionKeys = keys === '' ? undefined : keys.split(',')
    // With another pepper the cluster would recognise no key.
    const secrets = loadSecrets({ dataFolder, random: randomBytes, sessionKeys, pepper: environment['KEY_PEPPER'] })
    // With `verifyOnly` nothing is made: the copy must be there.
    const nats = await connectLogs(config, 'move-log', { mustExist: verifyOnly })
    closers.push(() => nats.close())
    const partitions = partitionNames(config)
    const all = partitions.map((_, index) => index)
    const telemetry = await openCopied(
      nats,
      config,
      {
        from: log,
        to: partitions,
        keepsPositions: false,
        // Events of no workspace concern the whole log, and apply to each partition.
        targetsOf: ({ workspaceId }) =>
          workspaceId === directoryWorkspaceId ? all : [partitionNumber(workspaceId, partitions.length)],
      },
      closers,
    )
    const directory = await openCopied(
      nats,
      config,
      // Sessions hold the position of their password, and cookies a position of the directory.
      { from: directoryLog, to: [directoryPartition], keepsPositions: true, targetsOf: () => [0] },
      closers,
    )
    return { secrets, telemetry, directory, close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}
