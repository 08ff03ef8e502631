import type { Context } from 'koa'
import type { Key, WorkspacePlan } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { present } from '#src/lib/assert.ts'
import { monthOf, readRefusals, readUsage, type RefusalDocument, type Usage } from '#projections/allowance/query.ts'
import { formatMinute, inWords, sendSessionPage, sessionHere, type AppContext } from './context.ts'
import { html, type Html } from './html.ts'
import { refusePage } from './page.ts'
import { forecastSpans } from './usage-forecast.ts'

const path = '/app/usage'
const refusalsMax = 1_000

const reasons = new Map([
  ['rejected_allowance', 'the monthly span allowance was used up'],
  ['rejected_invalid', 'spans without valid ids'],
  ['rejected_entitlement', 'the plan did not include tracing'],
  ['rejected_record', 'records or events that could not be read, or that the plan does not include'],
  ['unlisted', 'spans beyond the 10,000 that one refusal lists'],
])

function table(caption: string, heads: readonly string[], rows: readonly Html[]): Html {
  if (rows.length === 0) return html``
  return html`<h2>${caption}</h2>
    <table class="figures">
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`
}

const cells = (first: Html | string, values: readonly (string | number | Html)[]): Html =>
  html`<tr>
    <th scope="row">${first}</th>
    ${values.map((value) => html`<td>${typeof value === 'number' ? inWords(value) : value}</td>`)}
  </tr>`

/** What is used of the allowance. */
function usedPart({ spans, spanBytes }: Usage, { spansPerMonth: limit }: WorkspacePlan): Html {
  const bytes = `${inWords(spanBytes)} bytes of span data`
  if (limit === null) return html`<p><strong>${inWords(spans)}</strong> spans without a limit, ${bytes}.</p>`
  const percent = limit === 0 ? 100 : (spans / limit) * 100
  return html`<p>
    <strong>${inWords(spans)}</strong> spans of ${inWords(limit)} (${percent.toFixed(1)} %), ${bytes}.
    <meter
      aria-label="Used of the allowance, in percent"
      min="0"
      max="100"
      low="80"
      high="95"
      optimum="0"
      value="${Math.min(100, percent)}"
    ></meter>
  </p>`
}

/** Where the current month is going. */
function forecastPart(usage: Usage, { spansPerMonth: limit }: WorkspacePlan, nowMs: number): Html {
  const reset = html`<p>The count starts anew at ${formatMinute(usage.resetsAt)}.</p>`
  const forecast = forecastSpans(usage, nowMs)
  if (forecast === undefined) return reset
  const words = `At the pace of the last days it will be ${inWords(forecast)} spans by then`
  return limit !== null && forecast > limit
    ? html`${reset}
        <p class="problem">${words}, more than the allowance.</p>`
    : html`${reset}
        <p class="note">${words}.</p>`
}

const besidePart = ({ total }: Usage): Html =>
  html`<p>
    Beside them ${inWords(total.logs)} log records and ${inWords(total.rumEvents)} browser events, which count toward
    nothing; ${inWords(total.refusedSpans + total.refusedRecords)} spans and records were refused.
  </p>`

function dayRows({ byDay }: Usage): readonly Html[] {
  const most = Math.max(1, ...Object.values(byDay).map(({ spans }) => spans))
  return Object.entries(byDay)
    .reverse()
    .map(([day, { spans, logs, rumEvents, refusedSpans, refusedRecords, bytes }]) => {
      const bar = html`<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        <rect x="0" y="0" width="${Math.round((spans / most) * 1_000)}" height="8" />
      </svg>`
      return cells(day, [html`${inWords(spans)}${bar}`, logs, rumEvents, refusedSpans + refusedRecords, bytes])
    })
}

const serviceRows = ({ byService }: Usage): readonly Html[] =>
  Object.entries(byService)
    .sort(([, a], [, b]) => b.spans - a.spans || b.logs - a.logs)
    .map(([service, { spans, logs, rumEvents }]) =>
      cells(service === '' ? 'no service named' : service, [spans, logs, rumEvents]),
    )

function keyName(key: Key | undefined, id: string | null): Html {
  if (key === undefined) return html`${id === null || id === '' ? 'other keys' : id}`
  return html`<code>${key.prefix}…${key.last4}</code> ${key.name}`
}

type KeyOf = (id: string | null) => Html

const keyRows = ({ byKey }: Usage, keyOf: KeyOf): readonly Html[] =>
  Object.entries(byKey)
    .sort(([, a], [, b]) => b.spans - a.spans || b.logs - a.logs)
    .map(([id, { spans, logs, rumEvents, refusedSpans, refusedRecords, bytes }]) =>
      cells(keyOf(id), [spans, logs, rumEvents, refusedSpans + refusedRecords, bytes]),
    )

const refusalRows = (refusals: readonly RefusalDocument[], keyOf: KeyOf): readonly Html[] =>
  refusals.map(({ day, keyId, reason, count }) => cells(day, [keyOf(keyId), reasons.get(reason) ?? reason, count]))

/** The month asked for, if it is one: `2026-11`. */
function monthAsked(ctx: Context, nowMs: number): string | undefined {
  const asked = new URLSearchParams(ctx.querystring).get('month') ?? ''
  if (asked === '') return monthOf(nowMs)
  return /^\d{4}-(?:0[1-9]|1[0-2])$/.test(asked) ? asked : undefined
}

async function sendUsage(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const { workspaceId } = sessionHere(ctx)
  const workspace = present(app.directory.workspace(workspaceId), 'a session has a workspace')
  const nowMs = app.clock()
  const month = monthAsked(ctx, nowMs)
  if (month === undefined) return refusal('invalid_parameter', 'A month looks like 2026-11.')
  const reader = app.readerOf(workspaceId)
  const usage = await readUsage(reader, workspaceId, month)
  const last = new Date(usage.resetsAt - 1).toISOString().slice(0, 10)
  const refusals = await readRefusals(reader, workspaceId, { from: `${month}-01`, to: last })
  const keyOf = (id: string | null): Html => {
    const key = id === null ? undefined : app.directory.key(id)
    return keyName(key?.workspaceId === workspaceId ? key : undefined, id)
  }
  const counts = ['Spans', 'Logs', 'Browser events'] as const
  const body = html`<form class="row" method="get" action="${path}">
      <label>Month (UTC) <input name="month" type="month" value="${month}" required /></label>
      <button type="submit">Show</button>
    </form>
    ${usage.progress === undefined ? html`<p class="notice">Nothing is counted yet.</p>` : html``}
    ${usedPart(usage, workspace.plan)}
    ${month === monthOf(nowMs) ? forecastPart(usage, workspace.plan, nowMs) : html``}${besidePart(usage)}
    ${table('Refused', ['Day', 'Key', 'Why', 'How many'], refusalRows(refusals, keyOf))}
    ${refusals.length < refusalsMax ? html`` : html`<p class="note">Only the newest 1,000 lines are shown.</p>`}
    ${table('By day', ['Day', ...counts, 'Refused', 'Bytes'], dayRows(usage))}
    ${table('By service', ['Service', ...counts], serviceRows(usage))}
    ${table('By key', ['Key', ...counts, 'Refused', 'Bytes'], keyRows(usage, keyOf))}`
  return sendSessionPage(ctx, app, { title: 'Usage', body })
}

/** What the workspace has used of its plan, and what it was refused. */
export const createUsageRoutes = (app: AppContext): Route[] => [
  {
    path,
    method: 'GET',
    auth: 'session',
    signInPage: '/app/sign-in',
    refuse: refusePage,
    handler: (ctx) => sendUsage(ctx, app),
  },
]
