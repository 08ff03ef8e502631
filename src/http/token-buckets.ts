import type { Context } from 'koa'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Ticks } from '#src/lib/clock.ts'

type BucketOptions = Readonly<{
  /** Name of the policy in the headers: `key`, `workspace`. */
  policy: string
  perSecond: number
  burst: number
  /** Buckets kept; above it the one unused for longest goes. */
  bucketsMax: number
  ticks: Ticks
}>

type Taken = Readonly<{
  allowed: boolean
  /** Requests that could follow at once. */
  remaining: number
  /** Seconds until the next one is allowed; 0 when one is. */
  waitS: number
  policy: string
  perSecond: number
  burst: number
}>

type TokenBuckets = Readonly<{
  /** Takes one token of this name, if there is one. */
  take(name: string): Taken
}>

/** Token buckets by name: each fills with `perSecond` tokens up to `burst`. */
export function createTokenBuckets({ policy, perSecond, burst, bucketsMax, ticks }: BucketOptions): TokenBuckets {
  const buckets = new Map<string, { tokens: number; at: number }>()
  return {
    take: (name) => {
      const now = ticks()
      const known = buckets.get(name)
      const bucket = known ?? { tokens: burst, at: now }
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond)
      bucket.at = now
      // Moved to the end, so that the first of the map is the one unused for longest.
      if (known !== undefined) buckets.delete(name)
      buckets.set(name, bucket)
      if (buckets.size > bucketsMax) buckets.delete(buckets.keys().next().value ?? '')
      const allowed = bucket.tokens >= 1
      if (allowed) bucket.tokens -= 1
      const waitS = bucket.tokens >= 1 ? 0 : Math.ceil((1 - bucket.tokens) / perSecond)
      return { allowed, remaining: Math.floor(bucket.tokens), waitS, policy, perSecond, burst }
    },
  }
}

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10). */
export function setRateLimit(ctx: Context, { policy, remaining, waitS, burst, perSecond }: Taken): void {
  ctx.set('RateLimit-Policy', `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`)
  ctx.set('RateLimit', `"${policy}";r=${remaining};t=${waitS}`)
}

/** The refusal of a request whose bucket is empty. */
export function rateLimited({ policy, perSecond }: Taken): Refusal {
  return refusal('rate_limited', `This ${policy} may send ${perSecond} requests a second; send larger batches.`)
}
