import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { valuesScript, reopenScript, histogramScript, tailScript } from '../assets.ts'
import { counted, isOfSeveral, sendSessionPage, sessionHere, type AppContext } from '../context.ts'
import { choice } from '../fields.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'
import { withWorkspace } from '../workspace-links.ts'
import { aroundPart } from './around.ts'
import { addressWith } from './conditions.ts'
import { countsOfPage } from './counted-values.ts'
import { facetRow } from './facets.ts'
import { histogram } from './histogram.ts'
import { createLogForm, logFacets } from './log-form.ts'
import { createLogLinks, createLogLinksAround } from './log-links.ts'
import { logRows, logTable, type LogLinks, type Tail } from './log-rows.ts'
import { meantBy } from './meant/meant.ts'
import { rangeMoves } from './range-moves.ts'
import { readAsked, searchOf, type Asked } from './asked.ts'
import { about, nothingFits, pager } from './beside-results.ts'
import { searchRoute } from './refused-search.ts'
import { shownFieldsRow, shownNames, withoutNames, withShowLinks } from './shown-fields.ts'
import { lookUpTyped } from './typed-id.ts'

const path = '/app/logs'
const limit = '100'
/** The most new rows per request: the browser lays them out at once. */
const rowsLimit = '500'

const orders = [
  ['', 'newest first'],
  ['asc', 'oldest first'],
] as const

const formOf = createLogForm({
  path,
  orderOf: (conditions) =>
    choice({ label: 'Order', name: 'order', value: conditions.get('order') ?? '', options: orders }),
})

/** New rows can only be shown above the newest. */
function tailOf(asked: Asked, answer: LogSearchAnswer): Tail | undefined {
  const { conditions, cursors } = asked
  const isNewest = cursors.length === 0 && conditions.get('order') !== 'asc'
  if (!isNewest || conditions.has('to') || conditions.has('around')) return undefined
  return { address: `${path}/rows?${searchOf(asked, {})}`, cursor: answer.prev_cursor, count: answer.count }
}

const followButton = html`<button type="button" data-tail-button hidden aria-pressed="false">Follow</button>
  <span class="note" role="status" data-tail-words></span>`

/** Links that export what is shown. The range is fixed, so that the export is the same however long the page has been open. */
function exportLinks({ conditions }: Asked, { range }: LogSearchAnswer): Html {
  if (conditions.has('around')) return html``
  // These belong to a page; an export is whole.
  const ofPage = { limit: null, include: null }
  const address = (format: string): string =>
    addressWith('/app/logs/export', conditions, { ...ofPage, ...range, format })
  return html`<a href="${address('ndjson')}">Export as NDJSON</a> <a href="${address('csv')}">Export as CSV</a>`
}

/** A link to the patterns of the messages of this search. */
const patternsLink = (conditions: URLSearchParams): Html =>
  conditions.has('around')
    ? html``
    : html`<a href="${addressWith('/app/patterns', withoutNames(conditions), {})}">Patterns</a>`

/** Links that narrow the current search; on a page of neighbours, links to a new search around the record's time. */
function linksOf({ conditions }: Asked, { query }: Pick<LogSearchAnswer, 'query'>, nowMs: number): LogLinks {
  if (conditions.has('around')) return createLogLinksAround(nowMs)
  const linksFor = createLogLinks({ path, conditions, normalized: query.normalized })
  return (log) => withShowLinks(path, conditions, linksFor(log))
}

