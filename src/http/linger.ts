import type { Context } from 'koa'

/** If no more than this is left of a body, it is read and dropped, and the connection stays. */
const restBytesMax = 1024 * 1024
const lingerMs = 1_000

function isWorthKeeping(ctx: Context): boolean {
  if (ctx.get('Expect') !== '' || ctx.status === 408) return false
  const declared = ctx.get('Content-Length')
  return declared === '' ? ctx.get('Transfer-Encoding') === '' : Number(declared) <= restBytesMax
}

/**
 * Answers a request whose body has not been read to its end. To close at once would reset the connection, and many senders would see the reset
 * instead of the answer. So the whole answer is sent first, what still comes is dropped for a moment, and then the connection is closed. A small
 * rest is dropped and the connection stays; Node does that only for a body that nobody has begun to read.
 */
export function answerThenClose(ctx: Context): void {
  const { body, req, res } = ctx
  if (isWorthKeeping(ctx)) {
    req.resume()
    return
  }
  if (res.headersSent || !(typeof body === 'string' || Buffer.isBuffer(body))) return
  ctx.set('Connection', 'close')
  ctx.respond = false
  if (ctx.method === 'HEAD' || body.length === 0) res.flushHeaders()
  else res.write(body)
  const end = (): void => {
    clearTimeout(timer)
    req.off('end', end).off('close', end)
    res.end()
  }
  const timer = setTimeout(end, lingerMs)
  req.once('end', end).once('close', end)
  req.on('error', () => undefined)
  req.resume()
}
