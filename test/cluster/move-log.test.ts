import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { expect } from 'chai'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { askApi } from '#streams/jetstream/api.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { cli } from '../support/cli.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import {
  at,
  cookieOf,
  listOf,
  post,
  signIn,
  untilIndexed,
  withCookie,
  withKey,
  type Reader,
} from '../support/client.ts'
import { bringCluster, type Cluster } from '../support/clusters.ts'
import { engines, enginesTimeoutMs } from '../support/engines.ts'
import { makeOldLog } from '../support/old-log.ts'
import { runVerb, type Ran } from '../support/run-program.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { newDataFolder, removeFolder, type FirstRun, type Server } from '../support/server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo } from '../support/workspace.ts'

const t0 = minutesAgoNs(20)
const timeAt = (seconds: number): string => formatTimeNs(t0 + BigInt(seconds) * secondNs)
const trace = (name: string): string => hex(32, 'moved', name)
const json = { 'content-type': 'application/json' }
/** More than is copied at once. */
const lines = 1_200
const freeSpans = 50_000
const dayMs = 86_400_000
const longAgo = workspaceIdOf('long-ago')

type Running = Pick<Server, 'baseUrl' | 'dataFolder'> & Readonly<{ program: ServerProcess }>
type Tenants = Readonly<{ first: FirstRun; acme: Tenant; free: Tenant; gone: Tenant }>

