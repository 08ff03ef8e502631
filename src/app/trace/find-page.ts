import type { Context } from 'koa'
import { parseSpanId } from '#src/events/ids.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { isPassing } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { reopenScript, openTargetScript } from '../assets.ts'
import {
  counted,
  inWords,
  sendSessionPage,
  sessionHere,
  sessionPage,
  type AppContext,
  type SessionPage,
} from '../context.ts'
import { formatDuration, named, timeAndZone, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { mapLinks } from '../map-address.ts'
import { seeOther } from '../page.ts'
import { createRefuseSearch } from '../refuse-page.ts'
import { fieldTable } from '../search/field-table.ts'
import { createLogLinksAround } from '../search/log-links.ts'
import { logTable } from '../search/log-rows.ts'
import { about, readAsked, searchRefusal } from '../search/search-parts.ts'
import { coloursOf, nameOf, servicesOf, servicesOfPageMax, traceTable } from '../search/trace-rows.ts'
import { spanPlace, traceAddress, type KeptOfTrace } from '../trace-address.ts'
import { asJson } from './as-json.ts'
import { compareAddress } from './compare-address.ts'
import { errorsHere, findErrorsBeside, type ErrorLinks } from './errors-beside.ts'
import { findInTrace, findInTracePart, firstFound, type FoundInTrace } from './find-in-trace.ts'
import { addressWithin, idsWithin } from './ids-within.ts'
import { figureLinks, spanFigures } from './span-figures.ts'
import { createLinkRoom } from './span-links.ts'
import { originsOf, originsPart } from './span-origins.ts'
import { isMissingCut, spanIdOf, spanTree, type TreeRow } from './span-tree.ts'
import { browserEventPlace, browserWords, logPlace, timelineLinks, timelinePart } from './timeline.ts'
import { unseenPart } from './unseen.ts'
import { waterfall, type Looks } from './waterfall.ts'

const tracePath = '/app/trace/'

type Trace = NonNullable<CorrelationAnswer['trace']>

/**
 * How a page shows its parts: the id asked for, as the API takes it; its own address, and without a span that was asked for; whether each
 * list begins on it, whether it is about a session, where subtrees are folded, or not if they are here, errors on pages beside it, and the
 * lines of its waterfall.
 */
type Shown = Looks &
  Readonly<{
    nowMs: number
    id: string
    address: string
    spanless: string
    isFirst: boolean
    isSession: boolean
    folding: string
    errorsBeside: ErrorLinks
    foundSpans: FoundInTrace
    rows: readonly TreeRow[]
  }>

const withParameter = (address: string, name: string, value: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`

/** The same page with another part of one list. */
function more(address: string, cursor: string | null, words: string): Html {
  if (cursor === null) return html``
  return html`<p><a rel="next" href="${withParameter(address, 'cursor', cursor)}">${words}</a></p>`
}

const rowsOf = (trace: CorrelationAnswer['trace']): readonly TreeRow[] => (trace == null ? [] : spanTree(trace))

/** Whether a page of these lines shows the span. */
const isHere = (rows: readonly TreeRow[], spanId: string): boolean => rows.some((row) => spanIdOf(row) === spanId)

/** The span looked for, where the page shows it. */
const askedHere = ({ asked, rows }: Shown): string | undefined =>
  asked !== undefined && isHere(rows, asked) ? asked : undefined

/** A span looked for that the page does not show. Its own address leads to its page, unless it is nowhere. */
function askedPart({ address, asked, isFirst, rows }: Shown): Html {
  if (asked === undefined || isHere(rows, asked)) return html``
  const where = isFirst
    ? html`received so far`
    : html`of this page of the trace. <a href="${address}#${spanPlace(asked)}">Look for it</a>`
  return html`<p class="notice" role="status">Span <code>${asked}</code> is not among the spans ${where}.</p>`
}

function tracePart(trace: Trace, shown: Shown): Html {
  const { address, spanless, isFirst, isFolded } = shown
  const isWholePage = address.startsWith(tracePath)
  const { summary, missing, next_cursor: next } = trace
  const duration = summary.duration_ns === null ? '' : `, ${formatDuration(BigInt(summary.duration_ns))}`
  const isPart = next !== null || !isFirst
  const here = isPart ? ` (${inWords(trace.spans.length)} on this page)` : ''
  const counts = [counted(summary.span_count, 'span') + here, counted(summary.error_count, 'error')]
  const known = `${isMissingCut(trace) ? 'at least ' : ''}${inWords(missing.length)} known to be missing`
  const head = isWholePage ? html`` : html`<h2>Trace</h2>`
  if (summary.span_count === 0 && missing.length === 0) {
    return html`${head}
      <p>${nameOf(summary)}: what is shown here refers to trace <code>${summary.trace_id}</code>.</p>
      ${askedPart(shown)}`
  }
  return html`${head}
    <p>
      ${nameOf(summary)}<br />
      ${timeAndZone(summary.start)}${duration}, ${counts.join(', ')}, ${known}.
      <code class="id">${summary.trace_id}</code>
    </p>
    <p>${servicesOf(summary, shown.colourOf, servicesOfPageMax)}</p>
    ${summary.span_count > 1 ? findInTracePart({ traceId: summary.trace_id, isFolded }, shown.foundSpans, askedHere(shown)) : html``}
    ${askedPart(shown)}${waterfall(trace, shown.rows, shown)}${more(spanless, next, 'More spans')}${spanFigures(trace.spans, isPart, shown.colourOf)}`
}

/** All traces found, unless the one shown is the only one. */
function tracesPart({ trace, traces }: CorrelationAnswer, { address, colourOf }: Shown): Html {
  const items = traces?.items ?? []
  const isShown = items.length === 1 && trace?.summary.trace_id === items[0]?.trace_id
  if (traces === undefined || items.length === 0 || isShown) return html``
  return html`<h2>Traces</h2>
    ${traceTable(items, colourOf)}${more(address, traces.next_cursor, 'More traces')}`
}

/** Where the logs of a trace can be narrowed, counted and exported. Those of a session come by its traces too, which no search of logs follows. */
function searchLogsLink({ trace, logs }: CorrelationAnswer, { isSession }: Shown): Html {
  if (trace == null || isSession || logs === undefined || logs.items.length === 0) return html``
  return html`<p><a href="/app/logs?trace_id=${trace.summary.trace_id}">Search these logs</a></p>`
}

function logsPart(answer: CorrelationAnswer, shown: Shown): Html {
  const { logs } = answer
  const { address, nowMs } = shown
  if (logs === undefined) return html``
  return html`<h2 id="logs">Logs</h2>
    ${searchLogsLink(answer, shown)}
    ${logs.items.length === 0 ? html`<p>No log record refers to it.</p>` : logTable(logs.items, createLogLinksAround(nowMs), { placeOf: logPlace })}
    ${more(address, logs.next_cursor, 'More logs')}`
}

/** Of what a browser event says in its row; its fields have the whole. */
const eventCharactersMax = 400

function browserPart({ rum_events: events }: CorrelationAnswer, { address }: Shown): Html {
  if (events.items.length === 0) return html``
  const rows = events.items.map((event, number) => {
    const { timestamp, type, fields } = event
    const words = browserWords(event).join(' ')
    return html`<tr id="${browserEventPlace(number)}">
      <td class="time">${timeOf(timestamp)}</td>
      <td>${type}</td>
      <td>
        <details>
          <summary>${named(words === '' ? type : words, eventCharactersMax)}</summary>
          ${fieldTable('Fields', fields)}
        </details>
      </td>
    </tr>`
  })
  return html`<h2 id="browser-events">Browser events</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Time (${zone})</th>
          <th scope="col">Type</th>
          <th scope="col">Event</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
    ${more(address, events.next_cursor, 'More browser events')}`
}

function sessionsPart({ sessions }: CorrelationAnswer): Html {
  if (sessions.length === 0) return html``
  const links = sessions.map(
    ({ session_id: id }) => html`<li><a href="/app/find?id=${encodeURIComponent(id)}">${id}</a></li>`,
  )
  return html`<h2 id="sessions">Sessions</h2>
    <ul>
      ${links}
    </ul>`
}

/** A link to the same page with its subtrees folded, or unfolded, where there are some. */
const foldingLinks = ({ rows, isFolded, folding }: Shown): readonly (readonly [string, string])[] =>
  rows.some(({ depth }) => depth > 1) ? [[folding, isFolded ? 'Unfold all spans' : 'Fold spans']] : []

/** A link to the spans after those of the page, where there are some. */
const moreSpansLinks = ({ next_cursor: next }: Trace, { spanless }: Shown): readonly (readonly [string, string])[] =>
  next === null ? [] : [[withParameter(spanless, 'cursor', next), 'More spans']]

/** Links to what lies below a trace, which may be long, and to what stands out in it. */
function placesPart(answer: CorrelationAnswer, shown: Shown): Html {
  const { trace, logs, rum_events: events, sessions } = answer
  if (trace == null) return html``
  const { address, asked, errorsBeside, foundSpans, isFirst, isFolded, origins, rows } = shown
  // A search within the trace would lead to its first match, wherever that is.
  const isElsewhere = asked !== undefined || foundSpans.typed !== ''
  const firstPage = isElsewhere ? traceAddress(trace.summary.trace_id, null, { isFolded }) : address
  const counts = (items: readonly unknown[], cursor: string | null = null): string =>
    `(${inWords(items.length)}${cursor === null ? '' : '+'})`
  const links = [
    ...(isFirst ? [] : [[firstPage, 'First page']]),
    ...(asked !== undefined && isHere(rows, asked) ? [[`#${spanPlace(asked)}`, 'The span']] : []),
    ...moreSpansLinks(trace, shown),
    ...foldingLinks(shown),
    ...errorsHere(trace),
    ...errorsBeside,
    ...figureLinks(trace.spans),
    ...(shown.isSession ? [] : [[compareAddress(trace.summary.trace_id), 'Compare']]),
    ...mapLinks(trace.summary),
    ...timelineLinks(answer),
    ...(logs === undefined ? [] : [['#logs', `Logs ${counts(logs.items, logs.next_cursor)}`]]),
    ...(events.items.length === 0
      ? []
      : [['#browser-events', `Browser events ${counts(events.items, events.next_cursor)}`]]),
    ...(sessions.length === 0 ? [] : [['#sessions', `Sessions ${counts(sessions)}`]]),
    ...(origins.resources.size + origins.scopes.size === 0 ? [] : [['#origins', 'Resources and scopes']]),
    [asJson(shown.id), 'As JSON'] as const,
  ]
  return html`<nav class="tabs" aria-label="On this page">
    ${links.map(([place, words]) => html`<a href="${place}">${words}</a> `)}
  </nav>`
}

