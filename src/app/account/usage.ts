import type { Context } from 'koa'
import type { Key, Workspace, WorkspacePlan } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { present } from '#src/lib/assert.ts'
import { dayOf } from '#src/lib/day.ts'
import {
  monthOf,
  readRefusals,
  readUsage,
  refusalsMax,
  serviceCharactersMax,
  servicesMax,
  type RefusalDocument,
  type Usage,
} from '#projections/allowance/query.ts'
import { isCaughtUp, lagMs } from '#projections/index-store.ts'
import { filterScript } from '../assets.ts'
import { behindPart, counted, inWords, sendSessionPage, sessionHere, sessionPage, type AppContext } from '../context.ts'
import { formatBytes, minuteOf, named, shortTime } from '../format.ts'
import { html, type Html } from '../html.ts'
import { planHasPage } from '../plan-has.ts'
import { forecastSpans } from './usage-forecast.ts'

const path = '/app/usage'

const reasons = new Map([
  ['rejected_allowance', 'the monthly span allowance was used up'],
  ['rejected_invalid', 'spans without valid ids'],
  ['rejected_entitlement', 'the plan did not include tracing'],
  [
    'rejected_record',
    'records or events that could not be read, that the plan does not include, or that one request held too many of',
  ],
  ['unlisted', 'spans that are not listed: beyond the 10,000 that one refusal lists, or of requests with too many'],
])

/** Columns of text; all others are numbers. */
const ofWords: readonly string[] = ['Day (UTC)', 'Key', 'Why', 'Service']
const classOf = (head: string): string => (ofWords.includes(head) ? 'words' : 'number')

type Row = readonly [first: Html | string, ...values: readonly (string | number | Html)[]]

function cellOf(value: Row[number], head: string): Html {
  const content = typeof value === 'number' ? inWords(value) : value
  return html`<td class="${classOf(head)}" data-head="${head}">${content}</td>`
}

/** `find`: the label of the field that scripts/filter.js adds to a long table. */
function table(caption: string, heads: readonly string[], rows: readonly Row[], find?: string): Html {
  if (rows.length === 0) return html``
  return html`<h2>${caption}</h2>
    <table class="figures cards" ${find === undefined ? html`` : html`data-filter="${find}"`}>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col" class="${classOf(head)}">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...values]) =>
            html`<tr>
              <th scope="row">${first}</th>
              ${values.map((value, column) => cellOf(value, heads[column + 1] ?? ''))}
            </tr>`,
        )}
      </tbody>
    </table>`
}

/** How much of a month's count is still kept. */
type Kept = 'all' | 'some' | 'none'

/** Counts before the first day kept are gone. Before the workspace was made there were none. */
function keptOf({ month, resetsAt }: Usage, { createdAt }: Workspace, keptFrom: string): Kept {
  const [first, last, created] = [`${month}-01`, dayOf(resetsAt - 1), dayOf(createdAt)]
  if (keptFrom <= first || keptFrom <= created || created > last) return 'all'
  return keptFrom > last ? 'none' : 'some'
}

