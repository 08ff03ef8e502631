import type { Limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { assert } from '#src/lib/assert.ts'
import { afterMark, skipSpace, textOf, type JsonRange } from '#src/lib/json-bytes.ts'
import { isJsonObject, parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { timeNames } from './aliases.ts'
import { createTakeApart } from './json-in-text.ts'
import { fieldsOfLine } from './line-header.ts'
import { resolveMediaType, type LogMediaType } from './media-type.ts'
import { createMsgpackValues } from './msgpack-values.ts'
import { createMsgpackReader } from './msgpack.ts'
import { datedBy, logRecordOf, type RecordLimits } from './record.ts'
import { timeNamesOfSenders } from './senders.ts'
import { splitBody } from './scan.ts'
import { pairAt } from './split-msgpack.ts'
import { noLimits } from './split.ts'
import { parseTime } from './time.ts'

type DecodeLogsOptions = Readonly<{
  /** Milliseconds since the Unix epoch: the time of records that have none. */
  receivedAt: number
  limits: RecordLimits & Pick<Limits, 'nodesPerRequestMax' | 'jsonDepthMax'>
}>

/** The fields of one record, the time that the body gives beside them, and the line of text if its header was parsed into fields. */
type Found = Readonly<{ fields: JsonObject; besideNs?: bigint | undefined; raw?: string | undefined }>

const form = 'application/x-www-form-urlencoded' satisfies LogMediaType

/** Digits of times that a double would round, by the object that holds them and by field name. */
type Exact = Map<object, Map<string, string>>

/**
 * The log records of a payload that `scanLogs` made, under the content type that it gave, in order; ordinals start at 0. Pure: the same payload gives
 * the same records. What had to be changed in a record is listed in its `cuts`.
 */
export function decodeLogs(payload: Uint8Array, contentType: string, options: DecodeLogsOptions): readonly LogRecord[] {
  const exact: Exact = new Map()
  const takeApart = createTakeApart(options.limits, (text) => parseExact(text, exact))
  return recordsOf(payload, contentType, exact).map(({ fields: given, besideNs, raw }, ordinal) => {
    const { fields, line } = takeApart(given)
    const dated = line !== undefined && datedBy(line) !== undefined ? line : undefined
    return logRecordOf(fields, { ...options, ordinal, besideNs, raw, line, dated, exact: exact.get(dated ?? given) })
  })
}

function recordsOf(payload: Uint8Array, contentType: string, exact: Exact): readonly Found[] {
  // A body stored as a form is one record. Its lines were neither counted nor limited at ingest.
  const mediaType = contentType === form ? form : resolveMediaType(contentType, payload)
  assert(mediaType !== undefined, `logs are never stored as ${contentType}`)
  const text = ({ start, end }: JsonRange): string => textOf(payload, start, end)
  switch (mediaType) {
    case 'application/json':
      return parseValue(payload, exact)
    case 'application/x-ndjson':
      return parseLines(payload, exact) ?? parseSplit(payload, mediaType, exact)
    case 'application/msgpack':
      return decodePacked(payload)
    case 'text/plain':
      return split(payload, mediaType).map((range) => ofLine(text(range)))
    case form:
      return split(payload, mediaType).map((range) => ({ fields: parseForm(text(range)) }))
    default:
      return mediaType satisfies never
  }
}

function ofLine(text: string): Found {
  const fields = fieldsOfLine(text)
  return { fields, raw: fields['message'] === text ? undefined : text }
}

function split(payload: Uint8Array, mediaType: LogMediaType): readonly JsonRange[] {
  const found = splitBody(payload, mediaType, noLimits)
  assert(found.ok, 'a stored payload has been scanned')
  return found.value.accepted
}

/** A larger body is parsed record by record: its text would take as much memory as the parsed records. */
const atOnceBytesMax = 4 * 1024 * 1024

const exactNames: ReadonlySet<string> = new Set([...timeNames, ...timeNamesOfSenders])

/** Parses JSON, and keeps the digits of times that a double would round. */
const parseExact = (text: string, exact: Exact): Json =>
  parseJson(text, (holder, name, digits) => {
    if (!exactNames.has(name)) return
    const held = exact.get(holder)
    if (held === undefined) exact.set(holder, new Map([[name, digits]]))
    else held.set(name, digits)
  })

const objects = (values: readonly Json[]): readonly Found[] => values.filter(isJsonObject).map((fields) => ({ fields }))

/** A small array is parsed at once. For an object, the scan's rule decides whether it is a record or a wrapper. */
function parseValue(payload: Uint8Array, exact: Exact): readonly Found[] {
  const start = skipSpace(payload, afterMark(payload))
  if (payload[start] !== 0x5b || payload.length > atOnceBytesMax) return parseSplit(payload, 'application/json', exact)
  const value = parseExact(textOf(payload, start), exact)
  return objects(Array.isArray(value) ? (value as readonly Json[]) : [])
}

/** Parses a body with one value per line, as nearly every such body is. Undefined if it is not like that, or is large. */
function parseLines(payload: Uint8Array, exact: Exact): readonly Found[] | undefined {
  if (payload.length > atOnceBytesMax) return undefined
  const found: Json[] = []
  try {
    for (const line of textOf(payload, afterMark(payload)).split('\n')) {
      const text = line.trim()
      if (text === '') continue
      const value = parseExact(text, exact)
      for (const item of Array.isArray(value) ? (value as readonly Json[]) : [value]) found.push(item)
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return objects(found)
}

const parseSplit = (payload: Uint8Array, mediaType: LogMediaType, exact: Exact): readonly Found[] =>
  objects(split(payload, mediaType).map(({ start, end }) => parseExact(textOf(payload, start, end), exact)))

function decodePacked(payload: Uint8Array): readonly Found[] {
  const reader = createMsgpackReader(payload)
  const values = createMsgpackValues(payload, reader)
  return split(payload, 'application/msgpack').map(({ start }) => {
    const pair = pairAt(reader, start)
    if (pair === undefined) return { fields: values.decode(start) as JsonObject }
    const fields = values.decode(pair.map) as JsonObject
    const { kind, next } = reader.head(pair.time)
    const timeAt = kind === 'array' ? next : pair.time
    const besideNs = values.time(timeAt) ?? parseTime(values.decode(timeAt))
    const metadata = kind === 'array' ? (values.decode(reader.value(timeAt)) as JsonObject) : {}
    if (Object.keys(metadata).length === 0 || Object.hasOwn(fields, 'metadata')) return { fields, besideNs }
    return { fields: { ...fields, metadata }, besideNs }
  })
}

/** A form, as Python's HTTPHandler sends it: each attribute of its LogRecord as text. Of a repeated name the last value counts. */
function parseForm(text: string): JsonObject {
  const fields = Object.create(null) as Record<string, Json>
  for (const [name, value] of new URLSearchParams(text)) fields[name] = value
  return fields
}