function bodyOf(
  answer: CorrelationAnswer,
  given: Omit<Shown, 'colourOf' | 'origins' | 'logged' | 'found' | 'room'>,
): Html {
  const { trace, traces, omitted, index } = answer
  const found = [...(trace == null ? [] : [trace.summary]), ...(traces?.items ?? [])]
  const origins = originsOf(trace?.spans ?? [])
  const room = createLinkRoom(given.nowMs, given.asked)
  // First, for all spans to have its links.
  const originsShown = originsPart(origins, room)
  const logged = new Set(answer.logs?.items.flatMap(({ span_id: id }) => id ?? []))
  const marked = new Set(given.foundSpans.ids)
  const shown = { ...given, colourOf: coloursOf(found), origins, logged, found: marked, room }
  const left = omitted.length === 0 ? html`` : html`<p class="notice">The plan leaves out: ${omitted.join(', ')}.</p>`
  const timeline = timelinePart(answer, shown)
  const traceParts = html`${trace == null ? html`` : tracePart(trace, shown)}${tracesPart(answer, shown)}`
  return html`${about({ query: { normalized: '', warnings: [] }, index })}${left}${placesPart(answer, shown)}
  ${given.isSession ? html`${timeline}${traceParts}` : html`${traceParts}${timeline}`}${logsPart(answer, shown)}
  ${browserPart(answer, shown)}${sessionsPart(answer)}${originsShown}`
}

