import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import { parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { projectionNames } from '#projections/names.ts'
import type { IndexReader, Progress } from '#projections/index-store.ts'
import { openInstallation } from './installation.ts'
import { isCluster, type FirstRun, type Server } from './server.ts'

const pollMs = isCluster ? 50 : 5
/** So long a test comes back; then it takes 503 for the answer. */
const patienceMs = 60_000

/** Asks again while the answer is 503, as senders and readers do: a busy machine makes a server say that it cannot just now. */
export async function untilServed(ask: () => Promise<Response>): Promise<Response> {
  const since = performance.now()
  for (;;) {
    const response = await ask()
    if (response.status !== 503 || performance.now() - since > patienceMs) return response
    await response.body?.cancel()
    await setTimeout(pollMs)
  }
}

/** A browser session or an API key, as a client of the read endpoints that comes back when it is told to. */
export type Reader = Readonly<{
  get(path: string): Promise<Readonly<{ status: number; headers: Headers; body: JsonObject }>>
  raw(path: string, init?: RequestInit): Promise<Response>
}>

function readerWith(baseUrl: string, headers: Readonly<Record<string, string>>): Reader {
  const raw = (path: string, init: RequestInit = {}): Promise<Response> =>
    untilServed(() =>
      fetch(baseUrl + path, { ...init, headers: { ...headers, ...(init.headers as Record<string, string>) } }),
    )
  return {
    raw,
    get: async (path) => {
      const response = await raw(path)
      return {
        status: response.status,
        headers: response.headers,
        body: parseJson(await response.text()) as JsonObject,
      }
    },
  }
}

type Got = Awaited<ReturnType<Reader['get']>>

function bodyOf({ status, body }: Got, path: string): JsonObject {
  expect(status, status === 200 ? path : `${path}: ${stringifyJson(body)}`).to.equal(200)
  return body
}

/** The body of an answer that must be a success. */
export const answerOf = async (reader: Reader, path: string): Promise<JsonObject> =>
  bodyOf(await reader.get(path), path)

/**
 * An answer whose index says that it is complete. It was, when the test had waited for it; but a projector that a busy machine has not
 * let write for five seconds is not known to be there.
 */
export async function getComplete(reader: Reader, path: string): Promise<Got> {
  for (;;) {
    const answer = await reader.get(path)
    if (at(answer.body, 'index', 'complete') !== false) return answer
    await setTimeout(pollMs)
  }
}

/** The body of one that must be a success. */
export const completeAnswerOf = async (reader: Reader, path: string): Promise<JsonObject> =>
  bodyOf(await getComplete(reader, path), path)

/** Signs in as scripts do, by a form POST; the cookie that it sets. */
export async function cookieOf(baseUrl: string, account: FirstRun['sign_in']): Promise<string> {
  const body = new URLSearchParams(account)
  const response = await untilServed(() =>
    fetch(`${baseUrl}/app/sign-in`, { method: 'POST', body, redirect: 'manual' }),
  )
  expect(response.status, 'sign-in').to.equal(303)
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return cookies.join('; ')
}

export const withCookie = (baseUrl: string, cookie: string): Reader => readerWith(baseUrl, { cookie })

export const signIn = async (baseUrl: string, account: FirstRun['sign_in']): Promise<Reader> =>
  withCookie(baseUrl, await cookieOf(baseUrl, account))

export const withKey = (baseUrl: string, key: string): Reader => readerWith(baseUrl, { authorization: `Bearer ${key}` })

/** The position in an acknowledgement's `Throughline-Position: partition/position`. */
export function positionOf(response: Response): number {
  const [, position] = /^\w+\/(\d+)$/.exec(response.headers.get('throughline-position') ?? '') ?? []
  expect(position, 'Throughline-Position of an ack').to.be.a('string')
  return Number(position)
}

/** What an index says of itself; nothing where a cluster has just begun, whose state cannot be read yet. */
async function progressOf(index: IndexReader, projection: string): Promise<Progress | undefined> {
  try {
    return await index.progress(projection)
  } catch (error) {
    if (error instanceof TransientError) return undefined
    throw error
  }
}

/** Waits until the indexes of one partition have followed its log to a position. They are asked at once, which is one request for all. */
async function untilAt(index: IndexReader, head: number, output: readonly string[]): Promise<void> {
  for (let behind: readonly string[] = projectionNames; ; await setTimeout(pollMs)) {
    const found = await Promise.all(behind.map((name) => progressOf(index, name)))
    behind = behind.filter((_, each) => (found[each]?.position ?? 0) < head)
    if (behind.length === 0) return
    const stopped = output.findIndex((line) => line.includes('has stopped'))
    expect(stopped, output.slice(stopped).join('\n')).to.equal(-1)
  }
}

/**
 * Waits until every index has followed its log to the head that it has now: on positions, not on time. Fails when the server
 * says that one of them has stopped.
 */
export async function untilIndexed({
  dataFolder,
  output = [],
}: Pick<Server, 'dataFolder'> & Partial<Server>): Promise<void> {
  const { logs, indexes, close } = await openInstallation({ dataFolder })
  const heads = await Promise.all(logs.map((log) => log.head()))
  await Promise.all(indexes.map((index, partition) => untilAt(index, heads[partition] ?? 0, output)))
  await close()
}

/** Posts, and again while it is told to come back, as senders do; the answer. */
export const post = (
  server: Pick<Server, 'baseUrl'>,
  path: string,
  key: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> => untilServed(() => postOnce(server, path, key, body, headers))

/** Posts, and takes the answer that comes. */
export async function postOnce(
  server: Pick<Server, 'baseUrl'>,
  path: string,
  key: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(server.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: body as string,
  })
}

export const listOf = (body: JsonObject, name: string): readonly JsonObject[] =>
  (body[name] ?? []) as readonly JsonObject[]
export const at = (value: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((inner, name) => (inner as JsonObject | undefined)?.[name], value)

/** The figures of a server, all of them: what its engines do not tell within two seconds is asked for again, as a scraper does. */
export async function figuresOf(operationsUrl: string): Promise<string> {
  for (;;) {
    const text = await (await fetch(`${operationsUrl}/metrics`)).text()
    if (!/^# \S+ could not be read$/m.test(text)) return text
    await setTimeout(pollMs)
  }
}
