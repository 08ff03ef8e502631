import type { Context } from 'koa'

const keyCharactersMax = 512

/** `Bearer%20tt_…`: some SDKs take header values from the environment percent-encoded and send them so. */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The password of Basic credentials (RFC 7617), or the user where the password is empty. */
function basicPassword(encoded: string): string {
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? text : text.slice(colon + 1) || text.slice(0, colon)
}

function keyOfAuthorization(header: string): string {
  const value = percentDecoded(header).trim()
  const blank = value.search(/\s/)
  // A scheme alone is sent when the variable with the key was not set.
  if (blank < 0) return /^(?:bearer|basic)$/i.test(value) ? '' : value
  const rest = value.slice(blank).trim()
  const scheme = value.slice(0, blank).toLowerCase()
  if (scheme === 'basic') return basicPassword(rest)
  return rest
}

/**
 * Every key that a request presents, in this order: `Authorization` (Bearer, Basic with the key as password, or bare),
 * `X-Api-Key`, and where `fromQuery` says so `?key=`. Nothing is checked but that a key could be it.
 */
export function presentedKeys(ctx: Context, { fromQuery }: Readonly<{ fromQuery: boolean }>): readonly string[] {
  const found = [keyOfAuthorization(ctx.get('Authorization')), percentDecoded(ctx.get('X-Api-Key'))]
  if (fromQuery && ctx.querystring !== '') found.push(...new URLSearchParams(ctx.querystring).getAll('key'))
  return found.map((key) => key.trim()).filter((key) => key !== '' && key.length <= keyCharactersMax)
}
