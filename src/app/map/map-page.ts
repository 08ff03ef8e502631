import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { filterScript } from '../assets.ts'
import { counted, inWords, sendSessionPage, sessionHere, type AppContext } from '../context.ts'
import { html, type Html } from '../html.ts'
import { mapPath } from '../map-address.ts'
import { seeOther } from '../page.ts'
import { addressWith } from '../search/conditions.ts'
import { meantBy } from '../search/meant/meant.ts'
import { rangeMoves } from '../search/range-moves.ts'
import { hasMissingSpans, readAsked, searchOf, type Asked } from '../search/asked.ts'
import { about, nothingFits } from '../search/beside-results.ts'
import { searchRoute } from '../search/refused-search.ts'
import { createTraceForm, tracesPath } from '../search/trace-form.ts'
import { lookUpTyped } from '../search/typed-id.ts'
import { serviceColours } from '../service-colours.ts'
import { drawnOf, graphDrawing, type Drawn } from './graph-drawing.ts'
import { createGraphLinks } from './graph-links.ts'
import { graphTables } from './graph-tables.ts'
import { readGraph, spansOfTraceMax, tracesMax, type GraphRead } from './read-graph.ts'
import type { MapNode, ServiceGraph } from './service-graph.ts'

const title = 'Service map'
const formOf = createTraceForm(mapPath)

/** How many services the form suggests. */
const suggestedMax = 100

/** What the first of the traces found are, by the order of the search. */
const firsts: Readonly<Record<string, string>> = {
  oldest: 'oldest',
  longest: 'longest',
  most_spans: 'largest',
  errors: 'most failed',
}

const servicesOf = ({ nodes }: ServiceGraph): readonly MapNode[] => nodes.filter(({ kind }) => kind === 'service')

/** How many spans are missing, which the map may not show: a span that none is below is in no call. */
function missingPart({ conditions }: Asked, { missingSpans, isMissingCut }: GraphRead): Html {
  if (missingSpans === 0) return html``
  const count = `${isMissingCut ? 'At least ' : ''}${inWords(missingSpans)}`
  return html` ${count} more ${missingSpans === 1 ? 'is' : 'are'}
    <a href="${addressWith(tracesPath, conditions, { has: hasMissingSpans(conditions) })}">known to be missing</a>.`
}

/** Which traces, and how many of their spans, the map shows. */
function ofWhich(asked: Asked, read: GraphRead, isPart: boolean): Html {
  const { traces, spans, cutTraces, graph } = read
  const first = firsts[asked.conditions.get('order') ?? ''] ?? 'newest'
  const all = traces === 1 ? 'the 1 trace that fits' : `all ${counted(traces, 'trace')} that fit`
  const which = isPart ? `the ${inWords(traces)} ${first} of the traces that fit` : all
  const cut =
    cutTraces === 0
      ? html``
      : html` ${counted(cutTraces, 'trace')} of these ${cutTraces === 1 ? 'has' : 'have'} more spans than were read: the
        first ${inWords(spansOfTraceMax)} of a trace, or fewer of very large ones.`
  return html`<p>
    <strong>${counted(servicesOf(graph).length, 'service')}</strong> in ${which}, by
    ${counted(spans, 'span')}.${missingPart(asked, read)}${cut}
  </p>`
}

function leftOut({ nodesLeft, edgesLeft }: Drawn): Html {
  if (nodesLeft + edgesLeft === 0) return html``
  return html` Left out of the drawing, for want of room: ${counted(nodesLeft, 'name')}, ${counted(edgesLeft, 'arrow')};
  the tables have more.`
}

function mapPart(asked: Asked, read: GraphRead, isPart: boolean): Html {
  const { graph } = read
  const drawn = drawnOf(graph)
  const looks = {
    links: createGraphLinks(asked.conditions),
    colourOf: serviceColours(servicesOf(graph).map(({ name }) => name)),
  }
  return html`${ofWhich(asked, read, isPart)}
    <nav class="tabs" aria-label="On this page"><a href="#calls">Calls</a> <a href="#services-found">Services</a></nav>
    ${graphDrawing(drawn, looks)}
    <p class="note">
      From the left to the right: who calls whom, and how often. Red has errors: such an arrow leads to a call that
      failed, all else to a search of traces. Dashed is what has sent no span, and is known by those that it is called
      by, or calls.${leftOut(drawn)}
    </p>
    ${graphTables(graph, looks)}`
}

async function sendMap(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const { workspaceId } = sessionHere(ctx)
  const asked = { ...readAsked(ctx, app), cursors: [] }
  const { conditions } = asked
  const result = await app.searches.traces(workspaceId, searchOf(asked, { limit: String(tracesMax) }))
  if (!result.ok) return result.error
  const { traces, range, query, next_cursor: next } = result.value
  const found = { sessionIds: traces.flatMap((trace) => trace.session_ids), isEmpty: traces.length === 0 }
  const typed = await lookUpTyped(ctx, app, asked, found)
  if (typed.address !== undefined) return seeOther(ctx, typed.address)
  const read = await readGraph(app, workspaceId, traces)
  if (!read.ok) return read.error
  const nowMs = app.clock()
  const list = html`<a href="${addressWith(tracesPath, conditions, {})}">List of these traces</a>`
  const moves = html`${rangeMoves(mapPath, asked, range, nowMs)}${list}`
  const services = servicesOf(read.value.graph).slice(0, suggestedMax)
  const values = services.map(({ name, spans }) => ({ value: name, count: spans }))
  const form = formOf(asked, { facets: [{ field: 'service', values }], moves })
  const find = (search: string) => app.searches.traces(workspaceId, search)
  const meant = found.isEmpty ? await meantBy(mapPath, asked, query.normalized, find) : html``
  const shown =
    read.value.traces === 0
      ? html`${meant}${nothingFits(mapPath, asked, { noun: 'trace', range, nowMs })}`
      : mapPart(asked, read.value, next !== null || read.value.traces < traces.length)
  const body = html`${form}${typed.notice}${about(result.value)}
    <div id="results">${shown}</div>`
  await sendSessionPage(ctx, app, { title, about: conditions.get('q') ?? '', body, scripts: [filterScript] })
}

/** The page with the map of who calls whom in the traces that a search finds. */
export const createMapPageRoute = (app: AppContext): Route =>
  searchRoute(app, { path: mapPath, title, formOf, send: sendMap })
