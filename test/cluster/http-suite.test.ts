import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { clusterAt } from '../support/clusters.ts'
import { engines, enginesTimeoutMs } from '../support/engines.ts'
import type { LentCluster } from '../support/lent-server.ts'
import { removeFolder, startServer } from '../support/server.ts'
import { longOnTheCluster, notOnTheCluster } from './not-on-the-cluster.ts'

const isLong = process.env['SOAK'] === '1'
/** Of all files together; their own mocha has the project's timeout for each test. */
const suiteTimeoutMs = 3_600_000
const all = globSync('test/e2e/*.test.ts').sort()
const isMet = (name: string): boolean =>
  !Object.hasOwn(notOnTheCluster, name) && (isLong || !Object.hasOwn(longOnTheCluster, name))

/** A test or hook, as the `json` reporter of mocha tells it. */
type Told = Readonly<{ file: string; fullTitle: string; err: Readonly<{ stack?: string; message?: string }> }>
type Ran = Readonly<{ passes: readonly Told[]; failures: readonly Told[] }>

/** Runs files in as many processes as there are processors, but at most two: mostly they wait for the index. */
async function runFiles(files: readonly string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-http-suite-'))
  const output = join(folder, 'ran.json')
  try {
    const jobs = String(Math.min(2, availableParallelism()))
    const told = ['--reporter', 'json', '--reporter-option', `output=${output}`]
    const argv = ['node_modules/mocha/bin/mocha.js', '--exit', '--parallel', '--jobs', jobs, ...told, ...files]
    const child = spawn(process.execPath, argv, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    child.on('error', () => {})
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
    const written = await readFile(output, 'utf8').catch(() => undefined)
    const ran = written === undefined ? undefined : (JSON.parse(written) as Ran)
    // A crash is told by no test.
    if (ran === undefined || (code !== 0 && ran.failures.length === 0)) throw new Error(`${code}: ${out}\n${errors}`)
    return ran
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** One cluster serves all files that borrow one: an idle one keeps Elasticsearch as busy as some files do. */
async function runOnCluster(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Ran & Readonly<{ output: readonly string[] }>> {
  const { baseUrl, dataFolder, output, stop } = await startServer({ form: 'cluster' })
  try {
    const { environment } = present(clusterAt(dataFolder), 'it is a cluster')
    const lent: LentCluster = { baseUrl, environment }
    return { ...(await runFiles(files, { ...env, LENT_CLUSTER: JSON.stringify(lent) }, signal)), output }
  } finally {
    await stop()
    await removeFolder(dataFolder)
  }
}

/**
 * The files are run by a mocha of their own, so that nothing in them has to know which form it meets. Those that only borrow a server have
 * workspaces of their own in one cluster; those that start one have a cluster of their own.
 */
describe('the HTTP test suite, on the cluster', () => {
  const met = all.filter((file) => isMet(basename(file)))
  const stopping = new AbortController()
  let ran: ReturnType<typeof runOnCluster>
  before(async function () {
    this.timeout(enginesTimeoutMs)
    const { natsUrl, elasticsearchUrl } = await engines()
    const given = { TEST_NATS_URL: natsUrl, TEST_ELASTICSEARCH_URL: elasticsearchUrl }
    ran = runOnCluster(met, { ...process.env, ...given, THROUGHLINE_FORM: 'cluster' }, stopping.signal)
    ran.catch(() => undefined)
  })
  after(async function () {
    this.timeout(enginesTimeoutMs)
    // Where only some of them were asked for.
    stopping.abort()
    await Promise.allSettled([ran])
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
      this.timeout(suiteTimeoutMs)
      const { passes, failures, output } = await ran
      const isHere = (told: Told): boolean => told.file === resolve(file)
      const complaints = failures
        .filter(isHere)
        .map(({ fullTitle, err }) => `${fullTitle}\n${err.stack ?? err.message}`)
      expect(complaints, [...complaints, ...output].join('\n')).to.deep.equal([])
      expect(passes.filter(isHere), 'tests that passed').to.not.deep.equal([])
    })
  }
})
