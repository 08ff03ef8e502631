import type { Context } from 'koa'
import { normalEmail } from '#src/directory/normal-form.ts'
import type { User } from '#src/directory/directory.ts'
import type { Authenticated } from '#src/directory/user-commands.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { TransientError } from '#src/lib/failure.ts'
import { clientAddress } from '#src/http/client-address.ts'
import { setRefusal } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { sessionOf, signIn, signOut } from '#src/http/session.ts'
import { atFault, problem, sendSessionPage, sessionHere, sessionPage, type AppContext } from '../context.ts'
import { readForm, sessionOver } from '../form.ts'
import { html, type Html } from '../html.ts'
import { seeOther, sendPage } from '../page.ts'
import { splitWorkspace } from '../workspace-links.ts'

const home = '/app'
const chooser = '/app/workspace'
/** As long as links within a search can be; escaped once more they still fit into a request's address. */
const nextCharactersMax = 16_384

// The forms of this file have no action: they are sent to their page's own address. The browser keeps the fragment across the redirect to it and the
// one to the page asked for. No server ever sees the fragment.

/** A path of our own pages, with its query, that a form may lead to. Anything else leads home. */
function localPath(next: string | null): string {
  if (next === null || !next.startsWith('/app') || next.length > nextCharactersMax) return home
  const { pathname, search } = new URL(next, 'http://throughline.invalid')
  // The parsed path is checked again: `/app/..//elsewhere` has become `//elsewhere`.
  const isOurs = pathname === home || pathname.startsWith('/app/')
  return isOurs && !pathname.startsWith('/app/sign-') ? pathname + search : home
}

/** A notice for a download, which leaves the page as it is, so that the sign-in seems to have failed. */
function aboutExport(next: string): Html {
  const { pathname, searchParams } = new URL(next, 'http://throughline.invalid')
  if (pathname !== '/app/logs/export') return html``
  searchParams.delete('format')
  return html`<p class="notice">
    The export begins when you have signed in, and this page stays. Go on then to
    <a href="/app/logs?${searchParams.toString()}">the logs that it is of</a>.
  </p>`
}

type Shown = Readonly<{ status: number; email?: string; next: string; problem?: string }>

function sendSignIn(ctx: Context, shown: Shown): void {
  // The password is typed again in any case.
  const isAgain = shown.problem !== undefined
  const body = html`${aboutExport(shown.next)}${problem(shown.problem)}
    <form class="stack" method="post">
      <input type="hidden" name="next" value="${shown.next}" />
      <label
        >E-mail
        <input
          name="email"
          type="text"
          inputmode="email"
          autocomplete="username"
          required
          ${isAgain ? html`` : html`autofocus`}
          value="${shown.email ?? ''}"
      /></label>
      <label
        >Password <input name="password" type="password" autocomplete="current-password" required ${atFault(isAgain)}
      /></label>
      <button type="submit">Sign in</button>
    </form>
    <p class="note">
      Forgot your password? Whoever runs this server can set a new one:
      <code>npx throughline user password E-MAIL</code>.
    </p>`
  sendPage(ctx, shown.status, { title: 'Sign in', body })
}

const wrong = 'E-mail or password is wrong.'
const tooMany = 'Too many sign-ins failed. Wait a moment and try again.'
const homeless = 'This account is a member of no workspace. Ask an owner to add it.'

/** Authenticates a person. A failure gives the same answer after the same work, whether or not the account exists. */
async function checkSignIn(
  { directory, throttle }: AppContext,
  wanted: Readonly<{ email: string; password: string; address: string }>,
): Promise<Authenticated | Readonly<{ waitS: number }>> {
  const user = directory.userByEmail(wanted.email)
  const isKnown = user !== undefined && directory.isKnownAddress(user.id, wanted.address)
  const attempt = { email: wanted.email, address: wanted.address, isKnown }
  const waitS = throttle.take(attempt)
  if (waitS > 0) return { waitS }
  const signedIn = await directory.authenticate(wanted.email, wanted.password)
  if (signedIn !== undefined) {
    throttle.succeeded(attempt)
    return signedIn
  }
  // Not awaited: an answer that took longer for some accounts would reveal which exist. If recording fails, the failure is counted in a later audit
  // entry.
  directory.recordFailedSignIn({ userId: user?.id ?? null, address: wanted.address }).catch(() => undefined)
  return { waitS: 0 }
}

/** The workspace to begin in: the one that the wanted address names, if the person belongs to it. */
function firstWorkspace({ workspaceIds }: Pick<User, 'workspaceIds'>, next: string) {
  const asked = splitWorkspace(next).workspaceId
  const wanted = workspaceIds.find((id) => id === asked)
  return { workspaceId: wanted ?? workspaceIds[0], mayChoose: wanted === undefined && workspaceIds.length > 1 }
}

