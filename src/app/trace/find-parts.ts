import type { CorrelationAnswer } from '#src/query/searches.ts'
import { counted, inWords } from '../context.ts'
import { formatDuration, isUnseen, named, timeAndZone, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { mapLinks } from '../map-address.ts'
import { isLacking, missingWords } from '../missing-spans.ts'
import { clauseOf, oneLine } from '../search/clause.ts'
import { fieldTable } from '../search/field-table.ts'
import { createLogLinksAround } from '../search/log-links.ts'
import { logRows, logTable } from '../search/log-rows.ts'
import { about } from '../search/beside-results.ts'
import { coloursOf, nameOf, servicesOf, servicesOfPageMax, traceTable } from '../search/trace-rows.ts'
import { spanPlace, traceAddress, tracePath, type KeptOfTrace } from '../trace-address.ts'
import { asJson } from './as-json.ts'
import { compareAddress } from './compare-address.ts'
import { criticalPath } from './critical-path.ts'
import { criticalPathPart } from './critical-path-part.ts'
import { errorsHere, type ErrorLinks } from './errors-beside.ts'
import { findInTracePart, type FoundInTrace } from './find-in-trace.ts'
import { figureLinks, spanFigures } from './span-figures.ts'
import { createLinkRoom } from './span-links.ts'
import { originsOf, originsPart } from './span-origins.ts'
import type { Range } from './shown-range.ts'
import { spanIdOf, type TreeRow } from './span-tree.ts'
import { browserEventPlace, browserWords, logPlace } from './timeline-entries.ts'
import { timelineLinks, timelinePart } from './timeline.ts'
import { waterfall, type Looks } from './waterfall.ts'
import { zoomPart } from './zoom-part.ts'

type Trace = NonNullable<CorrelationAnswer['trace']>

/** How a page shows what was found. */
type Given = Pick<Looks, 'asked' | 'kept' | 'range'> &
  Readonly<{
    nowMs: number
    /** The query string of the API. */
    id: string
    /** The address of the page, and the address without the requested span. */
    address: string
    spanless: string
    /** Whether the page has the beginning of each list. */
    isFirst: boolean
    isSession: boolean
    /** The same page with its subtrees folded if they are not, or unfolded if they are. */
    folding: string
    /** The same page with another range of time; without one, of the whole trace. */
    zoomAddress: (range: Range | undefined) => string
    /** Links to errors on other pages. */
    errorsBeside: ErrorLinks
    foundSpans: FoundInTrace
    /** The lines of the page's waterfall. */
    rows: readonly TreeRow[]
  }>

type Shown = Looks & Given

export const withParameter = (address: string, name: string, value: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`

/** A link to the page with the next part of a list. */
function more(address: string, cursor: string | null, words: string): Html {
  if (cursor === null) return html``
  return html`<p><a rel="next" href="${withParameter(address, 'cursor', cursor)}">${words}</a></p>`
}

/** Whether these lines show the span. */
export const isHere = (rows: readonly TreeRow[], spanId: string): boolean =>
  rows.some((row) => spanIdOf(row) === spanId)

/** The requested span, if the page shows it. */
const askedHere = ({ asked, rows }: Shown): string | undefined =>
  asked !== undefined && isHere(rows, asked) ? asked : undefined

/** A note for a requested span that the page does not show. The link leads to its page, if there is one. */
function askedPart({ address, asked, isFirst, rows }: Shown): Html {
  if (asked === undefined || isHere(rows, asked)) return html``
  const where = isFirst
    ? html`received so far`
    : html`of this page of the trace. <a href="${address}#${spanPlace(asked)}">Look for it</a>`
  return html`<p class="notice" role="status">Span <code>${asked}</code> is not among the spans ${where}.</p>`
}

/** The number of errors. It leads to their spans, if there are others. */
function errorsPart(
  { trace_id: id, span_count: spans, error_count: errors }: Trace['summary'],
  kept: KeptOfTrace,
): Html {
  const words = counted(errors, 'error')
  if (errors === 0 || spans < 2) return html`${words}`
  return html`<a href="${traceAddress(id, null, { ...kept, find: 'status=error' })}">${words}</a>`
}

/** A longer name may have been cut when it was counted. */
const serviceCharactersMax = 256

/** The address of the spans of a service in its trace, if there are others. */
function serviceAddress(
  { trace_id: id, span_count: spans }: Trace['summary'],
  service: string,
  kept: KeptOfTrace,
): string | undefined {
  if (spans < 2 || isUnseen(service) || service.length > serviceCharactersMax) return undefined
  const find = clauseOf({ field: 'service', operator: '=', text: oneLine(service) }, false)
  return traceAddress(id, null, { ...kept, find })
}

async function tracePart(trace: Trace, shown: Shown): Promise<Html> {
  const { address, spanless, isFirst, kept } = shown
  const isWholePage = address.startsWith(tracePath)
  const { summary, missing, next_cursor: next } = trace
  const duration = summary.duration_ns === null ? '' : `, ${formatDuration(BigInt(summary.duration_ns))}`
  const isPart = next !== null || !isFirst
  const here = isPart ? ` (${inWords(trace.spans.length)} on this page)` : ''
  const head = isWholePage ? html`` : html`<h2>Trace</h2>`
  if (summary.span_count + summary.rejected_span_count + missing.length === 0) {
    return html`${head}
      <p>${nameOf(summary)}: what is shown here refers to trace <code>${summary.trace_id}</code>.</p>
      ${askedPart(shown)}`
  }
  const spans = await waterfall(trace, shown.rows, shown)
  const addressOf = (service: string): string | undefined => serviceAddress(summary, service, kept)
  return html`${head}
    <p>
      ${nameOf(summary)}<br />
      ${timeAndZone(summary.start)}${duration}, ${counted(summary.span_count, 'span')}${here},
      ${errorsPart(summary, kept)}, ${missingWords(trace)}.
      <code class="id">${summary.trace_id}</code>
    </p>
    <p>${servicesOf(summary, shown.colourOf, { servicesMax: servicesOfPageMax, addressOf })}</p>
    ${summary.span_count > 1 ? findInTracePart({ traceId: summary.trace_id, kept }, shown.foundSpans, askedHere(shown)) : html``}
    ${askedPart(shown)}${criticalPathPart(shown.path, { isPart, isLacking: isLacking(summary) }, shown.colourOf)}${zoomPart(shown)}${spans}${more(spanless, next, 'More spans')}${spanFigures(trace.spans, isPart, shown.colourOf)}`
}

/** All traces found, unless the only one is shown already. */
function tracesPart({ trace, traces }: CorrelationAnswer, { address, colourOf }: Shown): Html {
  const items = traces?.items ?? []
  const isShown = items.length === 1 && trace?.summary.trace_id === items[0]?.trace_id
  if (traces === undefined || items.length === 0 || isShown) return html``
  return html`<h2>Traces</h2>
    ${traceTable(items, colourOf)}${more(address, traces.next_cursor, 'More traces')}`
}

/** A link to the log search for a trace's logs. Logs of a session also come by its traces, which no log search follows. */
function searchLogsLink({ trace, logs }: CorrelationAnswer, { isSession }: Shown): Html {
  if (trace == null || isSession || logs === undefined || logs.items.length === 0) return html``
  return html`<p><a href="/app/logs?trace_id=${trace.summary.trace_id}">Search these logs</a></p>`
}

async function logsPart(answer: CorrelationAnswer, shown: Shown): Promise<Html> {
  const { logs } = answer
  const { address, nowMs } = shown
  if (logs === undefined) return html``
  const rows = await logRows(logs.items, { linksFor: createLogLinksAround(nowMs), shown: [], placeOf: logPlace })
  return html`<h2 id="logs">Logs</h2>
    ${searchLogsLink(answer, shown)} ${rows.length === 0 ? html`<p>No log record refers to it.</p>` : logTable(rows)}
    ${more(address, logs.next_cursor, 'More logs')}`
}

/** Characters of a browser event in its row; its fields have all of it. */
const eventCharactersMax = 400

function browserPart({ rum_events: events }: CorrelationAnswer, { address }: Shown): Html {
  if (events.items.length === 0) return html``
  const rows = events.items.map((event, number) => {
    const { timestamp, type, fields } = event
    const words = browserWords(event).join(' ')
    return html`<tr id="${browserEventPlace(number)}">
      <td class="time">${timeOf(timestamp)}</td>
      <td>${type}</td>
      <td>
        <details>
          <summary>${named(words === '' ? type : words, eventCharactersMax)}</summary>
          ${fieldTable('Fields', fields)}
        </details>
      </td>
    </tr>`
  })
  return html`<h2 id="browser-events">Browser events</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Time (${zone})</th>
          <th scope="col">Type</th>
          <th scope="col">Event</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
    ${more(address, events.next_cursor, 'More browser events')}`
}

function sessionsPart({ sessions }: CorrelationAnswer): Html {
  if (sessions.length === 0) return html``
  const links = sessions.map(
    ({ session_id: id }) => html`<li><a href="/app/find?id=${encodeURIComponent(id)}">${id}</a></li>`,
  )
  return html`<h2 id="sessions">Sessions</h2>
    <ul>
      ${links}
    </ul>`
}

/** A link to the same page with its subtrees folded or unfolded, if there are any. */
const foldingLinks = ({ rows, kept, folding }: Shown): readonly (readonly [string, string])[] =>
  rows.some(({ depth }) => depth > 1) ? [[folding, kept.isFolded === true ? 'Unfold all spans' : 'Fold spans']] : []

/** A link to the next page of spans, if there is one. */
const moreSpansLinks = ({ next_cursor: next }: Trace, { spanless }: Shown): readonly (readonly [string, string])[] =>
  next === null ? [] : [[withParameter(spanless, 'cursor', next), 'More spans']]

/** Links to the lists below a trace, and to what stands out in it. */
function placesPart(answer: CorrelationAnswer, shown: Shown): Html {
  const { trace, logs, rum_events: events, sessions } = answer
  if (trace == null) return html``
  const { address, asked, errorsBeside, foundSpans, isFirst, kept, origins, rows } = shown
  // A search within the trace would lead to its first match instead.
  const isElsewhere = asked !== undefined || foundSpans.typed !== ''
  const firstPage = isElsewhere ? traceAddress(trace.summary.trace_id, null, { ...kept, find: '' }) : address
  const counts = (items: readonly unknown[], cursor: string | null = null): string =>
    `(${inWords(items.length)}${cursor === null ? '' : '+'})`
  const links = [
    ...(isFirst ? [] : [[firstPage, 'First page']]),
    ...(asked !== undefined && isHere(rows, asked) ? [[`#${spanPlace(asked)}`, 'The span']] : []),
    ...moreSpansLinks(trace, shown),
    ...foldingLinks(shown),
    ...errorsHere(trace),
    ...errorsBeside,
    ...figureLinks(trace.spans),
    ...(shown.isSession ? [] : [[compareAddress(trace.summary.trace_id), 'Compare']]),
    ...mapLinks(trace.summary),
    ...timelineLinks(answer),
    ...(logs === undefined ? [] : [['#logs', `Logs ${counts(logs.items, logs.next_cursor)}`]]),
    ...(events.items.length === 0
      ? []
      : [['#browser-events', `Browser events ${counts(events.items, events.next_cursor)}`]]),
    ...(sessions.length === 0 ? [] : [['#sessions', `Sessions ${counts(sessions)}`]]),
    ...(origins.resources.size + origins.scopes.size === 0 ? [] : [['#origins', 'Resources and scopes']]),
    [asJson(shown.id), 'As JSON'] as const,
  ]
  return html`<nav class="tabs" aria-label="On this page">
    ${links.map(([place, words]) => html`<a href="${place}">${words}</a> `)}
  </nav>`
}

