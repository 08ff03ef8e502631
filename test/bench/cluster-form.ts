import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startElasticsearch } from '../../infra/engines/elasticsearch.ts'
import { startTogether, type Engine } from '../../infra/engines/engine.ts'
import { startNats } from '../../infra/engines/nats.ts'
import type { Role } from '../../infra/cluster/member.ts'
import { readClusterConfig, type ClusterConfig } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { startProcess, type ServerProcess } from '#test/support/server-process.ts'
import { createBenchClient, createPost, signIn, type BenchClient } from './bench-client.ts'
import { logKeys } from './bench-server.ts'
import { prepareDirectory, type Prepared } from './cluster-directory.ts'
import { cpuSeconds, threadSeconds } from './process-usage.ts'

/** What CPU is told by: the kinds of processes that a cluster has. */
type Part = Role | 'nats' | 'elasticsearch'
type ClusterCpu = Readonly<Record<Part, number>>
/** `jvmCompilers`: of Elasticsearch's CPU seconds, what its JVM compiled in; a server that has run for an hour has long done so. */
export type ClusterCost = Readonly<{ cpu: ClusterCpu; jvmCompilers: number; seconds: number }>

/** A cluster under test: real engines of its own, one process of each role that is asked for. */
export type Cluster = Readonly<{
  config: ClusterConfig
  prepared: Prepared
  post: BenchClient['post']
  /** The same for keys of other workspaces. */
  postAs(keys: Prepared['keys']): BenchClient['post']
  /** Where telemetry is taken in. */
  ingestUrl: string
  /** Needs the role `query`. */
  client(): Promise<BenchClient>
  /** A further process, beside those that are measured; resolves with where it listens. */
  startBeside(role: Role, environment: NodeJS.ProcessEnv): Promise<string>
  /** A verb of the command line in a process of its own, with where it keeps files; the caller reads its output. */
  startVerb(...argv: readonly string[]): ServerProcess
  measure<T>(work: () => Promise<T>): Promise<Readonly<{ result: T; cost: ClusterCost }>>
  /** CPU seconds of a part since it began. */
  cpuOf(part: Part): number
}>

type ClusterOptions = Readonly<{ roles: readonly Role[]; otherWorkspaces?: number }>

/** Of Elasticsearch's JVM: as in a small production, so that collecting garbage is not what is measured. */
const heap = '2g'
/** Nobody listens there: the role `ingest` asks nothing of Elasticsearch. */
const noElasticsearch = 'http://127.0.0.1:9'

/** Each look is three searches, which should not be what is measured. */
const lookEveryMs = 1_000

type Started = Readonly<{ server: ServerProcess; url: string }>

