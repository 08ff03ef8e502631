import { connect, type Socket } from 'node:net'

export type RawAnswer = Readonly<{ status: number; head: string; body: Buffer }>

/** One keep-alive connection, one request at a time. Far cheaper than `node:http`, so that the driver is not what is measured. */
export type RawConnection = Readonly<{
  /** `head`: the request line and headers with the empty line behind them. Rejects when the connection ends first. */
  request(head: string, body?: Uint8Array): Promise<RawAnswer>
  close(): void
}>

type Pending = Readonly<{ resolve(answer: RawAnswer): void; reject(error: Error): void }>

const headEnd = Buffer.from('\r\n\r\n')

type Part = Readonly<{ body: Buffer; end: number }>

const lastChunk = Buffer.from('0\r\n\r\n')

/**
 * A body that is sent in chunks from `start`; undefined while it is not whole. Source: RFC 9112, section 7.1. There is one request at a
 * time, so nothing follows the last chunk: only where it ends are all of them looked at.
 */
function parseChunks(bytes: Buffer, start: number): Part | undefined {
  if (!bytes.subarray(start).subarray(-lastChunk.length).equals(lastChunk)) return undefined
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (Number.isNaN(size)) throw new Error('a chunk without its size')
    const [from, to] = [line + 2, line + 2 + size]
    at = to + 2
    if (bytes.length < at) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), end: at }
    chunks.push(bytes.subarray(from, to))
  }
}

/** The first answer in `bytes`, and where it ends; undefined while it is not whole. Only answers that tell their length are read. */
export function parseAnswer(bytes: Buffer): Readonly<{ answer: RawAnswer; end: number }> | undefined {
  const split = bytes.indexOf(headEnd)
  if (split < 0) return undefined
  const head = bytes.toString('latin1', 0, split)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const start = split + headEnd.length
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const chunked = parseChunks(bytes, start)
    return chunked === undefined ? undefined : { answer: { status, head, body: chunked.body }, end: chunked.end }
  }
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && status !== 204)
    throw new Error(`an answer without Content-Length: ${head.split('\r\n')[0]}`)
  const end = start + Number(length ?? 0)
  return bytes.length < end ? undefined : { answer: { status, head, body: bytes.subarray(start, end) }, end }
}

export async function openConnection(host: string, port: number): Promise<RawConnection> {
  let pending: Pending | undefined
  let received: Buffer = Buffer.alloc(0)
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opened = connect({ host, port, noDelay: true }, () => resolve(opened))
    opened.once('error', reject)
  })
  const fail = (error: Error): void => {
    pending?.reject(error)
    pending = undefined
    socket.destroy()
  }
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    try {
      const parsed = parseAnswer(received)
      if (parsed === undefined) return
      received = received.subarray(parsed.end)
      const waiting = pending
      pending = undefined
      waiting?.resolve(parsed.answer)
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)))
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return {
    request: (head, body) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the connection is closed'))
        pending = { resolve, reject }
        socket.cork()
        socket.write(head, 'latin1')
        if (body !== undefined) socket.write(body)
        socket.uncork()
      }),
    close: () => socket.destroy(),
  }
}