type Wanted = Readonly<{
  title: string
  address: string
  spanless: string
  name: 'id' | 'trace_id'
  value: string
  span?: string | undefined
  /** What is looked for within the trace. */
  typed?: string
}>

/** A trace in a few words; undefined where its root is not known. */
function aboutOf(trace: CorrelationAnswer['trace']): string | undefined {
  const root = trace?.summary.root
  return root == null ? undefined : `${root.service} ${root.operation}`
}

const finder = (value: string): Html =>
  html`<form class="row" method="get" action="/app/find" role="search">
    <label
      >A trace, span, session or log id, or a line that holds one
      <input name="id" type="search" size="40" value="${value}" required
    /></label>
    <button type="submit">Find</button>
  </form>`

const idAsked = ({ name, value }: Wanted): string => new URLSearchParams({ [name]: value }).toString()

type Found = Readonly<{ answer: CorrelationAnswer; asked: string | undefined; isFirst: boolean }>
type Ask = (cursor?: string) => ReturnType<AppContext['searches']['correlation']>

/** The page behind the first of these cursors that shows the span; undefined where none does. */
async function pageShowing(
  ask: Ask,
  cursors: readonly string[],
  spanId: string,
): Promise<Awaited<ReturnType<Ask>> | undefined> {
  for (const cursor of cursors) {
    const page = await ask(cursor)
    if (!page.ok || isHere(rowsOf(page.value.trace), spanId)) return page
  }
  return undefined
}

