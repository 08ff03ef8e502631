import { once } from 'node:events'
import http2 from 'node:http2'
import { connect } from 'node:net'
import tls from 'node:tls'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHttpServer, type HttpServer } from '#src/http/server.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { listenAnywhere } from '#test/support/http.ts'

describe('who comes with gRPC', () => {
  let http: HttpServer
  let port: number
  beforeEach(async () => {
    http = createHttpServer((_request, response) => response.end('over HTTP/1.1'), { limits })
    port = await listenAnywhere(http.server)
  })
  afterEach(() => http.stop())

  for (const bytes of [0, 3_000, 40_000]) {
    it(`is told which setting to change, as the final status of a call of ${bytes} bytes`, async () => {
      const headers = await call(http2.connect(`http://127.0.0.1:${port}`), bytes)
      expect(headers).to.include({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' })
      expect(headers['grpc-message']).to.match(/^OTLP\/gRPC is not supported: set the protocol to http\/protobuf/)
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).to.equal('over HTTP/1.1')
    })
  }

  it('is told so over TLS, where others speak HTTP/1.1', async () => {
    const { certificate, key } = makeCertificate()
    const secure = createHttpServer((_request, response) => response.end(), { limits, tls: { cert: certificate, key } })
    const to = { host: '127.0.0.1', port: await listenAnywhere(secure.server), rejectUnauthorized: false }
    const either = tls.connect({ ...to, ALPNProtocols: ['h2', 'http/1.1'] })
    await once(either, 'secureConnect')
    expect(either.alpnProtocol).to.equal('http/1.1')
    either.destroy()
    const session = http2.connect(`https://127.0.0.1:${to.port}`, { rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    expect((await call(session, 100))['grpc-message']).to.match(/^OTLP\/gRPC is not supported/)
    await secure.stop()
  })

  for (const [how, size] of [
    ['byte by byte', 1],
    ['with the preface in two', 10],
    ['with a part of the settings behind the preface', 28],
  ] as const) {
    it(`is told so ${how}`, async () => {
      const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
      const settings = '000000040000000000'
      // `:method`, `:scheme`, `:path`, `:authority` and `content-type` by their numbers in HPACK's table, and `application/grpc`, plain.
      const names = Buffer.from('0000190105000000018386840101610f1010', 'hex')
      const headers = Buffer.concat([names, Buffer.from('application/grpc')])
      const bytes = Buffer.concat([preface, Buffer.from(settings, 'hex'), headers])
      const socket = connect(port, '127.0.0.1').setNoDelay(true)
      const received: Buffer[] = []
      socket.on('data', (part: Buffer) => received.push(part))
      for (let start = 0; start < bytes.length; start += size) {
        socket.write(bytes.subarray(start, start + size))
        await new Promise((resolve) => setImmediate(resolve))
      }
      await once(socket, 'close')
      const answer = Buffer.concat(received)
      // Headers of the first stream, which end it.
      expect(answer.toString('hex')).to.match(/010500000001/)
    })
  }

  it('is never told 200 where it is something else in HTTP/2, as from a proxy that was told to speak it', async () => {
    const session = http2.connect(`http://127.0.0.1:${port}`)
    const codes: number[] = []
    session.on('goaway', (code: number) => codes.push(code))
    session.on('error', () => undefined)
    const stream = session.request({ ':method': 'POST', ':path': '/', 'content-type': 'application/x-protobuf' })
    const answers: unknown[] = []
    stream.on('response', (headers) => answers.push(headers))
    stream.on('error', () => undefined)
    stream.end('x')
    await new Promise((resolve) => session.once('close', resolve))
    expect(answers).to.deep.equal([])
    expect(codes).to.deep.equal([http2.constants.NGHTTP2_HTTP_1_1_REQUIRED])
  })

  it('is let go where no call comes', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    // Settings without end, of which each must be acknowledged.
    socket.write(Buffer.from('000000040000000000'.repeat(20_000), 'hex'))
    let received = 0
    socket.on('data', ({ length }: Buffer) => (received += length))
    await new Promise((resolve) => socket.once('close', resolve))
    expect(received).to.be.at.most(2 * 65_536)
  })
})

/** A call as gRPC makes it, with as much in its headers and body as `bytes`; the answer's headers. */
async function call(session: http2.ClientHttp2Session, bytes: number): Promise<http2.IncomingHttpHeaders> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-more': 'x'.repeat(bytes),
  })
  stream.end(Buffer.alloc(bytes))
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  stream.resume()
  await once(stream, 'close')
  session.destroy()
  return headers
}
