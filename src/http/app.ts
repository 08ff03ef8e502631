import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import Koa, { type Context, type Middleware } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import { answerTo, problemOf, requestIdOf, sendProblem, setRefusal } from './errors.ts'
import { answerThenClose } from './linger.ts'
import { createRouter, routePathOf, sendRefusal, type Route } from './route.ts'
import { breakOff } from './sending.ts'

/** A failure of ours, for the server's log: never shown to the caller. */
export type RequestFailure = Readonly<{ requestId: string; method: string; path: string; error: unknown }>

/** An answered request. `route` is the path as declared; `none` where no route matched. `seconds` passed until its answer began. */
type AnsweredRequest = Readonly<{ method: string; route: string; status: number; seconds: number }>

export type HttpAppOptions = Readonly<{
  routes: readonly Route[]
  /** From createSessionMiddleware; needed as soon as a route asks for a session. */
  session?: (app: Koa) => Middleware
  /** From 0 to 1: spreads `Retry-After`. */
  random: () => number
  /** How many proxies in front are trusted to set X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. */
  trustedProxies: number
  report: (failure: RequestFailure) => void
  /** Called for each request, when it is answered. */
  observe?: (request: AnsweredRequest) => void
}>

const hangUps: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'])
const isHangUp = (error: unknown): boolean => error instanceof Error && 'code' in error && hangUps.has(error.code)

/** Resolves when the stream has its first bytes, or has ended; rejects when it fails before. */
async function untilReady(stream: Readable): Promise<void> {
  if (stream.readableLength > 0 || stream.readableEnded) return
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: Error): void => {
      stream.off('readable', settle).off('end', settle).off('close', settle).off('error', settle)
      if (error === undefined) resolve()
      else reject(error)
    }
    stream.on('readable', settle).on('end', settle).on('close', settle).on('error', settle)
  })
}

/**
 * The HTTP application: request ids, our error mapping (a failure is 503, never 500 and never a stack trace), headers
 * against sniffing, and the routes.
 */
export function createHttpApp({ routes, session, random, trustedProxies, report, observe }: HttpAppOptions): Koa {
  const app = new Koa({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies })
  const boot = randomBytes(6).toString('base64url')
  let requests = 0
  const fail = (ctx: Context, error: unknown): void => {
    // Koa reports a body that fails twice: as the body's error, and as the end of the answer.
    if (ctx.state['failure'] === error) return
    ctx.state['failure'] = error
    report({ requestId: requestIdOf(ctx), method: ctx.method, path: (ctx.req.url ?? '').split('?', 1)[0] ?? '', error })
  }

  // A body that fails while it is sent comes here: Koa's own handler would answer 500.
  function answerFailure(this: Context, error: unknown): void {
    if (error === null || error === undefined) return
    if (!isHangUp(error)) fail(this, error)
    if (this.headerSent || !this.writable) {
      this.res.destroy()
      return
    }
    for (const name of this.res.getHeaderNames()) this.res.removeHeader(name)
    const answer = answerTo(error)
    setRefusal(this, answer)
    this.res.setHeader('Content-Type', 'application/problem+json')
    this.res.end(JSON.stringify(problemOf(answer, requestIdOf(this))))
  }
  Object.defineProperty(app.context, 'onerror', { value: answerFailure })

  app.use(async (ctx, next) => {
    const begun = performance.now()
    const requestId = `${boot}-${(++requests).toString(36)}`
    ctx.state['requestId'] = requestId
    ctx.state['random'] = random
    ctx.set('X-Request-Id', requestId)
    ctx.set('X-Content-Type-Options', 'nosniff')
    ctx.set('Referrer-Policy', 'same-origin')
    try {
      await next()
      // Once sending has begun, a failing body can only be aborted. So wait for its first bytes: a failure before them is answered with 503.
      if (ctx.body instanceof Readable) {
        await untilReady(ctx.body)
        // Before Koa hears of it, who would end the connection as behind a whole body.
        ctx.body.once('error', () => breakOff(ctx.res))
      }
    } catch (error) {
      if (ctx.req.socket.destroyed || isHangUp(error)) return
      fail(ctx, error)
      sendFailure(ctx, answerTo(error), fail)
    }
    const seconds = (performance.now() - begun) / 1_000
    observe?.({ method: ctx.method, route: routePathOf(ctx) ?? 'none', status: ctx.status, seconds })
    if (!ctx.req.complete) answerThenClose(ctx)
  })
  app.use(createRouter(routes, session?.(app)))
  return app
}

function sendFailure(ctx: Context, answer: Refusal, fail: (ctx: Context, error: unknown) => void): void {
  // Headers that the handler has set for an answer that is not sent: its body's encoding and file name, and where it would have led.
  for (const name of ctx.res.getHeaderNames()) if (/^(?:content-|location$)/.test(name)) ctx.remove(name)
  try {
    sendRefusal(ctx, answer)
  } catch (second) {
    fail(ctx, second)
    sendProblem(ctx, answer)
  }
}