/** How much of the allowance is used. */
function usedPart({ spans, spanBytes }: Usage, { spansPerMonth: limit }: WorkspacePlan, kept: Kept): Html {
  const bytes = `${formatBytes(spanBytes)} of span data`
  if (kept !== 'all') return html`<p><strong>${inWords(spans)}</strong> spans, ${bytes}.</p>`
  if (limit === null) return html`<p><strong>${inWords(spans)}</strong> spans without a limit, ${bytes}.</p>`
  const percent = limit === 0 ? 100 : (spans / limit) * 100
  // Shows less than 100 % as long as a span is left.
  const shown = Math.min(percent, spans < limit ? 99.9 : Infinity).toFixed(1)
  return html`<p>
    <strong>${inWords(spans)}</strong> spans of ${inWords(limit)} (${shown}%), ${bytes}.
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

/** Whether everything that has arrived is counted. Senders are warned by the log's own count, which is never behind. */
function countedPart({ progress }: Usage, nowMs: number): Html {
  if (progress === undefined) return html`<p class="notice">Nothing is counted yet.</p>`
  return behindPart({ ...progress, complete: isCaughtUp(progress, nowMs), lag_ms: lagMs(progress, nowMs) })
}

/** The forecast for the current month. */
function forecastPart(usage: Usage, { spansPerMonth: limit }: WorkspacePlan, nowMs: number): Html {
  const reset = html`<p>The count resets at ${minuteOf(usage.resetsAt)}.</p>`
  const { spans, resetsAt } = usage
  const forecast = forecastSpans(usage, nowMs)
  // A used-up allowance needs no forecast: the head of the page says so.
  if (forecast === undefined || (limit !== null && spans >= limit)) return reset
  const pace = 'At the pace of the last days it'
  if (limit === null || forecast <= limit) {
    return html`${reset}
      <p class="note">${pace} will be ${inWords(forecast)} spans by then.</p>`
  }
  const usedUpAt = nowMs + ((limit - spans) / (forecast - spans)) * (resetsAt - nowMs)
  return html`${reset}
    <p class="problem">
      ${pace} would be ${inWords(forecast)} spans by then: the allowance will be used up at about ${minuteOf(usedUpAt)}.
    </p>`
}

const besidePart = ({ total }: Usage): Html =>
  html`<p>
    Also received: ${counted(total.logs, 'log record')} and ${counted(total.rumEvents, 'browser event')}, which do not
    count toward the allowance. Spans and records refused: ${inWords(total.refusedSpans + total.refusedRecords)}.
    Requests of which nothing could be read, such as one that is too large (413), or in a format that is not taken
    (415), are not among them: only their sender was told.
  </p>`

function dayRows({ byDay }: Usage): readonly Row[] {
  const most = Math.max(1, ...Object.values(byDay).map(({ spans }) => spans))
  return Object.entries(byDay)
    .reverse()
    .map(([day, { spans, logs, rumEvents, refusedSpans, refusedRecords, bytes }]) => {
      const bar = html`<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        <rect x="0" y="0" width="${Math.round((spans / most) * 1_000)}" height="8" />
      </svg>`
      return [day, html`${inWords(spans)}${bar}`, logs, rumEvents, refusedSpans + refusedRecords, formatBytes(bytes)]
    })
}

/** The label for spans and records that are counted without a service name. */
const nameless = ({ byService }: Usage): string =>
  Object.keys(byService).length < servicesMax
    ? 'no service named'
    : `no service named, or beyond the first ${inWords(servicesMax)} of a day`

/**
 * A row for each service, whose figures link to what it sent in the month, as far as the plan has such a search. A name of the maximum length may
 * have been cut, so it has no link.
 */
function serviceRows(usage: Usage, workspace: Workspace, nowMs: number): readonly Row[] {
  const { month, resetsAt } = usage
  const range = { from: `${month}-01T00:00Z`, ...(resetsAt > nowMs ? {} : { to: shortTime(resetsAt) }) }
  const linked = (service: string, count: number, path: string): number | Html => {
    const isFound = service !== '' && service.length < serviceCharactersMax && count > 0
    if (!isFound || !planHasPage(workspace, path)) return count
    const search = new URLSearchParams({ service, ...range })
    return html`<a href="${path}?${search.toString()}">${inWords(count)}</a>`
  }
  return Object.entries(usage.byService)
    .sort(([, a], [, b]) => b.spans - a.spans || b.logs - a.logs)
    .map(([service, { spans, logs, rumEvents }]) => [
      service === '' ? nameless(usage) : named(service),
      linked(service, spans, '/app/traces'),
      linked(service, logs, '/app/logs'),
      rumEvents,
    ])
}

function keyName(key: Key | undefined, id: string | null): Html {
  if (key === undefined) return html`${id === null || id === '' ? 'other keys' : id}`
  return html`<code>${key.prefix}…${key.last4}</code> ${key.name}`
}

type KeyOf = (id: string | null) => Html

const keyRows = ({ byKey }: Usage, keyOf: KeyOf): readonly Row[] =>
  Object.entries(byKey)
    .sort(([, a], [, b]) => b.spans - a.spans || b.logs - a.logs)
    .map(([id, { spans, logs, rumEvents, refusedSpans, refusedRecords, bytes }]) => [
      keyOf(id),
      spans,
      logs,
      rumEvents,
      refusedSpans + refusedRecords,
      formatBytes(bytes),
    ])

const refusalRows = (refusals: readonly RefusalDocument[], keyOf: KeyOf): readonly Row[] =>
  refusals.map(({ day, keyId, reason, count }) => [day, keyOf(keyId), reasons.get(reason) ?? reason, count])

const monthPattern = '[0-9]{4}-(?:0[1-9]|1[0-2])'
const isMonth = new RegExp(`^${monthPattern}$`)
const monthHint = 'A month looks like 2026-11'

/** The month asked for (`2026-11`); undefined if it is not valid. */
function monthAsked(ctx: Context, nowMs: number): string | undefined {
  const asked = new URLSearchParams(ctx.querystring).get('month') ?? ''
  if (asked === '') return monthOf(nowMs)
  return isMonth.test(asked) ? asked : undefined
}

/** Usage and refusals of a month, as far as they are kept. */
async function monthPart(app: AppContext, workspace: Workspace, month: string): Promise<Html> {
  const reader = app.readerOf(workspace.id)
  const usage = await readUsage(reader, workspace.id, month)
  const keptFrom = app.usageKeptFrom(workspace)
  const kept = keptOf(usage, workspace, keptFrom)
  if (kept === 'none') return html`<p class="notice">The counts of this month are no longer kept.</p>`
  const refusals = await readRefusals(reader, workspace.id, { from: `${month}-01`, to: dayOf(usage.resetsAt - 1) })
  const keyOf = (id: string | null): Html => {
    const key = id === null ? undefined : app.directory.key(id)
    return keyName(key?.workspaceId === workspace.id ? key : undefined, id)
  }
  const nowMs = app.clock()
  const isCurrent = month === monthOf(nowMs) && kept === 'all'
  const counts = ['Spans', 'Logs', 'Browser events'] as const
  return html`${countedPart(usage, nowMs)}
  ${kept === 'all' ? html`` : html`<p class="notice">Counted from ${keptFrom} on; earlier days are no longer kept.</p>`}
  ${usedPart(usage, workspace.plan, kept)}
  ${isCurrent ? forecastPart(usage, workspace.plan, nowMs) : html``}${besidePart(usage)}
  ${table('Refused', ['Day (UTC)', 'Key', 'Why', 'How many'], refusalRows(refusals, keyOf), 'Find a refusal')}
  ${refusals.length < refusalsMax ? html`` : html`<p class="note">Only the newest ${counted(refusalsMax, 'line')} are shown.</p>`}
  ${table('By day', ['Day (UTC)', ...counts, 'Refused', 'All data'], dayRows(usage))}
  ${table('By service', ['Service', ...counts], serviceRows(usage, workspace, nowMs), 'Find a service')}
  ${table('By key', ['Key', ...counts, 'Refused', 'All data'], keyRows(usage, keyOf), 'Find a key')}`
}

async function sendUsage(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const { workspaceId } = sessionHere(ctx)
  const workspace = present(app.directory.workspace(workspaceId), 'a session has a workspace')
  const month = monthAsked(ctx, app.clock())
  if (month === undefined) return refusal('invalid_parameter', `${monthHint}.`)
  // `autocomplete` is off so that, on coming back, the field has the month that the figures are of. Firefox and Safari have no month picker: there
  // the month is typed, and the browser checks the pattern.
  const body = html`<form class="row" method="get" action="${path}" autocomplete="off">
      <label
        >Month (UTC)
        <input name="month" type="month" value="${month}" pattern="${monthPattern}" title="${monthHint}" required
      /></label>
      <button type="submit">Show</button>
    </form>
    ${await monthPart(app, workspace, month)}`
  return sendSessionPage(ctx, app, { title: 'Usage', body, scripts: [filterScript] })
}

/** The page of what the workspace has used of its plan, and what was refused. */
export const createUsageRoutes = (app: AppContext): Route[] => [
  { ...sessionPage(app.refuse), path, method: 'GET', handler: (ctx) => sendUsage(ctx, app) },
]
