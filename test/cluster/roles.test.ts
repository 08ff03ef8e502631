import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { cookieOf, figuresOf, listOf, post, postOnce, signIn, untilIndexed, withCookie } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { runProgram } from '../support/run-program.ts'
import type { FirstRun } from '../support/server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

const logsPath = '/api/logs/v1/ingest'
const json = { 'content-type': 'application/json' }

describe('the roles of a cluster', function () {
  this.timeout(600_000)
  let test: TestCluster
  let ingest: readonly [RoleProcess, RoleProcess]
  let query: readonly [RoleProcess, RoleProcess]
  let project: RoleProcess
  let firstRun: FirstRun

  const sendLog = (server: RoleProcess, message: string): Promise<Response> =>
    post(server, logsPath, firstRun.keys.logs, JSON.stringify({ message }), json)
  const status = async (url: string): Promise<number> => (await fetch(url)).status

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster({ partitions: 4 })
    // All at once, on engines that hold nothing: one of them makes the logs.
    const roles = ['ingest', 'ingest', 'query', 'query', 'project']
    const [i0, i1, q0, q1, p] = (await Promise.all(roles.map((role) => test.start(role)))) as RoleProcess[]
    ingest = [i0 as RoleProcess, i1 as RoleProcess]
    query = [q0 as RoleProcess, q1 as RoleProcess]
    project = p as RoleProcess
    // Two first runs at once: one makes everything, and either may be the one to say so.
    const argv = ['src/main.ts', 'first-run', '--base-url', 'http://x', '--json', '--data', test.dataFolder]
    const run = () => runProgram(process.execPath, argv, { environment: test.cluster.environment })
    const outcomes = (await Promise.all([run(), run()])).flat().map((line) => JSON.parse(line) as { made: boolean })
    expect(outcomes.some(({ made }) => made)).to.equal(true)
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  })
  after(() => test.remove())

  it('make one installation, whoever begins', async () => {
    const { workspaces } = await cli(test, 'workspace', 'list')
    expect(workspaces).to.have.length(1)
  })

  it('answer what is theirs, and know nothing of the rest', async () => {
    expect((await sendLog(ingest[0], 'theirs')).status).to.equal(200)
    expect(await status(`${ingest[0].baseUrl}/app/sign-in`)).to.equal(404)
    expect(await status(`${ingest[0].baseUrl}/api/v1/traces`)).to.equal(404)
    expect(await status(`${query[0].baseUrl}/app/sign-in`)).to.equal(200)
    expect((await sendLog(query[0], 'not theirs')).status).to.equal(404)
    expect(project.baseUrl).to.equal('')
  })

  it('find in one process what another has taken in, and say how far they are, partition by partition', async () => {
    const answer = await sendLog(ingest[1], 'found everywhere')
    expect(answer.headers.get('throughline-position')).to.match(/^[0-3]\/\d+$/)
    await untilIndexed({ dataFolder: test.dataFolder, output: project.lines })
    for (const { baseUrl } of query) {
      const reader = await signIn(baseUrl, firstRun.sign_in)
      const { body } = await reader.get('/api/app/logs/search?q=everywhere')
      expect(listOf(body, 'logs').map(({ message }) => message)).to.deep.equal(['found everywhere'])
    }
    const { logs, indexes } = await cli(test, 'status')
    expect(logs).to.have.length(4)
    const ofLogs = listOf({ indexes } as JsonObject, 'indexes').filter(({ projection }) => projection === 'logs')
    expect(ofLogs.map(({ partition }) => partition)).to.deep.equal(['0', '1', '2', '3'])
  })

  it('know a session everywhere at once, and that it has ended', async () => {
    // Again and again: a process that is behind waits until it has followed the directory to where the cookie was made.
    for (let round = 0; round < 10; round++) {
      const [here, there] = [query[round % 2], query[(round + 1) % 2]] as [RoleProcess, RoleProcess]
      const cookie = await cookieOf(here.baseUrl, firstRun.sign_in)
      const ask = async (server: RoleProcess): Promise<number> =>
        (await withCookie(server.baseUrl, cookie).raw('/api/app/logs/search')).status
      expect([await ask(there), await ask(here)]).to.deep.equal([200, 200])
      const signedOut = await withCookie(there.baseUrl, cookie).raw('/app/sign-out', {
        method: 'POST',
        headers: { origin: there.baseUrl },
        body: new URLSearchParams(),
        redirect: 'manual',
      })
      expect(signedOut.status).to.equal(303)
      while ((await ask(here)) !== 401) await setTimeout(5)
    }
  })

  it('take a new key and refuse a revoked one in every process', async () => {
    const created = (await cli(test, 'key', 'create', '--workspace', 'default', '--kind', 'logs')) as Record<
      string,
      string
    >
    const { id = '', secret = '' } = created
    const send = async (server: RoleProcess): Promise<number> =>
      (await post(server, logsPath, secret, '{"message":"x"}', json)).status
    // At once: a sender that is refused drops its data for good.
    expect(await Promise.all(ingest.map(send))).to.deep.equal([200, 200])
    await cli(test, 'key', 'revoke', id)
    for (const server of ingest) while ((await send(server)) !== 401) await setTimeout(5)
  })

  it('spend one allowance', async () => {
    const { id } = (await cli(test, 'workspace', 'create', 'shared', '--plan', 'free')) as { id: string }
    const { secret } = (await cli(test, 'key', 'create', '--workspace', id, '--kind', 'tracing')) as { secret: string }
    // The same ones again and again cost the allowance, and no index.
    const spans = (request: number) =>
      otlpJson(Array.from({ length: 9_000 }, (_, n) => ({ traceId: hex(32, request), spanId: hex(16, n % 20) })))
    let accepted = 0
    for (let request = 0; request < 7; request++) {
      const answer = await post(ingest[request % 2] as RoleProcess, '/api/traces/v1/otlp', secret, spans(request), json)
      // What the other process holds comes free within seconds: until then a sender is told to come back.
      expect(answer.status).to.equal(200)
      const { partialSuccess } = (await answer.json()) as { partialSuccess?: { rejectedSpans?: string } }
      accepted += 9_000 - Number(partialSuccess?.rejectedSpans ?? 0)
    }
    expect(accepted).to.equal(50_000)
  })

  it('tell whether they are ready, and their figures', async () => {
    for (const server of [...ingest, ...query, project]) {
      expect(await status(`${server.operationsUrl}/health/live`)).to.equal(200)
      expect(await status(`${server.operationsUrl}/health/ready`)).to.equal(200)
    }
    const figures = await figuresOf(ingest[0].operationsUrl)
    expect(figures).to.match(
      /^throughline_http_requests_total\{method="POST",route="\/api\/logs\/v1\/ingest",status="200"\} \d+$/m,
    )
    const took = /^throughline_http_request_seconds_count\{method="POST",route="\/api\/logs\/v1\/ingest"\} (\d+)$/m
    expect(Number(took.exec(figures)?.[1])).to.be.at.least(1)
    expect(figures).to.match(/^process_cpu_seconds_total [\d.]+$/m)
    expect(figures).to.match(/^throughline_records_accepted_total\{kind="log"\} \d+$/m)
    const lags = await figuresOf(project.operationsUrl)
    expect(lags).to.match(/^throughline_index_lag_seconds\{projection="logs",partition="3"\} [\d.]+$/m)
  })

  /** Asks again and again until it is told to end; the statuses that were answered. */
  function askOn(ask: () => Promise<number>): Readonly<{ end: () => Promise<readonly number[]> }> {
    const over = new AbortController()
    const run = async (): Promise<readonly number[]> => {
      const answers: number[] = []
      for (; !over.signal.aborted; await setTimeout(10)) answers.push(await ask())
      return answers
    }
    const running = run()
    return {
      end: () => {
        over.abort()
        return running
      },
    }
  }

  it('replace their workers without refusing anybody', async () => {
    const meanwhile = '{"message":"meanwhile"}'
    const sending = askOn(async () => (await postOnce(ingest[0], logsPath, firstRun.keys.logs, meanwhile, json)).status)
    const reading = askOn(() => status(`${query[0].baseUrl}/app/sign-in`))
    for (const server of [ingest[0], query[0], project]) {
      const replaced = server.printed(/^worker \d+ has taken over/)
      server.child.kill('SIGHUP')
      await replaced
    }
    expect(new Set(await sending.end())).to.deep.equal(new Set([200]))
    expect(new Set(await reading.end())).to.deep.equal(new Set([200]))
    await untilIndexed({ dataFolder: test.dataFolder, output: project.lines })
  })
})
