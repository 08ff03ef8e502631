import type { Context } from 'koa'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { isPassing, requestIdOf, sendProblem, setRefusal, statusOf, titleOf } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { sessionOf } from '#src/http/session.ts'
import { shownTo, type AppContext, type SessionPage } from './context.ts'
import { html } from './html.ts'
import { sendPage } from './page.ts'

type Refuse = NonNullable<Route['refuse']>

/** Whether a person looks at the answer. A script's request says otherwise in `Sec-Fetch-Mode`, if the browser sends that. */
export const isForPerson = (ctx: Context): boolean =>
  ctx.get('Accept').includes('text/html') && ['', 'navigate'].includes(ctx.get('Sec-Fetch-Mode'))

/** Refuses on a page's path: with a page for a browser, which leads a signed-in person on; with a problem document for anything else. */
export const createRefusePage =
  ({ directory }: Readonly<{ directory: Directory }>): Refuse =>
  (ctx: Context, refused: Refusal): void => {
    if (!isForPerson(ctx)) return sendProblem(ctx, refused)
    setRefusal(ctx, refused)
    const body = html`<p class="problem">${refused.detail}</p>
      <p><a href="/app">Overview</a></p>
      <p class="note">Request ${requestIdOf(ctx)}</p>`
    sendPage(ctx, statusOf(refused.code), { title: titleOf(refused.code), body, ...shownTo(ctx, { directory }) })
  }

type PageOfRefusal = (ctx: Context, app: Pick<AppContext, 'directory'>, refused: Refusal) => SessionPage

/**
 * Refuses on a search page. A refusal that passes by itself is shown on the page, with what was typed still there. The index is not queried for it:
 * it may be what does not answer.
 */
export const createRefuseSearch =
  ({ directory, refuse }: Pick<AppContext, 'directory' | 'refuse'>, pageOf: PageOfRefusal): Refuse =>
  (ctx: Context, refused: Refusal): void => {
    if (!isPassing(refused.code) || sessionOf(ctx) === undefined || !isForPerson(ctx)) return refuse(ctx, refused)
    const { status = statusOf(refused.code), ...page } = pageOf(ctx, { directory }, refused)
    sendPage(ctx, status, { ...page, ...shownTo(ctx, { directory }) })
  }
