import type { LogRecord, RumEvent, Span } from '#src/events/telemetry.ts'
import { assert } from '#src/lib/assert.ts'
import { createJsonReader, eachItem, eachMember, skipSpace, textOf, type JsonRange } from '#src/lib/json-bytes.ts'
import { isJsonObject, parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { sessionIdOf, spanIdOf, traceIdOf } from '../logs/ids.ts'
import { identifiersOf, levelOf, logRecordOf, serviceOf, textField, timeOf, type Identifiers } from '../logs/record.ts'
import { tidyFields, type TidyLimits } from '../logs/tidy.ts'
import { decodeSpans } from '../otlp/decode.ts'
import { fillTimes } from '../otlp/fill-times.ts'
import type { DecodeLimits } from '../otlp/span-parts.ts'
import { formOf } from './form.ts'

export type DecodedRum = Readonly<{
  spans: readonly Span[]
  logs: readonly LogRecord[]
  rumEvents: readonly RumEvent[]
}>
type DecodeRumOptions = Readonly<{
  /** Milliseconds since the Unix epoch: the time of items that have none. */
  receivedAt: number
  limits: TidyLimits & DecodeLimits
}>

/**
 * The items of a RUM payload that `scanRum` accepted and cut. Faro's logs and exceptions become log records of source `rum` only; its events and
 * measurements, and every event of the plain form, become RUM events. Ordinals count through the body: logs, exceptions, events, measurements. Pure.
 * Source: @grafana/faro-core 2.x, `TransportBody`.
 */
export function decodeRum(payload: Uint8Array, contentType: string, options: DecodeRumOptions): DecodedRum {
  assert(contentType === 'application/json', `RUM bodies are stored as JSON, not ${contentType}`)
  const members = new Map<string, JsonRange>()
  const reader = createJsonReader(payload)
  eachMember(payload, reader, skipSpace(payload, 0), (key, range) => members.set(key(), range))
  const form = formOf(members.keys())
  if (form === 'otlp') return { spans: otlpSpans(payload, options), logs: [], rumEvents: [] }
  const valueOf = (key: string): Json => {
    const range = members.get(key)
    return range === undefined ? null : parseJson(textOf(payload, range.start, range.end))
  }
  // Parses one item at a time: the text of a large list would take as much memory as the parsed items.
  const itemsOf = (key: string): readonly JsonObject[] => {
    const items: JsonObject[] = []
    const { start } = members.get(key) ?? { start: payload.length }
    if (payload[start] !== openBracket) return items
    eachItem(payload, reader, start, (from, to) => {
      const item = parseJson(textOf(payload, from, to))
      if (isJsonObject(item)) items.push(item)
    })
    return items
  }
  const parts = { members, valueOf, itemsOf }
  if (form !== 'faro') return decodePlain(parts, options)
  const traces = members.get('traces')
  return decodeFaro(parts, traces && payload.subarray(traces.start, traces.end), options)
}

const openBracket = 0x5b

type Parts = Readonly<{
  members: ReadonlyMap<string, JsonRange>
  valueOf(key: string): Json
  /** The objects of a list. */
  itemsOf(key: string): readonly JsonObject[]
}>

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {})

function decodeFaro(
  { valueOf, itemsOf }: Parts,
  traces: Uint8Array | undefined,
  options: DecodeRumOptions,
): DecodedRum {
  const meta = objectOf(valueOf('meta'))
  const session = sessionIdOf(objectOf(meta['session'])['id'], options.limits.sessionIdCharactersMax) ?? null
  const service = textField(meta, 'app.name')
  const url = textField(meta, 'page.url')
  // Left out: the list of the SDK's own plug-ins says nothing about the page, and would be in every record.
  const { sdk: _sdk, ...shared } = meta
  let ordinal = 0

  const about = (item: JsonObject): Readonly<{ fields: JsonObject; ids: Identifiers & { service: string | null } }> => {
    const trace = objectOf(item['trace'])
    const traceId = traceIdOf(trace['trace_id']) ?? null
    const spanId = spanIdOf(trace['span_id']) ?? null
    return { fields: { ...shared, ...item }, ids: { traceId, spanId, sessionId: session, service } }
  }
  const log = (item: JsonObject): LogRecord => {
    const { fields, ids } = about(item)
    const record = logRecordOf(fields, { ...options, ordinal: ordinal++ })
    return { ...record, level: levelOf(fields) ?? null, ...ids, source: 'rum' }
  }
  const exception = (item: JsonObject): LogRecord => {
    const record = log(item)
    const parts = [record.fields['type'], record.fields['value']]
    return { ...record, level: 'error', message: parts.filter((part) => typeof part === 'string').join(': ') }
  }
  const rumEvent =
    (type: string, nameField: string) =>
    (item: JsonObject): RumEvent => {
      const { fields: all, ids } = about(item)
      const { fields } = tidyFields(all, options.limits)
      const name = textField(fields, nameField) ?? ''
      return { ordinal: ordinal++, timeNs: timeOf(item, options).timeNs, type, name, ...ids, url, fields }
    }

  const logs = [...itemsOf('logs').map(log), ...itemsOf('exceptions').map(exception)]
  const rumEvents = [
    ...itemsOf('events').map(rumEvent('event', 'name')),
    ...itemsOf('measurements').map(rumEvent('measurement', 'type')),
  ]
  return { spans: spansOf(traces, session, options), logs, rumEvents }
}

const otlpSpans = (json: Uint8Array, { limits, receivedAt }: DecodeRumOptions): readonly Span[] =>
  fillTimes(decodeSpans(json, 'application/json', limits), receivedAt)

function spansOf(traces: Uint8Array | undefined, session: string | null, options: DecodeRumOptions): readonly Span[] {
  if (traces === undefined) return []
  const spans = otlpSpans(traces, options)
  return spans.map((span) => (span.sessionId === null && session !== null ? { ...span, sessionId: session } : span))
}

const urlNames = ['url', 'page.url', 'page_url', 'pageUrl', 'href']

/** The plain form `{session_id, events:[{type, timestamp, …}]}`. What stands beside the events applies to those that do not say it themselves. */
function decodePlain({ members, valueOf, itemsOf }: Parts, options: DecodeRumOptions): DecodedRum {
  const body: Record<string, Json> = Object.create(null) as Record<string, Json>
  for (const key of members.keys()) if (key !== 'events') body[key] = valueOf(key)
  const common = { ...identifiersOf(body, options.limits), service: serviceOf(body), url: urlOf(body) }
  const rumEvents = itemsOf('events').map((item, ordinal): RumEvent => {
    const { fields } = tidyFields(item, options.limits)
    const { traceId, spanId, sessionId } = identifiersOf(item, options.limits)
    const type = textField(fields, 'type') ?? 'event'
    return {
      ordinal,
      timeNs: timeOf(item, options).timeNs,
      type,
      name: textField(fields, 'name') ?? textField(fields, 'event') ?? type,
      service: serviceOf(item) ?? common.service,
      sessionId: sessionId ?? common.sessionId,
      traceId: traceId ?? common.traceId,
      spanId: traceId === null ? common.spanId : spanId,
      url: urlOf(fields) ?? common.url,
      fields,
    }
  })
  return { spans: [], logs: [], rumEvents }
}

const urlOf = (record: JsonObject): string | null =>
  urlNames.map((name) => textField(record, name)).find((url) => url !== null) ?? null
