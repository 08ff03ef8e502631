import { parseRfc3339Ns } from '#src/lib/time.ts'
import { counted, inWords } from '../context.ts'
import { formatDuration, named } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import type { ShownSpan } from './span-tree.ts'

/** Operations that are listed: those that took most. */
const operationsMax = 20
const wordsCharactersMax = 60

/** Where it is told: within what is folded, so that browsers open what a link leads into. */
const place = 'own-times'

const isOfOneOperation = ([first, ...others]: readonly ShownSpan[]): boolean =>
  others.every(({ service, name }) => service === first?.service && name === first.name)

/** A link to it: below a thousand spans nobody would come upon it. */
export const figureLinks = (spans: readonly ShownSpan[]): readonly (readonly [string, string])[] =>
  isOfOneOperation(spans) ? [] : [[`#${place}`, 'Where the time went']]

type Interval = readonly [startNs: bigint, endNs: bigint]
type Figures = { service: string; name: string; spans: number; errors: number; wholeNs: bigint; ownNs: bigint }

function intervalOf({ start, duration_ns: duration }: ShownSpan): Interval {
  const startNs = parseRfc3339Ns(start) ?? 0n
  return [startNs, startNs + BigInt(duration)]
}

/** How much of an interval the others leave free. These are in order of their starts, and may lie over each other. */
function freeOf([start, end]: Interval, others: readonly Interval[]): bigint {
  let [free, at] = [0n, start]
  for (const [from, to] of others) {
    if (from >= end) break
    if (from > at) free += from - at
    if (to > at) at = to
  }
  return at < end ? free + end - at : free
}

/** What each operation of a service took: all its spans together, and of that what none of the spans below them took. */
function figuresOf(spans: readonly ShownSpan[]): readonly Figures[] {
  const below = new Map<string, Interval[]>()
  const ofSpan = new Map(spans.map((span) => [span, intervalOf(span)]))
  const byStart = [...ofSpan].toSorted(([, [a]], [, [b]]) => Number(a - b))
  for (const [{ span_id: id, parent_span_id: parent }, interval] of byStart) {
    if (parent === null || parent === id) continue
    const known = below.get(parent)
    if (known === undefined) below.set(parent, [interval])
    else known.push(interval)
  }
  const figures = new Map<string, Figures>()
  for (const [{ span_id: id, service, name, status, duration_ns: duration }, interval] of ofSpan) {
    const key = JSON.stringify([service, name])
    const found = figures.get(key) ?? { service, name, spans: 0, errors: 0, wholeNs: 0n, ownNs: 0n }
    found.spans += 1
    found.errors += status.code === 'error' ? 1 : 0
    found.wholeNs += BigInt(duration)
    found.ownNs += freeOf(interval, below.get(id) ?? [])
    figures.set(key, found)
  }
  return [...figures.values()].toSorted((a, b) => Number(b.ownNs - a.ownNs))
}

const rowOf = ({ service, name, spans, errors, wholeNs, ownNs }: Figures, colourOf: ColourOf): Html =>
  html`<tr>
    <th scope="row">
      <strong class="${colourOf(service)}">${named(service, wordsCharactersMax)}</strong>
      ${named(name, wordsCharactersMax)}
    </th>
    <td class="number">${formatDuration(ownNs)}</td>
    <td class="number">${formatDuration(wholeNs)}</td>
    <td class="number">
      ${inWords(spans)}${errors > 0 ? html` <span class="bad">${counted(errors, 'error')}</span>` : html``}
    </td>
  </tr>`

/**
 * Where the time of a trace went, by operation: folded below its spans. `isPart`: these are not all of its spans. Nothing where there is one
 * operation. Nothing is known of spans that are not here: their time is that of the span above them.
 */
export function spanFigures(spans: readonly ShownSpan[], isPart: boolean, colourOf: ColourOf): Html {
  if (isOfOneOperation(spans)) return html``
  const figures = figuresOf(spans)
  const left = figures.length - operationsMax
  const cutNote =
    left > 0 ? html` The ${counted(left, 'operation')} with the least time of their own are left out.` : html``
  return html`<details id="figures">
    <summary>Where the time went${isPart ? ', on this page' : ''}</summary>
    <p class="note" id="${place}">
      A span’s own time is what none of the spans below it took, as far as these are
      ${isPart ? 'on this page' : 'known'}.${cutNote}
    </p>
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">Operation</th>
          <th scope="col" class="number">Own time</th>
          <th scope="col" class="number">Duration</th>
          <th scope="col" class="number">Spans</th>
        </tr>
      </thead>
      <tbody>
        ${figures.slice(0, operationsMax).map((each) => rowOf(each, colourOf))}
      </tbody>
    </table>
  </details>`
}
