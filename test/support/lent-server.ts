import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { joinCluster, leaveCluster } from './clusters.ts'
import { newDataFolder, removeFolder, startServer, type FirstRun, type Server } from './server.ts'
import { createTenant } from './tenant.ts'

/** A server in which a workspace is the test's own; its processes are whoever lends them. */
export type LentServer = Pick<Server, 'baseUrl' | 'dataFolder' | 'firstRun' | 'output'> &
  Readonly<{ giveBack(): Promise<void> }>

/** A running cluster, as JSON in `LENT_CLUSTER`. */
export type LentCluster = Readonly<{ baseUrl: string; environment: Readonly<Record<string, string>> }>

/** A server as after its first run, for tests that neither stop it nor have settings of their own. */
export async function borrowServer(): Promise<LentServer> {
  const lent = process.env['LENT_CLUSTER']
  if (lent !== undefined) return borrowFrom(JSON.parse(lent) as LentCluster)
  const server = await startServer()
  return {
    ...server,
    giveBack: async () => {
      await server.stop()
      await removeFolder(server.dataFolder)
    },
  }
}

/** A new workspace of the cluster stands for a new installation. */
async function borrowFrom({ baseUrl, environment }: LentCluster): Promise<LentServer> {
  const dataFolder = await newDataFolder()
  joinCluster(dataFolder, environment)
  const name = `w${randomBytes(6).toString('hex')}`
  const { sign_in, keys } = await createTenant({ dataFolder }, name, 'pro', { role: 'owner', keyName: 'first run' })
  const firstRun: FirstRun = { base_url: baseUrl, workspace: name, sign_in, keys }
  await writeFile(join(dataFolder, 'first-run.json'), JSON.stringify(firstRun), { mode: 0o600 })
  return {
    baseUrl,
    dataFolder,
    firstRun,
    output: [],
    giveBack: async () => {
      leaveCluster(dataFolder)
      await rm(dataFolder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
