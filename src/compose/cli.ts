import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import type { IndexReader } from '#projections/index-store.ts'
import { projectionNames } from '#projections/names.ts'
import { asksForJson, complain } from '#src/cli/complaint.ts'
import { failureCodeOf, runCli } from '#src/cli/run-cli.ts'
import type { CliServices, MoveRequest } from '#src/cli/services.ts'
import { limits, plans, readClusterConfig, type ClusterConfig } from '#src/config.ts'
import { givenSecrets, loadSecrets } from '#src/directory/secrets.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { refuseUnmended } from '#streams/sqlite/mending/unmended.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { checkPlaces, foldersOf, type Folders } from './folders.ts'
import { limitsBeside, openLogBeside } from './log-beside.ts'
import { quarantinesOf } from './quarantines.ts'
import { fullDisksOf } from './reserve.ts'
import { tellMovedBeside } from './tell-moved.ts'

/** What few verbs need is loaded by these: it takes longer than most of what verbs do. */
async function withOwnMarks(readers: readonly IndexReader[]): Promise<readonly IndexReader[]> {
  const { withOwnVersions } = await import('#projections/builds/own-versions.ts')
  const { projections } = await import('#projections/registry.ts')
  return readers.map((reader) => withOwnVersions(reader, projections))
}

const common = {
  plans,
  limits,
  projections: projectionNames,
  openMove: async (request: MoveRequest) => (await import('./move.ts')).openMove(request, process.env),
}

/** Data folders whose logs need no mending. */
const looked = new Set<string>()

/**
 * The files of a data folder. Throws PermanentError if there are none: in the wrong folder a verb would find nothing and report that all is
 * well. Also throws for another user than the server's, above all root: the server could not write the files that user would create; and
 * where a start must mend the logs first.
 */
function filesOf(dataFolder: string): Folders {
  checkPlaces(dataFolder, 'open')
  const folders = foldersOf(dataFolder)
  const refuse = (why: string, hint: string): PermanentError =>
    new PermanentError({ operation: 'open', subject: `the data folder ${dataFolder}: ${why}`, hint })
  const found = statSync(folders.directory.file, { throwIfNoEntry: false })
  if (found === undefined)
    throw refuse('nothing is in it', 'start the server there first (npm start), or name its folder with --data')
  const uid = process.geteuid?.() ?? found.uid
  if (uid !== found.uid)
    throw refuse(
      `it belongs to the user with the id ${found.uid}, not to ${uid}`,
      `run this as that user: sudo -u '#${found.uid}' …`,
    )
  // A verb may ask for several of them.
  if (!looked.has(dataFolder)) for (const { file } of [folders.directory, folders.log]) refuseUnmended(file, 'open')
  looked.add(dataFolder)
  return folders
}

/** The same, where the log is there too: it is made before the directory, and a verb would say that all of nothing is well. */
function filesWithLog(dataFolder: string): Folders {
  const folders = filesOf(dataFolder)
  if (existsSync(folders.log.file)) return folders
  const hint = 'it is gone, and the directory of its workspaces is there: put it back from a backup'
  throw new PermanentError({ operation: 'open', subject: folders.log.file, hint })
}

/** The engines of a data folder, beside a server that may be running. */
const embeddedServices: CliServices = {
  ...common,
  openDirectory: async (dataFolder) => {
    const { directory } = filesOf(dataFolder)
    tellMovedBeside(dataFolder)
    const { pepper } = loadSecrets({ dataFolder, random: randomBytes, pepper: process.env['KEY_PEPPER'] })
    return { stream: await createSqliteStream({ ...directory, thread: false, limits: limitsBeside }), pepper }
  },
  openLogs: async (dataFolder) => [await openLogBeside(filesWithLog(dataFolder).log)],
  openIndexes: async (dataFolder) => {
    const { indexFolder } = filesOf(dataFolder)
    if (!existsSync(indexFolder)) return []
    const { createSqliteIndexReader } = await import('#projections/stores/sqlite/reading/reader.ts')
    return withOwnMarks([createSqliteIndexReader({ folder: indexFolder, limits })])
  },
  quarantines: quarantinesOf,
  fullDisks: fullDisksOf,
  backUp: async (dataFolder, folder) => {
    filesWithLog(dataFolder)
    return (await import('./back-up.ts')).backUpFolder(dataFolder, folder)
  },
  openBuilds: async (dataFolder) => {
    filesWithLog(dataFolder)
    return [await (await import('./builds.ts')).openBuilds(dataFolder)]
  },
  close: async () => undefined,
}

/**
 * The engines of a cluster. Its drivers are loaded only here. `mustExist`: under a wrong name a verb would find nothing and report that all is well,
 * and what it made there would keep its share of what NATS may store.
 */
async function clusterServices(cluster: ClusterConfig, mustExist: boolean): Promise<CliServices> {
  const { connectLogs, createReaders, hasIndexes, openLog, partitionNames } = await import('./cluster-logs.ts')
  const { directoryPartition } = await import('#streams/jetstream/subjects.ts')
  let connected: ReturnType<typeof connectLogs> | undefined
  const nats = () => (connected ??= connectLogs(cluster, 'cli', { isKnown: () => hasIndexes(cluster), mustExist }))
  const open = async (partition: string) => openLog(await nats(), cluster, partition)
  return {
    ...common,
    openDirectory: async () => {
      // Before anything is made with a pepper that no process would start with.
      const { pepper } = givenSecrets(cluster)
      return { stream: await open(directoryPartition), pepper }
    },
    openLogs: () => Promise.all(partitionNames(cluster).map(open)),
    openIndexes: async () => withOwnMarks(createReaders(cluster)),
    quarantines: () => [],
    fullDisks: () => [],
    backUp: async () => {
      const hint = "NATS holds a cluster's log: back up each of its streams there, see infra/operating.md"
      throw new PermanentError({ operation: 'back up', subject: 'a cluster', hint })
    },
    openBuilds: async (dataFolder) => {
      const { openClusterBuilds } = await import('./cluster-builds.ts')
      return openClusterBuilds(await nats(), cluster, dataFolder)
    },
    close: async () => (await connected?.catch(() => undefined))?.close(),
  }
}

/** The command line over the embedded engines, or those of the cluster that the environment names. Resolves with its exit code. */
export async function composeCli(argv: readonly string[]): Promise<number> {
  const failureCode = await failureCodeOf(argv)
  let unseen: string | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && unseen === undefined) {
      // The reader of the output may have seen enough: `throughline replay | head`. What was sent or written meanwhile has its own exit code, and
      // a verb that changes anything continues.
      if (argv[0] === 'replay') process.exit()
      return
    }
    const detail = `the answer could not be written: ${error.message}${unseen === undefined ? '' : `; ${unseen}`}`
    process.stderr.write(complain({ code: 'failed', detail }, asksForJson(argv)))
    process.exit(failureCode)
  })
  // Nobody reads the messages; the work is done nevertheless.
  process.stderr.on('error', () => undefined)
  // Moves from one form to the other: of the cluster perhaps only the log exists yet.
  const cluster = argv[0] === 'move-log' ? undefined : readClusterConfig(process.env)
  const mustExist = argv[0] !== 'first-run'
  const { stdout, stderr, stdin, env } = process
  const ifUnseen = (detail: string): void => void (unseen = detail)
  const services = cluster === undefined ? embeddedServices : await clusterServices(cluster, mustExist)
  return runCli(argv, { stdout, stderr, stdin, env, ifUnseen }, services)
}
