import type { LogRecord } from '#src/events/telemetry.ts'
import { assert } from '#src/lib/assert.ts'
import { textOf, type JsonRange } from '#src/lib/json-bytes.ts'
import { isJsonObject, parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { isOwnName, timeNames, wrapperNames } from './aliases.ts'
import { afterMark, resolveMediaType, type LogMediaType } from './media-type.ts'
import { createMsgpackValues } from './msgpack-values.ts'
import { createMsgpackReader } from './msgpack.ts'
import { logRecordOf } from './record.ts'
import { splitBody } from './scan.ts'
import { pairAt } from './split-msgpack.ts'
import { noLimits } from './split.ts'
import type { TidyLimits } from './tidy.ts'
import { parseTime } from './time.ts'

export type DecodeLogsOptions = Readonly<{
  /** Milliseconds since the Unix epoch: the time of records that have none. */
  receivedAt: number
  limits: TidyLimits
}>

/** The fields of one record, and what its body says beside them. */
type Found = Readonly<{ fields: JsonObject; besideNs?: bigint | undefined }>

/** Digits of times that a double would round, by the record that holds them. */
type Exact = Map<object, Readonly<{ name: string; digits: string }>>

/**
 * The log records of a payload that `scanLogs` made, under the content type that it gave, in order; their ordinals count
 * from 0. Pure: the same payload gives the same records. What had to be changed in a record stands in its `cuts`.
 */
export function decodeLogs(payload: Uint8Array, contentType: string, options: DecodeLogsOptions): readonly LogRecord[] {
  const exact: Exact = new Map()
  return recordsOf(payload, contentType, exact).map(({ fields, besideNs }, ordinal) =>
    logRecordOf(fields, { ...options, ordinal, besideNs, exact: exact.get(fields) }),
  )
}

function recordsOf(payload: Uint8Array, contentType: string, exact: Exact): readonly Found[] {
  const mediaType = resolveMediaType(contentType, payload)
  assert(mediaType !== undefined, `logs are never stored as ${contentType}`)
  const text = ({ start, end }: JsonRange): string => textOf(payload, start, end)
  switch (mediaType) {
    case 'application/json':
      return parseValue(textOf(payload, afterMark(payload)), exact)
    case 'application/x-ndjson':
      return parseLines(payload, exact) ?? parseSplit(payload, exact)
    case 'application/msgpack':
      return decodePacked(payload)
    case 'text/plain':
      return split(payload, mediaType).map((range) => ({ fields: { message: text(range) } }))
    case 'application/x-www-form-urlencoded':
      return split(payload, mediaType).map((range) => ({ fields: parseForm(text(range)) }))
    default:
      return mediaType satisfies never
  }
}

function split(payload: Uint8Array, mediaType: LogMediaType): readonly JsonRange[] {
  const found = splitBody(payload, mediaType, noLimits)
  assert(found.ok, 'a stored payload has been scanned')
  return found.value.accepted
}

/** JSON of text, with the digits of times that a double would round. */
const parseExact = (text: string, exact: Exact): Json =>
  parseJson(text, (holder, name, digits) => {
    if ((timeNames as readonly string[]).includes(name)) exact.set(holder, { name, digits })
  })

const objects = (values: readonly Json[]): readonly Found[] => values.filter(isJsonObject).map((fields) => ({ fields }))

function parseValue(text: string, exact: Exact): readonly Found[] {
  if (text.trim() === '') return []
  const value = parseExact(text, exact)
  if (Array.isArray(value)) return objects(value as readonly Json[])
  if (!isJsonObject(value)) return []
  return objects(wrapped(value) ?? [value])
}

/** The array inside a wrapper; the same rule as the scan's, over the parsed value. */
function wrapped(value: JsonObject): readonly Json[] | undefined {
  if (Object.keys(value).some(isOwnName)) return undefined
  const name = wrapperNames.find((name) => Array.isArray(value[name]))
  return name === undefined ? undefined : (value[name] as readonly Json[])
}

/** A value a line, as nearly every such body has it; undefined when it is not so. */
function parseLines(payload: Uint8Array, exact: Exact): readonly Found[] | undefined {
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

const parseSplit = (payload: Uint8Array, exact: Exact): readonly Found[] =>
  objects(
    split(payload, 'application/x-ndjson').map(({ start, end }) => parseExact(textOf(payload, start, end), exact)),
  )

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

/** Python's HTTPHandler: each attribute of its LogRecord as text. A name that comes twice keeps its last value. */
function parseForm(text: string): JsonObject {
  const fields = Object.create(null) as Record<string, Json>
  for (const [name, value] of new URLSearchParams(text)) fields[name] = value
  return fields
}
