import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { parseJson, stringifyJson } from '#src/lib/json.ts'
import { projections } from '#projections/registry.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reader.ts'
import { limits } from '#src/config.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import type { FirstRun, Server } from './server.ts'

/** A browser session or an API key, as a client of the read endpoints. */
export type Reader = Readonly<{
  get(path: string): Promise<Readonly<{ status: number; headers: Headers; body: JsonObject }>>
  raw(path: string, init?: RequestInit): Promise<Response>
}>

function readerWith(baseUrl: string, headers: Readonly<Record<string, string>>): Reader {
  const raw = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(baseUrl + path, { ...init, headers: { ...headers, ...(init.headers as Record<string, string>) } })
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

/** The body of an answer that must be a success. */
export async function answerOf(reader: Reader, path: string): Promise<JsonObject> {
  const { status, body } = await reader.get(path)
  expect(status, status === 200 ? path : `${path}: ${stringifyJson(body)}`).to.equal(200)
  return body
}

/** Signs in as scripts do: a form POST that sets the cookie. */
export async function signIn(baseUrl: string, account: FirstRun['sign_in']): Promise<Reader> {
  const response = await fetch(`${baseUrl}/app/sign-in`, {
    method: 'POST',
    body: new URLSearchParams(account),
    redirect: 'manual',
  })
  expect(response.status, 'sign-in').to.equal(303)
  const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return readerWith(baseUrl, { cookie: cookies.join('; ') })
}

export const withKey = (baseUrl: string, key: string): Reader => readerWith(baseUrl, { authorization: `Bearer ${key}` })

/** The position in an acknowledgement's `Throughline-Position: partition/position`. */
export function positionOf(response: Response): number {
  const [, position] = /^\w+\/(\d+)$/.exec(response.headers.get('throughline-position') ?? '') ?? []
  expect(position, 'Throughline-Position of an ack').to.be.a('string')
  return Number(position)
}

/** The position of the last event in the server's log, asked of the log itself. */
async function logHead({ dataFolder }: Pick<Server, 'dataFolder'>): Promise<number> {
  const log = await openSqliteStreamReader({ file: join(dataFolder, 'log', '0.db'), partition: '0' })
  const head = await log.head()
  await log.close()
  return head
}

const pollMs = 5

/**
 * Waits until every index has followed the log to the head that it has now: on positions, not on time. Fails when the server
 * says that one of them has stopped.
 */
export async function untilIndexed({
  dataFolder,
  output = [],
}: Pick<Server, 'dataFolder'> & Partial<Server>): Promise<void> {
  const head = await logHead({ dataFolder })
  const indexes = createSqliteIndexReader({ folder: join(dataFolder, 'index'), limits })
  for (const { name } of projections) {
    while (((await indexes.progress(name))?.position ?? 0) < head) {
      const stopped = output.findIndex((line) => line.includes('has stopped'))
      expect(stopped, output.slice(stopped).join('\n')).to.equal(-1)
      await setTimeout(pollMs)
    }
  }
  await indexes.close()
}

/** Posts and expects success; the answer and its position. */
export async function post(
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
