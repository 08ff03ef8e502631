import { formatTimeNs } from '#src/lib/time.ts'
import { counted, inWords } from '../context.ts'
import { formatDuration, timeAndZone } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import {
  denseRange,
  isZoomed,
  lengthNs,
  placeIn,
  rangesBeside,
  sideOf,
  timesOf,
  type Range,
  type ShownRange,
} from './shown-range.ts'
import { isError } from './span-bar.ts'
import type { ShownSpan, TreeRow } from './span-tree.ts'
import { forZoom } from './time-axis.ts'

/** Fewer bars are seen at a glance without a miniature of them. */
const overviewMin = 6
/** Of more lines each would be too thin to be seen: they overlap instead. */
const linesMax = 24
/** In thousandths: what is shown can be seen, however little of the trace it is. */
const shownWidthMin = 6

/** The element id of what stands above a waterfall; a page that is zoomed begins there. */
const place = 'shown'

type Given = Readonly<{
  rows: readonly TreeRow[]
  range: ShownRange
  colourOf: ColourOf
  /** The address of the page with another range; without one, of the whole trace. */
  zoomAddress: (range: Range | undefined) => string
}>

/** A span, and its times: read once for all that is said of a thousand spans. */
type Bar = Readonly<{ span: ShownSpan; times: Range; line: number }>

/** The bars of one colour as one path: a page has a thousand spans. */
function strokes(kind: string, bars: readonly Bar[], whole: Range): Html {
  const path = bars.map(({ times, line }) => {
    const { x, width } = placeIn(whole, times, 4)
    return `M${x} ${line}.5h${width}`
  })
  return html`<path class="${kind}" d="${path.join('')}" />`
}

function marksOf({ whole, shown }: ShownRange, height: number): Html {
  const { x, width } = placeIn(whole, shown, shownWidthMin)
  const aside = (from: number, to: number): Html =>
    html`<rect class="aside" x="${from}" width="${to - from}" height="${height}" />`
  return html`${aside(0, x)}${aside(x + width, 1_000)}<rect
      class="shown"
      x="${x}"
      width="${width}"
      height="${height}"
    />`
}

function overview(bars: readonly Bar[], range: ShownRange, colourOf: ColourOf): Html {
  const byColour = Map.groupBy(bars, ({ span }) => colourOf(span.service))
  const errors = bars.filter(({ span }) => isError(span))
  const height = bars.length
  const words = isZoomed(range) ? ', with what is shown marked' : ''
  return html`<div class="overview" ${forZoom(range.whole)}>
    <svg
      viewBox="0 0 1000 ${height}"
      preserveAspectRatio="none"
      stroke-width="${Math.max(1, height / linesMax)}"
      role="img"
      aria-label="All bars in miniature${words}"
    >
      ${[...byColour].map(([colour, some]) => strokes(colour, some, range.whole))}${strokes('error', errors, range.whole)}
      ${isZoomed(range) ? marksOf(range, height) : html``}
    </svg>
  </div>`
}

/** For scripts/zoom.js to show. */
const hint = html`<span data-zoom-hint hidden>Drag over these bars to zoom.</span>`

/** What is shown of a trace, and how much of it is not. */
function shownWords(bars: readonly Bar[], range: ShownRange): Html {
  const { whole, shown } = range
  const outside = bars.filter(({ times }) => sideOf(range, times) !== undefined).length
  return html`<span role="status"
    >Shown: <strong>${formatDuration(lengthNs(shown))}</strong> of ${formatDuration(lengthNs(whole))}, from
    ${timeAndZone(formatTimeNs(shown.startNs))} (+${formatDuration(shown.startNs - whole.startNs)} in the
    trace)${outside === 0 ? '' : `. Outside: ${inWords(outside)} of ${counted(bars.length, 'span')} here`}.</span
  >`
}

const refused = html`<p class="notice">
  The address asks for a time that is no part of this trace: all of it is shown.
</p>`

/** What stands above a waterfall: all bars in miniature, which part of their time is shown, and links to other parts. */
export function zoomPart({ rows, range, colourOf, zoomAddress }: Given): Html {
  const spans = rows.flatMap((row) => (row.kind === 'span' ? [row.span] : []))
  const bars = spans.map((span, line) => ({ span, times: timesOf(span), line }))
  const linkTo = (to: Range | undefined, words: string): Html =>
    to === undefined ? html`` : html` <a href="${zoomAddress(to)}#${place}">${words}</a>`
  const hasStrip = bars.length >= overviewMin && lengthNs(range.whole) > 0n
  const strip = hasStrip ? overview(bars, range, colourOf) : html``
  if (!isZoomed(range)) {
    const allTimes = bars.map(({ times }) => times)
    const dense = denseRange(allTimes, range.whole)
    const ways = html`<p class="row note zoom">
      ${hasStrip ? hint : html``}${linkTo(dense, 'Zoom to where most spans are')}
    </p>`
    return html`<div id="${place}">
      ${range.isRefused ? refused : html``}${strip}${hasStrip || dense !== undefined ? ways : html``}
    </div>`
  }
  const { earlier, later, around } = rangesBeside(range)
  return html`<div id="${place}">
    ${strip}
    <p class="zoom">${shownWords(bars, range)}</p>
    <p class="row zoom">
      <a href="${zoomAddress(undefined)}#${place}">Show the whole trace</a
      >${linkTo(earlier, 'Earlier')}${linkTo(later, 'Later')}${linkTo(around, 'Zoom out')}
    </p>
  </div>`
}
