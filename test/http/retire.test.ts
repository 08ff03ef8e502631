import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listenAnywhere, rawConnection } from '#test/support/http.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`
const hasAnswer = (text: string): boolean => text.endsWith('done')
const connectionOf = (text: string): string | undefined => /^connection: (\S+)/im.exec(text)?.[1]

describe('an HTTP server that is replaced', () => {
  let http: HttpServer
  let port: number
  /** Answers to `/slow`, which the test gives. */
  let slow: ServerResponse[]

  beforeEach(async () => {
    slow = []
    http = createHttpServer(
      (request, response) => {
        if (request.url !== '/slow') return response.end('done')
        slow.push(response)
        return http.server.emit('slow')
      },
      { limits },
    )
    port = await listenAnywhere(http.server)
  })
  afterEach(async () => {
    http.server.closeAllConnections()
    await http.stop()
  })

  it('keeps an idle connection for one more answer, which ends it, and is over with the last', async () => {
    const idle = await rawConnection(port)
    idle.write(get('/'))
    expect(connectionOf(await idle.until(hasAnswer))).to.equal('keep-alive')
    let isOver = false
    const retired = http.retire().then(() => {
      isOver = true
    })
    // A second connection, refused, shows that the first was left alone in the meantime.
    const refused = await rawConnection(port).catch((error: NodeJS.ErrnoException) => error.code)
    expect([refused, isOver]).to.deep.equal(['ECONNREFUSED', false])
    idle.write(get('/'))
    const [, second = ''] = (await idle.ended()).split('done')
    expect(connectionOf(second)).to.equal('close')
    await retired
  })

  it('ends a connection with the answer that is under way', async () => {
    const busy = await rawConnection(port)
    const asked = once(http.server, 'slow')
    busy.write(get('/slow'))
    await asked
    const retired = http.retire()
    slow[0]?.end('done')
    expect(connectionOf(await busy.ended())).to.equal('close')
    await retired
  })

  it('breaks off what is under way when no more patience is left, and resets what would pass for whole, as in HTTP/1.0', async () => {
    const endOf = async (version: string): Promise<string> => {
      const busy = await rawConnection(port)
      const over = Promise.withResolvers<string>()
      busy.socket.once('error', (error: NodeJS.ErrnoException) => over.resolve(error.code ?? ''))
      busy.socket.once('end', () => over.resolve('its end'))
      const asked = once(http.server, 'slow')
      busy.write(`GET /slow HTTP/${version}\r\nHost: test\r\n\r\n`)
      await asked
      slow.at(-1)?.write('half of it')
      await busy.until((text) => text.includes('half of it'))
      http.breakOff()
      return over.promise
    }
    expect(await endOf('1.1')).to.equal('its end')
    expect(await endOf('1.0')).to.equal('ECONNRESET')
  })

  it('answers a request that was on its way when it was told to stop', async () => {
    const idle = await rawConnection(port)
    idle.write(get('/'))
    await idle.until(hasAnswer)
    const stopped = http.stop()
    idle.write(get('/'))
    const [, second = ''] = (await idle.ended()).split('done')
    expect(connectionOf(second)).to.equal('close')
    await stopped
  })

  it('closes idle connections when it is told to stop, also after it retired, but not what is under way', async () => {
    const idle = await rawConnection(port)
    idle.write(get('/'))
    await idle.until(hasAnswer)
    const busy = await rawConnection(port)
    const asked = once(http.server, 'slow')
    busy.write(get('/slow'))
    await asked
    slow[0]?.write('its head is sent, ')
    const retired = http.retire()
    const stopped = http.stop()
    await idle.ended()
    slow[0]?.end('done')
    expect(await busy.ended())
      .to.include('its head is sent')
      .and.to.include('done')
    await Promise.all([stopped, retired])
  })

  it('closes connections that nothing was asked on yet when it is told to stop, over TLS as well', async () => {
    const { certificate, key } = makeCertificate()
    const patient = { ...limits, headersTimeoutMs: 3_600_000 }
    for (const secured of [{}, { tls: { cert: certificate, key } }]) {
      const stopped = createHttpServer(() => undefined, { limits: patient, ...secured })
      const options = { ca: 'tls' in secured ? certificate : undefined }
      const accepted = once(stopped.server, 'tls' in secured ? 'secureConnection' : 'connection')
      const silent = await rawConnection(await listenAnywhere(stopped.server), options)
      await accepted
      await stopped.stop()
      expect(await silent.ended()).to.equal('')
    }
  })
})
