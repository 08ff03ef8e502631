import { createHmac, timingSafeEqual } from 'node:crypto'
import { present } from '#src/lib/assert.ts'

/** What signs cookies and tells whose signature one bears: the form that Koa's `app.keys` takes. */
type CookieKeys = Readonly<{
  /** By the first key. */
  sign(text: string): string
  verify(text: string, signature: string): boolean
  /** Which of the keys has signed it; -1: none. */
  index(text: string, signature: string): number
}>

const signaturesKnownMax = 4_096
/** Longer texts are not remembered: our cookies are short, but anybody may send others. */
const textKnownMax = 256

/** HMAC-SHA-1 by one key. Signatures are remembered up to a bound, and then all forgotten. */
function createSigner(key: string): (text: string) => Buffer {
  const known = new Map<string, Buffer>()
  return (text) => {
    const kept = known.get(text)
    if (kept !== undefined) return kept
    const signature = Buffer.from(createHmac('sha1', key).update(text).digest('base64url'))
    if (text.length > textKnownMax) return signature
    if (known.size >= signaturesKnownMax) known.clear()
    known.set(text, signature)
    return signature
  }
}

/**
 * HMAC-SHA-1 in base64url without padding, as Koa's own default has it (`keygrip`). A browser sends the same cookie with every request, so
 * signatures are remembered. The ones sent are compared with them in constant time.
 */
export function createCookieKeys(keys: readonly string[]): CookieKeys {
  const signers = keys.map(createSigner)
  const index = (text: string, signature: string): number => {
    const given = Buffer.from(signature)
    return signers.findIndex((sign) => {
      const own = sign(text)
      return own.length === given.length && timingSafeEqual(own, given)
    })
  }
  return {
    sign: (text) => present(signers[0], 'there is a key that signs')(text).toString(),
    verify: (text, signature) => index(text, signature) >= 0,
    index,
  }
}
