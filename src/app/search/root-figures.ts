import { counted, inWords } from '../context.ts'
import { failedShare } from '../failed-share.ts'
import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'
import { traceAddress } from '../trace-address.ts'
import { byDuration, percentile } from './percentile.ts'
import { nameOf, type ShownTrace } from './trace-rows.ts'

type Timed = Readonly<{ trace: ShownTrace; ns: bigint }>

type Figures = Readonly<{ name: Html; traces: number; failed: number; p50: bigint; p95: bigint; longest: Timed }>

const rowsMax = 20

function figuresOf(traces: readonly [Timed, ...Timed[]]): Figures {
  const sorted = traces.map(({ ns }) => ns).sort(byDuration)
  return {
    name: nameOf(traces[0].trace),
    traces: traces.length,
    failed: traces.filter(({ trace }) => trace.error_count > 0).length,
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    longest: traces.reduce((longest, each) => (each.ns > longest.ns ? each : longest)),
  }
}

/** Groups traces by the names of their roots, the slowest first. */
function byRoot(traces: readonly Timed[]): readonly Figures[] {
  const groups = new Map<string, [Timed, ...Timed[]]>()
  for (const timed of traces) {
    const { root } = timed.trace
    const key = JSON.stringify(root === null ? null : [root.service, root.operation])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [timed])
    else group.push(timed)
  }
  const figures = [...groups.values()].map(figuresOf)
  return figures.toSorted((a, b) => byDuration(b.p95, a.p95) || b.traces - a.traces)
}

const heads = ['Traces', 'With errors', 'p50', 'p95', 'Longest'] as const

function rowOf(figures: Figures): Html {
  const { name, traces, failed, p50, p95, longest } = figures
  const shown = [
    html`${inWords(traces)}`,
    failedShare(failed, traces),
    html`${formatDuration(p50)}`,
    html`${formatDuration(p95)}`,
    html`<a href="${traceAddress(longest.trace.trace_id)}">${formatDuration(longest.ns)}</a>`,
  ]
  return html`<tr>
    <th scope="row">${name}</th>
    ${heads.map((head, at) => html`<td class="number" data-head="${head}">${shown[at] ?? ''}</td>`)}
  </tr>`
}

/** Durations and errors of the listed traces by their roots; empty if all have the same root. `of`: which traces. */
export function rootFigures(traces: readonly Timed[], of: string): Html {
  const rows = byRoot(traces)
  if (rows.length < 2) return html``
  const left = rows.length - rowsMax
  return html`<table class="figures cards" id="roots">
      <caption>
        ${of} by root, the slowest (p95) first
      </caption>
      <thead>
        <tr>
          <th scope="col">Root</th>
          ${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, rowsMax).map(rowOf)}
      </tbody>
    </table>
    ${left > 0 ? html`<p class="note">And ${counted(left, 'other')}.</p>` : html``}`
}
