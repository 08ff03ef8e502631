import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Context } from 'koa'

const pieceBytes = 64 * 1024

/** One for all: to make it, with its stack, took 50 µs of each request. */
const nobodyWaits = new DOMException('the answer has gone out, or its connection is gone', 'AbortError')

/** Aborted when the answer has gone out or its connection is gone: nobody waits for anything more of it. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (res.writableFinished || res.destroyed) gone.abort(nobodyWaits)
  else res.once('close', () => gone.abort(nobodyWaits))
  return gone.signal
}

/** The bytes in the pieces that they are sent in. */
export function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** Sends a long answer in pieces, so that it shows whether the client reads it. Returns its length in bytes. */
export function sendInPieces(ctx: Context): number {
  const { body } = ctx
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return 0
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length <= pieceBytes) return bytes.length
  ctx.body = Readable.from(piecesOf(bytes), { objectMode: true, highWaterMark: 1 })
  ctx.length = bytes.length
  return bytes.length
}

/**
 * Breaks an answer off so that its client sees that it is not whole. Chunks and lengths show that. HTTP/1.0 has no chunks, and an end of the connection
 * would pass for that of the body, so there it is reset. TLS shows a cut by itself.
 */
export function breakOff(res: ServerResponse): void {
  const { req, socket } = res
  if (req.httpVersion === '1.0' && socket !== null && !('encrypted' in socket)) socket.resetAndDestroy()
  else res.destroy()
}

/**
 * Breaks off an answer of which the client reads less than a piece within `stallMs`; after twice that at the latest. While the answer itself has
 * nothing to send, the client is not to blame.
 */
export function breakOffUnread(res: ServerResponse, gone: AbortSignal, stallMs: number): void {
  if (gone.aborted) return
  let isStuck = false
  const timer = setInterval(() => {
    if (isStuck) breakOff(res)
    isStuck = res.writableNeedDrain || res.writableEnded
  }, stallMs)
  res.on('drain', () => (isStuck = false))
  gone.addEventListener('abort', () => clearInterval(timer))
}
