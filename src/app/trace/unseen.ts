import type { Context } from 'koa'
import { present } from '#src/lib/assert.ts'
import { printQuery } from '#src/query/searches.ts'
import { sessionHere, type AppContext } from '../context.ts'
import { html, type Html } from '../html.ts'
import { planHasPage } from '../plan-has.ts'
import { tracesBeginning } from '../search/meant/near-ids.ts'

const fieldSearches = [
  ['/app/logs', 'logs'],
  ['/app/traces', 'traces'],
] as const

/** Why nothing may have an id, and where else to look: the id of a user or an order is one field of many. */
export function unseenPart(ctx: Context, { directory }: AppContext, value: string): Html {
  const { userId, workspaceId } = sessionHere(ctx)
  const own = directory.user(userId)?.workspaceIds ?? []
  const elsewhere = `/app/workspace?next=${encodeURIComponent(ctx.url)}`
  // A link that was sent to somebody may be of another workspace.
  const other =
    own.length < 2
      ? html``
      : html`<p>Is it of another of your workspaces? <a href="${elsewhere}">Look for it there</a>.</p>`
  const search = new URLSearchParams({ q: printQuery({ kind: 'text', text: value }) }).toString()
  const workspace = present(directory.workspace(workspaceId), 'a session has a workspace')
  const clause = planHasPage(workspace, '/app/traces') ? tracesBeginning(value) : undefined
  const ofAll = new URLSearchParams({ q: clause ?? '', from: `-${workspace.plan.retentionDays}d` }).toString()
  const begins =
    clause === undefined
      ? html``
      : html`<p>An id is found whole. Is it how one begins? <a href="/app/traces?${ofAll}">Search traces by it</a>.</p>`
  const links = fieldSearches
    .filter(([path]) => planHasPage(workspace, path))
    .map(([path, words], index) => html`${index === 0 ? '' : ' and the '}<a href="${path}?${search}">${words}</a>`)
  return html`${other}${begins}
    <p>
      What was just sent is found a moment after it was acknowledged; what is older than the plan keeps is gone. What
      was refused, and why, is under <a href="/app/usage">Usage</a>. An id of something else, such as a user, is found
      by a search for it among the ${links}.
    </p>`
}
