import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { engines, enginesTimeoutMs } from '../support/engines.ts'
import { longOnTheCluster, notOnTheCluster } from './not-on-the-cluster.ts'

const isLong = process.env['SOAK'] === '1'
/** Of a file; its own mocha has the project's timeout for each test. */
const fileTimeoutMs = 1_800_000
const all = globSync('test/e2e/*.test.ts').sort()
const isMet = (name: string): boolean =>
  !Object.hasOwn(notOnTheCluster, name) && (isLong || !Object.hasOwn(longOnTheCluster, name))

/** Each file is run by a mocha of its own, so that nothing in it has to know which form it meets. */
describe('the HTTP test suite, on the cluster', () => {
  let environment: NodeJS.ProcessEnv
  before(async function () {
    this.timeout(enginesTimeoutMs)
    const { natsUrl, elasticsearchUrl } = await engines()
    const given = { TEST_NATS_URL: natsUrl, TEST_ELASTICSEARCH_URL: elasticsearchUrl }
    environment = { ...process.env, ...given, THROUGHLINE_FORM: 'cluster' }
  })

  it('leaves out only files that are there, each for a reason', () => {
    const names = new Set(all.map((file) => basename(file)))
    for (const [name, reason] of Object.entries({ ...notOnTheCluster, ...longOnTheCluster })) {
      expect(names, name).to.include(name)
      expect(reason).to.match(/\w+ \w+/)
    }
  })

  for (const file of all.filter((each) => isMet(basename(each)))) {
    it(file, async function () {
      this.timeout(fileTimeoutMs)
      const argv = ['node_modules/mocha/bin/mocha.js', '--exit', '--reporter', 'dot', file]
      const child = spawn(process.execPath, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
      const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      expect(code, `${out}\n${errors}`).to.equal(0)
      expect(out, 'tests that ran').to.match(/^ {2}[1-9]\d* passing/m)
    })
  }
})
