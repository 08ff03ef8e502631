import { counted, inWords } from '../context.ts'
import { minuteOf, secondOf, shortTime } from '../format.ts'
import { html, type Html } from '../html.ts'
import { clockTicks } from './clock-ticks.ts'
import { addressWith } from './conditions.ts'

/** One bar: the total, and how many of it are errors. `and_later`: the bar has no end, and is described in words. */
type Bar = Readonly<{ time: string; total: number; errors: number; and_later?: true | undefined }>

type Given = Readonly<{
  bars: readonly Bar[]
  stepMs: number
  range: Readonly<{ from: string | null; to: string | null }>
  nowMs: number
  /** The search that each bar's link repeats for its own time. */
  path: string
  conditions: URLSearchParams
}>

const [width, height] = [1_000, 100]
/** What is there can be seen, however little of the highest bar it is. */
const heightMin = 2
/** Ranges below this show their ends to the second. */
const secondsBelowMs = 600_000

/** The first and the last bar are limited to the range of the search. */
function addressOf({ path, conditions, range }: Given, fromMs: number, toMs: number | undefined): string {
  const begin = range.from !== null && Date.parse(range.from) >= fromMs ? range.from : shortTime(fromMs)
  if (toMs === undefined) return addressWith(path, conditions, { from: begin })
  // The shorter text is used: a time with nanoseconds may lie after its milliseconds, but not before.
  const end = range.to !== null && Date.parse(range.to) < toMs ? range.to : shortTime(toMs)
  return addressWith(path, conditions, { from: begin, to: end })
}

/** When a bar is, its total, and its errors. */
const wordsOf = ({ time, total, errors }: Bar): string =>
  `${time.slice(0, 19).replace('T', ' ')} UTC: ${inWords(total)}${errors > 0 ? `, ${counted(errors, 'error')}` : ''}`

const stepUnits = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** The step of one bar: `15 min`. */
function stepWords(ms: number): string {
  const [unit, name] = stepUnits.find(([each]) => ms >= each && ms % each === 0) ?? [1, 'ms']
  return `${ms / unit} ${name}`
}

function laterLink(given: Given): Html {
  const later = given.bars.find(({ and_later: isLater }) => isLater === true)
  if (later === undefined) return html``
  const address = addressOf(given, Date.parse(later.time), undefined)
  return html`<p class="note">
    ${later.total} dated far in the future: <a href="${address}">from ${minuteOf(Date.parse(later.time))} on</a>
  </p>`
}

const heightOf = (count: number, most: number): number =>
  count === 0 ? 0 : Math.max(heightMin, (count / most) * height)

type Drawn = Readonly<{ startMs: number; endMs: number; first: Bar }>

/** Attributes from which scripts/histogram.js computes the time under the pointer. */
const forScript = ({ stepMs, range }: Given, { startMs, endMs, first }: Drawn): Html =>
  html`data-start="${startMs}" data-end="${endMs}" data-first="${Date.parse(first.time)}" data-step="${stepMs}"
  data-from="${range.from ?? ''}" data-to="${range.to ?? ''}"`

/** Counts over time as bars, each a link to its own time. Empty if nothing was found. */
export function histogram(given: Given): Html {
  const { stepMs, range, nowMs } = given
  const bars = given.bars.filter(({ and_later: isLater }) => isLater === undefined)
  const [first, last] = [bars[0], bars.at(-1)]
  if (first === undefined || last === undefined) return html``
  const startMs = Math.min(range.from === null ? Infinity : Date.parse(range.from), Date.parse(first.time))
  const endMs = Math.max(range.to === null ? nowMs : Date.parse(range.to), Date.parse(last.time) + stepMs)
  // Both ends of a short range may lie within one minute.
  const endOf = endMs - startMs < secondsBelowMs ? secondOf : minuteOf
  const most = Math.max(...bars.map(({ total }) => total))
  const scale = width / (endMs - startMs)
  const drawn = bars
    .filter(({ total }) => total > 0)
    .map((bar) => {
      const { total, errors } = bar
      const atMs = Date.parse(bar.time)
      const [x, barWidth] = [(atMs - startMs) * scale, Math.max(1, stepMs * scale - 1)]
      const [tall, red] = [heightOf(total, most), heightOf(errors, most)]
      return html`<a href="${addressOf(given, atMs, atMs + stepMs)}"
        ><title>${wordsOf(bar)}</title>
        <rect class="whole" x="${x}" y="0" width="${barWidth}" height="${height}" />
        <rect x="${x}" y="${height - tall}" width="${barWidth}" height="${tall}" />
        <rect class="error" x="${x}" y="${height - red}" width="${barWidth}" height="${red}"
      /></a>`
    })
  return html`<a class="skip" href="#results">Skip the bars</a>
    <svg
      class="histogram"
      viewBox="0 0 ${width} ${height}"
      preserveAspectRatio="none"
      role="group"
      aria-label="Over time, each bar a link"
      ${forScript(given, { startMs, endMs, first })}
    >
      ${drawn}
    </svg>
    ${clockTicks(startMs, endMs)}
    <p class="axis note">
      <span>${endOf(startMs)}</span>
      <span data-chosen>highest bar: ${inWords(most)} in ${stepWords(stepMs)}</span>
      <span>${endOf(endMs)}</span>
    </p>
    ${laterLink(given)}`
}
