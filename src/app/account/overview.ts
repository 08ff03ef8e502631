import type { Context } from 'koa'
import type { Workspace } from '#src/directory/directory.ts'
import type { Route } from '#src/http/route.ts'
import { present } from '#src/lib/assert.ts'
import type { Usage } from '#projections/allowance/query.ts'
import { isCaughtUp } from '#projections/index-store.ts'
import { filterScript } from '../assets.ts'
import {
  baseUrlOf,
  inWords,
  readUsageNow,
  sendSessionPage,
  sessionHere,
  sessionPage,
  type AppContext,
} from '../context.ts'
import { formatBytes, minuteOf } from '../format.ts'
import { html, type Html } from '../html.ts'
import { planHas } from '../plan-has.ts'
import { seeOther } from '../page.ts'
import { lastHourLinks, servicesOfLastHour } from './last-hour.ts'

const featureNames = { logs: 'logs', tracing: 'tracing', api_access: 'API access' } as const

function usageOf({ plan }: Workspace, usage: Usage | undefined): Html {
  const allowance = plan.spansPerMonth === null ? 'without a limit' : `of ${inWords(plan.spansPerMonth)}`
  if (usage === undefined) return html`<p>Spans this month: not counted yet, ${allowance}.</p>`
  return html`<p>
    Spans this month: <strong>${inWords(usage.spans)}</strong> ${allowance}, ${formatBytes(usage.spanBytes)} of span
    data. The count resets at ${minuteOf(usage.resetsAt)}.
  </p>`
}

/** Help for a workspace that has sent nothing. Not shown while the count is behind: the workspace may have sent much. */
function nothingYet(usage: Usage | undefined, nowMs: number): Html {
  if (usage === undefined || usage.spans + usage.total.logs + usage.total.rumEvents > 0) return html``
  if (usage.progress === undefined || !isCaughtUp(usage.progress, nowMs)) {
    return html`<p class="note">What has just arrived is not counted yet.</p>`
  }
  return html`<p class="notice">
    Nothing has arrived this month. <a href="/app/connect">Connect</a> a program that sends traces, logs or browser
    events.
  </p>`
}

function findPart(workspace: Workspace): Html {
  const logs = html`<form class="row" method="get" action="/app/logs">
    <label>Logs <input name="q" type="search" size="40" placeholder="level&gt;=warn timeout" /></label>
    <button type="submit">Search logs</button>
    <button type="submit" formaction="/app/logs/export">Export logs</button>
  </form>`
  const traces = html`<form class="row" method="get" action="/app/traces">
    <label>Traces <input name="q" type="search" size="40" placeholder="http.route=/orders" /></label>
    <button type="submit">Search traces</button>
  </form>`
  return html`<h2>Find</h2>
    ${planHas(workspace, 'logs') ? logs : html``} ${planHas(workspace, 'tracing') ? traces : html``}
    <form class="row" method="get" action="/app/find">
      <label>Any id <input name="id" type="search" size="40" placeholder="trace, span, session or log id" /></label>
      <button type="submit">Find</button>
    </form>
    <p class="note">
      Searches cover the last 24 hours. An id is found whatever its age, also in a line that holds it.
    </p>`
}

const places = [
  ['tracing', 'Traces', 'OTLP/HTTP, protobuf or JSON', '/api/traces/v1/otlp', 'a tracing source token (tt_…)'],
  ['logs', 'Logs', 'JSON, NDJSON or MessagePack', '/api/logs/v1/ingest', 'a logs source token (lt_…)'],
  [undefined, 'Browser events', 'Grafana Faro', '/api/rum/v1/ingest', 'a publishable key (pk_live_…)'],
] as const

function whereToSend(workspace: Workspace, baseUrl: string): Html {
  const rows = places.filter(([feature]) => planHas(workspace, feature))
  return html`<table class="cards">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">How</th>
          <th scope="col">Where</th>
          <th scope="col">With</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([, what, how, path, key]) =>
            html`<tr>
              <th scope="row">${what}</th>
              <td data-head="How">${how}</td>
              <td data-head="Where"><code>${baseUrl + path}</code></td>
              <td data-head="With">${key}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p>
      Keys go in the header <code>Authorization: Bearer KEY</code>. Create them under <a href="/app/keys">Keys</a>, or
      let <a href="/app/connect">Connect</a> create one and show how to use it.
    </p>`
}

async function sendOverview(ctx: Context, app: AppContext, services: Html): Promise<void> {
  const { workspaceId } = sessionHere(ctx)
  const workspace = present(app.directory.workspace(workspaceId), 'a session has a workspace')
  const usage = await readUsageNow(app, workspaceId)
  const features = workspace.plan.features.map((feature) => featureNames[feature]).join(', ')
  const body = html`<p>
      Workspace <strong>${workspace.name}</strong>, plan
      <strong>${workspace.plan.name}</strong> (${features === '' ? 'no features' : features}; kept for
      ${workspace.plan.retentionDays} days).
    </p>
    ${usageOf(workspace, usage)}${nothingYet(usage, app.clock())}
    <h2>The last hour</h2>
    ${services}${lastHourLinks(workspace)} ${findPart(workspace)}
    <h2>Where to send</h2>
    ${whereToSend(workspace, baseUrlOf(ctx, app))}`
  await sendSessionPage(ctx, app, { title: 'Overview', body })
}

/** The overview with the services' figures, or without them if the workspace has too many queries running. */
async function sendOverviewInTurn(ctx: Context, app: AppContext): Promise<void> {
  const { workspaceId } = sessionHere(ctx)
  const workspace = present(app.directory.workspace(workspaceId), 'a session has a workspace')
  const refused = await app.query(ctx, workspaceId, async () =>
    sendOverview(ctx, app, await servicesOfLastHour(app, workspace)),
  )
  if (refused === undefined) return
  await sendOverview(ctx, app, html`<p class="note">Too many searches are under way to count what services sent.</p>`)
}

function sendMembers(ctx: Context, app: AppContext): Promise<void> {
  const { workspaceId, userId } = sessionHere(ctx)
  const body = html`<table class="cards" data-filter="Find a member">
      <thead>
        <tr>
          <th scope="col">E-mail</th>
          <th scope="col">Role</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        ${app.directory.members(workspaceId).map(
          (member) =>
            html`<tr>
              <td data-head="E-mail">${member.email}${member.userId === userId ? ' (you)' : ''}</td>
              <td data-head="Role">${member.role}</td>
              <td data-head="Since">${minuteOf(member.addedAt)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p class="note">
      The operator adds people on the command line:
      <code>npx throughline user create EMAIL --workspace ${workspaceId}</code>
    </p>`
  return sendSessionPage(ctx, app, { title: 'Members', body, scripts: [filterScript] })
}

/** The first page after sign-in, and the list of members. */
export function createOverviewRoutes(app: AppContext): Route[] {
  const page = { ...sessionPage(app.refuse), method: 'GET' } as const
  return [
    // The address that the server logs at its start, when it is opened as it is.
    { method: 'GET', path: '/', auth: 'public', handler: (ctx) => seeOther(ctx, '/app') },
    { ...page, path: '/app', handler: (ctx) => sendOverviewInTurn(ctx, app) },
    { ...page, path: '/app/members', handler: (ctx) => sendMembers(ctx, app) },
  ]
}
