import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { clusterAt } from '../support/clusters.ts'
import { engines, enginesTimeoutMs } from '../support/engines.ts'
import type { LentCluster } from '../support/lent-server.ts'
import { removeFolder, startServer } from '../support/server.ts'
import { longOnTheCluster, notOnTheCluster } from './not-on-the-cluster.ts'

const isLong = process.env['SOAK'] === '1'
/** Of a file; its own mocha has the project's timeout for each test. */
const fileTimeoutMs = 1_800_000
const all = globSync('test/e2e/*.test.ts').sort()
const isMet = (name: string): boolean =>
  !Object.hasOwn(notOnTheCluster, name) && (isLong || !Object.hasOwn(longOnTheCluster, name))

type Ran = Readonly<{ code: number | null; out: string; errors: string }>
type Runs = Readonly<{ of(file: string): Promise<Ran>; end(): Promise<void> }>

async function run(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Ran> {
  const argv = ['node_modules/mocha/bin/mocha.js', '--exit', '--reporter', 'dot', file]
  const child = spawn(process.execPath, argv, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
  child.on('error', () => {})
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, out, errors }
}

/** The cluster that files of the suite use, each in workspaces of its own. */
type SharedCluster = Awaited<ReturnType<typeof startCluster>>
async function startCluster() {
  const cluster = await startServer({ form: 'cluster' })
  const { baseUrl, dataFolder, output } = cluster
  const { environment } = present(clusterAt(dataFolder), 'it is a cluster')
  return {
    lent: { baseUrl, environment } satisfies LentCluster,
    output,
    remove: async () => {
      await cluster.stop()
      await removeFolder(dataFolder)
    },
  }
}

/**
 * Runs them in their order, as many at once as there are processors but at most two: mostly they wait for the index. One cluster serves
 * them all: an idle one keeps Elasticsearch as busy as some files do.
 */
function runAll(files: readonly string[], env: NodeJS.ProcessEnv): Runs {
  const stopping = new AbortController()
  const runs = new Map(files.map((file) => [file, Promise.withResolvers<Ran>()]))
  const waiting = [...runs]
  const runLane = async ({ lent, output }: SharedCluster): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined && !stopping.signal.aborted; one = waiting.shift()) {
      const [file, { resolve }] = one
      const from = output.length
      const ran = await run(file, { ...env, LENT_CLUSTER: JSON.stringify(lent) }, stopping.signal)
      resolve({ ...ran, errors: [ran.errors, ...output.slice(from)].join('\n') })
    }
  }
  const runLanes = async (): Promise<void> => {
    const cluster = await startCluster()
    const lanes = Array.from({ length: Math.min(2, availableParallelism()) }, () => runLane(cluster))
    const ended = await Promise.allSettled(lanes)
    await cluster.remove()
    for (const lane of ended) if (lane.status === 'rejected') throw lane.reason
  }
  const ran = runLanes()
  const failed = ran.then(() => new Promise<never>(() => undefined))
  failed.catch(() => undefined)
  return {
    of: (file) => Promise.race([present(runs.get(file), 'it is one of them').promise, failed]),
    end: async () => {
      // Where only some of them were asked for.
      stopping.abort()
      await Promise.allSettled([ran])
    },
  }
}

/**
 * Each file is run by a mocha of its own, so that nothing in it has to know which form it meets. Those that only borrow a server have
 * workspaces of their own in one cluster; those that start one have a cluster of their own.
 */
describe('the HTTP test suite, on the cluster', () => {
  const met = all.filter((file) => isMet(basename(file)))
  let runs: Runs
  before(async function () {
    this.timeout(enginesTimeoutMs)
    const { natsUrl, elasticsearchUrl } = await engines()
    const given = { TEST_NATS_URL: natsUrl, TEST_ELASTICSEARCH_URL: elasticsearchUrl }
    runs = runAll(met, { ...process.env, ...given, THROUGHLINE_FORM: 'cluster' })
  })
  after(function () {
    this.timeout(enginesTimeoutMs)
    return runs.end()
  })

  it('leaves out only files that are there, each for a reason', () => {
    const names = new Set(all.map((file) => basename(file)))
    for (const [name, reason] of Object.entries({ ...notOnTheCluster, ...longOnTheCluster })) {
      expect(names, name).to.include(name)
      expect(reason).to.match(/\w+ \w+/)
    }
  })

  for (const file of met) {
    it(file, async function () {
      this.timeout(fileTimeoutMs)
      const { code, out, errors } = await runs.of(file)
      expect(code, `${out}\n${errors}`).to.equal(0)
      expect(out, 'tests that ran').to.match(/^ {2}[1-9]\d* passing/m)
    })
  }
})