async function startRole(role: string, environment: NodeJS.ProcessEnv): Promise<Started> {
  const server = startProcess(['src/main.ts', role, '--port', '0', '--host', '127.0.0.1'], environment)
  const line = await server.printed(/^Throughline .*\(role/, 0)
  return { server, url: /listening on (http\S+)/.exec(line)?.[1] ?? '' }
}

/** As `npm run cluster` sets it. */
function environmentOf(natsUrl: string, elasticsearchUrl: string): Readonly<Record<string, string>> {
  const secret = (): string => randomBytes(32).toString('hex')
  return {
    NATS_URL: natsUrl,
    NATS_SYNC_ALWAYS: '1',
    ELASTICSEARCH_URL: elasticsearchUrl,
    SESSION_KEYS: secret(),
    KEY_PEPPER: secret(),
  }
}

type Running = Readonly<{
  engines: ReadonlyMap<Part, Engine>
  roles: Map<Part, Started>
  others: ServerProcess[]
  folder: string
}>

function createCpuOf({ engines, roles }: Running): Cluster['cpuOf'] {
  return (part) => {
    const pid = engines.get(part)?.group() ?? roles.get(part)?.server.child.pid
    return pid === undefined ? 0 : cpuSeconds(pid)
  }
}

function compilersOf({ engines }: Running): number {
  const pid = engines.get('elasticsearch')?.group()
  return pid === undefined ? 0 : threadSeconds(pid, /^C[12] Compiler/)
}

function clusterOf(running: Running, environment: Readonly<Record<string, string>>, prepared: Prepared): Cluster {
  const { roles, others, folder } = running
  const cpuOf = createCpuOf(running)
  const urlOf = (role: Role): string => present(roles.get(role), `the role ${role} runs`).url
  const readAll = (): ClusterCpu => ({
    ingest: cpuOf('ingest'),
    nats: cpuOf('nats'),
    project: cpuOf('project'),
    elasticsearch: cpuOf('elasticsearch'),
    query: cpuOf('query'),
  })
  const ingestUrl = urlOf('ingest')
  const post = createPost(ingestUrl, prepared.keys)
  return {
    config: present(readClusterConfig(environment), 'both engines are named'),
    prepared,
    post,
    ingestUrl,
    postAs: (keys) => createPost(ingestUrl, keys),
    async client() {
      const baseUrl = urlOf('query')
      return createBenchClient({ baseUrl, post, lookEveryMs, cookie: await signIn(baseUrl, prepared.account) })
    },
    async startBeside(role, more) {
      const { server, url } = await startRole(role, { ...environment, ...more })
      others.push(server)
      return url
    },
    startVerb(...argv) {
      const verb = startProcess(['src/main.ts', ...argv, '--data', folder], environment)
      others.push(verb)
      return verb
    },
    cpuOf,
    async measure(work) {
      const [start, before, compiledBefore] = [performance.now(), readAll(), compilersOf(running)]
      const result = await work()
      const [after, seconds] = [readAll(), (performance.now() - start) / 1_000]
      const jvmCompilers = compilersOf(running) - compiledBefore
      const parts = Object.keys(after) as Part[]
      const cpu = Object.fromEntries(parts.map((part) => [part, after[part] - before[part]])) as ClusterCpu
      return { result, cost: { cpu, jvmCompilers, seconds } }
    },
  }
}

async function startEngines(roles: readonly Role[]): Promise<ReadonlyMap<Part, Engine>> {
  const wanted: readonly Part[] = roles.every((role) => role === 'ingest') ? ['nats'] : ['nats', 'elasticsearch']
  const engines = await startTogether(
    wanted.map((part) => (part === 'nats' ? startNats() : startElasticsearch({ heap }))),
  )
  return new Map(wanted.map((part, place) => [part, present(engines[place], 'it has started')]))
}

/** Runs `work` with a cluster of its own, which is gone afterwards whatever happens. */
export async function withCluster<T>(
  { roles, otherWorkspaces = 0 }: ClusterOptions,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-bench-cluster-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const engines = await startEngines(roles)
  const running: Running = { engines, roles: new Map(), others: [], folder }
  try {
    const natsUrl = present(engines.get('nats'), 'NATS runs').url
    const environment = environmentOf(natsUrl, engines.get('elasticsearch')?.url ?? noElasticsearch)
    const config = present(readClusterConfig(environment), 'both engines are named')
    const prepared = await prepareDirectory(config, { logKeys, otherWorkspaces })
    for (const role of roles) running.roles.set(role, await startRole(role, environment))
    return await work(clusterOf(running, environment, prepared))
  } catch (error) {
    for (const [role, { server }] of running.roles) {
      for (const line of server.lines.slice(-10)) console.error(`[${role}] ${line}`)
    }
    throw error
  } finally {
    const servers = [...running.others, ...[...running.roles.values()].map(({ server }) => server)]
    await Promise.all(servers.map((server) => server.kill()))
    await Promise.all([...engines.values()].map((engine) => engine.remove()))
    rmSync(folder, { recursive: true, force: true })
  }
}

export const allOfCluster = ({ ingest, nats, project, elasticsearch }: ClusterCpu): number =>
  ingest + nats + project + elasticsearch