/** What belongs to an id: the page asked for, else the one that shows the span. */
async function find(ctx: Context, app: AppContext, wanted: Wanted): Promise<Result<Found, Refusal>> {
  const { workspaceId } = sessionHere(ctx)
  const id = idAsked(wanted)
  const ask: Ask = (cursor) =>
    app.searches.correlation(workspaceId, cursor === undefined ? id : `${id}&cursor=${encodeURIComponent(cursor)}`)
  const cursor = readAsked(ctx, app).cursors.at(-1)
  const first = await ask(cursor)
  if (!first.ok) return first
  const { trace, ids } = first.value
  const asked = wanted.span ?? ids.span_ids[0]
  const found = { answer: first.value, asked, isFirst: cursor === undefined }
  const isWhole = trace == null || trace.next_cursor === null
  if (cursor !== undefined || asked === undefined || isWhole || isHere(rowsOf(trace), asked)) return ok(found)
  const place = { traceId: trace.summary.trace_id, spanId: asked }
  const cursors = await app.searches.spanCursors(workspaceId, id, place)
  if (!cursors.ok) return cursors
  const page = await pageShowing(ask, cursors.value, asked)
  if (page === undefined) return ok(found)
  return page.ok ? ok({ answer: page.value, asked, isFirst: false }) : page
}

/** What became of a look-up, and the form with what was typed. */
function refusedPage(ctx: Context, app: AppContext, refused: Refusal, { title, name, value }: Wanted): SessionPage {
  const { body, status } = searchRefusal(ctx, refused, '')
  return {
    title: status === 404 ? 'Not found' : name === 'id' ? 'Find' : title,
    about: value,
    body: html`${body}${idsWithin(value)}${status === 404 ? unseenPart(ctx, app, value) : html``}${finder(value)}`,
    status,
  }
}

async function errorsBesidePage(
  ctx: Context,
  { searches }: AppContext,
  { answer: { trace }, isFirst }: Found,
  kept: KeptOfTrace,
): Promise<ErrorLinks> {
  if (trace == null) return []
  return findErrorsBeside(searches, sessionHere(ctx).workspaceId, trace, { isFirst, ...kept })
}

