import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, parseJson, type JsonObject } from '#src/lib/json.ts'
import type { FirstRun } from '#test/support/server.ts'
import { bodyCount, type Bodies } from './bodies.ts'
import type { DriverAnswer } from './driver-task.ts'
import type { Driver } from './drive.ts'

/** The work itself went wrong: another answer than asked for, or a count that is not what was sent. */
export class BenchFailure extends Error {
  override readonly name = 'BenchFailure'
}

export type Kind = 'traces' | 'logs'
type Load = Readonly<{ bodies: Bodies; connections: number; from?: number; to?: number; perSecond?: number }>

/** Sends to a server and reads from it over HTTP, as anybody does, and checks every answer. */
export type BenchClient = Readonly<{
  /** Where it reads, and as whom. */
  baseUrl: string
  cookie: string
  /** Posts bodies and checks every answer. */
  post(driver: Driver, kind: Kind, load: Load): Promise<DriverAnswer>
  get(path: string): Promise<JsonObject>
  /** How far the slower of the traces' and the logs' indexes is. */
  position(): Promise<number>
  /** Resolves when all indexes have followed the log to this position; each look costs the server a little. */
  indexed(position: number): Promise<void>
  countLogs(sinceMs: number): Promise<number>
  countSpans(sinceMs: number): Promise<number>
}>

const lookEveryMsDefault = 50
const absentTrace = 'ffffffffffffffffffffffffffffffff'

/** The cookie of a new session. */
export async function signIn(baseUrl: string, account: FirstRun['sign_in']): Promise<string> {
  const body = new URLSearchParams(account)
  const response = await fetch(`${baseUrl}/app/sign-in`, { method: 'POST', body, redirect: 'manual' })
  if (response.status !== 303) throw new BenchFailure(`sign-in answered ${response.status}`)
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}

/** Every request must have been taken whole. */
export function checkAnswers({ answers }: DriverAnswer, kind: Kind, perBody: number): void {
  for (const [answer, count] of answers) {
    const [status = '', body = ''] = answer.split(/ (.*)/s)
    const accepted = /^\{"accepted":(\d+),"rejected":0\b/.exec(body)?.[1]
    const isWhole = kind === 'traces' ? body === '' : Number(accepted) > 0 && Number(accepted) <= perBody
    if (status !== '200' || !isWhole) throw new BenchFailure(`${count} requests were answered ${answer}`)
  }
}

/** One page after the other: the spans of all traces that begin after `sinceMs`, as the index counts them. */
async function walkSpans(get: BenchClient['get'], sinceMs: number): Promise<number> {
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

function createGet(baseUrl: string, cookie: string): BenchClient['get'] {
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

async function waitFor(
  { baseUrl, cookie, lookEveryMs = lookEveryMsDefault }: ClientOptions,
  position: number,
): Promise<void> {
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

export function expectCount(what: string, found: number, sent: number): void {
  if (found !== sent) throw new BenchFailure(`${sent} ${what} were sent, and the index counts ${found}`)
}

const paths: Readonly<Record<Kind, string>> = { traces: '/api/traces/v1/otlp', logs: '/api/logs/v1/ingest' }

/** Posts bodies to a server that takes telemetry in, by keys that requests take turns with. */
export function createPost(baseUrl: string, keys: Readonly<Record<Kind, readonly string[]>>): BenchClient['post'] {
  return async (driver, kind, { bodies, connections, from = 0, to = bodyCount(bodies), perSecond }) => {
    const { file, offsets, headers, perBody } = bodies
    const answer = await driver.run({
      kind: 'load',
      url: baseUrl + paths[kind],
      keys: keys[kind].map((key) => `Bearer ${key}`),
      ...{ headers, file, offsets, from, to, connections },
      ...(perSecond === undefined ? {} : { perSecond }),
    })
    checkAnswers(answer, kind, perBody)
    return answer
  }
}

type ClientOptions = Readonly<{
  baseUrl: string
  cookie: string
  post: BenchClient['post']
  /** How often `indexed` looks. */
  lookEveryMs?: number
}>

export function createBenchClient(options: ClientOptions): BenchClient {
  const { baseUrl, cookie, post } = options
  const get = createGet(baseUrl, cookie)
  return {
    baseUrl,
    cookie,
    post,
    get,
    async position() {
      const bodies = await Promise.all(searches.slice(0, 2).map(get))
      return Math.min(...bodies.map(({ index }) => (isJsonObject(index) ? Number(index['position']) : 0)))
    },
    indexed: (position) => waitFor(options, position),
    async countLogs(sinceMs) {
      return Number((await get(`/api/app/logs/search?limit=1&include=count&from=${sinceMs}`))['count'])
    },
    countSpans: (sinceMs) => walkSpans(get, sinceMs),
  }
}
