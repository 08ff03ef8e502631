import { bringCluster, type Cluster, type ClusterOptions } from '../support/clusters.ts'
import { newDataFolder, removeFolder } from '../support/server.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'

export type RoleProcess = ServerProcess &
  Readonly<{
    /** Of what it listens on; empty for a projector. */
    baseUrl: string
    operationsUrl: string
  }>

/** A cluster whose processes a test starts one by one, without a front. */
export type TestCluster = Readonly<{
  dataFolder: string
  cluster: Cluster
  /** Resolves when it serves. */
  start(role: string, environment?: Readonly<Record<string, string>>): Promise<RoleProcess>
  /** Kills what is left of it and removes what it has in the engines. */
  remove(): Promise<void>
}>

export async function createTestCluster(options?: ClusterOptions): Promise<TestCluster> {
  const dataFolder = await newDataFolder()
  const cluster = await bringCluster(dataFolder, options)
  const started: ServerProcess[] = []
  return {
    dataFolder,
    cluster,
    start: async (role, environment = {}) => {
      const argv = ['src/main.ts', role, '--port', '0', '--operations-port', '0', '--host', '127.0.0.1']
      const server = startProcess(argv, { ...cluster.environment, ...environment })
      started.push(server)
      await server.printed(/^Throughline .*\(role/, 0)
      const find = (pattern: RegExp): string => server.lines.map((line) => pattern.exec(line)?.[1]).find(Boolean) ?? ''
      return {
        ...server,
        baseUrl: find(/^Throughline listening on (http\S+)/),
        operationsUrl: find(/^Health and metrics on (http\S+)/),
      }
    },
    remove: async () => {
      await Promise.all(started.map((server) => server.kill()))
      await removeFolder(dataFolder)
    },
  }
}
