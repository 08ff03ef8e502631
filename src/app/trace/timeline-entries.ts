import { isErrorEvent } from '#projections/correlation/query.ts'
import { failureOf } from '#projections/traces/query.ts'
import { isErrorLevel } from '#src/events/telemetry.ts'
import { isJsonObject } from '#src/lib/json.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { counted } from '../context.ts'
import { cut, isolated, named } from '../format.ts'
import { html, type Html } from '../html.ts'
import { summaryOf, whyOf } from '../search/log-rows.ts'
import { failurePart } from '../search/trace-rows.ts'
import { spanPlace, traceAddress } from '../trace-address.ts'

export type Entry = CorrelationAnswer['timeline'][number]
/** What a line says beside its time: the service, the words, the marks, and a link. */
export type Said = Readonly<{
  kind: string
  service: string | null
  words: Html
  marks: Html
  place: string
  /** The duration, if there is one. */
  ns?: bigint
}>

/** The longest message, operation or address. */
const wordsCharactersMax = 160

/** Element ids of log records and browser events: by their number in their list. */
export const logPlace = (number: number): string => `log-${number}`
export const browserEventPlace = (number: number): string => `browser-event-${number}`

export const short = (text: string): Html => isolated(text, html`${cut(text, wordsCharactersMax)}`)
const bad = (words: string): Html => html` <span class="mark bad">${words}</span>`

function spansSaid({ trace }: CorrelationAnswer): readonly (readonly [string, Said])[] {
  return (trace?.spans ?? []).map((span) => {
    const { span_id: id, service, name, status, events, duration_ns: ns } = span
    const failure = failurePart(status.code, failureOf(status.message, events))
    const marks = html`${status.code === 'error' ? bad('error') : html``}${failure}`
    return [
      id,
      {
        kind: 'span',
        service,
        words: named(name, wordsCharactersMax),
        marks,
        place: `#${spanPlace(id)}`,
        ns: BigInt(ns),
      },
    ]
  })
}

function tracesSaid({ traces }: CorrelationAnswer): readonly (readonly [string, Said])[] {
  return (traces?.items ?? []).map(({ trace_id: id, root, error_count: errors }) => {
    const words = root === null ? html`<em>root span not received</em>` : named(root.operation, wordsCharactersMax)
    const marks = errors > 0 ? bad(counted(errors, 'error')) : html``
    return [id, { kind: 'trace', service: root?.service ?? null, words, marks, place: traceAddress(id) }]
  })
}

function logMarks(level: string | null): Html {
  if (level !== null && isErrorLevel(level)) return bad(level)
  return level === 'warn' ? html` <span class="mark">${level}</span>` : html``
}

function logsSaid({ logs }: CorrelationAnswer): readonly (readonly [string, Said])[] {
  return (logs?.items ?? []).map((log, at) => {
    const { id, service, level } = log
    const [words, marks] = [summaryOf(log, wordsCharactersMax), html`${logMarks(level)}${whyOf(log)}`]
    return [id, { kind: 'log', service, words, marks, place: `#${logPlace(at)}` }]
  })
}

type BrowserEvent = CorrelationAnswer['rum_events']['items'][number]

/** The first value of a Faro measurement; the others are parts of it. */
function measured({ values }: BrowserEvent['fields']): string {
  const [first] = isJsonObject(values) ? Object.entries(values) : []
  const [what, much] = first ?? []
  return typeof much === 'number' ? `${what} ${Number(much.toPrecision(4))}` : ''
}

/** The address that an event is about. Faro's events of resources and requests have one beside that of their page. */
function addressOf({ url, fields: { attributes } }: BrowserEvent): string {
  const { 'url.full': full, 'http.url': earlier, name } = isJsonObject(attributes) ? attributes : {}
  return [full, earlier, name].find(isAddress) ?? url ?? ''
}

const isAddress = (value: unknown): value is string => typeof value === 'string' && /^https?:\/\//.test(value)

/** What a browser event says beside its type: its name, its message (the only thing that tells errors apart), its measurement, and its address. */
export function browserWords(event: BrowserEvent): readonly string[] {
  const { type, name, fields } = event
  const { message } = fields
  const said = typeof message === 'string' ? message.trim() : ''
  const words = [name === type ? '' : name, said === name ? '' : said, measured(fields), addressOf(event)]
  return words.filter((each) => each !== '')
}

function browserSaid({ rum_events: events }: CorrelationAnswer): readonly (readonly [string, Said])[] {
  return events.items.map((event, at) => {
    const { id, type, service } = event
    const words = short([type, ...browserWords(event)].join(' '))
    const marks = isErrorEvent(event) ? bad('error') : html``
    return [id, { kind: 'browser', service, words, marks, place: `#${browserEventPlace(at)}` }]
  })
}

/** Looks up what each entry says in the parts of the same answer. */
export function createSaid(answer: CorrelationAnswer): (entry: Entry) => Said | undefined {
  const said: Readonly<Record<Entry['kind'], ReadonlyMap<string, Said>>> = {
    span: new Map(spansSaid(answer)),
    trace: new Map(tracesSaid(answer)),
    log: new Map(logsSaid(answer)),
    rum_event: new Map(browserSaid(answer)),
  }
  return ({ kind, ref }) => said[kind].get(ref)
}
