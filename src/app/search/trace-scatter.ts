import { counted, inWords } from '../context.ts'
import { cut, formatDuration, secondOf } from '../format.ts'
import { html, type Html } from '../html.ts'
import { isLacking } from '../missing-spans.ts'
import type { ColourOf } from '../service-colours.ts'
import { traceAddress } from '../trace-address.ts'
import { clockTicks } from './clock-ticks.ts'
import { byDuration, percentile } from './percentile.ts'
import { rootFigures } from './root-figures.ts'
import type { ShownTrace } from './trace-rows.ts'

type Point = Readonly<{ trace: ShownTrace; startMs: number; ns: bigint }>

/** The longest name in the description of a point. */
const nameCharactersMax = 60

const pointsOf = (traces: readonly ShownTrace[]): readonly Point[] =>
  traces.flatMap((trace) => {
    const { start, duration_ns: ns } = trace
    return start === null || ns === null ? [] : [{ trace, startMs: Date.parse(start), ns: BigInt(ns) }]
  })

function wordsOf({ trace, ns }: Point): string {
  const { root, error_count: errors, start } = trace
  const name = root === null ? 'root span not received' : `${root.service} ${root.operation}`
  const failed = errors > 0 ? `, ${counted(errors, 'error')}` : ''
  return `${cut(name, nameCharactersMax)}: ${formatDuration(ns)}${failed}, ${start?.slice(0, 23).replace('T', ' ')} UTC`
}

/** A percentage that SVG accepts as a length: `12.3%`. */
const share = (part: number, whole: number): string => `${(whole <= 0 ? 50 : (part / whole) * 100).toFixed(2)}%`

type Scale = Readonly<{ startMs: number; endMs: number; longest: bigint; colourOf: ColourOf }>

/** A point: a square if the trace has errors, otherwise a circle in the colour of its root's service. */
function drawn(point: Point, { startMs, endMs, longest, colourOf }: Scale): Html {
  const { trace, ns } = point
  const x = share(point.startMs - startMs, endMs - startMs)
  // What ends before it begins, by a clock that was put back, is at the bottom, and not far below the page.
  const y = share(Number(longest - (ns > 0n ? ns : 0n)), Number(longest))
  const shape =
    trace.error_count > 0
      ? html`<rect class="error" x="${x}" y="${y}" width="10" height="10" />`
      : html`<circle class="${trace.root === null ? '' : colourOf(trace.root.service)}" cx="${x}" cy="${y}" r="5" />`
  return html`<a href="${traceAddress(trace.trace_id)}"><title>${wordsOf(point)}</title> ${shape}</a>`
}

/** A note on traces that lack spans, which may begin earlier and end later than is known. */
function lackingNote(points: readonly Point[]): Html {
  const lacking = points.filter(({ trace }) => isLacking(trace)).length
  if (lacking === 0) return html``
  return html`<p class="note">
    ${inWords(lacking)} of these ${lacking === 1 ? 'lacks' : 'lack'} spans, and may have taken longer than is known.
  </p>`
}

/**
 * Durations of the listed traces: in figures, as points over their start times, and by root, folded. `isPart`: the search found more than are listed.
 * Empty for fewer than two.
 */
export function traceScatter(traces: readonly ShownTrace[], isPart: boolean, colourOf: ColourOf): Html {
  const points = pointsOf(traces)
  if (points.length < 2) return html``
  const sorted = points.map(({ ns }) => ns).sort(byDuration)
  const longest = percentile(sorted, 100)
  const starts = points.map((point) => point.startMs)
  const [startMs, endMs] = [Math.min(...starts), Math.max(...starts)]
  const figures = [50, 95].map((each) => `p${each} ${formatDuration(percentile(sorted, each))}`).join(', ')
  const of = isPart ? `${counted(points.length, 'trace')} on this page` : `All ${counted(points.length, 'trace')}`
  const roots = rootFigures(points, of)
  return html`<details class="durations" data-remember="durations">
    <summary>${of}: ${figures}, longest ${formatDuration(longest)}</summary>
    <a class="skip" href="${roots.markup === '' ? '#results' : '#roots'}">Skip the points</a>
    <svg class="scatter" role="group" aria-label="Durations over time, each point a link to its trace">
      ${points.map((point) => drawn(point, { startMs, endMs, longest, colourOf }))}
    </svg>
    ${clockTicks(startMs, endMs)}
    <p class="axis note">
      <span>${secondOf(startMs)}</span>
      <span>from 0 up to ${formatDuration(longest)}; squares have errors</span>
      <span>${secondOf(endMs)}</span>
    </p>
    ${lackingNote(points)}${roots}
  </details>`
}