/** `meant`: suggestions if nothing was found. */
async function resultsOf(asked: Asked, answer: LogSearchAnswer, meant: Html, nowMs: number): Promise<Html> {
  const { conditions } = asked
  const { logs, count, range } = answer
  const search = { path, conditions, normalized: answer.query.normalized } as const
  const names = shownNames(conditions)
  const tail = tailOf(asked, answer)
  const found = answer.histogram
  const bars = (found?.buckets ?? []).map(({ by_level: byLevel, ...bar }) => {
    return { ...bar, errors: (byLevel.error ?? 0) + (byLevel.fatal ?? 0) }
  })
  const here = conditions.get('around') ?? undefined
  const rows = await logRows(logs, { linksFor: linksOf(asked, answer, nowMs), here, shown: names })
  return html`${about(answer)}${aroundPart({ path, conditions, logs })}${histogram({ bars, stepMs: found?.step_ms ?? 0, range, nowMs, path, conditions })}
    ${facetRow({ ...search, groups: logFacets, facets: answer.facets, noun: 'records' })}
    ${conditions.has('around') ? html`` : countsOfPage(search, logs, names)}
    <p class="row" id="results">
      ${count === undefined ? html`` : html`<strong>${counted(count, 'record')}</strong>`}
      ${tail === undefined ? html`` : followButton} ${patternsLink(conditions)} ${exportLinks(asked, answer)}
    </p>
    ${shownFieldsRow(path, conditions, logs)}
    ${logs.length === 0 ? html`<div id="nothing">${meant}${nothingFits(path, asked, { noun: 'log record', range, nowMs })}</div>` : html``}
    ${logTable(rows, tail)} ${pager(path, asked, answer.next_cursor)}`
}

const ofAllFields = (asked: Asked): Asked => ({ ...asked, conditions: withoutNames(asked.conditions) })

async function sendLogs(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const asked = readAsked(ctx, app)
  const isFirst = asked.cursors.length === 0 && !asked.conditions.has('around')
  const include: Readonly<Record<string, string>> = isFirst ? { include: 'histogram,facets,count' } : {}
  const result = await app.searches.logs(
    sessionHere(ctx).workspaceId,
    searchOf(ofAllFields(asked), { limit, ...include }),
  )
  if (!result.ok) return result.error
  const answer = result.value
  const found = { sessionIds: answer.logs.map((log) => log.session_id), isEmpty: answer.logs.length === 0 }
  const typed = await lookUpTyped(ctx, app, asked, found)
  if (typed.address !== undefined) return seeOther(ctx, typed.address)
  const moves = rangeMoves(path, asked, answer.range, app.clock())
  const find = (search: string) => app.searches.logs(sessionHere(ctx).workspaceId, search)
  const meant = found.isEmpty ? await meantBy(path, asked, answer.query.normalized, find) : html``
  const results = await resultsOf(asked, answer, meant, app.clock())
  const body = html`${formOf(asked, { facets: answer.facets, moves })}${typed.notice}${results}`
  await sendSessionPage(ctx, app, {
    title: 'Logs',
    about: asked.conditions.get('q') ?? '',
    body,
    scripts: [reopenScript, histogramScript, tailScript, valuesScript],
  })
}

/** What has arrived since a cursor, for the script of the live tail: finished rows, the next cursor, and whether to ask again at once. */
async function sendRows(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const asked = readAsked(ctx, app)
  const session = sessionHere(ctx)
  const { workspaceId } = session
  const result = await app.searches.logs(workspaceId, searchOf(ofAllFields(asked), { limit: rowsLimit }))
  if (!result.ok) return result.error
  const { logs, prev_cursor: cursor } = result.value
  const drawn = { linksFor: linksOf(asked, result.value, app.clock()), shown: shownNames(asked.conditions) }
  ctx.set('Cache-Control', 'no-store')
  const more = logs.length === Number(rowsLimit)
  ctx.type = 'application/json'
  const markup = (await logRows(logs, drawn)).map((row) => row.markup).join('')
  const rows = isOfSeveral(app, session) ? withWorkspace(markup, workspaceId) : markup
  ctx.body = JSON.stringify({ cursor, rows, more })
}

/** The page of log search, and its live tail. */
export const createLogPageRoutes = (app: AppContext): readonly Route[] => [
  searchRoute(app, { path, title: 'Logs', formOf, send: sendLogs }),
  { path: `${path}/rows`, method: 'GET', auth: 'session', handler: (ctx) => sendRows(ctx, app) },
]
