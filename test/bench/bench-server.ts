import { once } from 'node:events'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, parseJson, type JsonObject } from '#src/lib/json.ts'
import { cli } from '#test/support/cli.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '#test/support/server.ts'
import { bodyCount, type Bodies } from './bodies.ts'
import type { DriverAnswer } from './driver-task.ts'
import type { Driver } from './drive.ts'
import { allOf, forgetPeak, peakBytes, readUsage, usedBetween, type Cpu } from './process-usage.ts'

/** The work itself went wrong: another answer than asked for, or a count that is not what was sent. */
export class BenchFailure extends Error {
  override readonly name = 'BenchFailure'
}

export type Cost = Readonly<{ cpu: Cpu; seconds: number; peakBytes: number }>
export type Load = Readonly<{ bodies: Bodies; connections: number; from?: number; to?: number; perSecond?: number }>
export type Sizes = Readonly<{ log: number; index: number }>

/** The server under test, as anybody starts it, in a data folder that goes with it. */
export type BenchServer = Readonly<{
  server: Server
  cookie: string
  /** Posts bodies and checks every answer. */
  post(driver: Driver, kind: 'traces' | 'logs', load: Load): Promise<DriverAnswer>
  get(path: string): Promise<JsonObject>
  /** How far the slower of the traces' and the logs' indexes is. */
  position(): Promise<number>
  /** Resolves when all indexes have followed the log to this position; each look costs the server a little. */
  indexed(position: number): Promise<void>
  measure<T>(work: () => Promise<T>): Promise<Readonly<{ result: T; cost: Cost }>>
  countLogs(sinceMs: number): Promise<number>
  countSpans(sinceMs: number): Promise<number>
  /** Stops it; what it has left on the disk. */
  stop(): Promise<Sizes>
  remove(): Promise<void>
}>

/** More than one, because each key may only send so many requests a second. */
const logKeys = 4
const lookEveryMs = 50
const absentTrace = 'ffffffffffffffffffffffffffffffff'

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries.reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0),
    0,
  )
}

