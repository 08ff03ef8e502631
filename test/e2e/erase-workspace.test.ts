import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { openPayload } from '#src/events/codec.ts'
import { isErasure } from '#src/events/erasure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { readAll } from '#test/support/read-all.ts'
import { cli } from '../support/cli.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { answerOf, listOf, post, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { clusterAt } from '../support/clusters.ts'
import { askElasticsearch } from '../support/elasticsearch.ts'
import { openInstallation } from '../support/installation.ts'
import { runVerbAgain } from '../support/run-program.ts'
import { isCluster, newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'

const secret = 'zebra7secret'
const json = { 'content-type': 'application/json' }

type Keys = Tenant['keys']

/** Where an answer goes on tells how far the index is. */
const withoutCursors = (body: JsonObject): JsonObject =>
  JSON.parse(
    JSON.stringify(body, (name, value: unknown) => (name.endsWith('cursor') ? undefined : value)),
  ) as JsonObject

/** Spans, logs and browser events of a workspace, with a word in everything that can hold one. */
async function sendAs(server: Server, keys: Keys, word: string): Promise<void> {
  const traceId = hex(32, word)
  const rum = {
    meta: { app: { name: word }, session: { id: `session-${word}` } },
    events: [{ name: word, timestamp: new Date().toISOString(), attributes: { word } }],
  }
  for (let n = 0; n < 5; n++) {
    const span = { traceId, spanId: hex(16, word, n), name: `GET ${word}`, service: word, attributes: { word } }
    const logs = Array.from({ length: 20 }, (_, each) => ({ message: `${word} ${n} ${each}`, trace_id: traceId, word }))
    const answers = [
      await post(server, '/api/traces/v1/otlp', keys.tracing, otlpJson([span]), json),
      await post(server, '/api/logs/v1/ingest', keys.logs, JSON.stringify(logs), json),
      await post(server, '/api/rum/v1/ingest', keys.publishable, JSON.stringify(rum), {
        ...json,
        'idempotency-key': `${word}-${n}`,
      }),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 202])
  }
}

/** Goes on sending small logs until it is told to stop; the statuses it met. A connection that fails is none. */
function keepSending(server: () => Server, key: string, word: string) {
  const over = new AbortController()
  const statuses: number[] = []
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const body = JSON.stringify({ message: `${word} load` })
      const answer = await post(server(), '/api/logs/v1/ingest', key, body, json).catch(() => undefined)
      if (answer !== undefined) statuses.push(answer.status)
      await setTimeout(20)
    }
  }
  const ended = run()
  return {
    statuses,
    async end(): Promise<void> {
      over.abort()
      await ended
    },
  }
}

const hitsOf = (page: Readonly<Record<string, unknown>>) => listOf(page['hits'] as JsonObject, 'hits')

