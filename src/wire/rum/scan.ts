import type { Limits } from '#src/config.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import {
  afterMark,
  createJsonReader,
  eachItem,
  eachMember,
  skipSpace,
  textOf,
  type JsonRange,
  type JsonReader,
} from '#src/lib/json-bytes.ts'
import { parseJson } from '#src/lib/json.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { parseTime } from '../logs/time.ts'
import { scanSpans } from '../otlp/scan.ts'
import type { ScanLimits, SpanScan } from '../otlp/span-scan.ts'
import { cutBody, type CutPart } from './cut.ts'
import { formOf, type RumForm, type RumPart } from './form.ts'

/** An item that was left out, by its index in its part. */
type RejectedItem = Readonly<{ part: RumPart; index: number; code: string; message: string }>

/** Which parts to keep: false leaves one out, a function decides for each span. Parts that are not named are kept. */
export type RumKeep = Readonly<
  Partial<Record<Exclude<RumPart, 'spans'>, boolean>> & { spans?: boolean | ((index: number) => boolean) }
>

/** What is known about a RUM request before any item is decoded. */
export type RumScan = Readonly<{
  form: RumForm
  /** Number of good items per part; `spans` counts those with usable ids. */
  counts: Readonly<Record<RumPart, number>>
  /** All good items together. */
  accepted: number
  rejected: readonly RejectedItem[]
  /** The spans of the body, numbered in request order; undefined when it has none. */
  spans: SpanScan | undefined
  /** Whether each good item has a `timestamp`, as SDKs put on it. Reads the items again. */
  dated(): boolean
  /** The body without the bad items and those of the parts that are not kept, in the same form, otherwise byte for byte; as received if all are kept. */
  cut(keep: RumKeep): Uint8Array
}>

type RumScanLimits = ScanLimits & Pick<Limits, 'decodedBytesMax'>

type Items = Readonly<{ count: number; good: readonly JsonRange[] }>
type Walk = Readonly<{
  body: Uint8Array
  reader: JsonReader
  limits: RumScanLimits
  rejected: RejectedItem[]
  /** How many values the body has. */
  values: number
}>

const openBrace = 0x7b
const openBracket = 0x5b
const letterN = 0x6e
const listParts = ['logs', 'exceptions', 'events', 'measurements'] as const

/**
 * Checks a RUM body (decompressed JSON, with that media type or with `text/plain`, as beacons have): Grafana Faro's form, OTLP JSON, or the plain
 * form. Refuses the whole body if it is not JSON or none of these (`invalid_body`), has another media type, or has more items or values than allowed,
 * also together with the `meta` that each item is stored with (`payload_too_large`). Bad items are rejected alone.
 */
export function scanRum(
  received: Uint8Array,
  contentType: string | undefined,
  limits: RumScanLimits,
): Result<RumScan, Refusal> {
  if (!isReadable(contentType)) {
    return fail(refusal('unsupported_media_type', 'browser events are read as application/json or text/plain'))
  }
  const start = afterMark(received)
  const body = start === 0 ? received : received.subarray(start)
  const reader = createJsonReader(body)
  const members = readMembers(body, reader, limits)
  if (!members.ok) return members
  const form = formOf(members.value.keys())
  if (form === undefined) return fail(unknownForm(members.value))
  if (form !== 'otlp' && reader.values() > limits.nodesPerRequestMax) {
    const detail = tooMany(reader.values(), 'values', limits.nodesPerRequestMax)
    const records = countItems(body, reader, members.value)
    const spans = countSpans(body, tracesOf(body, form, members.value), limits)
    return fail(refusal('payload_too_large', detail, { records, spans }))
  }
  return readParts({ body, reader, limits, rejected: [], values: reader.values() }, form, members.value)
}

/** Other signals that pages send over OTLP to the address for traces. */
const otherSignals = [
  ['resourceLogs', 'logs', 'send them with Grafana Faro, or as {session_id, events}'],
  ['resourceMetrics', 'metrics', 'take their exporter out of the page'],
] as const

function unknownForm(members: Members): Refusal {
  for (const [list, signal, instead] of otherSignals) {
    if (!members.has(list)) continue
    const detail = `OTLP ${signal} (\`${list}\`) are not read here, of OTLP only traces (\`resourceSpans\`): ${instead}`
    return refusal('invalid_body', detail)
  }
  const known = 'Grafana Faro ({meta, …}), OTLP JSON ({resourceSpans}) and {session_id, events}'
  return refusal('invalid_body', `the body is none of the forms that are read here: ${known}`)
}

function isReadable(contentType: string | undefined): boolean {
  const name = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return name === '' || name === 'application/json' || name === 'text/plain'
}

/** Faro's bodies have at most seven members. */
const membersMax = 256

