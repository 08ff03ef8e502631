import { createHmac, timingSafeEqual } from 'node:crypto'

/** What signs cookies and tells whose signature one bears: the form that Koa's `app.keys` takes. */
type CookieKeys = Readonly<{
  /** By the first key. */
  sign(text: string): string
  verify(text: string, signature: string): boolean
  /** Which of the keys has signed it; -1: none. */
  index(text: string, signature: string): number
}>

const signaturesKnownMax = 4_096
/** A cookie's name and value are short; somebody may send others. */
const textKnownMax = 256

/**
 * HMAC-SHA-1 in base64url without padding, as Koa's own default has it (`keygrip`). A browser sends the same cookie with every
 * request, so signatures are kept: all forgotten at a bound. Those sent are compared with them in constant time.
 */
export function createCookieKeys(keys: readonly string[]): CookieKeys {
  const known = keys.map(() => new Map<string, Buffer>())

  function signature(text: string, index: number): Buffer {
    const ofKey = known[index]
    const kept = ofKey?.get(text)
    if (kept !== undefined) return kept
    const made = Buffer.from(
      createHmac('sha1', keys[index] ?? '')
        .update(text)
        .digest('base64url'),
    )
    if (ofKey === undefined || text.length > textKnownMax) return made
    if (ofKey.size >= signaturesKnownMax) ofKey.clear()
    ofKey.set(text, made)
    return made
  }

  function isSignedBy(index: number, text: string, given: Buffer): boolean {
    const own = signature(text, index)
    return own.length === given.length && timingSafeEqual(own, given)
  }

  const index = (text: string, given: string): number => {
    const bytes = Buffer.from(given)
    return keys.findIndex((_, at) => isSignedBy(at, text, bytes))
  }
  return {
    sign: (text) => signature(text, 0).toString(),
    verify: (text, given) => index(text, given) >= 0,
    index,
  }
}