async function handleSignIn(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readForm(ctx, app)
  if (!form.ok) return form.error
  const email = normalEmail(form.value.get('email') ?? '')
  const next = localPath(form.value.get('next'))
  const password = form.value.get('password') ?? ''
  // Another process may have made the account or its password just now. Checked for every attempt, so that it does not reveal which accounts exist.
  if (!(await app.directory.caughtUp())) {
    throw new TransientError({ operation: 'sign in', subject: 'a person', hint: 'the directory cannot be told' })
  }
  const result = await checkSignIn(app, { email, password, address: clientAddress(ctx) })
  if ('waitS' in result) {
    const isThrottled = result.waitS > 0
    const detail = isThrottled ? tooMany : wrong
    setRefusal(
      ctx,
      refusal(isThrottled ? 'rate_limited' : 'not_signed_in', detail, isThrottled ? { retryAfterS: result.waitS } : {}),
    )
    return sendSignIn(ctx, { status: ctx.status, email, next, problem: detail })
  }
  const { workspaceId, mayChoose } = firstWorkspace(result, next)
  if (workspaceId === undefined) return sendSignIn(ctx, { status: 403, email, next, problem: homeless })
  const { id: userId, passwordPosition } = result
  const person = { userId, email: result.email, workspaceId, passwordPosition }
  await signIn(ctx, { ...person, startedAt: app.clock(), address: clientAddress(ctx) })
  seeOther(ctx, mayChoose ? `${chooser}?next=${encodeURIComponent(next)}` : next)
}

function sendChooser(ctx: Context, app: AppContext): Promise<void> {
  const session = sessionHere(ctx)
  const own = app.directory.user(session.userId)?.workspaceIds ?? []
  const next = localPath(new URLSearchParams(ctx.querystring).get('next'))
  // One form for all: the address to go on to may be long, and a person may belong to many workspaces.
  const body = html`<p>You belong to these workspaces. Everything you see is of one of them.</p>
    <form method="post">
      <input type="hidden" name="next" value="${next}" />
      ${own.map(
        (id) =>
          html`<p>
            <button type="submit" name="choice" value="${id}">${app.directory.workspace(id)?.name ?? id}</button>
            ${id === session.workspaceId ? html`<span class="note">you are here</span>` : html``}
          </p>`,
      )}
    </form>`
  return sendSessionPage(ctx, app, { title: 'Choose a workspace', body })
}

/**
 * Changes to another of one's workspaces under a new session, so that the old cookie never changes what it shows. The new session ends when the old
 * one would, with the password or by its time.
 */
async function handleChoice(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readForm(ctx, app)
  if (!form.ok) return form.error
  // The session is looked up again, because the form may have taken a while to arrive.
  const session = app.directory.session(sessionHere(ctx).id)
  if (session === undefined) return sessionOver
  const passwordPosition = app.directory.passwordPosition(session.userId)
  const choice = form.value.get('choice')
  const workspaceId = app.directory.user(session.userId)?.workspaceIds.find((id) => id === choice)
  if (workspaceId === undefined) return refusal('forbidden', 'You are not a member of this workspace.')
  if (workspaceId !== session.workspaceId) {
    const { userId, email, startedAt } = session
    // Without the address: one becomes known as the person's by a password only, and a session may be stolen.
    await signIn(ctx, { userId, email, workspaceId, startedAt, passwordPosition })
  }
  seeOther(ctx, localPath(form.value.get('next')))
}

async function handleSignOut(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readForm(ctx, app)
  if (!form.ok) return form.error
  if (sessionOf(ctx) !== undefined) signOut(ctx)
  seeOther(ctx, '/app/sign-in')
}

/** Routes for signing in, choosing a workspace, and signing out. */
export function createSignInRoutes(app: AppContext): Route[] {
  const { refuse } = app
  return [
    {
      method: 'GET',
      path: '/app/sign-in',
      auth: 'public',
      refuse,
      handler: (ctx) =>
        sendSignIn(ctx, { status: 200, next: localPath(new URLSearchParams(ctx.querystring).get('next')) }),
    },
    { method: 'POST', path: '/app/sign-in', auth: 'public', refuse, handler: (ctx) => handleSignIn(ctx, app) },
    { method: 'POST', path: '/app/sign-out', auth: 'public', refuse, handler: (ctx) => handleSignOut(ctx, app) },
    { ...sessionPage(refuse), method: 'GET', path: chooser, handler: (ctx) => sendChooser(ctx, app) },
    { ...sessionPage(refuse), method: 'POST', path: chooser, handler: (ctx) => handleChoice(ctx, app) },
  ]
}
