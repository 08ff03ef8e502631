import { counted, inWords } from '../context.ts'
import { formatDuration, named } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import { spanPlace } from '../trace-address.ts'
import { operationTimes, type OperationTimes } from './own-times.ts'
import type { ShownSpan } from './span-tree.ts'

/** The most operations that are listed, those with the most own time. */
const operationsMax = 20
const wordsCharactersMax = 60

/** The element id, inside the folded part, so that browsers unfold it for a link. */
const place = 'own-times'

const isOfOneOperation = ([first, ...others]: readonly ShownSpan[]): boolean =>
  others.every(({ service, name }) => service === first?.service && name === first.name)

/** A link to the figures: below a thousand spans nobody would find them. */
export const figureLinks = (spans: readonly ShownSpan[]): readonly (readonly [string, string])[] =>
  isOfOneOperation(spans) ? [] : [[`#${place}`, 'Where the time went']]

/** The number of spans, and how many of them have errors. */
export const spansOf = ({ spans, errors }: Pick<OperationTimes, 'spans' | 'errors'>): Html =>
  html`${inWords(spans)}${errors > 0 ? html` <span class="bad">${counted(errors, 'error')}</span>` : html``}`

const rowOf = ({ service, name, wholeNs, ownNs, most, ...counts }: OperationTimes, colourOf: ColourOf): Html =>
  html`<tr>
    <th scope="row">
      <strong class="${colourOf(service)}">${named(service, wordsCharactersMax)}</strong>
      <a href="#${spanPlace(most.spanId)}">${named(name, wordsCharactersMax)}</a>
    </th>
    <td class="number">${formatDuration(ownNs)}</td>
    <td class="number">${formatDuration(wholeNs)}</td>
    <td class="number">${spansOf(counts)}</td>
  </tr>`

/** A folded table of where a trace's time went, by operation. `isPart`: these are not all of its spans. Empty if there is only one operation. */
export function spanFigures(spans: readonly ShownSpan[], isPart: boolean, colourOf: ColourOf): Html {
  if (isOfOneOperation(spans)) return html``
  const figures = [...operationTimes(spans).values()].toSorted((a, b) => Number(b.ownNs - a.ownNs))
  const left = figures.length - operationsMax
  const cutNote =
    left > 0 ? html` The ${counted(left, 'operation')} with the least time of their own are left out.` : html``
  return html`<details id="figures">
    <summary>Where the time went${isPart ? ', on this page' : ''}</summary>
    <p class="note" id="${place}">
      A span’s own time is what none of the spans below it took, as far as these are
      ${isPart ? 'on this page' : 'known'}. An operation leads to its span with the most of it.${cutNote}
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