/** The critical path. Only if the page has all spans, and more than one: otherwise what they waited for may be on another page. */
const pathOf = (trace: CorrelationAnswer['trace'], isFirst: boolean): Shown['path'] =>
  criticalPath(isFirst && trace?.next_cursor === null && trace.spans.length > 1 ? trace.spans : [])

/** Everything that belongs to an id, part by part. */
export async function foundParts(answer: CorrelationAnswer, given: Given): Promise<Html> {
  const { trace, traces, omitted, index } = answer
  const found = [...(trace == null ? [] : [trace.summary]), ...(traces?.items ?? [])]
  const origins = await originsOf(trace?.spans ?? [])
  const room = createLinkRoom(given.nowMs, given.asked)
  // Made first, so that it has links for all spans.
  const originsShown = await originsPart(origins, room)
  const logged = new Set(answer.logs?.items.flatMap(({ span_id: id }) => id ?? []))
  const marked = new Set(given.foundSpans.ids)
  const path = pathOf(trace, given.isFirst)
  const shown = { ...given, colourOf: coloursOf(found), origins, logged, found: marked, room, path }
  const left = omitted.length === 0 ? html`` : html`<p class="notice">The plan leaves out: ${omitted.join(', ')}.</p>`
  const timeline = timelinePart(answer, shown)
  const logs = await logsPart(answer, shown)
  const ofTrace = trace == null ? html`` : await tracePart(trace, shown)
  const traceParts = html`${ofTrace}${tracesPart(answer, shown)}`
  return html`${about({ query: { normalized: '', warnings: [] }, index })}${left}${placesPart(answer, shown)}
  ${given.isSession ? html`${timeline}${traceParts}` : html`${traceParts}${timeline}`}${logs}
  ${browserPart(answer, shown)}${sessionsPart(answer)}${originsShown}`
}
