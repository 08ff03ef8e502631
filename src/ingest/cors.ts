import type { Context } from 'koa'

const headersAllowed = [
  'content-type',
  'content-encoding',
  'authorization',
  'x-api-key',
  'x-faro-session-id',
  'idempotency-key',
  'traceparent',
  'tracestate',
  'baggage',
]
const preflightSeconds = 7_200

/** Lets the page that sent this read the answer: any page, and never with credentials (Fetch standard, "CORS protocol"). */
export function allowOrigin(ctx: Context): void {
  const origin = ctx.get('Origin')
  ctx.vary('Origin')
  if (origin === '') return
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Expose-Headers', 'Retry-After, X-Faro-Session-Status')
}

export function denyOrigin(ctx: Context): void {
  ctx.remove('Access-Control-Allow-Origin')
  ctx.remove('Access-Control-Expose-Headers')
}

/** Answers a preflight. It names no key, so that which pages may send is decided with the request itself. */
export function answerPreflight(ctx: Context): void {
  allowOrigin(ctx)
  ctx.set('Access-Control-Allow-Methods', 'POST')
  ctx.set('Access-Control-Allow-Headers', headersAllowed.join(', '))
  ctx.set('Access-Control-Max-Age', String(preflightSeconds))
  ctx.status = 204
}
