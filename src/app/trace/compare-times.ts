import { counted } from '../context.ts'
import { formatDuration, named } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import type { ShownTrace } from '../search/trace-rows.ts'
import { traceAddress } from '../trace-address.ts'
import { operationTimes, type OperationTimes } from './own-times.ts'
import { spansOf } from './span-figures.ts'
import type { ShownSpan } from './span-tree.ts'

/** The most operations that are listed, those that differ most. */
const operationsMax = 50
const wordsCharactersMax = 60

/** Times of an operation in both traces; undefined if a trace has no span of it. */
type Compared = Readonly<{
  first: OperationTimes | undefined
  second: OperationTimes | undefined
  /** How much more own time it took in the second trace; may be negative. */
  moreNs: bigint
}>

const sizeOf = (ns: bigint): bigint => (ns < 0n ? -ns : ns)

/** `+1.25 s`, `-30.0 ms`, or `0`. */
export const difference = (ns: bigint): string => (ns === 0n ? '0' : `${ns > 0n ? '+' : ''}${formatDuration(ns)}`)

/** All operations of both traces, those that differ most first. */
function compare(first: readonly ShownSpan[], second: readonly ShownSpan[]): readonly Compared[] {
  const [a, b] = [operationTimes(first), operationTimes(second)]
  return [...new Set([...a.keys(), ...b.keys()])]
    .map((key) => {
      const [one, other] = [a.get(key), b.get(key)]
      return { first: one, second: other, moreNs: (other?.ownNs ?? 0n) - (one?.ownNs ?? 0n) }
    })
    .toSorted((x, y) => Number(sizeOf(y.moreNs) - sizeOf(x.moreNs)))
}

/** An operation's own time, as a link to the span with the largest share of it. */
const timeLink = (traceId: string, { ownNs, most }: OperationTimes): Html =>
  html`<a href="${traceAddress(traceId, most.spanId)}">${formatDuration(ownNs)}</a>`

const timeCell = (head: string, traceId: string, times: OperationTimes | undefined): Html =>
  html`<td class="number" data-head="${head}">${times === undefined ? '–' : timeLink(traceId, times)}</td>`

const countCell = (head: string, times: OperationTimes | undefined): Html =>
  html`<td class="number" data-head="${head}">${spansOf(times ?? { spans: 0, errors: 0 })}</td>`

const heads = ['Own time, first', 'Own time, second', 'Difference', 'Spans, first', 'Spans, second'] as const

type Drawn = Readonly<{ firstId: string; secondId: string; most: bigint; colourOf: ColourOf }>

function rowOf({ first, second, moreNs }: Compared, { firstId, secondId, most, colourOf }: Drawn): Html {
  const { service = '', name = '' } = first ?? second ?? {}
  const share = most === 0n ? 0 : Number((sizeOf(moreNs) * 1_000n) / most)
  return html`<tr>
    <th scope="row">
      <strong class="${colourOf(service)}">${named(service, wordsCharactersMax)}</strong>
      ${named(name, wordsCharactersMax)}
    </th>
    ${timeCell(heads[0], firstId, first)}${timeCell(heads[1], secondId, second)}
    <td class="number" data-head="${heads[2]}">
      ${difference(moreNs)}
      <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="${moreNs > 0n ? 'error' : 'less'}" x="${1_000 - share}" y="0" width="${share}" height="8" />
      </svg>
    </td>
    ${countCell(heads[3], first)}${countCell(heads[4], second)}
  </tr>`
}

type OfTrace = Readonly<{ summary: Pick<ShownTrace, 'trace_id'>; spans: readonly ShownSpan[] }>

/** A table of where two traces differ, by operation. */
export function comparedTimes(first: OfTrace, second: OfTrace, colourOf: ColourOf): Html {
  const compared = compare(first.spans, second.spans)
  const most = sizeOf(compared[0]?.moreNs ?? 0n)
  const drawn = { firstId: first.summary.trace_id, secondId: second.summary.trace_id, most, colourOf }
  const left = compared.length - operationsMax
  const cutNote = left > 0 ? html` The ${counted(left, 'operation')} that differ least are left out.` : html``
  return html`<p class="note">
      By operation, those that differ most first. A span’s own time is what none of the spans below it took, as far as
      these are known; the times of all spans of an operation are added up, and lead to the one with the most.${cutNote}
    </p>
    <table class="figures cards">
      <thead>
        <tr>
          <th scope="col">Operation</th>
          ${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${compared.slice(0, operationsMax).map((each) => rowOf(each, drawn))}
      </tbody>
    </table>`
}
