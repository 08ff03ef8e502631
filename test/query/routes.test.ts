import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
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
import { TooBroadError } from '#projections/index-store.ts'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { givenLogs, noonNs } from '#test/projections/logs/given.ts'
import { foldIntoStore, indexOf } from '#test/projections/traces/every-store.ts'
import { createDoor } from '#test/support/door.ts'
import { createFakeDirectory, type FakeDirectory } from '#test/support/fake-directory.ts'
import { listen, rawConnection, rawStatus, type TestServer } from '#test/support/http.ts'
import { watched, type Call } from './watched-reader.ts'

const nowMs = Number(noonNs / 1_000_000n) + 3_600_000
const acme = workspaceIdOf('acme')
const recordsMax = 600
const deaf = { isReading: false }
const fault = new TransientError({ operation: 'read', subject: 'the index' })
/** Text that does not pack, so that what is written goes out. */
const noise = (): string => randomBytes(15_000).toString('base64')

describe('the read routes over a store that a test holds back', () => {
  let server: TestServer
  let directory: FakeDirectory
  let signedIn: string
  let heartbeat: (position: number, head: number, at?: number) => Promise<void>
  const store = createMemoryIndexStore()
  const watch = watched(store.reader)
  /** After which an answer that nobody reads is broken off: not within a test, but for those that wait for it. */
  let answerStallMs: number
  const shortStallMs = 500
  /** What the clock has gone on within a test. */
  let laterMs: number
  const exported: string[] = []

  before(async () => {
    directory = createFakeDirectory()
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
    heartbeat = async (position, head, at = nowMs) => {
      for (const projection of [logsProjection, tracesProjection, correlationProjection]) {
        await store.writer.heartbeat(indexOf(projection), { position, head, at, caughtUpAt: at })
      }
    }
    const session = () => async (ctx: Koa.Context, next: Koa.Next) => {
      const workspaceId = workspaceIdOf(signedIn)
      ctx.state['session'] = { id: 's', userId: 'u', email: 'a@b.c', workspaceId, startedAt: 0 }
      await next()
    }
    const context = {
      readerOf: () => watch.reader,
      directory: directory.view,
      cursors: createCursors('secret'),
      clock: () => nowMs + laterMs,
      limits: {
        ...limits,
        queriesPerWorkspaceAtOnce: 2,
        queryWaitMs: 20,
        exportsPerWorkspaceAtOnce: 2,
        get answerStallMs() {
          return answerStallMs
        },
      },
    }
    const routes = createQueryRoutes({
      ...context,
      searches: createSearches(context),
      reads: createReads(context.limits),
      admitListing: async (ctx) =>
        ctx.get('authorization') === '' ? fail(refusal('missing_credential', 'no key')) : ok({ workspaceId: acme }),
      recordExport: async ({ query }) => {
        if (query.includes('unrecorded')) throw fault
        exported.push(query)
      },
    })
    server = await listen({ routes, session })
  })
  beforeEach(async () => {
    signedIn = 'acme'
    answerStallMs = limits.answerStallMs
    laterMs = 0
    watch.clear()
    directory.setPlan('acme', plans['pro'] as WorkspacePlan)
    await heartbeat(positionStep, positionStep)
  })
  after(() => server.close())

  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(server.baseUrl + path, { headers })
    return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject }
  }
  const begin = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> => {
    const request = get(server.baseUrl + path, { headers })
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

  describe('queries at once', () => {
    for (const path of [
      '/api/app/logs/search',
      '/api/app/traces/search',
      '/api/app/correlation?id=x',
      '/api/v1/traces',
    ]) {
      it(`${path}: as many as a workspace may have under way; one more is asked to come again`, async () => {
        const door = createDoor()
        watch.on((call) => (call === 'progress' ? door.wait() : Promise.resolve()))
        const key = { authorization: 'Bearer x' }
        const held = [ask(path, key), ask('/api/app/logs/search')]
        await door.arrived(2)
        const refused = await ask(path, key)
        expect([refused.status, refused.body['code']]).to.deep.equal([429, 'rate_limited'])
        expect(refused.headers.get('retry-after')).to.equal('1')
        expect(refused.headers.get('cache-control')).to.equal('no-store')
        signedIn = 'globex'
        const theirs = ask('/api/app/logs/search')
        await door.arrived(3)
        watch.clear()
        door.open()
        expect((await theirs).status).to.equal(200)
        for (const answer of held) expect((await answer).status).to.be.oneOf([200, 404])
        signedIn = 'acme'
        expect((await ask('/api/app/logs/search')).status).to.equal(200)
      })
    }

    /** Two of them, whose answers go out to clients that read nothing. */
    async function beginUnread() {
      // Who has read anything is sent more than who has not: a kernel then takes in all of an answer.
      const unread = [await rawConnection(server.port, deaf), await rawConnection(server.port, deaf)]
      const door = createDoor()
      watch.on((call) => (call === 'progress' ? door.wait() : Promise.resolve()))
      for (const each of unread) each.write('GET /api/app/logs/search?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n')
      await door.arrived(2)
      watch.clear()
      door.open()
      return unread
    }

    it('count until their answers have gone out: who does not read is let in no more', async () => {
      const unread = await beginUnread()
      expect((await ask('/api/app/logs/search?limit=1')).status).to.equal(429)
      for (const { socket } of unread) socket.destroy()
      await untilFree('progress', '/api/app/logs/search?limit=1')
    })

    it('are broken off when nobody reads their answers', async () => {
      answerStallMs = shortStallMs
      const unread = await beginUnread()
      await untilFree('progress', '/api/app/logs/search?limit=1')
      for (const { read, ended } of unread) {
        read()
        const text = await ended()
        expect(rawStatus(text)).to.equal(200)
        expect(text.length).to.be.lessThan(Number(/^content-length: (\d+)/im.exec(text)?.[1]))
      }
    })

    it('gives the way free when a query fails', async () => {
      watch.on(() => Promise.reject(fault))
      for (let n = 0; n < 5; n++) expect((await ask('/api/app/logs/search')).status).to.equal(503)
      watch.clear()
      expect((await ask('/api/app/logs/search')).status).to.equal(200)
    })
  })

  it('answers 503 with a time to come back when the index cannot be read', async () => {
    watch.on(() => Promise.reject(fault))
    for (const path of [
      '/api/app/logs/search',
      '/api/app/traces/search',
      '/api/app/correlation?id=x',
      '/app/logs/export',
    ]) {
      const { status, headers, body } = await ask(path)
      expect([status, body['code']], path).to.deep.equal([503, 'unavailable'])
      expect(Number(headers.get('retry-after')), path).to.be.within(1, 4)
      expect(JSON.stringify(body), path).not.to.include('the index')
    }
  })

  it('refuses what is too broad, also as an export, of which then nothing is recorded', async () => {
    exported.length = 0
    watch.on((call) => (call === 'progress' ? Promise.resolve() : Promise.reject(new TooBroadError('too many words'))))
    for (const path of [
      '/api/app/logs/search',
      '/app/logs/export',
      '/app/logs/export',
      '/app/logs/export?format=csv',
    ]) {
      const { status, headers, body } = await ask(path)
      expect([status, body['code'], body['detail']], path).to.deep.equal([400, 'query_too_broad', 'too many words'])
      expect(headers.get('content-type'), path).to.match(/^application\/problem\+json/)
      expect(headers.get('content-disposition'), path).to.equal(null)
    }
    watch.clear()
    expect(exported).to.deep.equal([])
    expect(await linesOf(await begin('/app/logs/export'))).to.have.length(recordsMax)
  })

  it('shows a log once, by a page or by the cursor that follows from there, while the index is written', async () => {
    const search = '/api/app/logs/search?q="record 7"'
    const messages = (body: JsonObject) =>
      (body['logs'] as JsonObject[]).map(({ message }) => String(message).slice(0, 9))
    await heartbeat(0, positionStep)
    const { body: first } = await ask(search)
    await heartbeat(positionStep, positionStep)
    const { body: followed } = await ask(`${search}&cursor=${String(first['prev_cursor'])}`)
    const { body: again } = await ask(`${search}&cursor=${String(followed['prev_cursor'])}`)
    expect([first, followed, again].flatMap(messages)).to.deep.equal(['record 7 '])
  })

  describe('exports', () => {
    it('let in as many as a workspace may have under way', async () => {
      const door = createDoor()
      watch.on((_call, isLaterPage) => (isLaterPage ? door.wait() : Promise.resolve()))
      const held = [linesOf(await begin('/app/logs/export')), linesOf(await begin('/app/logs/export'))]
      await door.arrived(2)
      const refused = await ask('/app/logs/export')
      expect([refused.status, refused.body['code']]).to.deep.equal([429, 'rate_limited'])
      expect(refused.headers.get('retry-after')).to.equal('4')
      signedIn = 'globex'
      expect(await linesOf(await begin('/app/logs/export'))).to.deep.equal([])
      signedIn = 'acme'
      watch.clear()
      door.open()
      await Promise.all(held)
      expect(await linesOf(await begin('/app/logs/export'))).to.have.length(recordsMax)
    })

    for (const coding of ['identity', 'gzip']) {
      it(`are broken off when nobody reads them (${coding})`, async () => {
        answerStallMs = shortStallMs
        // Who has read the head is sent all of it, by a kernel that takes in so much.
        const { read, write, ended } = await rawConnection(server.port, deaf)
        const door = createDoor()
        watch.on((call) => (call === 'count' ? door.wait() : Promise.resolve()))
        write(`GET /app/logs/export HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${coding}\r\n\r\n`)
        await door.arrived(1)
        watch.clear()
        door.open()
        await untilFree('count', '/app/logs/export?q=nothing')
        read()
        const text = await ended()
        expect(rawStatus(text)).to.equal(200)
        expect(text).to.not.match(/\r\n0\r\n\r\n$/)
      })
    }

    it('are sent in small pieces, of which a slow client takes one after the other', async () => {
      const connection = await rawConnection(server.port)
      connection.write('GET /app/logs/export HTTP/1.1\r\nHost: x\r\n\r\n')
      const text = await connection.until((got) => /\r\n\r\n[0-9a-f]+\r\n/.test(got))
      const [, size = ''] = /\r\n\r\n([0-9a-f]+)\r\n/.exec(text) ?? []
      expect(Number.parseInt(size, 16)).to.be.within(1, 64 * 1024)
      connection.socket.destroy()
    })

    it('give the way free when they are refused, or fail before their first byte', async () => {
      for (let n = 0; n < 5; n++) expect((await ask('/app/logs/export?format=xml')).status).to.equal(400)
      watch.on((call) => (call === 'search' ? Promise.reject(fault) : Promise.resolve()))
      for (let n = 0; n < 5; n++) {
        const { status, headers } = await ask('/app/logs/export')
        expect(status).to.equal(503)
        expect(headers.get('content-disposition')).to.equal(null)
        expect(headers.get('content-type')).to.match(/^application\/problem\+json/)
      }
      watch.on((call) => (call === 'count' ? Promise.reject(fault) : Promise.resolve()))
      for (let n = 0; n < 5; n++) expect((await ask('/app/logs/export')).status).to.equal(503)
      watch.clear()
      expect(await linesOf(await begin('/app/logs/export'))).to.have.length(recordsMax)
    })

    for (const coding of ['identity', 'gzip']) {
      it(`break the body when the index fails on the way, so that nobody takes a part for the whole (${coding})`, async () => {
        watch.on(() => (watch.calls.search < 5 ? Promise.resolve() : Promise.reject(fault)))
        const response = await begin('/app/logs/export', { 'accept-encoding': coding })
        expect([response.statusCode, response.headers['x-export-matched']]).to.deep.equal([200, String(recordsMax)])
        expect(response.headers['transfer-encoding']).to.equal('chunked')
        expect(await failureOf(response)).to.have.property('code', 'ECONNRESET')
        expect(response.complete).to.equal(false)
        watch.clear()
        const whole = await begin('/app/logs/export', { 'accept-encoding': coding })
        const body = await bytesOf(whole)
        expect(whole.complete).to.equal(true)
        const text = (coding === 'gzip' ? gunzipSync(body) : body).toString()
        expect(text.split('\n').filter(Boolean)).to.have.length(recordsMax)
      })
    }

    it('break the body when not all that was counted is there any more, as of a workspace that is erased', async () => {
      watch.on(async () => (watch.calls.search < 5 ? undefined : 'nothing'))
      const response = await begin('/app/logs/export')
      expect(response.headers['x-export-matched']).to.equal(String(recordsMax))
      expect(await failureOf(response)).to.have.property('code', 'ECONNRESET')
      watch.clear()
    })

    for (const coding of ['identity', 'gzip']) {
      it(`stop reading when the client hangs up (${coding})`, async () => {
        const door = createDoor()
        watch.on((_call, isLaterPage) => (isLaterPage ? door.wait() : Promise.resolve()))
        const response = await begin('/app/logs/export', { 'accept-encoding': coding })
        await door.arrived(1)
        response.destroy()
        await once(response, 'close')
        await untilFree('count', '/app/logs/export?q=nothing')
        const before = watch.calls.search
        door.open()
        for (let n = 0; n < 20; n++) await ask('/api/app/correlation?id=x&workspace=acme')
        const perQuestion = (watch.calls.search - before) / 20
        expect(perQuestion, 'searches of the questions alone').to.satisfy(Number.isInteger)
      })
    }

    it('are recorded before anything is sent, and not sent when that fails', async () => {
      exported.length = 0
      await linesOf(await begin('/app/logs/export?q=nothing'))
      expect(exported).to.deep.equal(['q=nothing'])
      expect((await ask('/app/logs/export?q=NOT%20unrecorded')).status).to.equal(503)
      expect((await fetch(`${server.baseUrl}/app/logs/export?q=head`, { method: 'HEAD' })).status).to.equal(200)
      expect(exported).to.deep.equal(['q=nothing'])
    })
  })

  describe('an index that is behind', () => {
    it('is said to be, in every answer', async () => {
      await heartbeat(positionStep, 5 * positionStep, nowMs - 2_000)
      for (const path of ['/api/app/logs/search', '/api/app/traces/search', '/api/v1/traces']) {
        const { body } = await ask(path, { authorization: 'Bearer x' })
        expect(body['index'], path).to.deep.equal({
          position: positionStep,
          head: 5 * positionStep,
          lag_ms: 2_000,
          complete: false,
        })
      }
    })

    it('is not complete when nobody has looked after it for more than 5 s', async () => {
      await heartbeat(positionStep, positionStep, nowMs - 5_001)
      expect((await ask('/api/app/logs/search')).body['index']).to.include({ complete: false, lag_ms: 5_001 })
      await heartbeat(positionStep, positionStep, nowMs - 5_000)
      expect((await ask('/api/app/logs/search')).body['index']).to.include({ complete: true, lag_ms: 0 })
    })

    it('is complete as of when it was asked, however long the answer took', async () => {
      watch.on(async () => void (laterMs = 60_000))
      for (const path of ['/api/app/logs/search', '/api/app/traces/search', '/api/v1/traces']) {
        laterMs = 0
        const { body } = await ask(path, { authorization: 'Bearer x' })
        expect(laterMs, path).to.equal(60_000)
        expect(body['index'], path).to.include({ complete: true, lag_ms: 0 })
      }
      laterMs = 0
      expect((await ask('/api/app/correlation?session_id=x')).status).to.equal(404)
    })

    it('knows nothing of an id without saying that it was never seen', async () => {
      expect((await ask('/api/app/correlation?session_id=x')).status).to.equal(404)
      await heartbeat(positionStep, 2 * positionStep)
      const { status, body } = await ask('/api/app/correlation?session_id=x')
      expect(status).to.equal(200)
      expect(body['index']).to.include({ complete: false })
      expect(body).to.deep.include({ trace: null, timeline: [], sessions: [{ session_id: 'x', linked_by: [] }] })
    })
  })

  it('does without what the plan lacks from the moment the plan changes', async () => {
    const paths = {
      '/api/app/traces/search': 'tracing',
      '/api/app/logs/search': 'logs',
      '/app/logs/export?q=nothing': 'logs',
    }
    directory.setPlan('acme', { name: 'none', features: [], spansPerMonth: 0, retentionDays: 1 })
    for (const [path, feature] of Object.entries(paths)) {
      const { status, body } = await ask(path)
      expect([status, body['code'], body['feature']], path).to.deep.equal([403, 'entitlement_required', feature])
    }
    await heartbeat(positionStep, 2 * positionStep)
    const { body } = await ask('/api/app/correlation?session_id=x')
    expect(body['omitted']).to.deep.equal(['trace', 'traces', 'logs'])
    expect(body).not.to.have.any.keys('trace', 'traces', 'logs')
    expect(body).to.include.keys('rum_events', 'sessions', 'timeline')
    // Another process has just changed it, and this one has not heard of it.
    directory.whenBehind(async () => {
      directory.setPlan('acme', plans['pro'] as WorkspacePlan)
      return true
    })
    expect((await ask('/api/app/logs/search')).status).to.equal(200)
  })

  it('lets nobody list without a key', async () => {
    const { status, body } = await ask('/api/v1/traces')
    expect([status, body['code']]).to.deep.equal([401, 'missing_credential'])
  })
})

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const failureOf = (response: IncomingMessage): Promise<unknown> => bytesOf(response).catch((error: unknown) => error)

const linesOf = async (response: IncomingMessage): Promise<string[]> =>
  (await bytesOf(response)).toString().split('\n').filter(Boolean)
