import type { Context } from 'koa'
import type { Directory } from '#src/directory/create-directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { isOfSeveral, sessionHere, shownTo } from '../context.ts'
import { html, type Html } from '../html.ts'
import { seeOther, sendPage } from '../page.ts'
import { isForPerson } from '../refuse-page.ts'
import { inWorkspace, splitWorkspace } from '../workspace-links.ts'

type App = Readonly<{ directory: Directory }>

/** Links for an address of one of the person's other workspaces, or of one that they do not belong to. */
function waysOn(ctx: Context, { directory }: App, askedId: string): Html {
  const { userId, workspaceId } = sessionHere(ctx)
  const here = directory.workspace(workspaceId)?.name ?? workspaceId
  const goOn = html`<p><a href="${ctx.url}">Go on in ${here}</a></p>`
  const own = directory.user(userId)?.workspaceIds.find((id) => id === askedId)
  if (own === undefined) {
    return html`<p class="problem">This address is of a workspace that you are not in. You are in ${here}.</p>
      ${goOn}`
  }
  const asked = directory.workspace(own)?.name ?? own
  return html`<p class="problem">
      This is of the workspace <strong>${asked}</strong>. You are in <strong>${here}</strong> now: you changed in
      another tab, or somebody sent you a link. Nothing was searched or exported.
    </p>
    <form class="row" method="post" action="/app/workspace">
      <input type="hidden" name="choice" value="${own}" /><input type="hidden" name="next" value="${ctx.url}" />
      <button type="submit">Change to ${asked} and go on</button>
    </form>
    ${goOn}`
}

/** The page for choosing a workspace belongs to none. */
const chooser = '/app/workspace'

/**
 * Wraps a page whose address may name the workspace that it was made in. If that is another one than the session's, the page shows links instead of
 * this workspace's data, which would look alike. An address that names none, as after typing or a form, is redirected to one that does: it may be
 * kept, sent on, or loaded again after a change of workspace in another tab.
 */
export const ofOneWorkspace =
  (app: App) =>
  (route: Route): Route => {
    if (route.method !== 'GET' || route.auth !== 'session' || route.signInPage === undefined) return route
    const handler = async (ctx: Context): Promise<Refusal | void> => {
      const asked = splitWorkspace(ctx.url)
      ctx.url = asked.url
      const { workspaceId } = sessionHere(ctx)
      if (asked.workspaceId === workspaceId) return route.handler(ctx)
      if (asked.workspaceId === undefined) {
        const isKept = route.path !== chooser && isForPerson(ctx) && isOfSeveral(app, sessionHere(ctx))
        return isKept ? seeOther(ctx, inWorkspace(ctx.url, workspaceId)) : route.handler(ctx)
      }
      if (!isForPerson(ctx)) return refusal('forbidden', 'This address is of another workspace than the session.')
      const body = waysOn(ctx, app, asked.workspaceId)
      sendPage(ctx, 409, { title: 'Another workspace', body, ...shownTo(ctx, app) })
    }
    return { ...route, handler }
  }