async function sendAnswer(ctx: Context, app: AppContext, wanted: Wanted, found: Found): Promise<void> {
  const { title, address, spanless, name, value, typed = '' } = wanted
  const { answer, asked, isFirst } = found
  const { trace } = answer
  const rows = rowsOf(trace)
  const foundSpans = await findInTrace(app.searches, sessionHere(ctx).workspaceId, { trace, rows, typed })
  const cursor = readAsked(ctx, app).cursors.at(-1)
  const isFolded = new URLSearchParams(ctx.querystring).get('folded') === '1'
  const first = trace == null ? undefined : firstFound(foundSpans, { traceId: trace.summary.trace_id, isFolded })
  // Just typed: who looks for something wants to see it.
  if (asked === undefined && cursor === undefined && first !== undefined) return seeOther(ctx, first)
  const given = name === 'id' ? html`<p>By the id <code>${value}</code>.</p>` : html``
  const folded = (whole: boolean, of: string): string => (whole ? withParameter(of, 'folded', '1') : of)
  const other = folded(!isFolded, address)
  const addresses = { address: folded(isFolded, address), spanless: folded(isFolded, spanless), id: idAsked(wanted) }
  const folding = cursor === undefined ? other : withParameter(other, 'cursor', cursor)
  const isSession = answer.ids.session_ids.includes(value) && !answer.ids.trace_ids.includes(value.toLowerCase())
  const head = isSession ? { title: 'Session', about: value } : { title, about: aboutOf(trace) ?? value }
  const errorsBeside = await errorsBesidePage(ctx, app, found, { find: typed, isFolded })
  const looks = { nowMs: app.clock(), asked, isFolded, isSession, errorsBeside, rows, foundSpans }
  const body = html`${given}${bodyOf(answer, { ...looks, ...addresses, isFirst, folding })}`
  return sendSessionPage(ctx, app, { ...head, body, scripts: [openTargetScript, reopenScript] })
}

/** Whether nothing is known to have the id, be it that the index is behind. */
const isUnseen = (result: Result<Found, Refusal>): boolean =>
  result.ok ? result.value.answer.timeline.length === 0 : !isPassing(result.error.code)

async function sendFound(ctx: Context, app: AppContext, wanted: Wanted): Promise<void> {
  const result = await find(ctx, app, wanted)
  // An id may be anything: what stands in it is looked for only where nothing has it whole.
  const within = wanted.name === 'id' && isUnseen(result) ? addressWithin(wanted.value) : undefined
  if (within !== undefined) return seeOther(ctx, within)
  if (result.ok) return sendAnswer(ctx, app, wanted, result.value)
  await sendSessionPage(ctx, app, refusedPage(ctx, app, result.error, wanted))
}

function wantedById(ctx: Context): Wanted {
  const value = new URLSearchParams(ctx.querystring).get('id')?.trim() ?? ''
  const address = `/app/find?id=${encodeURIComponent(value)}`
  return { title: 'Found', address, spanless: address, name: 'id', value }
}

function wantedTrace(ctx: Context): Wanted {
  const { id: value } = ctx['params'] as { id: string }
  const given = new URLSearchParams(ctx.querystring)
  const span = parseSpanId(given.get('span') ?? '')
  const typed = given.get('find')?.trim() ?? ''
  const spanless = traceAddress(value, null, { find: typed })
  // Without the place within the page: more may be added to it.
  const [address = ''] = traceAddress(value, span, { find: typed }).split('#')
  return { title: 'Trace', address, spanless, name: 'trace_id', value, span, typed }
}

async function sendFind(ctx: Context, app: AppContext): Promise<void> {
  const wanted = wantedById(ctx)
  if (wanted.value === '') return sendSessionPage(ctx, app, { title: 'Find', body: finder('') })
  await sendFound(ctx, app, wanted)
}

/** One trace, or whatever an id belongs to, with all that shares an identifier with it. */
export function createFindPageRoutes(app: AppContext): Route[] {
  const page = (wantedOf: (ctx: Context) => Wanted) => {
    const refuse = createRefuseSearch(app, (ctx, _app, refused) => refusedPage(ctx, app, refused, wantedOf(ctx)))
    return { ...sessionPage(refuse), method: 'GET' } as const
  }
  return [
    { ...page(wantedTrace), path: `${tracePath}:id`, handler: (ctx) => sendFound(ctx, app, wantedTrace(ctx)) },
    { ...page(wantedById), path: '/app/find', handler: (ctx) => sendFind(ctx, app) },
  ]
}
