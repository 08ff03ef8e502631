import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import { createSession } from 'koa-session'
import type { Session, SessionEnd, SignedIn } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { present } from '#src/lib/assert.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { createCookieKeys } from './cookie-keys.ts'

/**
 * Keeps sessions as the directory's events, so that every process knows them and a revoked one ends everywhere. Positions are the directory's. The
 * cookie carries one, so that a process that is behind can wait for it.
 */
type SessionStore = Readonly<{
  get(id: string, position: number): Promise<Session | undefined>
  /** Resolves when the session is durable, with its position. */
  start(id: string, session: SignedIn): Promise<number>
  end(id: string, reason: SessionEnd): Promise<void>
}>

type SessionState = { session?: Session; position?: number }
type KoaSession = Readonly<{ regenerate?: () => Promise<void> }>

const stateOf = (ctx: Context): SessionState => ctx.state
const holderOf = (ctx: Context): { session: KoaSession | null } => ctx as unknown as { session: KoaSession | null }

/** `id.position`, both as we made them; anything else is no session. */
function readCookie(value: string | undefined): Readonly<{ id: string; position: number }> | undefined {
  const match = /^([A-Za-z0-9_-]{20,64})\.(\d{1,15})$/.exec(value ?? '')
  return match === null ? undefined : { id: match[1] ?? '', position: Number(match[2]) }
}

type SessionOptions = Readonly<{
  /** Keys that sign the cookie; the first signs, all verify. */
  keys: readonly string[]
  /** True where people reach the service by https, as BASE_URL says; undefined: as the connection is. */
  secure: boolean | undefined
  store: SessionStore
  /** Lifetime of the cookie, ms. The store decides when the session itself ends. */
  cookieMaxAgeMs: number
  newId: () => string
}>

function adapt(store: SessionStore): object {
  return {
    get: async (id: string, _maxAge: unknown, { ctx }: { ctx: Context }) => {
      const session = await store.get(id, stateOf(ctx).position ?? 0)
      if (session === undefined) return undefined
      stateOf(ctx).session = session
      return { ...session }
    },
    set: async (id: string, data: SignedIn, _maxAge: unknown, { ctx }: { ctx: Context }) => {
      // koa-session saves a regenerated session twice: when asked to, and again as it answers.
      if (stateOf(ctx).session?.id === id) return
      const { userId, email, workspaceId, startedAt, address, passwordPosition } = data
      const session = { userId, email, workspaceId, startedAt }
      const from = address === undefined ? {} : { address }
      stateOf(ctx).position = await store.start(id, { ...session, ...from, passwordPosition })
      stateOf(ctx).session = { id, ...session }
    },
    destroy: async (id: string, { ctx }: { ctx: Context }) =>
      store.end(id, holderOf(ctx).session === null ? 'signedOut' : 'replaced'),
  }
}

/**
 * koa-session over the store: a signed, HttpOnly, SameSite=Lax cookie that holds only the session's id. Made for one app,
 * whose context it extends.
 */
export function createSessionMiddleware({ keys, secure, store, cookieMaxAgeMs, newId }: SessionOptions) {
  return (app: Koa): Middleware => {
    app.keys = createCookieKeys(keys) as Koa['keys']
    const name = secure === true ? '__Host-throughline' : 'throughline'
    const cookie = { maxAge: cookieMaxAgeMs, httpOnly: true, signed: true, sameSite: 'lax' as const, path: '/' }
    const secureOption = secure === undefined ? {} : { secure }
    const middleware = createSession(
      {
        ...cookie,
        ...secureOption,
        key: name,
        genid: () => newId(),
        store: adapt(store) as never,
        externalKey: {
          get: ((ctx: Context) => {
            const read = readCookie(ctx.cookies.get(name, { signed: true }))
            if (read !== undefined) stateOf(ctx).position = read.position
            return read?.id
          }) as never,
          set: (ctx: Context, id: string) => {
            ctx.cookies.set(name, `${id}.${stateOf(ctx).position ?? 0}`, {
              ...cookie,
              ...secureOption,
              overwrite: true,
            })
          },
        },
      },
      app,
    )
    return (ctx, next) => {
      // Behind a proxy that ends TLS the connection itself is plain: BASE_URL decides.
      if (secure === true) ctx.cookies.secure = true
      return middleware(ctx, next)
    }
  }
}

/** The signed-in session, once the middleware has run. */
export const sessionOf = (ctx: Context): Session | undefined => stateOf(ctx).session

/** The same, or why there is none. */
export function requireSession(ctx: Context): Result<Session, Refusal> {
  const session = sessionOf(ctx)
  if (session !== undefined) return ok(session)
  return fail(
    refusal('not_signed_in', 'Sign in at /app/sign-in first; this address answers only to a signed-in browser.'),
  )
}

/** The session of a `session` route; the router has refused everybody else. */
export function sessionHere(ctx: Context): Session {
  return present(sessionOf(ctx), 'a session route has a session')
}

/** Starts a session as the request is answered: under a new id, made here, always, so that none can be planted beforehand. */
export async function signIn(ctx: Context, session: SignedIn): Promise<void> {
  const signedInAlready = sessionOf(ctx) !== undefined
  holderOf(ctx).session = { ...session } as KoaSession
  if (signedInAlready) await holderOf(ctx).session?.regenerate?.()
}

/** Ends the session of the request and takes its cookie away. */
export function signOut(ctx: Context): void {
  holderOf(ctx).session = null
}
