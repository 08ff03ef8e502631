import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listenAnywhere } from '#test/support/http.ts'

describe('a port that speaks TLS', () => {
  const { certificate, key } = makeCertificate()
  let http: HttpServer
  let port: number
  beforeEach(async () => {
    http = createHttpServer((_request, response) => response.end(), { limits, tls: { cert: certificate, key } })
    port = await listenAnywhere(http.server)
  })
  afterEach(() => http.stop())

  for (const bytes of [0, 100_000]) {
    it(`says so to who sends it plain HTTP, with ${bytes} bytes`, async () => {
      const body = bytes === 0 ? {} : { method: 'POST', body: 'x'.repeat(bytes) }
      const answer = await fetch(`http://127.0.0.1:${port}/`, body)
      const { code, detail } = (await answer.json()) as Readonly<Record<string, unknown>>
      const told = [400, 'invalid_request', 'This port speaks TLS: the address begins with https://.']
      expect([answer.status, code, detail]).to.deep.equal(told)
    })
  }

  it('closes the connection without a word to who speaks neither', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('neither of them, and long enough to tell\r\n\r\n')
    expect(await text(socket)).to.equal('')
    if (!socket.closed) await once(socket, 'close')
  })

  it('goes on when they break off in between', async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    socket.write('POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n')
    socket.resetAndDestroy()
    await once(socket, 'close')
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).to.equal(400)
  })
})