async function start(dataFolder: string, argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<Running> {
  const started = startProcess([...argv, '--port', '0', '--host', '127.0.0.1'], environment)
  const line = await started.printed(/^Throughline listening on http\S+/, 0)
  return { baseUrl: /listening on (http\S+)/.exec(line)?.[1] ?? '', dataFolder, program: started }
}

/** So many spans; after `distinct` of them the same come again, which costs the allowance and no index. */
const spansOf = (name: string, count: number, distinct = count) =>
  Array.from({ length: count }, (_, index) => ({
    traceId: hex(32, name, Math.floor((index % distinct) / 50)),
    spanId: hex(16, name, index % distinct),
    startNs: t0 + BigInt(index % distinct) * msNs,
  }))

const keyedLog = JSON.stringify([{ message: 'sent under a key', timestamp: timeAt(7) }, { message: 'and another' }])
const sendKeyed = (server: Running, { keys }: FirstRun): Promise<Response> =>
  post(server, '/api/logs/v1/ingest', keys.logs, keyedLog, { ...json, 'idempotency-key': 'batch 7' })
const sendFree = (server: Running, { keys }: Tenant, name: string, count: number): Promise<Response> =>
  post(server, '/api/traces/v1/otlp', keys.tracing, otlpJson(spansOf(name, count, 20)), json)

/** Telemetry of all kinds in three workspaces, one of which has spent its month. */
async function sendAll(server: Running, { first, acme, free }: Tenants): Promise<void> {
  const send = sendingTo(server, first.keys)
  await send.spans([
    { traceId: trace('order'), spanId: hex(16, 'root'), name: 'POST /orders', service: 'web', startNs: t0 },
    { traceId: trace('order'), spanId: hex(16, 'db'), parentSpanId: hex(16, 'root'), service: 'db', status: 'error' },
    { traceId: trace('order'), spanId: 'no span id', name: 'broken', service: 'db', startNs: t0 },
  ])
  await send.logs([
    { message: 'order stored 支付失败', timestamp: timeAt(1), trace_id: trace('order'), level: 'error' },
    { message: 'second of a batch', timestamp: timeAt(2), session_id: 's-1' },
  ])
  await sendKeyed(server, first)
  await send.rum({
    meta: { app: { name: 'shop' }, session: { id: 's-1' } },
    events: [{ name: 'checkout', timestamp: timeAt(3), trace: { trace_id: trace('order'), span_id: hex(16, 'root') } }],
  })
  const other = sendingTo(server, acme.keys)
  await other.spans(spansOf('acme', 700))
  const each = Array.from({ length: lines }, (_, index) =>
    other.logs([
      { message: `line ${index}`, timestamp: timeAt(index % 600), level: index % 9 === 0 ? 'warn' : 'info' },
    ]),
  )
  await Promise.all(each)
  for (let batch = 0; batch < 5; batch++) await sendFree(server, free, `free ${batch}`, freeSpans / 5)
  const refused = (await (await sendFree(server, free, 'beyond', 10)).json()) as JsonObject
  expect(refused).to.have.nested.property('partialSuccess.rejectedSpans', '10')
}

/** Some of the log is gone before it is moved: its beginning, and a workspace. */
async function loseSome(server: Running, { gone }: Tenants): Promise<void> {
  await sendingTo(server, gone.keys).logs([{ message: 'not to be moved' }])
  await sendingTo(server, gone.keys).spans(spansOf('gone', 60))
  const erased = await cli(server, 'workspace', 'erase', 'gone', '--confirm', 'gone')
  expect(erased).to.have.property('pending').that.deep.equals([])
  const isCut = async (): Promise<boolean> =>
    Date.parse(String(at(listOf(await cli(server, 'status'), 'logs')[0] ?? {}, 'first', 'received_at'))) >
    Date.now() - 30 * dayMs
  while (!(await isCut())) await nextTurn()
}

const range = `from=${timeAt(-60)}&to=${timeAt(3_600)}`
const asked = [
  `/api/app/traces/search?${range}&limit=50&include=facets`,
  `/api/app/traces/search?${range}&status=error`,
  `/api/app/traces/search?${range}&q=orders`,
  `/api/app/logs/search?${range}&limit=200&include=histogram`,
  `/api/app/logs/search?${range}&q=${encodeURIComponent('支付')}`,
  `/api/app/logs/search?${range}&q=level:warn&limit=100`,
  `/api/app/logs/search?${range}&q=${encodeURIComponent('"sent under a key"')}`,
  `/api/app/correlation?trace_id=${trace('order')}`,
  '/api/app/correlation?session_id=s-1',
]

const withoutPlaces = (key: string, value: unknown): unknown =>
  ['index', 'next_cursor', 'prev_cursor'].includes(key) ? undefined : value

/** Answers without what is a log's own: how far the index is, and places in it. */
async function answersOf(reader: Reader, paths: readonly string[]): Promise<readonly JsonObject[]> {
  const answers: JsonObject[] = []
  for (const path of paths) {
    const { status, body } = await reader.get(path)
    expect(status, path).to.equal(200)
    answers.push(JSON.parse(stringifyJson(body), withoutPlaces) as JsonObject)
  }
  return answers
}

const run = (environment: NodeJS.ProcessEnv, ...argv: readonly string[]): Promise<Ran> =>
  runVerb(['src/main.ts', ...argv], { ...process.env, ...environment })

function startMove(environment: NodeJS.ProcessEnv, ...argv: readonly string[]): ChildProcess {
  const env = { ...process.env, ...environment }
  return spawn(process.execPath, ['src/main.ts', 'move-log', ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

const move = (environment: NodeJS.ProcessEnv, ...argv: readonly string[]): Promise<Ran> =>
  run(environment, 'move-log', ...argv)

const lastLine = ({ out }: Ran): JsonObject => JSON.parse(out.trim().split('\n').at(-1) ?? '') as JsonObject

describe('throughline move-log', function () {
  this.timeout(600_000)
  let dataFolder: string
  let tenants: Tenants
  let cluster: Cluster
  let nats: Nats
  /** What the command is given; NATS alone, because there need not be more of a cluster yet. */
  let environment: Record<string, string>
  let cookie: string
  let revoked: string
  let answers: readonly JsonObject[]
  let listing: readonly JsonObject[]
  let exported: string
  /** Where somebody stands who follows the logs of acme. */
  let followed: JsonObject

  const readers = async (server: Running) => ({
    session: await signIn(server.baseUrl, tenants.acme.sign_in),
    api: withKey(server.baseUrl, tenants.first.keys.api),
  })
  const listings = [`/api/v1/traces?${range}&limit=100`, `/api/v1/traces?${range}&service=web`]
  const following = `/api/app/logs/search?q=${encodeURIComponent('"of the cluster"')}`
  const exportPath = `/app/logs/export?${range}&format=ndjson`

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await engines()
    dataFolder = await newDataFolder()
    // One day goes at once, and where nothing was received for more than a week the clock is not trusted at once.
    await makeOldLog(dataFolder, [
      [longAgo, 45],
      [workspaceIdOf('lately'), 5],
    ])
    const server = await start(dataFolder, ['src/main.ts'], { THROUGHLINE_DATA: dataFolder })
    const first = JSON.parse(await readFile(join(dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    tenants = {
      first,
      acme: await createTenant(server, 'acme', 'pro'),
      free: await createTenant(server, 'free', 'free'),
      gone: await createTenant(server, 'gone', 'pro'),
    }
    const extra = await cli(server, 'key', 'create', '--workspace', tenants.acme.workspace, '--kind', 'logs')
    revoked = String(extra['secret'])
    await cli(server, 'key', 'revoke', String(extra['id']))
    await sendAll(server, tenants)
    await loseSome(server, tenants)
    await untilIndexed(server)
    cookie = await cookieOf(server.baseUrl, first.sign_in)
    const { session, api } = await readers(server)
    answers = [
      ...(await answersOf(withCookie(server.baseUrl, cookie), asked)),
      ...(await answersOf(session, asked.slice(0, 7))),
    ]
    listing = await answersOf(api, listings)
    exported = await (await session.raw(exportPath)).text()
    expect(exported.trim().split('\n')).to.have.length(lines)
    followed = (await session.get(following)).body
    const running = await move(
      { ...process.env, NATS_SYNC_ALWAYS: '1' },
      '--from',
      dataFolder,
      '--to',
      (await engines()).natsUrl,
    )
    expect([running.code, running.err.includes('another server is using it')]).to.deep.equal([2, true])
    await server.program.stop()
    // As many as the command makes where nothing is said of it.
    cluster = await bringCluster(dataFolder, { partitions: 4 })
    const { NATS_SYNC_ALWAYS = '', INDEX_PREFIX = '' } = cluster.environment
    environment = { NATS_SYNC_ALWAYS, INDEX_PREFIX }
    nats = await connectNats({ url: cluster.config.natsUrl })
  })
  after(async () => {
    await nats.close()
    await removeFolder(dataFolder)
  })

  const to = (...more: readonly string[]): readonly string[] => [
    '--from',
    dataFolder,
    '--to',
    cluster.config.natsUrl,
    '--json',
    ...more,
  ]
  async function messages(): Promise<number> {
    const names = [...Array(cluster.config.partitions).keys()].map((partition) => `TELEMETRY_${partition}`)
    let sum = 0
    for (const name of [...names, 'DIRECTORY']) {
      const info = await askApi(nats, `STREAM.INFO.${cluster.config.indexPrefix}-${name}`)
      if ('answer' in info) sum += (info.answer['state'] as { messages: number }).messages
    }
    return sum
  }

  it('compares nothing with what is not there, and makes nothing there', async () => {
    const notSet = { SESSION_KEYS: '', KEY_PEPPER: '' }
    const { code, err } = await move({ ...environment, ...notSet }, ...to('--verify-only'))
    expect([code, err.includes('it is not there')]).to.deep.equal([2, true])
    expect(await messages()).to.equal(0)
    const info = await askApi(nats, `STREAM.INFO.${cluster.config.indexPrefix}-DIRECTORY`)
    expect(info).to.have.property('error')
  })

  it('refuses another pepper, a folder that holds no log, and settings that are not enough', async () => {
    const pepper = await move({ ...environment, KEY_PEPPER: hex(40, 'another') }, ...to())
    expect([pepper.code, pepper.err.includes('KEY_PEPPER')]).to.deep.equal([2, true])
    const empty = await newDataFolder()
    const nothing = await move(environment, '--from', empty, '--to', cluster.config.natsUrl)
    expect([nothing.code, nothing.err.includes('no log in it')]).to.deep.equal([2, true])
    await removeFolder(empty)
    const nowhere = await move(environment, '--from', dataFolder)
    expect([nowhere.code, nowhere.err.includes('NATS_URL')]).to.deep.equal([2, true])
    const lazy = await move({ ...environment, NATS_SYNC_ALWAYS: '0' }, ...to())
    expect([lazy.code, lazy.err.includes('ALLOW_LAZY_LOG')]).to.deep.equal([2, true])
    expect(await messages()).to.equal(0)
  })

  it('has the room that a data folder keeps where its disk is full, as a start has', async () => {
    const reserve = join(dataFolder, 'reserve')
    expect(statSync(reserve).size).to.be.above(0)
    const full = `data:text/javascript,import fs from 'node:fs';import{syncBuiltinESMExports as sync}from'node:module';const ask=fs.statfsSync;fs.statfsSync=(folder)=>({...ask(folder),bavail:0});sync()`
    const argv = ['--import', full, 'src/main.ts', 'move-log', ...to(), '--verify-only']
    const { err } = await runVerb(argv, { ...process.env, ...environment })
    expect(err).to.include(`the disk of ${dataFolder} is full: ${reserve} is given up`)
    expect(statSync(reserve).size).to.equal(0)
  })

  it('is killed again and again, and comes to the whole of it, once', async () => {
    const endings: unknown[] = []
    for (let seen = 0, round = 0; round < 4; round++) {
      const child = startMove(environment, ...to())
      const ended = once(child, 'close')
      while (child.exitCode === null && (await messages()) <= seen) await nextTurn()
      child.kill('SIGKILL')
      endings.push((await ended)[1])
      seen = await messages()
    }
    expect(endings).to.include('SIGKILL')
    const done = await move(environment, ...to())
    expect(done.code, done.err).to.equal(0)
    const { equal, workspaces } = lastLine(done) as unknown as {
      equal: boolean
      workspaces: readonly {
        workspace: string
        log: string
        source: { events: number }
        copy: unknown
        later: number
      }[]
    }
    expect(equal).to.equal(true)
    for (const { source, copy, later } of workspaces) expect([copy, later]).to.deep.equal([source, 0])
    const acme = workspaces.find(({ workspace, log }) => workspace === tenants.acme.workspace && log === 'telemetry')
    expect(acme?.source.events).to.be.at.least(lines + 1)
    const ofLog = workspaces.filter(({ log }) => log === 'telemetry').map(({ workspace }) => workspace)
    expect(ofLog, 'what was cut is nowhere').not.to.include(longAgo)
    const gone = workspaces.find(({ workspace, log }) => workspace === tenants.gone.workspace && log === 'telemetry')
    expect(gone?.source.events, 'of one that was erased only that it was').to.equal(1)
    const again = await move(environment, ...to())
    expect([again.code, lastLine(again)['copied']]).to.deep.equal([0, 0])
    expect((await move(environment, ...to('--verify-only'))).code).to.equal(0)
  })

  it('keeps what the cluster is to be started with where only the owner may read it', () => {
    const file = join(dataFolder, 'cluster.env')
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    const secrets = JSON.parse(readFileSync(join(dataFolder, 'secrets.json'), 'utf8')) as {
      pepper: string
      sessionKeys: string[]
    }
    expect({ ...parseEnv(readFileSync(file, 'utf8')) }).to.deep.equal({
      KEY_PEPPER: secrets.pepper,
      SESSION_KEYS: secrets.sessionKeys.join(','),
    })
  })

  describe('then a cluster', () => {
    let server: Running

    before(async () => {
      const given = { ...cluster.environment, ...parseEnv(readFileSync(join(dataFolder, 'cluster.env'), 'utf8')) }
      const counts = ['--ingest', '2', '--project', '2', '--query', '2', '--data', dataFolder]
      server = await start(dataFolder, ['infra/cluster/cluster.ts', ...counts], given)
      await untilIndexed(server)
    })
    after(() => server.program.stop())

    it('answers the same searches, to the same sessions, people and keys', async () => {
      const { session, api } = await readers(server)
      expect(await answersOf(api, listings)).to.deep.equal(listing)
      const now = [
        ...(await answersOf(withCookie(server.baseUrl, cookie), asked)),
        ...(await answersOf(session, asked.slice(0, 7))),
      ]
      for (const [index, answer] of now.entries()) expect(answer).to.deep.equal(answers[index])
      expect(await (await session.raw(exportPath)).text()).to.equal(exported)
    })

    it('holds in its indexes what the moved log says, and nothing of the workspace that was erased', async () => {
      const { status } = await post(server, '/api/logs/v1/ingest', tenants.gone.keys.logs, keyedLog, json)
      expect(status).to.equal(401)
      const environmentOf = {
        ...cluster.environment,
        ...parseEnv(readFileSync(join(dataFolder, 'cluster.env'), 'utf8')),
      }
      const verified = await run(environmentOf, 'verify', 'all', '--json')
      expect(verified.code, verified.err).to.equal(0)
      const verdicts = listOf(lastLine(verified), 'verdicts')
      const entries = verdicts.flatMap((verdict) => listOf(verdict, 'workspaces')).map(({ workspace }) => workspace)
      expect(entries).to.include(tenants.acme.workspace)
      expect(entries).not.to.include(tenants.gone.workspace)
    })

    it('knows what was sent within the hour, and takes more with the same keys but not with a revoked one', async () => {
      const again = await sendKeyed(server, tenants.first)
      expect(again.status).to.equal(200)
      const { status } = await post(server, '/api/logs/v1/ingest', revoked, keyedLog, json)
      expect(status).to.equal(401)
      const { session } = await readers(server)
      const follow = async (): Promise<void> => {
        followed = (await session.get(`${following}&cursor=${String(followed['prev_cursor'])}`)).body
      }
      await follow()
      expect(followed['logs']).to.deep.equal([])
      await sendingTo(server, tenants.acme.keys).logs([{ message: 'of the cluster', timestamp: timeAt(700) }])
      await untilIndexed(server)
      await follow()
      expect(followed['logs'], 'by a cursor of the log that was moved').to.have.length(1)
      const [found] = await answersOf(session, [
        `/api/app/logs/search?${range}&q=${encodeURIComponent('"of the cluster"')}`,
      ])
      expect(found?.['logs']).to.have.length(1)
      const own = await signIn(server.baseUrl, tenants.first.sign_in)
      expect(await answersOf(own, asked.slice(6, 7))).to.deep.equal(answers.slice(6, 7))
    })

    it('goes on with the month’s allowance where it stood', async () => {
      const more = (await (await sendFree(server, tenants.free, 'of the cluster', 5)).json()) as JsonObject
      expect(more).to.have.nested.property('partialSuccess.rejectedSpans', '5')
      const taken = (await (await sendFree(server, tenants.acme, 'of the cluster', 5)).json()) as JsonObject
      expect(taken).to.deep.equal({})
    })

    it('is still known to hold all that was moved; what it has taken since is no part of that', async () => {
      const compared = await move(environment, ...to('--verify-only'))
      expect(compared.code, compared.err).to.equal(0)
      const { workspaces } = lastLine(compared) as unknown as { workspaces: readonly { later: number }[] }
      expect(workspaces.reduce((sum, { later }) => sum + later, 0)).to.be.above(0)
      const more = await move(environment, ...to())
      expect([more.code, more.err.includes('a cluster has written to it')]).to.deep.equal([2, true])
    })
  })
})
