import type { TraceSearchAnswer } from '#src/query/searches.ts'
import { counted, inWords } from '../context.ts'
import { cut, formatDuration, isolated, named, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { serviceColours, type ColourOf } from '../service-colours.ts'
import { traceAddress } from '../trace-address.ts'

export type ShownTrace = TraceSearchAnswer['traces'][number]

/** Marks of what stands out in a trace. */
export function marksOf(trace: ShownTrace): readonly Html[] {
  const { error_count: errors, missing_parent_count: missing, rejected_span_count: rejected } = trace
  const marks: Html[] = []
  if (errors > 0) marks.push(html`<span class="mark bad">${counted(errors, 'error')}</span> `)
  if (missing > 0) marks.push(html`<span class="mark bad">${counted(missing, 'parent')} missing</span> `)
  if (rejected > 0) marks.push(html`<span class="mark bad">${counted(rejected, 'span')} rejected</span> `)
  if (trace.repeated_count > 0) marks.push(html`<span class="mark">${inWords(trace.repeated_count)} repeated</span> `)
  if (trace.has_logs) marks.push(html`<span class="mark">logs</span> `)
  if (trace.has_rum) marks.push(html`<span class="mark">browser</span> `)
  return marks
}

/** The name of a trace. If the root was not received, it says so, and never uses a span that only looks like a root. */
export const nameOf = ({ root, span_count: spans }: ShownTrace): Html => {
  if (root !== null) return html`<strong>${named(root.service)}</strong> ${named(root.operation)}`
  return spans === 0 ? html`<em>no span received</em>` : html`<em>root span not received</em>`
}

/** The most services shown in a row of a list, and at the head of a trace's page. */
const servicesOfRowMax = 12
export const servicesOfPageMax = 60

/** `addressOf`: where the name of a service leads, if anywhere. */
type ServicesShown = Readonly<{ servicesMax: number; addressOf: (service: string) => string | undefined }>

const inRow: ServicesShown = { servicesMax: servicesOfRowMax, addressOf: () => undefined }

const serviceName = (name: string, address: string | undefined): Html =>
  address === undefined ? named(name) : html`<a href="${address}">${named(name)}</a>`

/**
 * The services of a trace in their colours, with the number of spans and errors of each. If there is no room for all, those with errors come first. A
 * summary may lack some of very many services, but counts the spans of all.
 */
export function servicesOf(
  { services, span_count: spansOfAll }: ShownTrace,
  colourOf: ColourOf,
  { servicesMax, addressOf } = inRow,
): Html {
  const failed = services.filter(({ error_count: errors }) => errors > 0)
  const sorted = services.length > servicesMax ? [...new Set([...failed, ...services])] : services
  const shown = sorted.slice(0, servicesMax)
  const isWhole = services.reduce((spans, { span_count: own }) => spans + own, 0) >= spansOfAll
  const left = `${isWhole ? '' : 'more than '}${counted(services.length - shown.length, 'other')}`
  const others = shown.length < services.length || !isWhole ? html`<span class="note">and ${left}</span>` : html``
  return html`${shown.map(
    ({ name, span_count: spans, error_count: errors }) =>
      html`<span class="mark ${colourOf(name)}"
        >${serviceName(name, addressOf(name))}
        ${inWords(spans)}${errors > 0 ? html`, <span class="bad">${counted(errors, 'error')}</span>` : html``}</span
      > `,
  )}${others}`
}

const failureCharactersMax = 120

const durationOf = ({ duration_ns: ns }: ShownTrace): bigint => BigInt(ns ?? 0)

/** The duration relative to the longest of the list, in thousandths. */
const shareOf = (trace: ShownTrace, longest: bigint): number =>
  longest <= 0n ? 0 : Math.max(0, Number((durationOf(trace) * 1_000n) / longest))

type MatchedSpan = ShownTrace['matched_spans'][number]

/** Whether the row already says all about a matched span: it is the root, with the same name and duration as the trace. */
function isSaid({ root, duration_ns: ns }: ShownTrace, span: MatchedSpan): boolean {
  if (root === null || span.span_id !== root.span_id || span.failure !== undefined) return false
  return span.service === root.service && span.operation === root.operation && span.duration_ns === ns
}

function rowOf(trace: ShownTrace, longest: bigint, colourOf: ColourOf): Html {
  const spans = trace.matched_spans.filter((span) => !isSaid(trace, span))
  const matched = spans.map(
    ({ span_id: spanId, service, operation, duration_ns: ns, status, failure }) =>
      html`<br /><a href="${traceAddress(trace.trace_id, spanId)}"
          ><small>${named(service)} ${named(operation)} ${formatDuration(BigInt(ns))}</small></a
        >${failurePart(status, failure)}`,
  )
  return html`<tr>
    <td class="time">${timeOf(trace.start)}</td>
    <td><a href="${traceAddress(trace.trace_id)}">${nameOf(trace)}</a>${matched}</td>
    <td>${servicesOf(trace, colourOf)}</td>
    <td>
      ${trace.duration_ns === null ? '–' : formatDuration(durationOf(trace))}
      <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        <rect x="0" y="0" width="${shareOf(trace, longest)}" height="8" />
      </svg>
    </td>
    <td>${counted(trace.span_count, 'span')} ${marksOf(trace)}</td>
  </tr>`
}

/** A span's own words for why it failed, cut to what a row can show. */
export function failurePart(status: string, failure: string | undefined): Html {
  if (failure === undefined) return html``
  return html` <small ${status === 'error' ? html`class="bad"` : html``}
    >${isolated(failure, html`${cut(failure, failureCharactersMax)}`)}</small
  >`
}

/** Colours for all services of these traces. */
export const coloursOf = (traces: readonly ShownTrace[]): ColourOf =>
  serviceColours(traces.flatMap(({ services }) => services.map(({ name }) => name)))

/** Heads of the columns that a list can be ordered by. */
export type TraceHeads = Readonly<{ start: Html; duration: Html; spans: Html }>

const plainHeads: TraceHeads = {
  start: html`<th scope="col">Start (${zone})</th>`,
  duration: html`<th scope="col">Duration</th>`,
  spans: html`<th scope="col">Spans</th>`,
}

export function traceTable(traces: readonly ShownTrace[], colourOf: ColourOf, heads: TraceHeads = plainHeads): Html {
  const longest = traces.reduce((most, trace) => (durationOf(trace) > most ? durationOf(trace) : most), 0n)
  return html`<table class="traces">
    <thead>
      <tr>
        ${heads.start}
        <th scope="col">Root</th>
        <th scope="col">Services</th>
        ${heads.duration}${heads.spans}
      </tr>
    </thead>
    <tbody>
      ${traces.map((trace) => rowOf(trace, longest, colourOf))}
    </tbody>
  </table>`
}
