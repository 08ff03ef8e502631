import { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { sendProblem } from './errors.ts'
import { requireSession } from './session.ts'

type Method = 'GET' | 'POST' | 'OPTIONS'
const auths = ['key', 'session', 'public'] as const

/**
 * One method of one path. A handler answers on the context, or returns a refusal, which is sent as a problem document or
 * by the route's own `refuse`. What it throws becomes 503.
 */
export type Route = Readonly<{
  method: Method
  /** As in @koa/router: `/app/keys/:id`. Matched exactly but for a trailing slash. */
  path: string
  /**
   * `key`: the handler checks a key. `session`: refused here without a signed-in session (requireSession then holds).
   * `public`: open to everybody. There is no default: a route without it fails at start.
   */
  auth: (typeof auths)[number]
  handler: (ctx: Context) => Refusal | void | Promise<Refusal | void>
  /** Sends refusals of this path in its own format, failures and 405 included, and 404 for unknown paths below it. */
  refuse?: (ctx: Context, refused: Refusal) => void
  /** `session` routes that are pages: a signed-out browser navigation goes to sign-in instead of 401. */
  signInPage?: string
  /** Where to return after sign-in, if not to the request's own address: for a form, its page with what was typed. */
  back?: (ctx: Context) => Promise<string>
}>

const routeOf = new WeakMap<Context, Route>()

/** The path of the request's route as it was declared; undefined where no route matches. */
export const routePathOf = (ctx: Context): string | undefined => routeOf.get(ctx)?.path

/** Sends a refusal in the form of the request's route. */
export function sendRefusal(ctx: Context, refused: Refusal): void {
  const send = routeOf.get(ctx)?.refuse ?? sendProblem
  send(ctx, refused)
}

function isNavigation(ctx: Context): boolean {
  const mode = ctx.get('Sec-Fetch-Mode')
  if (mode !== '') return mode === 'navigate'
  // Browsers do not send Sec-Fetch-Mode to a server without TLS.
  return ctx.get('Accept').includes('text/html')
}

async function run(ctx: Context, route: Route): Promise<void> {
  if (route.auth === 'session') {
    const session = requireSession(ctx)
    if (!session.ok) {
      if (route.signInPage === undefined || !isNavigation(ctx)) return sendRefusal(ctx, session.error)
      const back = route.back === undefined ? ctx.url : await route.back(ctx)
      ctx.status = 303
      ctx.set('Location', `${route.signInPage}?next=${encodeURIComponent(back)}`)
      ctx.set('Cache-Control', 'no-store')
      return
    }
  }
  const refused = await route.handler(ctx)
  if (refused !== undefined) sendRefusal(ctx, refused)
}

const nameOf = ({ method, path }: Readonly<{ method: string; path: string }>): string => `${method} ${path}`

/** The longest route that an unmatched address lies below: its 404 has that route's format, and knows the session where that does. */
const routeAbove = (routes: readonly Route[], address: string): Route | undefined =>
  routes.filter(({ path }) => address.startsWith(`${path}/`)).sort((a, b) => b.path.length - a.path.length)[0]

/** The right paths, for a sender at a wrong one: of an answer, most senders show only the text. */
const addresses =
  'Traces are sent to /api/traces/v1/otlp, logs to /api/logs/v1/ingest, browser events to /api/rum/v1/ingest.'

/** What is wrong with an address; a program that sends is also told the right ones. */
const withAddresses = (ctx: Context, wrong: string): string =>
  ctx.method === 'POST' && !/^\/app(?:\/|$)/.test(ctx.path) ? `${wrong} ${addresses}` : wrong

/** A path without parameters or patterns. */
const plainPath = /^[\w./-]+$/

function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>()
  for (const { method, path, auth } of routes) {
    const name = nameOf({ method, path })
    if (!auths.includes(auth)) throw new Error(`route ${name} does not say who may use it (auth)`)
    if (seen.has(name)) throw new Error(`route ${name} is declared twice`)
    seen.add(name)
  }
}

/**
 * A middleware that answers every request: by its route, or with 404, or with 405 and `Allow`. Sessions are looked up except
 * for `key` routes. Throws when a route has no auth declaration or is declared twice.
 */
export function createRouter(routes: readonly Route[], session?: Middleware): Middleware {
  checkRoutes(routes)
  const router = new Router({ sensitive: true })
  const routeOfLayer = new Map<unknown, Route>()
  for (const route of routes) {
    routeOfLayer.set(
      router.register(route.path, [route.method], () => undefined),
      route,
    )
  }
  // Fast path: nearly every request is for a route without parameters, while the router tries the pattern of each route.
  const isPlain = (route: Route): boolean =>
    plainPath.test(route.path) && routeOfLayer.get(router.match(route.path, route.method).pathAndMethod[0]) === route
  const plain = new Map(routes.filter(isPlain).map((route) => [nameOf(route), route]))
  const answer = (ctx: Context, route: Route): unknown => {
    if (session === undefined || route.auth === 'key') return run(ctx, route)
    return session(ctx, () => run(ctx, route))
  }
  return async (ctx) => {
    const named = plain.get(nameOf(ctx))
    if (named !== undefined) {
      routeOf.set(ctx, named)
      ctx['params'] = {}
      return answer(ctx, named)
    }
    const matched = router.match(ctx.path, ctx.method)
    const layer = matched.pathAndMethod[0] ?? matched.path[0]
    const route = routeOfLayer.get(layer)
    if (layer === undefined || route === undefined) {
      const above = routeAbove(routes, ctx.path)
      const refuse = async (): Promise<void> =>
        (above?.refuse ?? sendProblem)(
          ctx,
          refusal('not_found', withAddresses(ctx, `There is nothing at ${ctx.path}.`)),
        )
      return session === undefined || above?.auth !== 'session' ? refuse() : session(ctx, refuse)
    }
    routeOf.set(ctx, route)
    if (!matched.route) {
      const allow = [...new Set(matched.path.flatMap((each) => each.methods))].sort()
      const detail = withAddresses(ctx, `${ctx.path} takes ${allow.join(', ')}, not ${ctx.method}.`)
      return sendRefusal(ctx, refusal('method_not_allowed', detail, { allow }))
    }
    ctx['params'] = layer.params(ctx.path, layer.captures(ctx.path))
    return answer(ctx, route)
  }
}
