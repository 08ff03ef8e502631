import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { connectNats } from '#streams/jetstream/connect.ts'
import { askServer } from '#test/streams/jetstream-log.ts'
import { cli } from '../support/cli.ts'
import { listOf, signIn, untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { runVerb } from '../support/run-program.ts'
import type { FirstRun } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

describe('a cluster whose processes are lost', function () {
  this.timeout(600_000)
  let test: TestCluster
  let ingest: RoleProcess
  let query: RoleProcess
  let firstRun: FirstRun

  const start = (role: string): Promise<RoleProcess> => test.start(role)
  /** Sends so many records one by one, and waits until a search would find them. */
  async function expectFolded(projectors: readonly RoleProcess[], ...names: readonly string[]): Promise<void> {
    const send = sendingTo(ingest, firstRun.keys)
    for (const message of names) await send.logs([{ message }])
    await untilIndexed({ dataFolder: test.dataFolder, output: projectors.flatMap(({ lines }) => lines) })
    const reader = await signIn(query.baseUrl, firstRun.sign_in)
    const { body } = await reader.get('/api/app/logs/search?limit=1000')
    const found = listOf(body, 'logs').map(({ message }) => String(message))
    expect(found.length, 'nothing is there twice').to.equal(new Set(found).size)
    expect(found).to.include.members(names)
  }

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    ;[ingest, query] = await Promise.all([start('ingest'), start('query')])
    await cli(test, 'first-run', '--base-url', ingest.baseUrl)
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  })
  after(() => test.remove())

  it('folds on with the projectors that are left, and with those that come', async () => {
    const projectors = [await start('project'), await start('project')]
    await expectFolded(projectors, 'by both')
    await projectors[0]?.kill()
    await expectFolded(projectors, 'by the one that is left', 'and again')
    const third = await start('project')
    await projectors[1]?.kill()
    await expectFolded([third], 'by one that came later')
    await third.stop()
    const last = await start('project')
    await expectFolded([last], 'after all were gone')
    await last.stop()
  })

  it('takes in while nobody folds, and loses nothing of it', async () => {
    await sendingTo(ingest, firstRun.keys).logs([{ message: 'while nobody folded' }])
    await ingest.kill()
    ingest = await start('ingest')
    const projector = await start('project')
    await expectFolded([projector], 'after a new process took in')
    const reader = await signIn(query.baseUrl, firstRun.sign_in)
    const { body } = await reader.get('/api/app/logs/search?q=nobody')
    expect(listOf(body, 'logs')).to.have.length(1)
  })
})

describe('a cluster whose directory is removed from NATS while it runs', () => {
  let test: TestCluster
  let running: readonly RoleProcess[]
  let firstRun: FirstRun
  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    running = await Promise.all(['ingest', 'query', 'project'].map((role) => test.start(role)))
    await cli(test, 'first-run', '--base-url', 'http://x')
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  })
  after(() => test.remove())

  it('says so in each process, makes nothing up, and begins anew only where it may, which is said too', async () => {
    const [ingest, query] = running as [RoleProcess, RoleProcess]
    const { INDEX_PREFIX = '', NATS_URL = '' } = test.cluster.environment
    const nats = await connectNats({ url: NATS_URL })
    await askServer(nats, `STREAM.DELETE.${INDEX_PREFIX}-DIRECTORY`)
    await nats.close()
    const said = /^the directory cannot be followed; trying again: .*DIRECTORY .*if it was removed, put it back/
    await Promise.all(running.map(({ printed }) => printed(said, 0)))
    await sendingTo(ingest, firstRun.keys).logs([{ message: 'with a key that is known' }])
    const form = { method: 'POST', headers: { origin: query.baseUrl }, body: new URLSearchParams(firstRun.sign_in) }
    expect((await fetch(`${query.baseUrl}/app/sign-in`, form)).status).to.equal(503)
    expect(await test.start('query').then(() => 'started', String)).to.match(/it is gone.*ALLOW_LOST_LOG=1/)
    const anew = await test.start('ingest', { ALLOW_LOST_LOG: '1' })
    expect(anew.lines.join('\n')).to.match(/DIRECTORY was gone and is made anew, empty: what it held is lost/)
    await Promise.all(running.map(({ printed }) => printed(/no longer be followed: .*is another log/, 0)))
    expect(listOf(await cli(test, 'workspace', 'list'), 'workspaces')).to.deep.equal([])
  })
})