/** For the inspector (pause-thread.ts): not 0, because node:cluster gives its workers the ports that follow. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

async function signIn({ baseUrl, firstRun }: Server): Promise<string> {
  const body = new URLSearchParams(firstRun.sign_in)
  const response = await fetch(`${baseUrl}/app/sign-in`, { method: 'POST', body, redirect: 'manual' })
  if (response.status !== 303) throw new BenchFailure(`sign-in answered ${response.status}`)
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}

async function makeLogKeys(server: Server): Promise<readonly string[]> {
  const keys = [server.firstRun.keys.logs]
  while (keys.length < logKeys) {
    const made = await cli(server, 'key', 'create', '--workspace', 'default', '--kind', 'logs')
    keys.push(String(made['secret']))
  }
  return keys
}

/** Every request must have been taken whole. */
export function checkAnswers({ answers }: DriverAnswer, kind: 'traces' | 'logs', perBody: number): void {
  for (const [answer, count] of answers) {
    const [status = '', body = ''] = answer.split(/ (.*)/s)
    const accepted = /^\{"accepted":(\d+),"rejected":0\b/.exec(body)?.[1]
    const isWhole = kind === 'traces' ? body === '' : Number(accepted) > 0 && Number(accepted) <= perBody
    if (status !== '200' || !isWhole) throw new BenchFailure(`${count} requests were answered ${answer}`)
  }
}

/** One page after the other: the spans of all traces that begin after `sinceMs`, as the index counts them. */
async function walkSpans(get: BenchServer['get'], sinceMs: number): Promise<number> {
  let [spans, cursor] = [0, '']
  for (;;) {
    const page = await get(`/api/app/traces/search?limit=200&from=${sinceMs}${cursor}`)
    for (const trace of page['traces'] as readonly JsonObject[]) spans += Number(trace['span_count'])
    if (page['next_cursor'] === null) return spans
    const next = `&cursor=${encodeURIComponent(String(page['next_cursor']))}`
    if (next === cursor) throw new BenchFailure('the walk through all traces does not come further')
    cursor = next
  }
}

function createGet({ baseUrl }: Server, cookie: string): BenchServer['get'] {
  return async (path) => {
    const response = await fetch(baseUrl + path, { headers: { cookie } })
    const text = await response.text()
    if (response.status !== 200) throw new BenchFailure(`GET ${path} answered ${response.status}: ${text}`)
    const body = parseJson(text)
    if (!isJsonObject(body)) throw new BenchFailure(`GET ${path} answered no object`)
    return body
  }
}

/** Each names how far its index is; the last looks at the slowest of all, and says 404 when all have caught up. */
const searches = [
  `/api/app/traces/search?limit=1&trace_id=${absentTrace}`,
  `/api/app/logs/search?limit=1&trace_id=${absentTrace}`,
  `/api/app/correlation?trace_id=${absentTrace}`,
]

async function waitFor({ baseUrl }: Server, cookie: string, position: number): Promise<void> {
  for (const search of searches) {
    for (;;) {
      const response = await fetch(baseUrl + search, { headers: { cookie } })
      const text = await response.text()
      if (response.status === 404) break
      const body = parseJson(text)
      if (response.status !== 200 || !isJsonObject(body) || !isJsonObject(body['index'])) {
        throw new BenchFailure(`GET ${search} answered ${response.status}: ${text}`)
      }
      if (Number(body['index']['position']) >= position) break
      await sleep(lookEveryMs)
    }
  }
}

/** Starts the real server on a folder of its own, with a plan that has no allowance to run into. */
export async function startBenchServer(): Promise<BenchServer> {
  const dataFolder = await newDataFolder()
  // An interrupted run leaves nothing behind, nor does one whose server does not start.
  let kill = (): void => {}
  process.once('exit', () => {
    kill()
    rmSync(dataFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  const server = await startServer({
    dataFolder,
    environment: { NODE_OPTIONS: `--inspect-port=127.0.0.1:${await freePort()}` },
  })
  kill = () => void server.process.kill('SIGKILL')
  const pid = server.process.pid ?? 0
  await cli(server, 'workspace', 'plan', 'default', 'unlimited')
  const keys = { traces: [server.firstRun.keys.tracing], logs: await makeLogKeys(server) }
  const cookie = await signIn(server)
  const get = createGet(server, cookie)
  const paths = { traces: '/api/traces/v1/otlp', logs: '/api/logs/v1/ingest' }
  return {
    server,
    cookie,
    get,
    async post(driver, kind, { bodies, connections, from = 0, to = bodyCount(bodies), perSecond }) {
      const { file, offsets, headers, perBody } = bodies
      const answer = await driver.run({
        kind: 'load',
        url: server.baseUrl + paths[kind],
        keys: keys[kind].map((key) => `Bearer ${key}`),
        ...{ headers, file, offsets, from, to, connections },
        ...(perSecond === undefined ? {} : { perSecond }),
      })
      checkAnswers(answer, kind, perBody)
      return answer
    },
    async position() {
      const bodies = await Promise.all(searches.slice(0, 2).map(get))
      return Math.min(...bodies.map(({ index }) => (isJsonObject(index) ? Number(index['position']) : 0)))
    },
    indexed: (position) => waitFor(server, cookie, position),
    async measure(work) {
      forgetPeak(pid)
      const [start, before] = [performance.now(), readUsage(pid)]
      const result = await work()
      const cpu = usedBetween(before, readUsage(pid))
      return { result, cost: { cpu, seconds: (performance.now() - start) / 1_000, peakBytes: peakBytes(pid) } }
    },
    async countLogs(sinceMs) {
      return Number((await get(`/api/app/logs/search?limit=1&include=count&from=${sinceMs}`))['count'])
    },
    countSpans: (sinceMs) => walkSpans(get, sinceMs),
    async stop() {
      await server.stop()
      return { log: bytesIn(join(server.dataFolder, 'log')), index: bytesIn(join(server.dataFolder, 'index')) }
    },
    async remove() {
      await server.kill()
      await removeFolder(server.dataFolder)
    },
  }
}

/** Runs `work` with a server of its own, which is gone afterwards whatever happens. */
export async function withServer<T>(work: (server: BenchServer) => Promise<T>): Promise<T> {
  const server = await startBenchServer()
  try {
    return await work(server)
  } catch (error) {
    // What the server said of it; its first lines are the keys.
    console.error(
      server.server.output
        .filter((line) => /failed|Error|ended|stopped|again/.test(line))
        .slice(-10)
        .join('\n'),
    )
    throw error
  } finally {
    await server.remove()
  }
}

export function expectCount(what: string, found: number, sent: number): void {
  if (found !== sent) throw new BenchFailure(`${sent} ${what} were sent, and the index counts ${found}`)
}

export const totalCpu = ({ cpu }: Cost): number => allOf(cpu)
