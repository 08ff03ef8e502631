import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { post, positionOf, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { bringCluster } from '../support/clusters.ts'
import { newDataFolder, removeFolder, startServer, type FirstRun } from '../support/server.ts'
import { startProcess } from '../support/server-process.ts'
import { plainRefusal } from './plain-answer.ts'
import type { Sent } from './telemetry.ts'

/** One of the two: a running server, and who asks it. */
export type Form = Readonly<{
  name: string
  session: Reader
  api: Reader
  /** Sends a request; its answer as text, and where the log has it (0: nowhere). */
  send(request: Sent): Promise<Readonly<{ answer: string; position: number }>>
  /** Until every index has all that was sent. */
  settled(): Promise<void>
  stop(): Promise<void>
}>

type Started = Readonly<{
  baseUrl: string
  dataFolder: string
  firstRun: FirstRun
  output: readonly string[]
  stop(): Promise<void>
}>

async function startEmbedded(): Promise<Started> {
  const server = await startServer()
  return { ...server, stop: () => server.stop() }
}

/** As `npm run cluster` starts it, with one process of each role. */
async function startCluster(): Promise<Started> {
  const dataFolder = await newDataFolder()
  const { environment } = await bringCluster(dataFolder)
  const counts = ['--ingest', '1', '--project', '1', '--query', '1']
  const place = ['--port', '0', '--host', '127.0.0.1', '--data', dataFolder]
  const server = startProcess(['infra/cluster/cluster.ts', ...counts, ...place], environment)
  const listening = await server.printed(/^Throughline listening on http\S+/, 0)
  const firstRun = JSON.parse(await readFile(join(dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  return {
    baseUrl: /http\S+/.exec(listening)?.[0] ?? '',
    dataFolder,
    firstRun,
    output: server.lines,
    stop: server.stop,
  }
}

async function formOf(name: string, server: Started): Promise<Form> {
  const { baseUrl, dataFolder, firstRun } = server
  return {
    name,
    session: await signIn(baseUrl, firstRun.sign_in),
    api: withKey(baseUrl, firstRun.keys.api),
    send: async ({ path, key, headers, bytes }) => {
      const response = await post(server, path, firstRun.keys[key], bytes, headers)
      const position = response.headers.has('throughline-position') ? positionOf(response) : 0
      const body = Buffer.from(await response.arrayBuffer()).toString('latin1')
      return { answer: plainRefusal(`${response.status} ${response.headers.get('content-type')}\n${body}`), position }
    },
    settled: () => untilIndexed(server),
    stop: async () => {
      await server.stop()
      await removeFolder(dataFolder)
    },
  }
}

/** The embedded form and the cluster, each on engines of its own, both empty. */
export async function startBothForms(): Promise<readonly [Form, Form]> {
  const [embedded, cluster] = await Promise.all([startEmbedded(), startCluster()])
  return [await formOf('embedded', embedded), await formOf('cluster', cluster)]
}