type Members = ReadonlyMap<string, JsonRange>

/** The members of the body. Of a repeated key the last counts, as in JSON.parse. */
function readMembers(body: Uint8Array, reader: JsonReader, limits: ScanLimits): Result<Members, Refusal> {
  const start = skipSpace(body, 0)
  if (body[start] !== openBrace) return fail(refusal('invalid_body', 'the body is not a JSON object'))
  const members = new Map<string, JsonRange>()
  let tooDeep: string | undefined
  let count = 0
  const end = eachMember(body, reader, start, (name, range) => {
    if (++count > membersMax) return
    const key = name()
    members.set(key, range)
    // Items and spans are checked one by one later, and a deep one costs no other.
    const isChecked = (listParts as readonly string[]).includes(key) || key === 'traces' || key === 'resourceSpans'
    if (!isChecked && reader.depth() >= limits.jsonDepthMax) tooDeep = key
  })
  const after = end < 0 ? end : skipSpace(body, end)
  if (after < 0 || after < body.length) {
    return fail(refusal('invalid_body', `the body is not JSON from byte ${after < 0 ? ~after : after} on`))
  }
  if (count > membersMax) return fail(refusal('invalid_body', `the body has more than ${membersMax} members`))
  if (tooDeep === undefined) return ok(members)
  return fail(refusal('invalid_body', `${tooDeep} is nested deeper than ${limits.jsonDepthMax} levels`))
}

function readParts(walk: Walk, form: RumForm, members: Members): Result<RumScan, Refusal> {
  const { body, reader, rejected, limits } = walk
  const items = new Map<RumPart, Items>()
  for (const part of listParts) {
    const range = members.get(part)
    if (range !== undefined && form !== 'otlp') items.set(part, readItems(walk, part, range))
  }
  const records = [...items.values()].reduce((sum, { count }) => sum + count, 0)
  const scanned = readSpans(walk, tracesOf(body, form, members))
  if (!scanned.ok) {
    const { records: ofSpans = 0, ...error } = scanned.error
    return fail({ ...error, records, spans: ofSpans })
  }
  const spans = scanned.value
  const all = { records, spans: spans?.spans ?? 0 }
  const total = all.records + all.spans
  if (total > limits.recordsPerBatchMax) {
    return fail(refusal('payload_too_large', tooMany(total, 'items', limits.recordsPerBatchMax), all))
  }
  const counts = countsOf(items, spans)
  const meta = form === 'faro' ? members.get('meta') : undefined
  const most = meta === undefined ? undefined : mostExceededWith(meta, counts, walk)
  if (most !== undefined) return fail(tooMuchMeta(all, most))
  return ok({
    form,
    counts,
    accepted: Object.values(counts).reduce((sum, number) => sum + number, 0),
    rejected,
    spans,
    dated: () => [...items.values()].every(({ good }) => good.every((item) => isDated(body, reader, item))),
    cut: (keep) => cutRum({ body, form, members, items, spans, whole: rejected.length === 0 }, keep),
  })
}

const tooMany = (count: number, what: string, most: number): string =>
  `${count} ${what} in one request; at most ${most} are taken`

/** How many items a body has that is refused before they are checked; without spans. */
function countItems(body: Uint8Array, reader: JsonReader, members: Members): number {
  let count = 0
  for (const part of listParts) {
    const range = members.get(part)
    if (range !== undefined && body[range.start] === openBracket) eachItem(body, reader, range.start, () => ++count)
  }
  return count
}

/** How many spans the body has, as far as the scan counts them. */
function countSpans(body: Uint8Array, range: JsonRange | undefined, limits: RumScanLimits): number {
  if (range === undefined) return 0
  const scanned = scanSpans(body.subarray(range.start, range.end), 'application/json', limits)
  return scanned.ok ? scanned.value.spans : (scanned.error.records ?? 0)
}

/**
 * The limit that the items are beyond together with `meta`, with which each is stored: a megabyte of it and ten thousand items would make ten
 * gigabytes, and a list of a hundred thousand numbers a thousand million values. Undefined: they are within the limits.
 */
function mostExceededWith(meta: JsonRange, counts: RumScan['counts'], { body, limits, values }: Walk) {
  const items = listParts.reduce((sum, part) => sum + counts[part], 0)
  if ((meta.end - meta.start) * items > limits.decodedBytesMax) return `${limits.decodedBytesMax} bytes`
  const isTooMany = valuesOfMeta(body, meta) * items + values > limits.nodesPerRequestMax
  return isTooMany ? `${limits.nodesPerRequestMax} values` : undefined
}