describe('a cluster whose NATS comes back without any of its streams, as on another disk', function () {
  this.timeout(600_000)
  let test: TestCluster
  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
  })
  after(() => test.remove())

  it('is not taken for a new installation, by no role and by no verb, and senders are to come back', async () => {
    const [ingest, projector] = await Promise.all([test.start('ingest'), test.start('project')])
    await cli(test, 'first-run', '--base-url', 'http://x')
    const { keys } = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    await sendingTo(ingest, keys).logs([{ message: 'before' }])
    await untilIndexed({ dataFolder: test.dataFolder, output: projector.lines })
    const { INDEX_PREFIX = '', NATS_URL = '' } = test.cluster.environment
    const nats = await connectNats({ url: NATS_URL })
    const streams = ['TELEMETRY_0', 'TELEMETRY_1', 'DIRECTORY']
    for (const stream of streams) await askServer(nats, `STREAM.DELETE.${INDEX_PREFIX}-${stream}`)
    const gone = /TELEMETRY_0 \(it is gone.*ALLOW_LOST_LOG=1/
    const environment = { ...process.env, ...test.cluster.environment }
    const { code, err } = await runVerb(['src/main.ts', 'status'], environment)
    expect([code, err]).to.satisfy(() => code === 1 && gone.test(err), err)
    for (const role of ['ingest', 'query', 'project']) {
      expect(await test.start(role).then(() => 'started', String), role).to.match(gone)
    }
    for (const stream of streams) {
      expect(await askServer(nats, `STREAM.INFO.${INDEX_PREFIX}-${stream}`), stream).to.have.property('error')
    }
    await nats.close()
    const headers = { authorization: `Bearer ${keys.logs}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: '{"message":"meanwhile"}' }
    expect((await fetch(`${ingest.baseUrl}/api/logs/v1/ingest`, init)).status).to.equal(503)
    const anew = await test.start('ingest', { ALLOW_LOST_LOG: '1' })
    expect(anew.lines.join('\n')).to.match(/TELEMETRY_0 was gone and is made anew, empty: what it held is lost/)
  })
})

describe('a process of a cluster that cannot start', function () {
  this.timeout(600_000)
  let test: TestCluster
  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
  })
  after(() => test.remove())

  const withUrl = (name: string, change: (url: URL) => void): Record<string, string> => {
    const url = new URL(test.cluster.environment[name] ?? '')
    change(url)
    return { [name]: String(url) }
  }
  const wrongPassword = (name: string) => withUrl(name, (url) => (url.password = 'wrong'))

  const cases: readonly (readonly [
    string,
    string,
    () => Record<string, string> | Promise<Record<string, string>>,
    RegExp,
  ])[] = [
    [
      'a wrong password of NATS',
      'ingest',
      () => wrongPassword('NATS_URL'),
      /^throughline: connect to NATS at .*NATS_URL/,
    ],
    [
      'a wrong password of Elasticsearch',
      'query',
      () => wrongPassword('ELASTICSEARCH_URL'),
      /^throughline: .*Elasticsearch.*ELASTICSEARCH_URL/,
    ],
    [
      'NATS that is not there',
      'project',
      async () => {
        const port = await freePort()
        return withUrl('NATS_URL', (url) => (url.port = String(port)))
      },
      /^throughline: connect to NATS at .*NATS_URL/,
    ],
    [
      'Elasticsearch that is not there',
      'project',
      async () => {
        const port = await freePort()
        return withUrl('ELASTICSEARCH_URL', (url) => (url.port = String(port)))
      },
      /^throughline: .*Elasticsearch.*ELASTICSEARCH_URL/,
    ],
    [
      'a log of which nobody knows that it is durable',
      'ingest',
      () => ({ NATS_SYNC_ALWAYS: '0' }),
      /^throughline: .*NATS_SYNC_ALWAYS=1/,
    ],
  ]
  for (const [what, role, environment, line] of cases) {
    it(`says in one line what to do about ${what}`, async () => {
      const outcome = await test.start(role, await environment()).then(() => 'started', String)
      const said = outcome.split('\n').slice(1)
      expect(said, outcome).to.have.length(1)
      expect(said[0]).to.match(line)
      expect(outcome).to.not.include('wrong@')
    })
  }

  it('is not first made an installation for, with a pepper that it would refuse', async () => {
    const argv = ['src/main.ts', 'first-run', '--base-url', 'http://x', '--data', test.dataFolder]
    const { code, err } = await runVerb(argv, {
      ...process.env,
      ...test.cluster.environment,
      KEY_PEPPER: 'b'.repeat(40),
    })
    expect(code).not.to.equal(0)
    expect(err).to.match(/KEY_PEPPER \(it needs at least 32 random characters/)
    await (await test.start('ingest')).stop()
    expect(listOf(await cli(test, 'workspace', 'list'), 'workspaces')).to.deep.equal([])
  })

  it('is not begun by a verb that is given another name than its processes have, which is told', async () => {
    const { INDEX_PREFIX: own = '', NATS_URL = '' } = test.cluster.environment
    const INDEX_PREFIX = `${own}-mistyped`
    const environment = { ...process.env, ...test.cluster.environment, INDEX_PREFIX }
    for (const verb of ['status', 'verify all', 'rebuild logs', 'builds', 'workspace create x --plan pro']) {
      const { code, out, err } = await runVerb(['src/main.ts', ...verb.split(' ')], environment)
      expect(err, verb).to.match(/^throughline: use stream \S+-TELEMETRY_0 \(it is not there: is INDEX_PREFIX.*\)\n$/)
      expect([code, out], verb).to.deep.equal([verb === 'verify all' ? 2 : 1, ''])
    }
    const nats = await connectNats({ url: NATS_URL })
    for (const stream of ['TELEMETRY_0', 'TELEMETRY_1', 'DIRECTORY']) {
      expect(await askServer(nats, `STREAM.INFO.${INDEX_PREFIX}-${stream}`), stream).to.have.property('error')
    }
    await nats.close()
  })

  it('says so when it has another pepper than the keys were made with', async () => {
    await cli(test, 'first-run', '--base-url', 'http://x')
    const KEY_PEPPER = randomBytes(32).toString('hex')
    for (const role of ['ingest', 'project', 'query']) {
      const outcome = await test.start(role, { KEY_PEPPER }).then(() => 'started', String)
      const said = outcome.split('\n').slice(1)
      expect(said, outcome).to.have.length(1)
      expect(said[0]).to.match(/^throughline: open directory: check KEY_PEPPER .*start every process with that one/)
    }
    await (await test.start('ingest')).stop()
  })

  it('says so when it counts other partitions than the log has', async () => {
    const first = await test.start('ingest')
    await first.stop()
    const outcome = await test.start('ingest', { PARTITIONS: '8' }).then(() => 'started', String)
    expect(outcome.split('\n').slice(1).join('\n')).to.match(/^throughline: .*PARTITIONS.*$/)
  })
})