describe('a workspace that is erased', function () {
  this.timeout(600_000)
  let dataFolder: string
  let server: Server
  let mine: Reader
  let victim: Tenant
  /** Made under its name when that was free: its id. */
  let successor = ''
  let sending: ReturnType<typeof keepSending>[]

  const argv = (...args: readonly string[]): string[] => ['src/main.ts', ...args, '--json', '--data', dataFolder]
  const environment = () => ({ ...process.env, ...clusterAt(dataFolder)?.environment })
  const run = async (...args: readonly string[]) => {
    const { code, out, err } = await runVerbAgain(argv(...args), environment())
    const last = out.trimEnd().split('\n').at(-1) ?? ''
    return { code, stderr: err, json: (last === '' ? {} : JSON.parse(last)) as JsonObject }
  }
  const listed = (found: Awaited<ReturnType<typeof run>>, name: string) => listOf(found.json, name)
  /** What the other workspace is answered, but for how far the index is. */
  const answers = async (): Promise<string> => {
    const paths = ['/api/app/logs/search?q=kept&limit=1000&order=asc', '/api/app/traces/search?service=kept']
    const trace = `/api/app/correlation?trace_id=${hex(32, 'kept')}`
    const found = await Promise.all([...paths, trace].map((path) => answerOf(mine, path)))
    return JSON.stringify(found.map(({ index: _index, range: _range, ...rest }) => withoutCursors(rest)))
  }

  before(async () => {
    dataFolder = await newDataFolder()
    server = await startServer({ dataFolder })
    victim = await createTenant(server, 'victim', 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    await sendAs(server, server.firstRun.keys, 'kept')
    await sendAs(server, victim.keys, secret)
    await untilIndexed(server)
    sending = [
      keepSending(() => server, server.firstRun.keys.logs, 'other'),
      keepSending(() => server, victim.keys.logs, secret),
    ]
  })
  after(async () => {
    await Promise.all(sending.map(({ end }) => end()))
    await server.stop()
    await removeFolder(dataFolder)
  })

  it('is only looked at without --confirm, and refused with another name', async () => {
    const seen = await run('workspace', 'erase', 'victim')
    expect(seen.code).to.equal(1)
    expect(seen.json).to.include({ workspace: victim.workspace, erased: false, spans: 5, rum_events: 5 })
    expect(seen.json['logs']).to.be.at.least(100)
    expect(seen.json['bytes']).to.be.above(1_000)
    expect(listed(seen, 'builds')).to.have.length.above(0)
    expect((await run('workspace', 'erase', 'victim', '--confirm', 'other')).code).to.equal(2)
    const member = await signIn(server.baseUrl, victim.sign_in)
    expect(listOf(await answerOf(member, `/api/app/logs/search?q=${secret}`), 'logs')).to.have.length.above(0)
  })

  it('is erased while both are written to, by whoever comes after a kill -9 of all that were at it', async () => {
    const before = await answers()
    const member = await signIn(server.baseUrl, victim.sign_in)
    const erasing = spawn(process.execPath, argv('workspace', 'erase', 'victim', '--confirm', 'victim'), {
      env: environment(),
      stdio: 'ignore',
    })
    const gone = once(erasing, 'close')
    // It is under way as soon as its keys are refused.
    while (sending[1]?.statuses.at(-1) !== 401) await setTimeout(1)
    erasing.kill('SIGKILL')
    await Promise.all([gone, server.kill()])
    server = await startServer({ dataFolder })
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    const erase = () => run('workspace', 'erase', 'victim', '--confirm', 'victim')
    let erased = await erase()
    // Until the server folds again, builds may be pending: then it is said again.
    while (erased.code === 0 && listed(erased, 'pending').length > 0) erased = await erase()
    expect(erased.code, erased.stderr).to.equal(0)
    expect(erased.json).to.deep.include({ workspace: victim.workspace, erased: true, pending: [] })
    expect(await answers()).to.equal(before)
    expect(new Set(sending[0]?.statuses)).to.deep.equal(new Set([200]))
    const again = await member.raw('/api/app/logs/search', {}).catch(() => undefined)
    expect(again?.status ?? 401).to.equal(401)
    const refused = [
      await post(server, '/api/logs/v1/ingest', victim.keys.logs, '{"message":"late"}', json),
      await withKey(server.baseUrl, victim.keys.api).raw('/api/v1/traces'),
    ]
    expect(refused.map(({ status }) => status)).to.deep.equal([401, 401])
    // What else they sent would only be more to look through.
    await Promise.all(sending.map(({ end }) => end()))
  })

  it('is in no log and no index any more, and the proof holds', async () => {
    await untilIndexed(server)
    const verified = await run('verify', 'all')
    expect(verified.code, JSON.stringify(verified.json)).to.equal(0)
    const { logs, close } = await openInstallation({ dataFolder })
    const events = (await Promise.all(logs.map((log) => readAll(log)))).flat()
    await close()
    const left = events.filter(({ workspaceId }) => workspaceId === victim.workspace)
    expect(left.filter((event) => !isErasure(event))).to.deep.equal([])
    expect(left).to.have.length.above(0)
    const texts = events.map((event) => Buffer.from(openPayload(event)).toString())
    expect(texts.filter((text) => text.includes(secret))).to.deep.equal([])
    const replayed = await run('replay', '--workspace', victim.workspace, '--type', 'logs.received')
    expect(replayed.json, replayed.stderr).to.include({ events: 0 })
    if (isCluster) return expectNoDocument()
    const files = readdirSync(dataFolder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const holding = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(secret))
    expect(holding.map(({ name }) => name)).to.deep.equal([])
  })

  /** Not one document of the installation has the word. */
  async function expectNoDocument(): Promise<void> {
    const { ELASTICSEARCH_URL = '', INDEX_PREFIX = '' } = clusterAt(dataFolder)?.environment ?? {}
    const ask = (path: string, body?: object) =>
      askElasticsearch(ELASTICSEARCH_URL, path, { method: 'POST', ...(body && { body: JSON.stringify(body) }) })
    await ask(`/${INDEX_PREFIX}-*/_refresh`)
    const texts: string[] = []
    // Page by page: the longer it takes, the more has been sent meanwhile.
    let page = await ask(`/${INDEX_PREFIX}-*/_search?scroll=5m&size=5000`, { sort: ['_doc'] })
    for (let hits = hitsOf(page); hits.length > 0; hits = hitsOf(page)) {
      texts.push(JSON.stringify(hits))
      page = await ask('/_search/scroll', { scroll: '5m', scroll_id: page['_scroll_id'] })
    }
    expect(texts.some((text) => text.includes('kept'))).to.equal(true)
    expect(texts.some((text) => text.includes(secret))).to.equal(false)
  }

  it('stays gone in what is folded anew, and leaves its name to another', async () => {
    const rebuilt = await run('rebuild', 'all')
    expect(rebuilt.code, rebuilt.stderr).to.equal(0)
    expect((await run('verify', 'all')).code).to.equal(0)
    const { id } = await cli(server, 'workspace', 'create', 'victim')
    expect(id).to.not.equal(victim.workspace)
    const unclear = await run('workspace', 'erase', 'victim')
    expect([
      unclear.code,
      unclear.stderr.includes(String(id)),
      unclear.stderr.includes(victim.workspace),
    ]).to.deep.equal([1, true, true])
    successor = String(id)
    const seen = await run('workspace', 'erase', successor)
    expect(seen.json).to.deep.include({ workspace: id, events: 0, set_aside: [] })
  })

  it('says what was set aside of damaged logs, which it does not reach', async () => {
    const folder = join(dataFolder, 'quarantine', '2026-11-22T13-00-00Z-log')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'log.db'), '')
    // A cluster's logs are not files: nothing is set aside there.
    for (const confirmed of [[], ['--confirm', successor]]) {
      const { json } = await run('workspace', 'erase', successor, ...confirmed)
      expect(json).to.deep.include({ erased: confirmed.length > 0, set_aside: isCluster ? [] : [folder] })
    }
  })
})