/** How many values of `meta` are kept with each item: all but the list of the SDK's plug-ins. */
function valuesOfMeta(body: Uint8Array, { start }: JsonRange): number {
  if (body[start] !== openBrace) return 0
  const reader = createJsonReader(body)
  let before = 0
  let kept = 0
  eachMember(body, reader, start, (name) => {
    if (name() !== 'sdk') kept += reader.values() - before
    before = reader.values()
  })
  return kept
}

const tooMuchMeta = (all: Pick<Refusal, 'records' | 'spans'>, most: string): Refusal =>
  refusal(
    'payload_too_large',
    `each item is kept with meta, and so they come to more than ${most}: send less meta, or smaller batches`,
    all,
  )

/** The range of the OTLP JSON: the whole body, or Faro's `traces`. */
function tracesOf(body: Uint8Array, form: RumForm, members: Members): JsonRange | undefined {
  if (form === 'otlp') return { start: 0, end: body.length }
  return form === 'faro' ? members.get('traces') : undefined
}

function countsOf(items: ReadonlyMap<RumPart, Items>, spans: SpanScan | undefined): RumScan['counts'] {
  const count = (part: RumPart): number => items.get(part)?.good.length ?? 0
  return {
    events: count('events'),
    measurements: count('measurements'),
    logs: count('logs'),
    exceptions: count('exceptions'),
    spans: spans === undefined ? 0 : spans.spans - spans.invalid.length,
  }
}

function readItems({ body, reader, limits, rejected }: Walk, part: RumPart, range: JsonRange): Items {
  const first = body[range.start]
  if (first === letterN) return { count: 0, good: [] }
  if (first !== openBracket) {
    rejected.push({ part, index: 0, code: 'not_an_array', message: `${part} must be an array` })
    return { count: 1, good: [] }
  }
  const good: JsonRange[] = []
  let count = 0
  eachItem(body, reader, range.start, (start, end) => {
    const index = count++
    if (body[start] !== openBrace) {
      rejected.push({ part, index, code: 'not_an_object', message: 'an item must be a JSON object' })
    } else if (reader.depth() > limits.jsonDepthMax) {
      const message = `nested deeper than ${limits.jsonDepthMax} levels`
      rejected.push({ part, index, code: 'too_deep', message })
    } else good.push({ start, end })
  })
  return { count, good }
}

function isDated(body: Uint8Array, reader: JsonReader, { start }: JsonRange): boolean {
  let found: JsonRange | undefined
  eachMember(body, reader, start, (name, value) => {
    if (name() === 'timestamp') found = value
  })
  return found !== undefined && parseTime(parseJson(textOf(body, found.start, found.end))) !== undefined
}

/** Scans the spans: OTLP JSON in Faro's `traces`, or as the whole body. */
function readSpans(
  { body, limits, rejected }: Walk,
  range: JsonRange | undefined,
): Result<SpanScan | undefined, Refusal> {
  if (range === undefined || body[range.start] === letterN) return ok(undefined)
  const scanned = scanSpans(body.subarray(range.start, range.end), 'application/json', limits)
  if (!scanned.ok) {
    if (scanned.error.code === 'payload_too_large' || range.end === body.length) return scanned
    rejected.push({ part: 'spans', index: 0, code: 'invalid_traces', message: scanned.error.detail })
    return ok(undefined)
  }
  for (const { index, reason } of scanned.value.invalid) {
    rejected.push({ part: 'spans', index, code: 'invalid_span', message: reason })
  }
  return scanned
}

type Found = Readonly<{
  body: Uint8Array
  form: RumForm
  members: Members
  items: ReadonlyMap<RumPart, Items>
  spans: SpanScan | undefined
  whole: boolean
}>

/** Traces without a span. */
const noTraces = Buffer.from('{}')

function cutRum({ body, form, members, items, spans, whole }: Found, keep: RumKeep): Uint8Array {
  const kept = keptSpans(spans, keep.spans)
  const stays = (part: RumPart): boolean => part === 'spans' || keep[part] !== false
  if (whole && kept.size === (spans?.spans ?? 0) && [...items.keys()].every(stays)) return body
  const left = spans?.cut((index) => kept.has(index))
  if (form === 'otlp') return left ?? body
  const parts = new Map<string, CutPart>([...items].map(([part, { good }]) => [part, stays(part) ? good : []]))
  if (form === 'faro') parts.set('traces', kept.size > 0 && left !== undefined ? left : noTraces)
  return cutBody(body, members, parts)
}

/** The numbers of the spans that are valid and wanted. */
function keptSpans(spans: SpanScan | undefined, keep: RumKeep['spans']): ReadonlySet<number> {
  const kept = new Set<number>()
  for (let index = 0; index < (spans?.spans ?? 0); index++) {
    const isWanted = typeof keep === 'function' ? keep(index) : keep !== false
    if (isWanted && spans?.valid(index) === true) kept.add(index)
  }
  return kept
}
