import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Progress } from '#projections/index-store.ts'
import { limits, plans } from '#src/config.ts'
import { runCli } from '#src/cli/run-cli.ts'
import type { CliServices, FullDisk } from '#src/cli/services.ts'
import { createDirectory, type Directory } from '#src/directory/create-directory.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { passwords } from '../directory/harness.ts'

const openDirectoryStream = (dataFolder: string): Promise<Stream> =>
  createSqliteStream({
    file: join(dataFolder, 'directory.db'),
    partition: 'directory',
    thread: false,
    pollMs: 5,
    limits,
  })

/** `progress`: of the indexes of partition 0; those of others are not built. */
export function createServices(
  progress: ReadonlyMap<string, Progress> = new Map(),
  partitions: readonly string[] = ['0'],
  quarantines: readonly Quarantined[] = [],
  full: readonly FullDisk[] = [],
): CliServices {
  return {
    plans,
    limits,
    openDirectory: async (dataFolder) => {
      const { pepper } = loadSecrets({ dataFolder, random: randomBytes })
      return { stream: await openDirectoryStream(dataFolder), pepper }
    },
    openLogs: async () => partitions.map((partition) => createMemoryStream({ partition })),
    openIndexes: async () =>
      partitions.map((partition) => ({
        progress: async (name) => (partition === '0' ? progress.get(name) : undefined),
        close: async () => undefined,
      })),
    openBuilds: async () => [],
    quarantines: () => quarantines,
    fullDisks: () => full,
    backUp: async () => {
      throw new Error('these services have no files to copy')
    },
    openMove: async () => {
      throw new Error('these services have no cluster to move to')
    },
    close: async () => undefined,
    projections: ['traces', 'logs'],
  }
}

type Ran = Readonly<{ code: number; out: string; err: string }>

type Installation = Readonly<{
  dataFolder: string
  /** As the running server has it: another connection to the same file. */
  directory: Directory
  run: (argv: readonly string[], given?: Readonly<{ input?: string | null; services?: CliServices }>) => Promise<Ran>
  json: (...argv: readonly string[]) => Promise<Record<string, unknown>>
  /** What the running server sees once it has followed what was just written: by position, not by time. */
  serverSees: <T>(look: (directory: Directory) => T) => Promise<Awaited<T>>
  close: () => Promise<void>
}>

/** Runs the command line in this process. `input`: what stdin holds; null: a pipe that stays open and silent. */
async function runIn(
  dataFolder: string,
  argv: readonly string[],
  given: Readonly<{ input?: string | null; services?: CliServices }> = {},
): Promise<Ran> {
  const written = { out: '', err: '' }
  const stdin = new PassThrough()
  if (given.input !== null) stdin.end(given.input ?? '')
  const take = (name: 'out' | 'err') => ({ write: (text: string) => (written[name] += text) })
  const io = { stdout: take('out'), stderr: take('err'), stdin, env: { THROUGHLINE_DATA: dataFolder } }
  const code = await runCli(argv, io, given.services ?? createServices())
  return { code, ...written }
}

async function createInstallation(): Promise<Installation> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'throughline-cli-'))
  const { pepper } = loadSecrets({ dataFolder, random: randomBytes })
  const stream = await openDirectoryStream(dataFolder)
  const directory = await createDirectory({
    stream,
    clock: Date.now,
    random: randomBytes,
    pepper,
    plans,
    limits,
    passwords,
    onStop: (error) => {
      throw error
    },
  })
  const run: Installation['run'] = (argv, given) => runIn(dataFolder, argv, given)
  const json: Installation['json'] = async (...argv) => {
    const { code, out, err } = await run([...argv, '--json'])
    if (code !== 0) throw new Error(err)
    return JSON.parse(out) as Record<string, unknown>
  }
  async function serverSees<T>(look: (directory: Directory) => T): Promise<Awaited<T>> {
    const { directory: written } = (await json('status')) as { directory: { position: number } }
    if (!(await directory.followed(written.position, 60_000))) throw new Error('the server does not follow')
    return await look(directory)
  }
  return {
    dataFolder,
    directory,
    run,
    json,
    serverSees,
    close: async () => {
      await directory.close()
      await stream.close()
      rmSync(dataFolder, { recursive: true, force: true })
    },
  }
}

/** An installation of its own for each test of a suite. */
export function useInstallation() {
  let installation: Installation
  beforeEach(async () => {
    installation = await createInstallation()
  })
  afterEach(() => installation.close())
  const run: Installation['run'] = (...given) => installation.run(...given)
  const json: Installation['json'] = (...argv) => installation.json(...argv)
  const serverSees: Installation['serverSees'] = (look) => installation.serverSees(look)
  return { dataFolder: () => installation.dataFolder, run, json, serverSees }
}
