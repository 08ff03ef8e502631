import { once } from 'node:events'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { positionStep } from '#src/events/envelope.ts'
import { createDoor } from '#test/support/door.ts'
import { rawConnection, rawStatus } from '#test/support/http.ts'
import { bytesOf, createHeldRoutes, deaf, failureOf, fault, linesOf, recordsMax, shortStallMs } from './held-routes.ts'

describe('exports over a store that a test holds back', () => {
  const world = createHeldRoutes()
  const { watch, directory, exported, ask, begin, untilFree } = world

  it('let in as many as a workspace may have under way', async () => {
    const door = createDoor()
    watch.on((_call, isLaterPage) => (isLaterPage ? door.wait() : Promise.resolve()))
    const held = [linesOf(await begin('/app/logs/export')), linesOf(await begin('/app/logs/export'))]
    await door.arrived(2)
    const refused = await ask('/app/logs/export')
    expect([refused.status, refused.body['code']]).to.deep.equal([429, 'rate_limited'])
    expect(refused.headers.get('retry-after')).to.equal('4')
    world.signedIn = 'globex'
    expect(await linesOf(await begin('/app/logs/export'))).to.deep.equal([])
    world.signedIn = 'acme'
    watch.clear()
    door.open()
    await Promise.all(held)
    expect(await linesOf(await begin('/app/logs/export'))).to.have.length(recordsMax)
  })

  for (const coding of ['identity', 'gzip']) {
    it(`are broken off when nobody reads them (${coding})`, async () => {
      world.answerStallMs = shortStallMs
      // Who has read the head is sent all of it, by a kernel that takes in so much.
      const { read, write, ended } = await rawConnection(world.server.port, deaf)
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
    const connection = await rawConnection(world.server.port)
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

  it('break the connection where nothing else ends the body, as in HTTP/1.0, which proxies may speak', async () => {
    const endOf = async (accept: string): Promise<string> => {
      const { socket, write } = await rawConnection(world.server.port)
      const over = Promise.withResolvers<string>()
      socket.once('error', (error: NodeJS.ErrnoException) => over.resolve(error.code ?? ''))
      socket.once('end', () => over.resolve('its end'))
      write(`GET /app/logs/export HTTP/1.0\r\nAccept-Encoding: ${accept}\r\n\r\n`)
      const how = await over.promise
      socket.destroy()
      return how
    }
    expect(await endOf('identity')).to.equal('its end')
    watch.clear()
    watch.on(() => (watch.calls.search < 5 ? Promise.resolve() : Promise.reject(fault)))
    expect(await endOf('identity')).to.equal('ECONNRESET')
  })

  it('break the body when not all that was counted is there any more, as of a workspace that is erased', async () => {
    watch.on(async () => (watch.calls.search < 5 ? undefined : 'nothing'))
    const response = await begin('/app/logs/export')
    expect(response.headers['x-export-matched']).to.equal(String(recordsMax))
    expect(await failureOf(response)).to.have.property('code', 'ECONNRESET')
    watch.clear()
  })

  for (const [what, shutOut] of [
    ['is removed from the workspace', (userId: string) => directory.removeMember('acme', userId)],
    ['has another password', (userId: string) => directory.setPassword(userId, 2 * positionStep)],
    ['has another plan, without logs', () => directory.setPlan('acme', plans['tracing-only'] as WorkspacePlan)],
  ] as const) {
    it(`end for who ${what} meanwhile`, async () => {
      world.userId = what
      const door = createDoor()
      watch.on((_call, isLaterPage) => (isLaterPage ? door.wait() : Promise.resolve()))
      const response = await begin('/app/logs/export')
      expect(response.headers['x-export-matched']).to.equal(String(recordsMax))
      await door.arrived(1)
      shutOut(world.userId)
      watch.clear()
      door.open()
      expect(await failureOf(response)).to.have.property('code', 'ECONNRESET')
    })
  }

  it('are recorded in the form that they have, however it was asked for', async () => {
    for (const given of ['', '?format=', '?format=CSV', '?format=&format=csv']) {
      await linesOf(await begin(`/app/logs/export${given}`))
    }
    expect(exported.map((each) => each.split(':', 1)[0])).to.deep.equal(['ndjson', 'ndjson', 'csv', 'csv'])
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
    await linesOf(await begin('/app/logs/export?q=nothing'))
    expect(exported).to.deep.equal(['ndjson: q=nothing'])
    expect((await ask('/app/logs/export?q=NOT%20unrecorded')).status).to.equal(503)
    expect((await fetch(`${world.server.baseUrl}/app/logs/export?q=head`, { method: 'HEAD' })).status).to.equal(200)
    expect(exported).to.deep.equal(['ndjson: q=nothing'])
  })
})
