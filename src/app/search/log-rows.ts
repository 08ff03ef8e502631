import { withoutColours as readable } from '#src/events/tokens.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson } from '#src/lib/json.ts'
import type { CorrelationAnswer, LogSearchAnswer } from '#src/query/searches.ts'
import { cut, isolated, isOfLines, timeOf, zone } from '../format.ts'
import { html, type Html } from '../html.ts'
import { traceAddress } from '../trace-address.ts'
import { fieldTable } from './field-table.ts'
import { logFailureOf } from './log-failure.ts'
import { shownValues } from './shown-fields.ts'
import { failurePart } from './trace-rows.ts'
import type { LinksOf } from './value-links.ts'

type Item = NonNullable<CorrelationAnswer['logs']>['items'][number]
/** Makes the links beside the fields of a record. */
export type LogLinks = (log: ShownLog) => LinksOf
/** A log record. If a search found it, it says where the message matched. */
export type ShownLog = Item & Partial<Pick<LogSearchAnswer['logs'][number], 'highlights'>>

const summaryCharactersMax = 300
/** For a service, whose column is narrow. */
const serviceCharactersMax = 60
const messageCharactersMax = 20_000

/** The message with its matches marked, up to `charactersMax`. */
function marked({ message, highlights = [] }: Pick<ShownLog, 'message' | 'highlights'>, charactersMax: number): Html {
  const parts: Html[] = []
  let place = 0
  for (const { start, end } of highlights) {
    if (end > charactersMax) break
    parts.push(html`${readable(message.slice(place, start))}<mark>${readable(message.slice(start, end))}</mark>`)
    place = end
  }
  return isolated(message, html`${parts}${cut(readable(message.slice(place)), Math.max(0, charactersMax - place))}`)
}

const linksOf = ({ id, trace_id: traceId, span_id: spanId, session_id: sessionId }: Item): Html =>
  html`<p class="row">
    <a href="/app/logs?around=${encodeURIComponent(id)}#here">In context</a>
    ${traceId === null ? html`` : html`<a href="${traceAddress(traceId, spanId)}">Trace</a>`}
    ${sessionId === null ? html`` : html`<a href="/app/find?id=${encodeURIComponent(sessionId)}">Session</a>`}
  </p>`

/** The message on one line, or the fields of a record without a message. */
export function summaryOf(log: ShownLog, charactersMax = summaryCharactersMax): Html {
  if (log.message !== '') return marked(log, charactersMax)
  return html`<span class="note">${cut(stringifyJson(log.fields), charactersMax)}</span>`
}

/** The error that a record has beside its message. */
export function whyOf(log: ShownLog): Html {
  const { level, message } = log
  const failure = message === '' ? undefined : logFailureOf(log)
  if (failure === undefined) return html``
  return failurePart(level === 'fatal' ? 'error' : (level ?? ''), readable(failure))
}

/** A long service name would make a row as high as the window, so it is cut; the tip has all of it. */
const serviceCell = (service: string): Html =>
  service.length <= serviceCharactersMax
    ? html`<td class="service">${service}</td>`
    : html`<td class="service" title="${service}">${cut(service, serviceCharactersMax)}</td>`

/**
 * `here`: id of the record that the rows are about. `shown`: names of the fields shown before each message. `placeOf`: the element id of a row, by
 * its number.
 */
type Drawn = Readonly<{
  linksFor: LogLinks
  here?: string | undefined
  shown: readonly string[]
  placeOf?: (number: number) => string
}>

function rowOf(log: ShownLog, number: number, { linksFor, here, shown, placeOf }: Drawn): Html {
  const { timestamp, level, service, message, fields, cuts = [] } = log
  const isMore = message.length > summaryCharactersMax || isOfLines(message)
  const rest = isMore ? html`<pre>${marked(log, messageCharactersMax)}</pre>` : html``
  const above = isMore && message.length <= messageCharactersMax ? message : undefined
  const changed = cuts.length > 0 ? html`<p class="note">Changed: ${cuts.join('; ')}</p>` : html``
  const own = placeOf === undefined ? html`` : html`id="${placeOf(number)}"`
  const place = log.id === here ? html`id="here" aria-current="true"` : own
  return html`<tr class="${level ?? 'none'}" ${place}>
    <td class="time">${timeOf(timestamp)}</td>
    <td class="level">${level ?? ''}</td>
    ${serviceCell(service ?? '')}
    <td>
      <details>
        <summary>${shownValues(fields, shown)}${summaryOf(log)}${whyOf(log)}</summary>
        ${rest}${changed}${linksOf(log)}${fieldTable('Fields', fields, linksFor(log), above)}
      </details>
    </td>
  </tr>`
}

/** Rows are made in turns with other work, because a record may have many and large fields. */
export const logRows = (logs: readonly ShownLog[], drawn: Drawn): Promise<readonly Html[]> =>
  mapInTurns([...logs.entries()], ([number, log]) => rowOf(log, number, drawn))

/** Where newer rows come from: the address, the cursor to begin at, and how many records the page counts up to there (`count`). */
export type Tail = Readonly<{ address: string; cursor: string; count?: number | undefined }>

export function logTable(rows: readonly Html[], tail?: Tail): Html {
  return html`<table class="logs">
    <thead>
      <tr>
        <th scope="col">Time (${zone})</th>
        <th scope="col">Level</th>
        <th scope="col">Service</th>
        <th scope="col">Message</th>
      </tr>
    </thead>
    ${
      tail === undefined
        ? html`<tbody>
            ${rows}
          </tbody>`
        : html`<tbody data-tail="${tail.address}" data-cursor="${tail.cursor}" data-count="${tail.count}">
            ${rows}
          </tbody>`
    }
  </table>`
}
