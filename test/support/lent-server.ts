import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { joinCluster, leaveCluster } from './clusters.ts'
import { isCluster, newDataFolder, removeFolder, startServer, type FirstRun, type Server } from './server.ts'
import { createTenant } from './tenant.ts'

/** A server in which a workspace is the test's own; its processes are whoever lends them. */
export type LentServer = Pick<Server, 'baseUrl' | 'dataFolder' | 'firstRun'> & Readonly<{ giveBack(): Promise<void> }>

/** A running cluster, as JSON in `LENT_CLUSTER`. */
export type LentCluster = Readonly<{ baseUrl: string; environment: Readonly<Record<string, string>> }>

/** A server as after its first run, for tests that neither stop it nor have settings of their own. */
export async function borrowServer(): Promise<LentServer> {
  const lent = process.env['LENT_CLUSTER']
  if (lent !== undefined) return borrowFrom(JSON.parse(lent) as LentCluster)
  if (isCluster) return startOwn()
  const { baseUrl, dataFolder } = await (shared ??= startShared())
  return { baseUrl, dataFolder, firstRun: await firstRunOf({ baseUrl, dataFolder }), giveBack: async () => undefined }
}

async function startOwn(): Promise<LentServer> {
  const { stop, ...server } = await startServer()
  return {
    ...server,
    giveBack: async () => {
      await stop()
      await removeFolder(server.dataFolder)
    },
  }
}

/** A start costs a second of a processor: the files that a process of tests runs share one, which ends with it. */
let shared: Promise<Server> | undefined
async function startShared(): Promise<Server> {
  const server = await startServer()
  process.once('exit', () => rmSync(server.dataFolder, { recursive: true, force: true, maxRetries: 3 }))
  return server
}

/** A new workspace of an installation stands for a new installation. */
async function firstRunOf({ baseUrl, dataFolder }: Pick<Server, 'baseUrl' | 'dataFolder'>): Promise<FirstRun> {
  const name = `w${randomBytes(6).toString('hex')}`
  const { sign_in, keys } = await createTenant({ dataFolder }, name, 'pro', { role: 'owner', keyName: 'first run' })
  return { base_url: baseUrl, workspace: name, sign_in, keys }
}

async function borrowFrom({ baseUrl, environment }: LentCluster): Promise<LentServer> {
  const dataFolder = await newDataFolder()
  joinCluster(dataFolder, environment)
  return {
    baseUrl,
    dataFolder,
    firstRun: await firstRunOf({ baseUrl, dataFolder }),
    giveBack: async () => {
      leaveCluster(dataFolder)
      await rm(dataFolder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
