import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listenAnywhere, rawConnection } from '#test/support/http.ts'

const requestOf = (method: string): string => `${method} / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n`

const { certificate: cert, key } = makeCertificate()

for (const [how, secured] of [
  ['', {}],
  [' over TLS', { tls: { cert, key } }],
] as const) {
  describe(`a client that writes no more${how} behind its request`, () => {
    let http: HttpServer
    let port: number

    beforeEach(async () => {
      http = createHttpServer((_request, response) => http.server.emit('asked', response), { limits, ...secured })
      port = await listenAnywhere(http.server)
    })
    afterEach(async () => {
      http.server.closeAllConnections()
      await http.stop()
    })

    /** A connection that is shut down behind a request, and what the server answers it with. */
    async function ask(...methods: readonly string[]) {
      const connection = await rawConnection(port, { ca: secured.tls?.cert })
      const responses: ServerResponse[] = []
      const take = (response: ServerResponse): void => void responses.push(response)
      http.server.on('asked', take)
      connection.socket.end(methods.map(requestOf).join(''))
      while (responses.length < methods.length) await once(http.server, 'asked')
      http.server.off('asked', take)
      return { connection, responses }
    }

    it('gets the answers to all that it has sent, and then the end', async () => {
      const { connection, responses } = await ask('POST', 'POST')
      const [first] = responses
      if (first?.req.socket.readableEnded === false) await once(first.req.socket, 'end')
      for (const response of responses) response.end('stored')
      const text = await connection.ended()
      expect(text.match(/200 OK/g)).to.have.length(2)
      expect(text.match(/stored/g)).to.have.length(2)
      if (first?.req.socket.destroyed === false) await once(first.req.socket, 'close')
    })

    it('is taken for one that has hung up where it only asks', async () => {
      const { connection, responses } = await ask('GET')
      const [response] = responses
      if (response?.closed === false) await once(response, 'close')
      expect(await connection.ended()).to.equal('')
    })
  })
}
