import type { Context } from 'koa'
import { refusal, type Refusal, type RefusalCode } from '#src/events/refusal.ts'
import { LateError, PermanentError } from '#src/lib/failure.ts'

/** The only table of status codes: what each refusal is called on the wire. Statuses: RFC 9110, RFC 6585. */
const answers: Readonly<Record<RefusalCode, readonly [status: number, title: string]>> = {
  invalid_request: [400, 'Invalid request'],
  invalid_body: [400, 'Invalid body'],
  invalid_parameter: [400, 'Invalid parameter'],
  unknown_parameter: [400, 'Unknown parameter'],
  query_syntax: [400, 'Query not understood'],
  query_too_broad: [400, 'Query too broad'],
  invalid_cursor: [400, 'Invalid cursor'],
  cursor_mismatch: [400, 'Cursor of another query'],
  missing_credential: [401, 'Credential missing'],
  invalid_credential: [401, 'Credential not valid'],
  revoked_credential: [401, 'Credential revoked'],
  not_signed_in: [401, 'Not signed in'],
  wrong_key_kind: [403, 'Wrong kind of key'],
  secret_in_browser: [403, 'Secret key used from a browser'],
  secret_key_in_browser: [403, 'Secret key where only a publishable key is allowed'],
  origin_not_allowed: [403, 'Origin not allowed'],
  entitlement_required: [403, 'Not in the plan'],
  forbidden: [403, 'Forbidden'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  body_timeout: [408, 'Body came too slowly'],
  payload_too_large: [413, 'Body too large'],
  unsupported_media_type: [415, 'Content type not supported'],
  unsupported_encoding: [415, 'Content encoding not supported'],
  rate_limited: [429, 'Too many requests'],
  overloaded: [503, 'Overloaded'],
  unavailable: [503, 'Unavailable for the moment'],
}

/** Every code that a refusal can have. */
export const refusalCodes = Object.keys(answers) as readonly RefusalCode[]

export const statusOf = (code: RefusalCode): number => answers[code][0]
export const titleOf = (code: RefusalCode): string => answers[code][1]

/** Seconds, 1 to 4 at random: senders drop what must wait longer than their own budget, and jitter spreads their return. */
export const retryAfterS = (random: () => number): number => 1 + Math.floor(random() * 4)

type Answering = Readonly<{ requestId?: string; random?: () => number }>

/** The id under which the server's own log speaks of this request. */
export const requestIdOf = (ctx: Context): string => (ctx.state as Answering).requestId ?? ''

/** Whether the refusal may pass by itself, so that the sender should come back. */
export const isPassing = (code: RefusalCode): boolean => [429, 503].includes(statusOf(code))

/** The refusal, with the time after which to come back if it may pass by itself. */
export function withRetry(ctx: Context, refused: Refusal): Refusal {
  if (refused.retryAfterS !== undefined || !isPassing(refused.code)) return refused
  return { ...refused, retryAfterS: retryAfterS((ctx.state as Answering).random ?? Math.random) }
}

function challengeOf(code: RefusalCode): string {
  if (code === 'not_signed_in') return 'Session realm="throughline"'
  if (code === 'missing_credential') return 'Bearer realm="throughline"'
  return 'Bearer realm="throughline", error="invalid_token"'
}

/**
 * Sets the status and headers of a refusal, not its body: `WWW-Authenticate` with 401 (RFC 6750 §3), `Allow` with 405,
 * `Retry-After` with 429 and 503.
 */
export function setRefusal(ctx: Context, refused: Refusal): void {
  const { code, allow, retryAfterS: wait } = withRetry(ctx, refused)
  const status = statusOf(code)
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  if (status === 401) ctx.set('WWW-Authenticate', challengeOf(code))
  if (allow !== undefined) ctx.set('Allow', allow.join(', '))
  if (wait !== undefined) ctx.set('Retry-After', String(wait))
}

/** The problem document of a refusal (RFC 9457), with our members `code` and `request_id`. */
export function problemOf(refused: Refusal, requestId: string): object {
  const { code, detail, errors, feature, position, expected, index } = refused
  return {
    type: 'about:blank',
    title: titleOf(code),
    status: statusOf(code),
    detail,
    code,
    request_id: requestId,
    errors,
    feature,
    position,
    expected,
    index,
  }
}

/** Answers with the refusal as `application/problem+json`. */
export function sendProblem(ctx: Context, refused: Refusal): void {
  setRefusal(ctx, refused)
  ctx.type = 'application/problem+json'
  ctx.body = JSON.stringify(problemOf(refused, requestIdOf(ctx)))
}

/**
 * What the caller is told of a failure of ours: always 503, because senders drop their data on 500 and a passing fault is
 * what most failures are. The failure itself goes to the server's log, under the request's id.
 */
const unavailable: Refusal = refusal(
  'unavailable',
  'The service could not do this just now; nothing is wrong with the request. Send it again.',
)

/** For work that was not done in time: the same request may fail again. */
const late: Refusal = refusal(
  'unavailable',
  'This was not done in the time there is for it. Ask for less, such as a shorter time, fewer conditions or words without *; if it asks little, send it again later.',
)

/** For a lasting fault, such as a damaged index file: the same request fails until somebody has repaired it. */
const broken: Refusal = refusal(
  'unavailable',
  'The service cannot do this before whoever runs it has mended something; nothing is wrong with the request. The server’s output says what.',
)

export function answerTo(error: unknown): Refusal {
  if (error instanceof LateError) return late
  return error instanceof PermanentError ? broken : unavailable
}
