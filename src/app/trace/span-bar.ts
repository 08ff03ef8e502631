import { formatDuration, since } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import { lengthOf, type Section } from './critical-path.ts'
import { placeIn, shareAt, sideOf, timesOf, type Place, type Range, type ShownRange } from './shown-range.ts'
import type { ShownSpan } from './span-tree.ts'

/** How to draw bars. */
export type BarLooks = Readonly<{
  colourOf: ColourOf
  range: ShownRange
  /** The sections of spans on the critical path. */
  path: ReadonlyMap<ShownSpan, readonly Section[]>
  traceStart: string | null
}>

export const isError = ({ status }: ShownSpan): boolean => status.code === 'error'

/** The places of a span's sections within its bar. Sections that follow each other are one. */
function placesOf(sections: readonly Section[], shown: Range, { x, width }: Place): readonly Place[] {
  const places: Place[] = []
  const inSight = sections.filter(({ startNs, endNs }) => startNs < shown.endNs && endNs > shown.startNs)
  const within = (ns: bigint): number => Math.min(x + width, Math.max(x, shareAt(shown, ns)))
  for (const { startNs, endNs } of inSight.toReversed()) {
    // Like bars, sections have a minimum width.
    const [from, to] = [Math.min(x + width - 1, within(startNs)), within(endNs)]
    const last = places.at(-1)
    const isApart = last === undefined || last.x + last.width < from
    const begin = isApart ? from : last.x
    if (!isApart) places.pop()
    places.push({ x: begin, width: Math.max(from + 1, to) - begin })
  }
  return places
}

const rect = (kind: string, { x, width }: Place, height = html``): Html =>
  html`<rect class="${kind}" x="${x / 10}%" width="${width / 10}%" ${height} />`

const arrows = { before: '◂', after: '▸' } as const

/** The bar of a span, with its sections on the critical path; or an arrow to where it is, beside the shown range. */
export function barOf(span: ShownSpan, { range, colourOf, path, traceStart }: BarLooks): Html {
  const times = timesOf(span)
  const at = `at ${since(traceStart ?? span.start, span.start)}`
  const side = sideOf(range, times)
  if (side !== undefined) {
    return html`<span class="${side}" role="img" aria-label="${at}, ${side} what is shown">${arrows[side]}</span>`
  }
  const place = placeIn(range.shown, times)
  const sections = path.get(span) ?? []
  const words = sections.length === 0 ? '' : `, ${formatDuration(lengthOf(sections))} of it on the critical path`
  return html`<svg class="bar" role="img" aria-label="${at}${words}">
    ${rect(colourOf(span.service), place)} ${isError(span) ? rect('error', place, html`y="60%" height="40%"`) : html``}
    ${placesOf(sections, range.shown, place).map((each) => rect('critical', each, html`height="35%"`))}
  </svg>`
}
