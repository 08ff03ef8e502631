import type { Context } from 'koa'
import { passwordCharactersMin } from '#src/directory/passwords.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { clientAddress } from '#src/http/client-address.ts'
import { signIn } from '#src/http/session.ts'
import { atFault, notice, problem, sendSessionPage, sessionHere, sessionPage, type AppContext } from '../context.ts'
import { backWithTyped, readOwnForm } from '../form.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'

const path = '/app/password'

/** `field`: the one that the problem is about. */
type Shown = Readonly<{ status?: number; problem?: string; field?: string; notice?: string | undefined }>

function sendPassword(ctx: Context, app: AppContext, shown: Shown): Promise<void> {
  const at = (field: string): Html => atFault(shown.field === field)
  const body = html`${problem(shown.problem)}${notice(shown.notice)}
    <form class="stack" method="post" action="${path}">
      <input type="hidden" name="action" value="change" />
      <label
        >Current password
        <input name="current" type="password" autocomplete="current-password" required ${at('current')}
      /></label>
      <label
        >New password (at least ${passwordCharactersMin} characters)
        <input
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="${passwordCharactersMin}"
          required
          ${at('password')}
      /></label>
      <label
        >New password again
        <input name="repeated" type="password" autocomplete="new-password" required ${at('repeated')}
      /></label>
      <button type="submit">Change password</button>
    </form>
    <p class="note">This signs you out everywhere else.</p>`
  return sendSessionPage(ctx, app, { title: 'Password', body, status: shown.status ?? 200 })
}

const notChangedYet = 'Your password is not changed: you were signed out. Type it again.'
const changedNow = 'Your password is changed. You are signed out everywhere else.'
const tooMany = 'Too many wrong passwords. Wait a moment and try again.'

async function handlePassword(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const form = await readOwnForm(ctx, app)
  if (!form.ok) return form.error
  const { userId, email, workspaceId } = sessionHere(ctx)
  const password = form.value.get('password') ?? ''
  if (password !== (form.value.get('repeated') ?? password)) {
    return sendPassword(ctx, app, { status: 400, problem: 'The two new passwords differ.', field: 'repeated' })
  }
  // Someone with a stolen session must not guess the password faster than anybody else.
  const address = clientAddress(ctx)
  const attempt = { email, address, isKnown: app.directory.isKnownAddress(userId, address) }
  const waitS = app.throttle.take(attempt)
  if (waitS > 0) {
    ctx.set('Retry-After', String(waitS))
    return sendPassword(ctx, app, { status: 429, problem: tooMany, field: 'current' })
  }
  const user = await app.directory.authenticate(email, form.value.get('current') ?? '')
  if (user?.id !== userId)
    return sendPassword(ctx, app, { status: 403, problem: 'The current password is wrong.', field: 'current' })
  app.throttle.succeeded(attempt)
  const changed = await app.directory.changePassword({ userId, password, passwordPosition: user.passwordPosition })
  if (!changed.ok) {
    const { detail, field } = changed.error
    return sendPassword(ctx, app, { status: 400, problem: detail, field })
  }
  // All sessions have ended, including this one, so a new one begins.
  const passwordPosition = changed.value
  await signIn(ctx, { userId, email, workspaceId, startedAt: app.clock(), passwordPosition, address })
  // Redirected: a reload of an answer in place would send the old password again.
  seeOther(ctx, `${path}?changed=${passwordPosition}`)
}

/** The notice on a page that was redirected to: after sign-in, or after a change, which a forged link cannot claim. */
function noticeOf(ctx: Context, { directory }: AppContext): string | undefined {
  const asked = new URLSearchParams(ctx.querystring)
  if (asked.has('action')) return notChangedYet
  const isLast = asked.get('changed') === String(directory.passwordPosition(sessionHere(ctx).userId))
  return isLast ? changedNow : undefined
}

/** The page for changing one's own password. */
export function createPasswordRoutes(app: AppContext): Route[] {
  const page = { ...sessionPage(app.refuse), path }
  return [
    { ...page, method: 'GET', handler: (ctx) => sendPassword(ctx, app, { notice: noticeOf(ctx, app) }) },
    {
      ...page,
      method: 'POST',
      back: backWithTyped(app, page.path, ['action']),
      handler: (ctx) => handlePassword(ctx, app),
    },
  ]
}
