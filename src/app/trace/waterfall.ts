import { failureOf } from '#projections/traces/query.ts'
import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { counted, inWords } from '../context.ts'
import { cut, exactTime, formatDuration, named, nameCharactersMax, since, timeAndZone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { isMissingCut } from '../missing-spans.ts'
import { fieldTable } from '../search/field-table.ts'
import { failurePart } from '../search/trace-rows.ts'
import type { LinksOf } from '../search/value-links.ts'
import { depthMax } from '../style.ts'
import { spanPlace, traceAddress, type KeptOfTrace } from '../trace-address.ts'
import { clockSkewPart } from './clock-skew.ts'
import { isZoomed, timesOf, zoomText, zoomTo } from './shown-range.ts'
import { barOf, isError, type BarLooks } from './span-bar.ts'
import { noSpanLinks, type LinkRoom, type SpanLinks } from './span-links.ts'
import { originLinks, type Origins } from './span-origins.ts'
import { targetPart } from './span-target.ts'
import { countsBelow, levelOf, spanIdOf, type MissingSpan, type ShownSpan, type TreeRow } from './span-tree.ts'
import { timeAxis } from './time-axis.ts'

type Trace = NonNullable<CorrelationAnswer['trace']>

const reasons: Readonly<Record<MissingSpan['reason'], string>> = {
  not_received: 'it was not received',
  not_indexed_yet: 'it is not indexed yet, or was not received',
  rejected_allowance: 'it was rejected: the monthly span allowance was used up',
  rejected_invalid: 'it was rejected: its ids were not valid',
  rejected_entitlement: 'it was rejected: the plan did not include it',
}

/** How to draw a waterfall. `asked`: the span that is open. `kept`: what links to this page keep; with `isFolded`, subtrees are folded at first. */
export type Looks = Omit<BarLooks, 'traceStart'> &
  Readonly<{
    asked: string | undefined
    kept: KeptOfTrace
    origins: Origins
    /** Ids of spans that logs refer to. */
    logged: ReadonlySet<string>
    /** Ids of spans that the search within the trace found. */
    found: ReadonlySet<string>
    room: LinkRoom
  }>

/** How to draw spans. */
type Drawn = Looks & BarLooks & Readonly<{ elsewhere: string }>

/** A linked span, with a link to it. Its ids are as its sender wrote them, and may be none. */
function linkedSpan(traceId: string, spanId: string): Html {
  const isOne = parseTraceId(traceId) !== undefined && parseSpanId(spanId) === spanId
  const id = html`<code>${spanId}</code>`
  return isOne ? html`<a href="${traceAddress(traceId, spanId)}">${id}</a>` : id
}

function eventRows(span: ShownSpan, linksOf: LinksOf): Html {
  return html`${span.events.map(
    ({ time, name, attributes }) =>
      html`<p>${timeAndZone(time)} (${since(span.start, time)}) <strong>${name}</strong></p>
        ${fieldTable('Attributes of the event', attributes, linksOf)}`,
  )}${span.links.map(
    ({ trace_id: traceId, span_id: spanId, attributes }) =>
      html`<p>
          Linked to span ${linkedSpan(traceId, spanId)} of
          <a href="/app/find?id=${encodeURIComponent(traceId)}">${traceId}</a>
        </p>
        ${fieldTable('Attributes of the link', attributes)}`,
  )}`
}

/** What is left out. The sender's count includes what was cut here (wire/otlp/span-parts.ts). */
function droppedOf(span: ShownSpan): string {
  const counts = [
    [span.dropped_attributes_count, 'attribute'],
    [span.dropped_events_count, 'event'],
    [span.dropped_links_count, 'link'],
    [span.resource.dropped_attributes_count, 'resource attribute'],
    [span.scope.dropped_attributes_count, 'scope attribute'],
  ] as const
  return counts.flatMap(([count, noun]) => (count > 0 ? [counted(count, noun)] : [])).join(', ')
}

/** Whether the row shows all of service and operation; without links the details then need not repeat them. */
const isWholeInRow = ({ service, name }: ShownSpan): boolean =>
  service.length <= nameCharactersMax && name.length <= nameCharactersMax

function detailsOf(span: ShownSpan, traceStart: string, linksOf: SpanLinks): Html {
  const { status, kind, repeated, cuts } = span
  const dropped = droppedOf(span)
  const facts = {
    span: span.span_id,
    ...(linksOf === noSpanLinks && isWholeInRow(span) ? {} : { service: span.service, operation: span.name }),
    kind,
    status: status.message === '' ? status.code : `${status.code}: ${status.message}`,
    ...(repeated > 0 ? { repeated: `came again ${counted(repeated, 'time')}` } : {}),
    ...(cuts.length > 0 ? { changed: cuts.join('; ') } : {}),
    ...(dropped === '' ? {} : { [`dropped by the sender${cuts.length > 0 ? ', or cut here' : ''}`]: dropped }),
  }
  return html`<p>Start ${exactTime(span.start)} (${since(traceStart, span.start)} in its trace)</p>
    ${fieldTable('Span', facts, linksOf('facts'))}${fieldTable('Attributes', span.attributes, linksOf('span'))}
    ${eventRows(span, linksOf('event'))}`
}

/** The element id of a row, and a mark if it is the requested one. */
const placeOf = (spanId: string, asked: string | undefined): Html =>
  html`id="${spanPlace(spanId)}" ${spanId === asked ? html`aria-current="true"` : html``}`

/** With the trace id too, because that finds logs of any age. */
const logsLink = ({ trace_id: traceId, span_id: spanId }: ShownSpan): Html =>
  html`<a href="/app/logs?trace_id=${traceId}&q=span_id%3D${spanId}">Its logs</a>`

/** A link to the page with nothing but the time of this span in its bars, if that is another. */
function zoomLink(span: ShownSpan, { range, kept }: Looks): Html {
  const to = zoomTo(range, timesOf(span))
  if (to === undefined) return html``
  const address = traceAddress(span.trace_id, span.span_id, { ...kept, zoom: zoomText(to) })
  return html`<a href="${address}">Zoom to this span</a>`
}

function spanRow(
  { span, parentIsElsewhere }: Extract<TreeRow, { kind: 'span' }>,
  drawn: Drawn,
  linksOf: SpanLinks,
): Html {
  const { elsewhere, asked, origins, logged, found, traceStart } = drawn
  const colour = drawn.colourOf(span.service)
  return html`<details class="line" ${placeOf(span.span_id, asked)} ${span.span_id === asked ? html`open` : html``}>
    <summary>
      <span class="name"
        ><strong class="${colour}">${named(span.service)}</strong>
        ${named(span.name)}${isError(span) ? html` <span class="mark bad">error</span>` : html``}${failurePart(span.status.code, failureOf(span.status.message, span.events))}${targetPart(span)}${found.has(span.span_id) ? html` <mark>match</mark>` : html``}</span
      >
      <span class="timeline"> ${barOf(span, drawn)} </span>
      <span class="time">${formatDuration(BigInt(span.duration_ns))}</span>
    </summary>
    ${parentIsElsewhere ? html`<p class="note">Its parent is ${elsewhere}.</p>` : html``}
    <p class="row">
      <a href="${traceAddress(span.trace_id, span.span_id)}">Link to this span</a>
      ${zoomLink(span, drawn)} ${logged.has(span.span_id) ? logsLink(span) : html``} ${originLinks(span, origins)}
    </p>
    ${detailsOf(span, traceStart ?? span.start, linksOf)}
  </details>`
}

const missingRow = ({ missing }: Extract<TreeRow, { kind: 'missing' }>, { asked }: Drawn): Html =>
  html`<div class="line" ${placeOf(missing.span_id, asked)}>
    <em class="name">Span <code>${missing.span_id}</code> is missing: ${reasons[missing.reason]}.</em>
    <span class="timeline note">not known</span>
    <span class="time">–</span>
  </div>`

/** The summary of a folded subtree: its number of spans; the label also names the span above. */
function foldOf(row: TreeRow, count: number): Html {
  const of = row.kind === 'span' ? `${row.span.service} ${row.span.name}` : `the missing span ${row.missing.span_id}`
  const words = `${counted(count, 'span')} below ${cut(of, nameCharactersMax)}`
  return html`<summary aria-label="${words}" title="${counted(count, 'span')} below">${inWords(count)}</summary>`
}

const classOf = (row: TreeRow): string =>
  `${row.kind === 'missing' ? 'missing' : isError(row.span) ? 'error' : 'span'} d${Math.min(row.depth, depthMax)}`

// Not by the formatter, which would close what is to stay open.
// oxfmt-ignore
const opened = { item: (row: TreeRow) => html`<li class="${classOf(row)}">`, list: html`<ul>` }
// oxfmt-ignore
const openedBelow = (isOpen: boolean) => isOpen ? html`<details class="below" open>` : html`<details class="below">`
const closed = { item: html`</li>`, list: html`</ul></details></li>` }

/** Rows as nested lists, each subtree in a fold. Built from pieces: nested lists of lists would copy a page for each level. */
async function lists(
  rows: readonly TreeRow[],
  rowOf: (row: TreeRow) => Html,
  { asked, kept: { isFolded = false } }: Looks,
): Promise<readonly Html[]> {
  const below = countsBelow(rows)
  const askedAt = rows.findIndex((row) => spanIdOf(row) === asked)
  const drawn = await mapInTurns([...rows.entries()], ([at, row]) => {
    const count = below[at] ?? 0
    const item = [opened.item(row), rowOf(row)]
    if (count > 0) {
      const isOpen = !isFolded || row.depth === 0 || (askedAt > at && askedAt <= at + count)
      return [...item, openedBelow(isOpen), foldOf(row, count), opened.list]
    }
    const levels = levelOf(row) - levelOf(rows[at + 1])
    return [...item, closed.item, ...Array.from({ length: Math.max(0, levels) }, () => closed.list)]
  })
  return drawn.flat()
}

const manySpans = html`<p class="note">
  This page has room for so many links: the values of its last spans have theirs where “Link to this span” leads.
</p>`

/** The waterfall: a trace's spans below their parents (`rows`: spanTree) and over time. Missing spans are shown as missing; nothing is made up. */
export async function waterfall(trace: Trace, rows: readonly TreeRow[], looks: Looks): Promise<Html> {
  const { range, room } = looks
  const elsewhere = isMissingCut(trace) ? 'on another page, or missing' : 'on another page'
  const { start: traceStart } = trace.summary
  const drawn = { ...looks, elsewhere, traceStart }
  const rowOf = (row: TreeRow): Html => {
    if (row.kind === 'missing') return missingRow(row, drawn)
    return room.take(spanRow(row, drawn, room.linksOf(row.span)))
  }
  // Made in turns with other work: a page has a thousand spans.
  const items = await lists(rows, rowOf, looks)
  return html`${clockSkewPart(trace.spans)}${room.isFull() ? manySpans : html``}
    <div class="waterfall">
      <div class="heads" aria-hidden="true">
        <span class="name">Span</span>
        <span class="timeline"
          >When${isZoomed(range) ? `, from ${since(traceStart ?? '', formatTimeNs(range.shown.startNs))}` : ''}
          ${timeAxis(range)}</span
        >
        <span class="time">Duration</span>
      </div>
      <ul aria-label="Spans, each below its parent">
        ${items}
      </ul>
    </div>`
}
