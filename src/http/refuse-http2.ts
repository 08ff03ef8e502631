import type { Socket } from 'node:net'

/**
 * A sender that speaks gRPC begins with HTTP/2, and shows its user nothing of an answer in HTTP/1.1 but that it is none. So it is told in its
 * own words, as little of HTTP/2 (RFC 9113) as that takes: one status for its first stream, which it does not repeat.
 */
const message =
  'OTLP/gRPC is not supported: set the protocol to http/protobuf (OTEL_EXPORTER_OTLP_PROTOCOL, or otlp_http in the Collector).'
/** gRPC's UNIMPLEMENTED. */
const grpcStatus = '12'

const types = { headers: 1, settings: 4, goAway: 7 } as const
const acknowledgement = 1
const endOfStreamAndHeaders = 5
const noError = 0
const http11Required = 13
const frameHeadBytes = 9
/** As Node's HTTP server gives it to `clientError`. */
type ParserError = NodeJS.ErrnoException & Readonly<{ rawPacket?: Buffer; bytesParsed?: number }>

/** What may come until the first stream's headers begin: settings and the like. */
const http2BytesMax = 65_536
const http2PatienceMs = 5_000

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(frameHeadBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A string of HPACK (RFC 7541 §5.2), of less than 254 bytes. */
function literal(text: string): Buffer {
  const { length } = text
  return Buffer.concat([Buffer.from(length < 127 ? [length] : [127, length - 127]), Buffer.from(text, 'latin1')])
}
const field = (name: string, value: string): Buffer => Buffer.concat([Buffer.of(0), literal(name), literal(value)])
const status200 = Buffer.of(0x88)
const trailersOnly = Buffer.concat([
  status200,
  field('content-type', 'application/grpc'),
  field('grpc-status', grpcStatus),
  field('grpc-message', message),
])

function goAway(lastStream: number, error: number): Buffer {
  const payload = Buffer.alloc(8)
  payload.writeUInt32BE(lastStream)
  payload.writeUInt32BE(error, 4)
  return frame(types.goAway, 0, 0, payload)
}

/** `application/grpc` as it stands among the headers: plain, or in HPACK's Huffman code, in which it fills whole bytes. */
const grpcTypes = [Buffer.from('application/grpc'), Buffer.from('1d75d0620d263d4c4d6564', 'hex')]

/** For the first stream. gRPC's refusals have the HTTP status 200, which to anybody else would say that its telemetry is stored. */
function answerTo(stream: number, headers: Buffer): Buffer {
  if (!grpcTypes.some((type) => headers.includes(type))) return goAway(0, http11Required)
  return Buffer.concat([frame(types.headers, endOfStreamAndHeaders, stream, trailersOnly), goAway(stream, noError)])
}

/** `rest`: what came with the preface, and behind it. */
export function refuseHttp2(socket: Socket, rest: Buffer): void {
  let unread = rest
  let bytesRead = rest.length
  const read = (): void => {
    while (unread.length >= frameHeadBytes) {
      const length = frameHeadBytes + unread.readUIntBE(0, 3)
      const [type, flags] = [unread.readUInt8(3), unread.readUInt8(4)]
      if (unread.length < length) return
      if (type === types.headers) {
        const answer = answerTo(unread.readUInt32BE(5), unread.subarray(frameHeadBytes, length))
        socket.off('data', take).resume().end(answer)
        return
      }
      if (type === types.settings && flags !== acknowledgement) socket.write(frame(types.settings, acknowledgement, 0))
      unread = unread.subarray(length)
    }
  }
  const take = (bytes: Buffer): void => {
    bytesRead += bytes.length
    unread = Buffer.concat([unread, bytes])
    // Each setting is acknowledged: whoever sends them without end must not fill the memory with that.
    if (bytesRead > http2BytesMax) socket.destroy()
    else read()
  }
  // Node's parser would report each further byte as another broken request.
  socket.removeAllListeners('data').on('data', take)
  socket.on('error', () => undefined)
  const late = setTimeout(() => socket.destroy(), http2PatienceMs)
  socket.once('close', () => clearTimeout(late))
  socket.write(frame(types.settings, 0, 0))
  read()
}

/** What Node's parser left of the packet in which it stopped at HTTP/2's preface; undefined: it did not stop at one. */
export function behindPreface(error: ParserError): Buffer | undefined {
  return error.code === 'HPE_PAUSED_H2_UPGRADE' ? error.rawPacket?.subarray(error.bytesParsed) : undefined
}
