import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import type { FollowedView, Key } from '#src/directory/directory.ts'
import { isWellFormedKey } from '#src/directory/keys.ts'
import { refusal, type Refusal, type RefusalCode } from '#src/events/refusal.ts'
import { createTokenBuckets, rateLimited, setRateLimit } from '#src/http/token-buckets.ts'
import { presentedKeys } from '#src/http/presented-key.ts'
import type { Ticks } from '#src/lib/clock.ts'
import { fail, type Result } from '#src/lib/result.ts'
import { checkCredential, keyThatCounts, type Credential, type Presented, type Surface } from './credential.ts'

const bucketsMax = 100_000

/** Refusals that may be stale, since another process may just have created the key or changed the plan. Senders drop their data on both. */
const passing: ReadonlySet<RefusalCode> = new Set(['invalid_credential', 'entitlement_required'])
const notKnown = refusal('unavailable', 'Whether this key may be used cannot be told now. Send the request again.')

type AdmissionOptions = Readonly<{
  directory: FollowedView
  limits: Limits
  ticks: Ticks
  onExposed: (key: Key) => void
}>

/** Admits a request or refuses it, by its headers alone. */
export type Admission = (ctx: Context, surface: Surface) => Promise<Result<Credential, Refusal>>

/** Checks the credential first, then the rates of its key and of its workspace. */
export function createAdmission({ directory, limits, ticks, onExposed }: AdmissionOptions): Admission {
  const perKey = createTokenBuckets({
    policy: 'key',
    perSecond: limits.requestsPerKeyPerSecond,
    burst: limits.requestsPerKeyBurst,
    bucketsMax,
    ticks,
  })
  const perWorkspace = createTokenBuckets({
    policy: 'workspace',
    perSecond: limits.requestsPerWorkspacePerSecond,
    burst: limits.requestsPerWorkspaceBurst,
    bucketsMax,
    ticks,
  })

  const checkRate = (ctx: Context, surface: Surface, { keyId, workspaceId }: Credential): Refusal | undefined => {
    const ofKey = perKey.take(keyId)
    // API readers pace themselves by these headers; senders get them only with a refusal.
    if (!ofKey.allowed || surface === 'listing') setRateLimit(ctx, ofKey)
    if (!ofKey.allowed) return rateLimited(ofKey)
    const ofWorkspace = perWorkspace.take(workspaceId)
    if (ofWorkspace.allowed) return undefined
    setRateLimit(ctx, ofWorkspace)
    // logtail-python drops its data on 429, but retries on 503.
    return surface === 'logs' ? refusal('overloaded', rateLimited(ofWorkspace).detail) : rateLimited(ofWorkspace)
  }

  const check = async (surface: Surface, presented: Presented): Promise<Result<Credential, Refusal>> => {
    const credential = checkCredential(surface, presented, { directory, onExposed })
    if (credential.ok || !passing.has(credential.error.code)) return credential
    if (!isWellFormedKey(keyThatCounts(presented) ?? '')) return credential
    if (!(await directory.caughtUp())) return fail(notKnown)
    return checkCredential(surface, presented, { directory, onExposed })
  }

  return async (ctx, surface) => {
    const origin = ctx.get('Origin')
    const keys = presentedKeys(ctx, { fromQuery: surface === 'rum' })
    const presented = { keys, origin: origin === '' ? undefined : origin }
    const credential = await check(surface, presented)
    if (!credential.ok) return credential
    const refused = checkRate(ctx, surface, credential.value)
    return refused === undefined ? credential : fail(refused)
  }
}
