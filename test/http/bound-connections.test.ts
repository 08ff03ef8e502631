import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listenAnywhere, rawConnection } from '#test/support/http.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`
const hasAnswer = (text: string): boolean => text.endsWith('done')

for (const [form, certificate] of [
  ['plain', undefined],
  ['TLS', makeCertificate()],
] as const) {
  describe(`an HTTP server that may keep four connections (${form})`, () => {
    let http: HttpServer
    let port: number
    let slow: ServerResponse[]
    let now: number
    let closed: number
    let refused: number

    beforeEach(async () => {
      slow = []
      now = 0
      closed = 0
      refused = 0
      http = createHttpServer(
        (request, response) => {
          if (request.url !== '/slow') return response.end('done')
          slow.push(response)
          return http.server.emit('slow')
        },
        {
          limits,
          ...(certificate === undefined ? {} : { tls: { cert: certificate.certificate, key: certificate.key } }),
          connectionsMax: 4,
          onClosed: (count) => (closed += count),
          onRefused: () => refused++,
          ticks: () => now,
        },
      )
      port = await listenAnywhere(http.server)
    })
    afterEach(async () => {
      http.server.closeAllConnections()
      await http.stop()
    })

    const connected = () => rawConnection(port, { ca: certificate?.certificate })
    const answered = async () => {
      const connection = await connected()
      connection.write(get('/'))
      await connection.until(hasAnswer)
      return connection
    }
    const asking = async () => {
      const connection = await connected()
      const asked = once(http.server, 'slow')
      connection.write(get('/slow'))
      await asked
      return connection
    }

    it('closes first who has asked nothing, then who is idle for longest, and nobody who waits for an answer', async () => {
      const busy = await asking()
      const first = await answered()
      const second = await answered()
      const silent = await connected()
      // It is used again, and so the one idle for longest no more.
      first.write(get('/'))
      await first.until((text) => text.split('done').length === 3)
      now = 5_000
      await answered()
      await silent.ended()
      await answered()
      await second.ended()
      await answered()
      await first.ended()
      expect([closed, http.connections()]).to.deep.equal([3, 4])
      slow[0]?.end('done')
      expect(await busy.until(hasAnswer)).to.match(/done$/)
    })

    it('closes none on which a request has come that it has not read yet', async () => {
      const first = await answered()
      const second = await answered()
      await Promise.all([1, 2].map(answered))
      now = 5_000
      const fifth = connected()
      // Both are there when the server looks next, and that one first.
      process.nextTick(() => first.write(get('/')))
      await fifth
      const said = await first.until((text) => text.split('done').length === 3)
      expect(said.split('done')).to.have.length(3)
      await second.ended()
      expect([closed, http.connections()]).to.deep.equal([1, 4])
    })

    it('closes none that was used, or opened, just now; and makes room without anybody who comes', async () => {
      const silent = await connected()
      await asking()
      const first = await answered()
      await Promise.all([1, 2, 3].map(answered))
      expect([closed, http.connections()]).to.deep.equal([0, 6])
      now = 1_000
      await Promise.all([silent.ended(), first.ended()])
      expect([closed, http.connections()]).to.deep.equal([2, 4])
    })

    it('closes none on which the beginning of a request has come, until that is answered and it is idle again', async () => {
      const fresh = await connected()
      const used = await answered()
      for (const begun of [fresh, used]) begun.write('GET / HTTP/1.1\r\n')
      await answered()
      await answered()
      now = 5_000
      await answered()
      for (const begun of [fresh, used]) begun.write('Host: test\r\n\r\n')
      const hasTwo = (text: string): boolean => text.split('done').length === 3
      expect(hasAnswer(await fresh.until(hasAnswer)), 'fresh').to.equal(true)
      expect(hasTwo(await used.until(hasTwo)), 'used').to.equal(true)
      expect([closed, http.connections()]).to.deep.equal([1, 4])
      now = 10_000
      for (let count = 0; count < 4; count++) await answered()
      await Promise.all([fresh.ended(), used.ended()])
      expect([closed, http.connections()]).to.deep.equal([5, 4])
    })

    it('refuses new ones where twice as many are in use, until those are not', async () => {
      const busy = []
      for (let count = 0; count < 8; count++) busy.push(await asking())
      const dropped = once(http.server, 'drop')
      const one = connected().catch(() => undefined)
      await dropped
      expect(await (await one)?.ended()).to.equal(certificate === undefined ? '' : undefined)
      expect([closed, refused, http.connections()]).to.deep.equal([0, 1, 8])
      const over = slow.map((response) => once(response, 'close'))
      slow.forEach((response) => response.end('done'))
      await Promise.all(over)
      now = 1_000
      await busy[0]?.ended()
      await answered()
      await busy[4]?.ended()
      expect([closed, refused, http.connections()]).to.deep.equal([5, 1, 4])
    })
  })
}
