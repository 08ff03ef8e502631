import type { Context } from 'koa'
import { askedSpanId } from '#src/events/ids.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { isPassing } from '#src/http/errors.ts'
import type { Route } from '#src/http/route.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { matchesScript, valuesScript, reopenScript, openTargetScript, zoomScript } from '../assets.ts'
import { sendSessionPage, sessionHere, sessionPage, type AppContext, type SessionPage } from '../context.ts'
import { html, type Html } from '../html.ts'
import { seeOther } from '../page.ts'
import { createRefuseSearch } from '../refuse-page.ts'
import { readAsked } from '../search/asked.ts'
import { searchRefusal } from '../search/refused-search.ts'
import { tracePageAddress, tracePath, type KeptOfTrace } from '../trace-address.ts'
import { findErrorsBeside, type ErrorLinks } from './errors-beside.ts'
import { findInTrace, firstFound } from './find-in-trace.ts'
import { foundParts, isHere, withParameter } from './find-parts.ts'
import { addressWithin, idsWithin } from '../search/meant/ids-within.ts'
import { isZoomed, shownRange, zoomText, type Range } from './shown-range.ts'
import { spanTree, type TreeRow } from './span-tree.ts'
import { unseenPart } from './unseen.ts'

type Wanted = Readonly<{
  title: string
  name: 'id' | 'trace_id'
  value: string
  span?: string | undefined
  /** The search within the trace. */
  typed?: string
  /** The address of the page, with or without a span, its subtrees folded or not, of some of its time. Parameters can be added to it. */
  addressOf: (span: string | undefined, kept: Pick<KeptOfTrace, 'isFolded' | 'zoom'>) => string
}>

/** A trace in a few words; undefined if its root is not known. */
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

const rowsOf = (trace: CorrelationAnswer['trace']): readonly TreeRow[] => (trace == null ? [] : spanTree(trace))

type Found = Readonly<{ answer: CorrelationAnswer; asked: string | undefined; isFirst: boolean }>
type Ask = (cursor?: string) => ReturnType<AppContext['searches']['correlation']>

/** The first page among these cursors that shows the span; undefined if none does. */
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

/** What belongs to an id: the page asked for, or else the one that shows the span. */
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

/** The page of a refused look-up, with the form as it was typed. */
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

/** The summary's times where no trace was found. */
const noTime = { start: null, duration_ns: null }

/** What is shown of the trace's time, and what the links of the page keep. */
function shownBy(ctx: Context, trace: CorrelationAnswer['trace'], find: string) {
  const asks = new URLSearchParams(ctx.querystring)
  const range = shownRange(trace?.summary ?? noTime, asks.get('zoom') ?? '')
  const zoom = isZoomed(range) ? zoomText(range.shown) : undefined
  return { range, kept: { find, isFolded: asks.get('folded') === '1', zoom } }
}

async function sendAnswer(ctx: Context, app: AppContext, wanted: Wanted, found: Found): Promise<void> {
  const { title, name, value, span, typed = '', addressOf } = wanted
  const { answer, asked, isFirst } = found
  const { trace } = answer
  const rows = rowsOf(trace)
  const foundSpans = await findInTrace(app.searches, sessionHere(ctx).workspaceId, { trace, rows, typed })
  const cursor = readAsked(ctx, app).cursors.at(-1)
  const { range, kept } = shownBy(ctx, trace, typed)
  const first = trace == null ? undefined : firstFound(foundSpans, { traceId: trace.summary.trace_id, kept })
  // A search that was just typed leads to its first match.
  if (asked === undefined && cursor === undefined && first !== undefined) return seeOther(ctx, first)
  const given = name === 'id' ? html`<p>By the id <code>${value}</code>.</p>` : html``
  const here = (address: string): string => (cursor === undefined ? address : withParameter(address, 'cursor', cursor))
  const addresses = {
    address: addressOf(span, kept),
    spanless: addressOf(undefined, kept),
    folding: here(addressOf(span, { ...kept, isFolded: !kept.isFolded })),
    zoomAddress: (to: Range | undefined) => here(addressOf(span, { ...kept, zoom: to && zoomText(to) })),
    id: idAsked(wanted),
  }
  const isSession = answer.ids.session_ids.includes(value) && !answer.ids.trace_ids.includes(value.toLowerCase())
  const head = isSession ? { title: 'Session', about: value } : { title, about: aboutOf(trace) ?? value }
  const errorsBeside = await errorsBesidePage(ctx, app, found, kept)
  const looks = { nowMs: app.clock(), asked, kept, range, isSession, errorsBeside, rows, foundSpans }
  const body = html`${given}${await foundParts(answer, { ...looks, ...addresses, isFirst })}`
  const scripts = [openTargetScript, matchesScript, zoomScript, reopenScript, valuesScript]
  return sendSessionPage(ctx, app, { ...head, body, scripts })
}

/** Whether nothing is known to have the id; the index may be behind. */
const isUnseen = (result: Result<Found, Refusal>): boolean =>
  result.ok ? result.value.answer.timeline.length === 0 : !isPassing(result.error.code)

async function sendFound(ctx: Context, app: AppContext, wanted: Wanted): Promise<void> {
  const result = await find(ctx, app, wanted)
  // An id may be anything, so the ids inside it are only looked up if nothing has the whole.
  const within = wanted.name === 'id' && isUnseen(result) ? addressWithin(wanted.value) : undefined
  if (within !== undefined) return seeOther(ctx, within)
  if (result.ok) return sendAnswer(ctx, app, wanted, result.value)
  await sendSessionPage(ctx, app, refusedPage(ctx, app, result.error, wanted))
}

function wantedById(ctx: Context): Wanted {
  const value = new URLSearchParams(ctx.querystring).get('id')?.trim() ?? ''
  const address = `/app/find?id=${encodeURIComponent(value)}`
  const addressOf: Wanted['addressOf'] = (_span, { isFolded, zoom }) =>
    `${address}${isFolded === true ? '&folded=1' : ''}${zoom === undefined ? '' : `&zoom=${zoom}`}`
  return { title: 'Found', name: 'id', value, addressOf }
}

function wantedTrace(ctx: Context): Wanted {
  const { id: value } = ctx['params'] as { id: string }
  const given = new URLSearchParams(ctx.querystring)
  const wantedSpan = askedSpanId(given.get('span') ?? '')
  const typed = given.get('find')?.trim() ?? ''
  const addressOf: Wanted['addressOf'] = (span, kept) => tracePageAddress(value, span, { find: typed, ...kept })
  return { title: 'Trace', name: 'trace_id', value, span: wantedSpan, typed, addressOf }
}

async function sendFind(ctx: Context, app: AppContext): Promise<void> {
  const wanted = wantedById(ctx)
  if (wanted.value === '') return sendSessionPage(ctx, app, { title: 'Find', body: finder('') })
  await sendFound(ctx, app, wanted)
}

/** The pages of a trace, and of whatever an id belongs to, with everything that shares an identifier. */
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
