import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { counted, type AppContext } from '../context.ts'
import { formatDuration, named, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { addressWith } from '../search/conditions.ts'
import { conditionsAround } from '../search/narrow.ts'
import { marksOf, type ShownTrace } from '../search/trace-rows.ts'
import { compareAddress } from './compare-address.ts'
import { difference } from './compare-times.ts'

/** How many traces are searched, and how many of them are listed. */
const [searchedMax, listedMax] = [100, 20]

const orders = [
  ['newest', 'newest first'],
  ['longest', 'longest first'],
] as const

function rowOf(other: ShownTrace, { trace_id: traceId, duration_ns: own }: ShownTrace): Html {
  const { trace_id: otherId, start, duration_ns: ns, span_count: spans } = other
  const more = ns === null || own === null ? '–' : difference(BigInt(ns) - BigInt(own))
  return html`<tr>
    <th scope="row">
      <a href="${compareAddress(traceId, otherId)}">Compare with <code>${otherId.slice(0, 8)}</code></a>
    </th>
    <td class="time" data-head="Start">${timeOf(start)}</td>
    <td class="number" data-head="Duration">${ns === null ? '–' : formatDuration(BigInt(ns))}</td>
    <td class="number" data-head="Difference">${more}</td>
    <td data-head="Spans">${counted(spans, 'span')} ${marksOf(other)}</td>
  </tr>`
}

/** Other traces with the same root operation, to compare with. */
export async function othersPart(
  { searches, clock }: AppContext,
  workspaceId: WorkspaceId,
  summary: ShownTrace,
  order: string,
): Promise<Html> {
  const { root, start, trace_id: traceId } = summary
  if (root === null || start === null) {
    return html`<p>Its root span was not received: which traces are of the same operation is not known.</p>`
  }
  const range = conditionsAround(start, clock())
  const conditions = new URLSearchParams([['service', root.service], ['operation', root.operation], ...range])
  const search = new URLSearchParams([...conditions, ['order', order], ['limit', String(searchedMax)]])
  const found = await searches.traces(workspaceId, search.toString())
  if (!found.ok) return html`<p class="problem">Traces of this operation cannot be listed: ${found.error.detail}</p>`
  // The search also finds traces in which the operation is not the root.
  const others = found.value.traces.filter(
    (other) =>
      other.trace_id !== traceId && other.root?.service === root.service && other.root.operation === root.operation,
  )
  const time = range.size === 0 ? 'of the last 24 hours' : 'of the 12 hours before and after it'
  const links = orders.map(([value, words]) => {
    const current = value === order ? html`aria-current="true"` : html``
    return html`<a href="${compareAddress(traceId)}&order=${value}" ${current}>${words}</a> `
  })
  return html`<h2>Others of ${named(root.service)} ${named(root.operation)}</h2>
    <nav class="tabs" aria-label="Other traces">
      <span class="note">Up to ${listedMax} ${time}</span> ${links}
      <a href="${addressWith('/app/traces', conditions, {})}">Search them</a>
    </nav>
    ${others.length === 0 ? html`<p>There are no others.</p>` : tableOf(others.slice(0, listedMax), summary)}`
}

const tableOf = (others: readonly ShownTrace[], summary: ShownTrace): Html =>
  html`<table class="figures cards">
    <thead>
      <tr>
        <th scope="col">Trace</th>
        <th scope="col">Start (${zone})</th>
        <th scope="col" class="number">Duration</th>
        <th scope="col" class="number">Difference</th>
        <th scope="col">Spans</th>
      </tr>
    </thead>
    <tbody>
      ${others.map((other) => rowOf(other, summary))}
    </tbody>
  </table>`
