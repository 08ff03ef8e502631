import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { engines, enginesTimeoutMs } from '../support/engines.ts'
import { longOnTheCluster, notOnTheCluster } from './not-on-the-cluster.ts'

const isLong = process.env['SOAK'] === '1'
/** Of a file; its own mocha has the project's timeout for each test. */
const fileTimeoutMs = 1_800_000
const all = globSync('test/e2e/*.test.ts').sort()
const isMet = (name: string): boolean =>
  !Object.hasOwn(notOnTheCluster, name) && (isLong || !Object.hasOwn(longOnTheCluster, name))

type Ran = Readonly<{ code: number | null; out: string; errors: string }>
type Runs = Readonly<{ of(file: string): Promise<Ran>; stop(): void }>

async function run(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Ran> {
  const argv = ['node_modules/mocha/bin/mocha.js', '--exit', '--reporter', 'dot', file]
  const child = spawn(process.execPath, argv, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
  child.on('error', () => {})
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, out, errors }
}

/** Runs them in their order, as many at once as there are processors but at most two: mostly they wait for the index. */
function runAll(files: readonly string[], env: NodeJS.ProcessEnv): Runs {
  const stopping = new AbortController()
  const runs = new Map(files.map((file) => [file, Promise.withResolvers<Ran>()]))
  const waiting = [...runs]
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined && !stopping.signal.aborted; one = waiting.shift()) {
      one[1].resolve(await run(one[0], env, stopping.signal))
    }
  }
  for (let lane = 0; lane < Math.min(2, availableParallelism()); lane++) void next()
  return {
    of: (file) => present(runs.get(file), 'it is one of them').promise,
    stop: () => stopping.abort(),
  }
}

/**
 * Each file is run by a mocha of its own, so that nothing in it has to know which form it meets, and has a cluster of its own on the
 * engines that all share.
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
  // Where only some of them were asked for.
  after(() => runs.stop())

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
