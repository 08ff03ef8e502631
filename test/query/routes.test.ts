import { expect } from 'chai'
import { limits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { positionStep } from '#src/events/envelope.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { TooBroadError } from '#projections/index-store.ts'
import { createDoor } from '#test/support/door.ts'
import { rawConnection, rawStatus } from '#test/support/http.ts'
import { createHeldRoutes, deaf, fault, linesOf, nowMs, recordsMax, shortStallMs } from './held-routes.ts'

describe('the read routes over a store that a test holds back', () => {
  const world = createHeldRoutes()
  const { watch, directory, exported, heartbeat, ask, begin, untilFree } = world

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
        world.signedIn = 'globex'
        const theirs = ask('/api/app/logs/search')
        await door.arrived(3)
        watch.clear()
        door.open()
        expect((await theirs).status).to.equal(200)
        for (const answer of held) expect((await answer).status).to.be.oneOf([200, 404])
        world.signedIn = 'acme'
        expect((await ask('/api/app/logs/search')).status).to.equal(200)
      })
    }

    /** Two of them, whose answers go out to clients that read nothing. */
    async function beginUnread() {
      // Who has read anything is sent more than who has not: a kernel then takes in all of an answer.
      const unread = [await rawConnection(world.server.port, deaf), await rawConnection(world.server.port, deaf)]
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
      world.answerStallMs = shortStallMs
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

  it('says of a time that is searched as text that it is chosen by from and to', async () => {
    const warningsOf = async (q: string): Promise<readonly string[]> => {
      const { body } = await ask(`/api/app/logs/search?q=${encodeURIComponent(q)}`)
      return ((body['query'] as JsonObject)['warnings'] as string[]).map((text) => text.slice(text.indexOf(': ') + 2))
    }
    const iso = '2026-11-21T12:00:00Z'
    const said = (part: string): string => `${part} looks in other fields alone.`
    expect(await warningsOf(`red -"${iso}"`)).to.deep.equal([said(iso)])
    expect(await warningsOf(`timestamp:"${iso}" or (@timestamp="${iso}" and ts:17*)`)).to.deep.equal([
      said(`timestamp:${iso}`),
      said(`timestamp=${iso}`),
      said('ts:17*'),
    ])
    expect(await warningsOf('2026 timestamp:* date:tomorrow time:noon note:2026-11-21T12:00:00Z')).to.deep.equal([])
    const many = Array.from({ length: 30 }, (_, n) => `timestamp:${n}`)
    expect(await warningsOf(many.join(' '))).to.have.length(limits.queryWarningsMax)
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

  describe('an index that is behind', () => {
    it('is said to be, in every answer', async () => {
      await heartbeat(positionStep, 5 * positionStep, nowMs - 2_000)
      const correlation = '/api/app/correlation?session_id=x'
      for (const path of ['/api/app/logs/search', '/api/app/traces/search', correlation, '/api/v1/traces']) {
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
      watch.on(async () => void (world.laterMs = 60_000))
      for (const path of ['/api/app/logs/search', '/api/app/traces/search', '/api/v1/traces']) {
        world.laterMs = 0
        const { body } = await ask(path, { authorization: 'Bearer x' })
        expect(world.laterMs, path).to.equal(60_000)
        expect(body['index'], path).to.include({ complete: true, lag_ms: 0 })
      }
      world.laterMs = 0
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
