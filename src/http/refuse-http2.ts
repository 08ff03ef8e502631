import http2, { type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * gRPC senders begin with HTTP/2. From an answer in HTTP/1.1 they show their user only that it is not HTTP/2. So their first call is refused in
 * gRPC, with a status that they do not retry.
 */
const refused = {
  ':status': 200,
  'content-type': 'application/grpc',
  // UNIMPLEMENTED
  'grpc-status': '12',
  'grpc-message':
    'OTLP/gRPC is not supported: set the protocol to http/protobuf (OTEL_EXPORTER_OTLP_PROTOCOL, or otlp_http in the Collector).',
}

const http2PatienceMs = 5_000
/** The least that Node takes. */
const sessionMegabytesMax = 1

/** gRPC's refusals have the HTTP status 200, which to anybody else would say that its telemetry is stored. */
function refuseCall(stream: ServerHttp2Stream, contentType = ''): void {
  const { session } = stream
  stream.on('error', () => undefined)
  if (!contentType.startsWith('application/grpc')) return session?.goaway(http2.constants.NGHTTP2_HTTP_1_1_REQUIRED, 0)
  stream.respond(refused, { endStream: true })
  // The rest of the request is not waited for (RFC 9113 §8.1).
  stream.close(http2.constants.NGHTTP2_NO_ERROR)
  session?.close()
}

const refusing = http2.createServer({ maxSessionMemory: sessionMegabytesMax })
refusing.on('stream', (stream, headers) => refuseCall(stream, headers['content-type']))
refusing.on('session', (session) => session.on('error', () => undefined))

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** `rest`: what came behind HTTP/2's preface. */
export function refuseHttp2(socket: Socket, rest: Buffer): void {
  // Node's HTTP/1.1 parser lets go of the socket when somebody else listens.
  const none = (): void => undefined
  socket.removeAllListeners('data').removeAllListeners('end').on('data', none).off('data', none).pause()
  socket.unshift(Buffer.concat([preface, rest]))
  const late = setTimeout(() => socket.destroy(), http2PatienceMs)
  socket.once('close', () => clearTimeout(late))
  refusing.emit('connection', socket)
}

/** As Node's HTTP server gives it to `clientError`. */
type ParserError = NodeJS.ErrnoException & Readonly<{ rawPacket?: Buffer; bytesParsed?: number }>

/** What Node's parser left of the packet in which it stopped behind HTTP/2's preface; undefined: it did not stop at one. */
export function behindPreface(error: ParserError): Buffer | undefined {
  return error.code === 'HPE_PAUSED_H2_UPGRADE' ? error.rawPacket?.subarray(error.bytesParsed) : undefined
}
