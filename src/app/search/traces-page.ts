import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { histogramScript, unfoldedScript, reopenScript } from '../assets.ts'
import { counted, sendSessionPage, sessionHere, type AppContext } from '../context.ts'
import { zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { mapPath } from '../map-address.ts'
import { seeOther } from '../page.ts'
import { addressWith } from './conditions.ts'
import { facetRow } from './facets.ts'
import { histogram } from './histogram.ts'
import { meantBy } from './meant/meant.ts'
import { rangeMoves } from './range-moves.ts'
import { readAsked, searchOf, type Asked } from './asked.ts'
import { about, nothingFits, pager } from './beside-results.ts'
import { searchRoute } from './refused-search.ts'
import { createTraceForm, having, tracesPath } from './trace-form.ts'
import { coloursOf, traceTable, type TraceHeads } from './trace-rows.ts'
import { traceScatter } from './trace-scatter.ts'
import { lookUpTyped } from './typed-id.ts'

const path = tracesPath
const formOf = createTraceForm(path)
const limit = '50'

const facetGroups = [
  { title: 'Service', name: 'service', charactersMax: 256 },
  { title: 'Operation', name: 'operation', charactersMax: 1_024 },
  { title: 'Status', name: 'status', charactersMax: 5 },
  {
    title: 'With',
    name: 'has',
    repeats: true,
    charactersMax: 20,
    words: (value: string) => having.find(([name]) => name === value)?.[1],
  },
] as const

/** How many spans the bars and values count, or why that is not known. */
function howMany({ histogram: found }: TraceSearchAnswer): Html {
  if (found === null) {
    return html`<p class="note">
      The spans that fit are not counted: too many traces have what is asked for under “With”.
    </p>`
  }
  if (found === undefined || found.buckets.length === 0) return html``
  const total = found.buckets.reduce((sum, bucket) => sum + bucket.total, 0)
  const words =
    found.of === 'traces' ? counted(total, 'trace') : `${counted(total, 'span')} that ${total === 1 ? 'fits' : 'fit'}`
  return html`<p class="count note"><strong>${words}</strong> over time</p>`
}

/** The column and direction that the list is ordered by. Without `order`: newest first. */
const sorts: Readonly<Record<string, Readonly<{ by: keyof TraceHeads; sort: 'ascending' | 'descending' }>>> = {
  '': { by: 'start', sort: 'descending' },
  newest: { by: 'start', sort: 'descending' },
  oldest: { by: 'start', sort: 'ascending' },
  longest: { by: 'duration', sort: 'descending' },
  most_spans: { by: 'spans', sort: 'descending' },
}

/** Column heads that link to the list in another order. */
function headsOf({ conditions }: Asked): TraceHeads {
  const sorted = sorts[conditions.get('order') ?? '']
  const head = (by: keyof TraceHeads, words: Html, order: string | null): Html =>
    html`<th scope="col" ${sorted?.by === by ? html`aria-sort="${sorted.sort}"` : html``}>
      <a href="${addressWith(path, conditions, { order })}">${words}</a>
    </th>`
  const isNewest = sorted?.by === 'start' && sorted.sort === 'descending'
  return {
    start: head('start', html`Start (${zone})`, isNewest ? 'oldest' : null),
    duration: head('duration', html`Duration`, 'longest'),
    spans: head('spans', html`Spans`, 'most_spans'),
  }
}

/** `meant`: suggestions if nothing was found. */
function resultsOf(asked: Asked, answer: TraceSearchAnswer, meant: Html, nowMs: number): Html {
  const { traces, range, facets } = answer
  const { conditions } = asked
  const found = answer.histogram ?? undefined
  const colourOf = coloursOf(traces)
  const isPart = asked.cursors.length > 0 || answer.next_cursor !== null
  return html`${about(answer)} ${howMany(answer)}
    ${histogram({ bars: found?.buckets ?? [], stepMs: found?.step_ms ?? 0, range, nowMs, path, conditions })}
    ${facetRow({ path, conditions, groups: facetGroups, facets, normalized: answer.query.normalized, noun: found?.of ?? 'traces' })}
    ${traceScatter(traces, isPart, colourOf)}
    <div id="results">
      ${traces.length === 0 ? html`${meant}${nothingFits(path, asked, { noun: 'trace', range, nowMs })}` : traceTable(traces, colourOf, headsOf(asked))}
    </div>
    ${pager(path, asked, answer.next_cursor)}`
}

async function sendTraces(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const asked = readAsked(ctx, app)
  const include: Readonly<Record<string, string>> = asked.cursors.length === 0 ? { include: 'histogram,facets' } : {}
  const result = await app.searches.traces(sessionHere(ctx).workspaceId, searchOf(asked, { limit, ...include }))
  if (!result.ok) return result.error
  const { facets, range, traces } = result.value
  const found = { sessionIds: traces.flatMap((trace) => trace.session_ids), isEmpty: traces.length === 0 }
  const typed = await lookUpTyped(ctx, app, asked, found)
  if (typed.address !== undefined) return seeOther(ctx, typed.address)
  const moves = rangeMoves(path, asked, range, app.clock())
  const find = (search: string) => app.searches.traces(sessionHere(ctx).workspaceId, search)
  const meant = found.isEmpty ? await meantBy(path, asked, result.value.query.normalized, find) : html``
  const map = html`<a href="${addressWith(mapPath, asked.conditions, {})}">Service map</a>`
  const body = html`${formOf(asked, { facets, moves: html`${moves}${map}` })}${typed.notice}${resultsOf(asked, result.value, meant, app.clock())}`
  await sendSessionPage(ctx, app, {
    title: 'Traces',
    about: asked.conditions.get('q') ?? '',
    body,
    scripts: [reopenScript, unfoldedScript, histogramScript],
  })
}

/** The page of trace search. */
export const createTracePageRoute = (app: AppContext): Route =>
  searchRoute(app, { path, title: 'Traces', formOf, send: sendTraces })
