import { counted, inWords } from '../context.ts'
import { failedShare } from '../failed-share.ts'
import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'
import { traceAddress } from '../trace-address.ts'
import type { Looks } from './graph-links.ts'
import { durationOf, nodeName } from './graph-words.ts'
import { rankedEdges, rankedNodes } from './ranking.ts'
import type { MapEdge, MapNode, ServiceGraph, SpanPlace } from './service-graph.ts'

/** The most rows of a table. */
const rowsMax = 200

const linkTo = (address: string | undefined, words: Html): Html =>
  address === undefined ? words : html`<a href="${address}">${words}</a>`

const spanLink = ({ traceId, spanId }: SpanPlace, words: Html): Html =>
  html`<a href="${traceAddress(traceId, spanId)}">${words}</a>`

/** The calls of a service that only its callers report. */
const toldPart = ({ to, toldByCaller }: MapEdge): Html =>
  toldByCaller === 0 || to.kind !== 'service'
    ? html``
    : html`<br /><small class="note">${inWords(toldByCaller)} without a span of it</small>`

const errorsCell = ({ errors, failed }: MapEdge): Html =>
  failed === undefined ? html`0` : spanLink(failed, html`<span class="bad">${counted(errors, 'error')}</span>`)

function edgeRow(edge: MapEdge, { links, colourOf }: Looks): Html {
  const { from, to, calls, durations, longest } = edge
  return html`<tr>
    <th scope="row">${nodeName(from, colourOf)} → ${nodeName(to, colourOf)}</th>
    <td class="number" data-head="Calls">${linkTo(links.edge(edge), html`${inWords(calls)}`)}${toldPart(edge)}</td>
    <td class="number" data-head="Errors">${errorsCell(edge)}</td>
    <td class="number" data-head="p50">${durationOf(durations, 50)}</td>
    <td class="number" data-head="p95">${durationOf(durations, 95)}</td>
    <td class="number" data-head="Longest">${spanLink(longest, html`${formatDuration(longest.ns)}`)}</td>
  </tr>`
}

/** A trace that was only partly read may have entry spans that are not known. */
const entriesFor = ({ entries }: MapNode, hundredths: number): string =>
  entries.length === 0 ? '–' : durationOf(entries, hundredths)

const nodeRow = (node: MapNode, { links, colourOf }: Looks): Html =>
  html`<tr>
    <th scope="row">${linkTo(links.node(node), nodeName(node, colourOf))}</th>
    <td class="number" data-head="Entry spans">${inWords(node.entries.length)}</td>
    <td class="number" data-head="Failed">${failedShare(node.failedEntries, node.entries.length)}</td>
    <td class="number" data-head="p50">${entriesFor(node, 50)}</td>
    <td class="number" data-head="p95">${entriesFor(node, 95)}</td>
    <td class="number" data-head="All spans">${inWords(node.spans)}</td>
    <td class="number" data-head="Errors">
      ${node.errors === 0 ? html`0` : html`<span class="bad">${counted(node.errors, 'error')}</span>`}
    </td>
    <td class="number" data-head="Traces that begin here">${inWords(node.begins)}</td>
  </tr>`

/** A table of the first items. `find`: the label of the field that scripts/filter.js adds. */
function table<Item>(
  find: string,
  heads: readonly string[],
  items: readonly Item[],
  rowOf: (item: Item) => Html,
): Html {
  const left = items.length - rowsMax
  const [first = '', ...numbers] = heads
  return html`<table class="figures cards" data-filter="${find}">
      <thead>
        <tr>
          <th scope="col">${first}</th>
          ${numbers.map((head) => html`<th scope="col" class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${items.slice(0, rowsMax).map(rowOf)}
      </tbody>
    </table>
    ${left > 0 ? html`<p class="note">And ${counted(left, 'other')}.</p>` : html``}`
}

function callsPart(edges: readonly MapEdge[], looks: Looks): Html {
  if (edges.length === 0) return html`<p>None of these spans is a call from one service to another.</p>`
  const heads = ['Call', 'Calls', 'Errors', 'p50', 'p95', 'Longest']
  return html`<p class="note">
      Those with the most errors first, then the most frequent. A call takes as long as the span of whom was called;
      where that has sent none, as the caller’s. The longest, and an error, lead to their spans; the number of calls to
      a search near to them.
    </p>
    ${table('Find a call', heads, rankedEdges(edges), (edge) => edgeRow(edge, looks))}`
}

/** The drawing in words, with what it has no room for. */
export function graphTables(graph: ServiceGraph, looks: Looks): Html {
  const services = rankedNodes(graph).filter(({ kind }) => kind === 'service')
  const heads = ['Service', 'Entry spans', 'Failed', 'p50', 'p95', 'All spans', 'Errors', 'Traces that begin here']
  return html`<h2 id="calls">Calls</h2>
    ${callsPart(graph.edges, looks)}
    <h2 id="services-found">Services</h2>
    <p class="note">
      An entry span is one by which a service was called: its parent is of another service, or it has none. What failed,
      p50 and p95 are of these.
    </p>
    ${table('Find a service', heads, services, (node) => nodeRow(node, looks))}`
}
