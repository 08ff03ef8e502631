import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bringOnce } from '../machine/cache.ts'
import { findJava } from '../machine/java.ts'
import type { Launch } from './daemon.ts'
import type { Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { bringArtifact, type Artifact } from './maven.ts'
import { startNative } from './native-engine.ts'
import { elasticsearchProbe } from './probe.ts'
import { unzip } from './unzip.ts'

/** The smallest distribution: the server and its security, none of the other modules. */
export const elasticsearch: Artifact = {
  group: 'org.elasticsearch.distribution.integ-test-zip',
  name: 'elasticsearch',
  version: '8.19.21',
  type: 'zip',
  sha512:
    'cf6b0a93860d329937ae7f913ec5073b0c726c77639764b93fc83a304aa1dd9d4defcfa2849948eea3b0b47c2065f994908603939fc2a4774c9c4d868c5ec1dd',
}

/** Elasticsearch refuses to run as root; this is "nobody" on every system we know. */
const unprivileged = 65_534

function javaHome(): string {
  const home = findJava()
  if (home === undefined)
    throw new Error('Elasticsearch runs on Java 17 or later, which was found neither in JAVA_HOME nor on PATH.')
  return home
}

/** Puts the password of the user `elastic` into the keystore: two starts of a JVM, which is why it is kept with the server. */
function makeKeystore(home: string, password: string): void {
  const tool = join(home, 'bin', 'elasticsearch-keystore')
  const environment = { PATH: process.env['PATH'], ES_JAVA_HOME: javaHome() }
  for (const [args, input] of [
    [['create'], ''],
    [['add', '-x', 'bootstrap.password'], password],
  ] as const) {
    const { status, stderr, error } = spawnSync(tool, args, { env: environment, input, encoding: 'utf8' })
    if (status !== 0) throw new Error(`Elasticsearch's keystore could not be made: ${error?.message ?? stderr}`)
  }
}

/** The folder with the distribution in `home`, and in `password` the password of the user `elastic`. Downloads it once. */
export function bringElasticsearch(artifact = elasticsearch): Promise<string> {
  return bringOnce(`elasticsearch-${artifact.version}-${artifact.sha512.slice(0, 16)}`, async (making) => {
    mkdirSync(making, { mode: 0o700 })
    console.error('Downloading Elasticsearch (once) …')
    const archive = await bringArtifact(artifact, making)
    unzip(archive, making)
    rmSync(archive)
    renameSync(join(making, `${artifact.name}-${artifact.version}`), join(making, 'home'))
    const password = randomBytes(16).toString('hex')
    makeKeystore(join(making, 'home'), password)
    writeFileSync(join(making, 'password'), password)
  })
}

function settings(folder: string, [http, transport]: readonly number[]): string {
  return [
    'cluster.name: throughline',
    'node.name: node-0',
    'discovery.type: single-node',
    'network.host: 127.0.0.1',
    `http.port: ${http}`,
    `transport.port: ${transport}`,
    `path.data: ${join(folder, 'data')}`,
    `path.logs: ${join(folder, 'logs')}`,
    `path.repo: ${join(folder, 'snapshots')}`,
    'xpack.security.enabled: true',
    // A test must not depend on how full the disk is, nor on how many indices the tests before it made: what an installation needs is told
    // in infra/README.md, and test/infra counts it.
    'cluster.routing.allocation.disk.threshold_enabled: false',
    'cluster.max_shards_per_node: 10000',
    '',
  ].join('\n')
}

/** The server keeps its configuration beside its programs and must own all of it: each gets a copy of its own. */
function prepare(brought: string, folder: string, ports: readonly number[], jvmOptions: string): Launch {
  const home = join(folder, 'home')
  cpSync(join(brought, 'home'), home, { recursive: true })
  writeFileSync(join(home, 'config', 'elasticsearch.yml'), settings(folder, ports))
  mkdirSync(join(folder, 'temporary'))
  const user = process.getuid?.() === 0 ? unprivileged : undefined
  if (user !== undefined) spawnSync('chown', ['-R', `${user}:${user}`, folder])
  return {
    command: join(home, 'bin', 'elasticsearch'),
    args: [],
    user,
    environment: {
      PATH: process.env['PATH'],
      HOME: folder,
      ES_JAVA_HOME: javaHome(),
      ES_TMPDIR: join(folder, 'temporary'),
      // Of the program that starts the server, which leaves files in its temporary folder.
      CLI_JAVA_OPTS: `-XX:TieredStopAtLevel=1 -Djava.io.tmpdir=${join(folder, 'temporary')}`,
      // No log of garbage collections, no dump of a heap, no index of roles (which needs a module that is not here).
      ES_JAVA_OPTS: `${jvmOptions} -Xlog:disable -Xlog:all=warning:stderr -XX:-HeapDumpOnOutOfMemoryError -Des.queryable_built_in_roles_enabled=false`,
    },
  }
}

/** An Elasticsearch of one node with security on, for the user `elastic`. */
export async function startNativeElasticsearch(jvmOptions: string): Promise<Engine> {
  const brought = await bringElasticsearch()
  const password = readFileSync(join(brought, 'password'), 'utf8')
  return onFreePorts(2, (ports) =>
    startNative({
      name: 'elasticsearch',
      url: `http://elastic:${password}@127.0.0.1:${ports[0]}`,
      probe: elasticsearchProbe(`127.0.0.1:${ports[0]}`, `elastic:${password}`),
      launch: (folder) => prepare(brought, folder, ports, jvmOptions),
    }),
  )
}
