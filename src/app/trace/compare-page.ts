import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { behindPart, counted, inWords, sendSessionPage, sessionHere, sessionPage, type AppContext } from '../context.ts'
import { formatDuration, since, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { missingWords } from '../missing-spans.ts'
import { createRefuseSearch } from '../refuse-page.ts'
import { searchRefusal } from '../search/refused-search.ts'
import { coloursOf, nameOf, type ShownTrace } from '../search/trace-rows.ts'
import { traceAddress } from '../trace-address.ts'
import { compareAddress, comparePath } from './compare-address.ts'
import { othersPart } from './compare-others.ts'
import { comparedTimes, difference } from './compare-times.ts'
import type { MissingSpan, ShownSpan } from './span-tree.ts'

/** The most pages of spans that are read of each trace. */
const pagesMax = 4

type Read = Readonly<{
  summary: ShownTrace
  spans: readonly ShownSpan[]
  missing: readonly MissingSpan[]
  index: CorrelationAnswer['index']
}>

/** The spans of a trace, as many as a comparison reads; undefined if the workspace has no such trace, or its plan has no traces. */
async function readTrace(
  { searches }: AppContext,
  workspaceId: WorkspaceId,
  id: string,
): Promise<Result<Read | undefined, Refusal>> {
  const asked = new URLSearchParams({ trace_id: id })
  const spans: ShownSpan[] = []
  for (let page = 1; ; page++) {
    const result = await searches.correlation(workspaceId, asked.toString())
    if (!result.ok) return result
    const { trace, index } = result.value
    if (trace == null) return ok(undefined)
    spans.push(...trace.spans)
    const { summary, missing, next_cursor: next } = trace
    if (next === null || page === pagesMax) return ok({ summary, spans, missing, index })
    asked.set('cursor', next)
  }
}

type Asked = Readonly<{ first: string; second: string; order: string }>

function readAsked(ctx: Context): Asked {
  const given = new URLSearchParams(ctx.querystring)
  const of = (name: string): string => given.get(name)?.trim() ?? ''
  return { first: of('trace_id'), second: of('with'), order: of('order') === 'longest' ? 'longest' : 'newest' }
}

const idField = (label: string, name: string, value: string): Html =>
  html`<label
    >${label} <input name="${name}" type="search" size="40" value="${value}" autocomplete="off" required
  /></label>`

const formOf = ({ first, second }: Asked): Html =>
  html`<form class="row" method="get" action="${comparePath}" role="search">
    ${idField('Trace id', 'trace_id', first)}${idField('Compare with trace id', 'with', second)}
    <button type="submit">Compare</button>
  </form>`

const unknown = (id: string): Html => html`<p>There is no trace to be shown by <code>${id}</code>.</p>`

const durationOf = ({ duration_ns: ns }: ShownTrace): Html => html`${ns === null ? '–' : formatDuration(BigInt(ns))}`

/** A note on how many spans were read, if not all. */
const partNote = ({ summary, spans }: Read): Html =>
  spans.length >= summary.span_count ? html`` : html` (the first ${inWords(spans.length)} are compared)`

/** A note on missing spans, if there are any: what they did looks as if it were not done. */
const missingNote = (read: Read): Html =>
  read.missing.length === 0 ? html`` : html` <br /><small class="bad">${missingWords(read)}</small>`

const traceRow = (head: string, read: Read): Html =>
  html`<tr>
    <th scope="row">
      ${head}: <a href="${traceAddress(read.summary.trace_id)}">${nameOf(read.summary)}</a><br />
      <code class="id">${read.summary.trace_id}</code>
    </th>
    <td class="time" data-head="Start">${timeOf(read.summary.start)}</td>
    <td class="number" data-head="Duration">${durationOf(read.summary)}</td>
    <td class="number" data-head="Spans">${inWords(read.summary.span_count)}${partNote(read)}${missingNote(read)}</td>
    <td class="number" data-head="Errors">${inWords(read.summary.error_count)}</td>
  </tr>`

const moreOf = (first: number, second: number): string => `${second > first ? '+' : ''}${inWords(second - first)}`

function differenceRow({ summary: first }: Read, { summary: second }: Read): Html {
  const isKnown = first.duration_ns !== null && second.duration_ns !== null
  const later = first.start === null || second.start === null ? '–' : since(first.start, second.start)
  const more = BigInt(second.duration_ns ?? 0) - BigInt(first.duration_ns ?? 0)
  return html`<tr>
    <th scope="row">Difference</th>
    <td data-head="Start">${later}</td>
    <td class="number" data-head="Duration">${isKnown ? difference(more) : '–'}</td>
    <td class="number" data-head="Spans">${moreOf(first.span_count, second.span_count)}</td>
    <td class="number" data-head="Errors">${moreOf(first.error_count, second.error_count)}</td>
  </tr>`
}

function comparison(first: Read, second: Read): Html {
  const [a, b] = [first.summary.trace_id, second.summary.trace_id]
  return html`${behindPart(second.index)}
    <nav class="tabs" aria-label="Other comparisons">
      <a href="${compareAddress(b, a)}">The other way round</a> <a href="${compareAddress(a)}">Choose another trace</a>
    </nav>
    <table class="figures cards">
      <thead>
        <tr>
          <th scope="col">Trace</th>
          <th scope="col">Start (${zone})</th>
          <th scope="col" class="number">Duration</th>
          <th scope="col" class="number">Spans</th>
          <th scope="col" class="number">Errors</th>
        </tr>
      </thead>
      <tbody>
        ${traceRow('First', first)}${traceRow('Second', second)}${differenceRow(first, second)}
      </tbody>
    </table>
    <h2>Where they differ</h2>
    ${comparedTimes(first, second, coloursOf([first.summary, second.summary]))}`
}

/** The trace to compare, and a list of others to choose from. */
async function chooser(app: AppContext, workspaceId: WorkspaceId, first: Read, order: string): Promise<Html> {
  const { summary } = first
  const others = await othersPart(app, workspaceId, summary, order)
  return html`<p>
      <a href="${traceAddress(summary.trace_id)}">${nameOf(summary)}</a>, ${durationOf(summary)},
      ${counted(summary.span_count, 'span')}
    </p>
    ${others}`
}

/** The part of the page below the form. */
async function answer(app: AppContext, workspaceId: WorkspaceId, asked: Asked): Promise<Result<Html, Refusal>> {
  if (asked.first === '') return ok(html``)
  const first = await readTrace(app, workspaceId, asked.first)
  if (!first.ok) return first
  if (first.value === undefined) return ok(unknown(asked.first))
  if (asked.second === '') return ok(await chooser(app, workspaceId, first.value, asked.order))
  const second = await readTrace(app, workspaceId, asked.second)
  if (!second.ok) return second
  return ok(second.value === undefined ? unknown(asked.second) : comparison(first.value, second.value))
}

const title = 'Compare traces'

function refusedPage(ctx: Context, refused: Refusal) {
  const { body, status } = searchRefusal(ctx, refused, '')
  return { title, body: html`${formOf(readAsked(ctx))}${body}`, status }
}

async function sendCompare(ctx: Context, app: AppContext): Promise<void> {
  const asked = readAsked(ctx)
  const found = await answer(app, sessionHere(ctx).workspaceId, asked)
  if (!found.ok) return sendSessionPage(ctx, app, refusedPage(ctx, found.error))
  await sendSessionPage(ctx, app, { title, about: asked.first, body: html`${formOf(asked)}${found.value}` })
}

/** The page that compares two traces by the time of each operation. */
export const createComparePageRoutes = (app: AppContext): readonly Route[] => [
  {
    ...sessionPage(createRefuseSearch(app, (ctx, _app, refused) => refusedPage(ctx, refused))),
    method: 'GET',
    path: comparePath,
    handler: (ctx) => sendCompare(ctx, app),
  },
]
