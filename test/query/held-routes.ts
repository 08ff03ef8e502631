import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import type Koa from 'koa'
import { limits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { positionStep } from '#src/events/envelope.ts'
import { refusal } from '#src/events/refusal.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { fail, ok } from '#src/lib/result.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createReads } from '#src/query/reads.ts'
import { createQueryRoutes } from '#src/query/routes.ts'
import { createSearches } from '#src/query/searches.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { givenLogs, noonNs } from '#test/projections/logs/given.ts'
import { foldIntoStore } from '#test/projections/traces/every-store.ts'
import { createDoor } from '#test/support/door.ts'
import { createFakeDirectory } from '#test/support/fake-directory.ts'
import { listen, type TestServer } from '#test/support/http.ts'
import { watched, type Call } from './watched-reader.ts'

export const nowMs = Number(noonNs / 1_000_000n) + 3_600_000
export const recordsMax = 600
export const shortStallMs = 500
/** Of a client: it reads nothing. */
export const deaf = { isReading: false }
export const fault = new TransientError({ operation: 'read', subject: 'the index' })
const acme = workspaceIdOf('acme')
/** Text that does not pack, so that what is written goes out. */
const noise = (): string => randomBytes(15_000).toString('base64')

type Headers = Readonly<Record<string, string>>

/** The read routes over a store that a test holds back, with the logs of one workspace: hooks of the describe that calls it. */
export function createHeldRoutes() {
  const store = createMemoryIndexStore()
  const watch = watched(store.reader)
  const directory = createFakeDirectory()
  const exported: string[] = []
  let server: TestServer | undefined

  async function heartbeat(position: number, head: number, at = nowMs): Promise<void> {
    for (const projection of [logsProjection, tracesProjection, correlationProjection]) {
      await store.writer.heartbeat(buildName(projection, 1), { position, head, at, caughtUpAt: at })
    }
  }

  const ask = async (path: string, headers: Headers = {}) => {
    const response = await fetch(world.server.baseUrl + path, { headers })
    return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject }
  }
  const begin = async (path: string, headers: Headers = {}): Promise<IncomingMessage> => {
    const request = get(world.server.baseUrl + path, { headers })
    return ((await once(request, 'response')) as [IncomingMessage])[0]
  }

  /** Resolves when a workspace has nothing under way: as much as may be at once is inside together, and waits at this call. */
  async function untilFree(call: Call, path: string): Promise<void> {
    const door = createDoor()
    watch.on((each) => (each === call ? door.wait() : Promise.resolve()))
    const untilAdmitted = async (): Promise<void> => {
      for (;;) {
        const answer = (await begin(path)).resume()
        await once(answer, 'end')
        if (answer.statusCode === 200) return
        expect(answer.statusCode).to.equal(429)
      }
    }
    const both = [untilAdmitted(), untilAdmitted()]
    await door.arrived(2)
    watch.clear()
    door.open()
    await Promise.all(both)
  }

  const world = {
    /** Whose workspace is asked for, and by whom. */
    signedIn: 'acme',
    userId: 'u',
    /** After which an answer that nobody reads is broken off: not within a test, but for those that wait for it. */
    answerStallMs: limits.answerStallMs as number,
    /** What the clock has gone on within a test. */
    laterMs: 0,
    get server() {
      if (server === undefined) throw new Error('the server has not been started')
      return server
    },
    ...{ watch, directory, exported, heartbeat, ask, begin, untilFree },
  }

  before(async () => {
    directory.addWorkspace('acme')
    directory.addWorkspace('globex')
    // Records of 20 kB: an export is larger than what sockets hold.
    const records = Array.from({ length: recordsMax }, (_, n) => ({
      atMs: n,
      message: `record ${n} ${noise()}`,
    }))
    await foldIntoStore(store, logsProjection, [givenLogs(1, records)])
    await foldIntoStore(store, tracesProjection, [])
    await foldIntoStore(store, correlationProjection, [])
    const session = () => async (ctx: Koa.Context, next: Koa.Next) => {
      const workspaceId = workspaceIdOf(world.signedIn)
      ctx.state['session'] = { id: 's', userId: world.userId, email: 'a@b.c', workspaceId, startedAt: 0 }
      await next()
    }
    const context = {
      readerOf: () => watch.reader,
      directory: directory.view,
      cursors: createCursors('secret'),
      clock: () => nowMs + world.laterMs,
      limits: {
        ...limits,
        queriesPerWorkspaceAtOnce: 2,
        queryWaitMs: 20,
        exportsPerWorkspaceAtOnce: 2,
        get answerStallMs() {
          return world.answerStallMs
        },
      },
    }
    const routes = createQueryRoutes({
      ...context,
      searches: createSearches(context),
      reads: createReads(context.limits),
      admitListing: async (ctx) =>
        ctx.get('authorization') === '' ? fail(refusal('missing_credential', 'no key')) : ok({ workspaceId: acme }),
      recordExport: async ({ query, format }) => {
        if (query.includes('unrecorded')) throw fault
        exported.push(`${format}: ${query}`)
      },
    })
    server = await listen({ routes, session })
  })
  beforeEach(async () => {
    Object.assign(world, { signedIn: 'acme', userId: 'u', answerStallMs: limits.answerStallMs, laterMs: 0 })
    exported.length = 0
    watch.clear()
    directory.setPlan('acme', plans['pro'] as WorkspacePlan)
    await heartbeat(positionStep, positionStep)
  })
  after(() => server?.close())
  return world
}

export async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const failureOf = (response: IncomingMessage): Promise<unknown> =>
  bytesOf(response).catch((error: unknown) => error)

export const linesOf = async (response: IncomingMessage): Promise<string[]> =>
  (await bytesOf(response)).toString().split('\n').filter(Boolean)
