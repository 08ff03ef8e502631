import type { Context } from 'koa'

/**
 * The `Content-Type` of a request, empty when it names none. A logger whose user sets the header too, in another case, sends
 * `application/json, application/x-ndjson`, since fetch joins them: of such a list the last counts (RFC 9110 §8.3).
 */
export const contentTypeOf = (ctx: Context): string => ctx.get('Content-Type').split(',').at(-1)?.trim() ?? ''
