import { parseSpanId, parseTraceId } from '#src/events/ids.ts'
import { type Refusal, refusal } from '#src/events/refusal.ts'
import {
  afterMark,
  createJsonReader,
  jsonDepthFollowedMax,
  scalarEnd,
  skipSpace,
  stringEnd,
  type JsonReader,
} from '#src/lib/json-bytes.ts'
import { type Result, fail, ok } from '#src/lib/result.ts'
import { cutJson } from './cut-json.ts'
import { hexValues } from './hex-values.ts'
import { isGroup, isList, itemPlace, listBits, memberPlace, places } from './json-schema.ts'
import {
  addSpan,
  createSpanScan,
  createSpanTable,
  faults,
  tooManyNodes,
  tooManySpans,
  type IdPlaces,
  type ScanLimits,
  type SpanScan,
  type SpanTable,
} from './span-scan.ts'

/**
 * The most members of objects: a fixed number, and some for each node (an attribute has three). Limits what unknown fields can make the parser build.
 */
const membersFree = 10_000
const membersPerNode = 4
const membersMax = ({ nodesPerRequestMax }: ScanLimits): number => membersFree + nodesPerRequestMax * membersPerNode

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
const letterN = 0x6e

type Walk = IdPlaces & {
  readonly body: Uint8Array
  readonly reader: JsonReader
  readonly limits: ScanLimits
  readonly table: SpanTable
  /** The contents of the `spans` lists, three numbers each: start, end, and the number of the first span. */
  readonly lists: number[]
  nodes: number
  members: number
  misnomer: boolean
  refusal: Refusal | undefined
}

/**
 * Scans JSON bytes. `JSON.parse` accepts what passes, after lenient UTF-8 decoding, and finds the same spans. Deep values are never decoded, only
 * stepped over without recursion, so that they cost no other span, and numbers may be as long as they like: the decoder keeps their digits. A body
 * too deep to be stepped over is refused.
 */
export function scanJson(bytes: Uint8Array, limits: ScanLimits): Result<SpanScan, Refusal> {
  const body = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const table = createSpanTable()
  const walk: Walk = {
    body,
    reader: createJsonReader(body, Infinity),
    limits,
    table,
    lists: [],
    nodes: 0,
    members: 0,
    traceStart: -1,
    traceLength: 0,
    spanStart: -1,
    spanLength: 0,
    misnomer: false,
    refusal: undefined,
  }
  if (!scanBody(walk)) return fail(walk.refusal ?? refusal('invalid_body', 'the body is not an OTLP trace request'))
  const hexOf = (start: number, length: number, digits: number): string => {
    const text = idText(body, start, length)
    return (digits === 32 ? parseTraceId(text) : parseSpanId(text)) ?? text.slice(0, digits * 2).toLowerCase()
  }
  return ok(createSpanScan({ table, hexOf, cut: (keep) => cutJson(body, walk.lists, table, keep) }))
}

function scanBody(walk: Walk): boolean {
  const { body } = walk
  const start = skipSpace(body, afterMark(body))
  if (start === body.length) return true
  if (body[start] !== openObject) return stop(walk, 'expected an object', start) > 0
  const end = walkObject(walk, start, places.request, 1)
  if (end < 0) return false
  const after = skipSpace(body, end)
  if (after < body.length) return stop(walk, 'unexpected text after the object', after) > 0
  if (walk.misnomer) {
    const traces = 'the body holds no traces: OTLP JSON has them in resourceSpans (lowerCamelCase)'
    const others = 'OTLP logs and metrics are not taken, and logs as JSON records go to /api/logs/v1/ingest'
    walk.refusal = refusal('invalid_body', `${traces}; ${others}`)
  }
  return !walk.misnomer
}

/** Walks the value that begins at `pos`; returns where it ends, or -1 with the refusal set. */
function walkValue(walk: Walk, pos: number, place: number, depth: number): number {
  const { body, limits } = walk
  if (depth >= limits.jsonDepthMax && place === places.other) return stepOver(walk, pos)
  const byte = body[pos]
  if (byte === openObject) {
    return isList(place) ? stop(walk, 'expected a list', pos) : walkObject(walk, pos, place, depth + 1)
  }
  if (byte === openList) {
    return isGroup(place) ? stop(walk, 'expected an object', pos) : walkList(walk, pos, place, depth + 1)
  }
  return walkScalar(walk, pos, place)
}

function walkScalar(walk: Walk, pos: number, place: number): number {
  const end = scalarEnd(walk.body, pos, Infinity)
  if (end < 0) return stop(walk, 'the JSON is malformed or cut short', ~end)
  return place === places.other ? end : placeScalar(walk, pos, end, place)
}

function placeScalar(walk: Walk, pos: number, end: number, place: number): number {
  const byte = walk.body[pos]
  if (isGroup(place)) return stop(walk, 'expected an object', pos)
  // null stands for an absent list (proto3 JSON mapping), never for an item of one.
  if (isList(place) && byte !== letterN) return stop(walk, 'expected a list', pos)
  if (byte === quote && place === places.traceId) {
    walk.traceStart = pos + 1
    walk.traceLength = end - pos - 2
  } else if (byte === quote && place === places.spanId) {
    walk.spanStart = pos + 1
    walk.spanLength = end - pos - 2
  }
  return end
}

function walkObject(walk: Walk, start: number, place: number, depth: number): number {
  const { body } = walk
  let pos = skipSpace(body, start + 1)
  if (body[pos] === closeObject) return pos + 1
  let seen = 0
  for (;;) {
    const name = pos
    pos = body[pos] === quote ? stringEnd(body, pos) : ~pos
    if (pos < 0) return stop(walk, 'a name is missing, malformed or cut short', ~pos)
    const inner = place === places.other ? place : enterMember(walk, place, name, pos)
    if ((seen & (1 << inner) & listBits) !== 0) return stop(walk, 'a list is given twice', name)
    seen |= 1 << inner
    pos = skipSpace(body, walkMemberValue(walk, pos, inner, depth))
    const next = body[pos]
    if (next !== comma) break
    pos = skipSpace(body, pos + 1)
  }
  if (walk.refusal !== undefined) return -1
  if (body[pos] !== closeObject) return stop(walk, 'expected a comma or the end of an object', pos)
  if (place === places.request) walk.misnomer = (seen & (listBits | (1 << places.misnomer))) === 1 << places.misnomer
  return pos + 1
}

/** The end of a value that is too deep to matter; its values count, because the parser builds them. -1 with the refusal set on failure. */
function stepOver(walk: Walk, start: number): number {
  const { reader, limits } = walk
  const before = reader.values()
  const end = reader.value(start)
  if (end < 0) {
    return stop(walk, `the JSON is malformed, cut short or nested deeper than ${jsonDepthFollowedMax}`, ~end)
  }
  walk.members += reader.values() - before
  return walk.members > membersMax(limits) ? stopAtNodes(walk) : end
}

/** Walks the colon after a name, and the value; -1 with the refusal set on failure. */
function walkMemberValue(walk: Walk, afterName: number, place: number, depth: number): number {
  const { body, limits } = walk
  const pos = skipSpace(body, afterName)
  if (body[pos] !== colon) return stop(walk, 'expected a colon', pos)
  if (++walk.members > membersMax(limits)) return stopAtNodes(walk)
  return walkValue(walk, skipSpace(body, pos + 1), place, depth)
}

/** The place of a member's value. If an id is given twice, the last counts, as in JSON.parse. */
function enterMember(walk: Walk, place: number, start: number, end: number): number {
  const inner = memberPlace(walk.body, place, start, end)
  if (inner === places.traceId) walk.traceStart = -1
  else if (inner === places.spanId) walk.spanStart = -1
  return inner
}

function walkList(walk: Walk, start: number, place: number, depth: number): number {
  const { body, limits, table } = walk
  const inner = itemPlace(place)
  const firstSpan = table.count
  let pos = skipSpace(body, start + 1)
  let open = body[pos] !== closeList
  while (open) {
    if (++walk.nodes > limits.nodesPerRequestMax) return stopAtNodes(walk)
    pos = inner === places.span ? walkSpan(walk, pos, depth) : walkValue(walk, pos, inner, depth)
    if (pos < 0) return -1
    pos = skipSpace(body, pos)
    open = body[pos] === comma
    if (open) pos = skipSpace(body, pos + 1)
    else if (body[pos] !== closeList) return stop(walk, 'expected a comma or the end of a list', pos)
  }
  if (place === places.spanList) walk.lists.push(start + 1, pos, firstSpan)
  return pos + 1
}

function walkSpan(walk: Walk, start: number, depth: number): number {
  const { limits, table } = walk
  if (table.count === limits.recordsPerBatchMax) {
    walk.refusal = tooManySpans(limits, table.count + 1)
    return -1
  }
  walk.traceStart = -1
  walk.spanStart = -1
  const end = walkValue(walk, start, places.span, depth)
  if (end < 0) return -1
  addSpan(table, start, end, walk, walk.body[start] === openObject ? faultOf(walk) : faults.notASpan)
  return end
}

function faultOf({ body, traceStart, traceLength, spanStart, spanLength }: Walk): number {
  if (traceStart < 0 || traceLength === 0) return faults.traceIdMissing
  if (
    !isPlainId(body, traceStart, traceLength, 32) &&
    parseTraceId(idText(body, traceStart, traceLength)) === undefined
  ) {
    return isZeroText(body, traceStart, traceLength) ? faults.traceIdZero : faults.traceIdMalformed
  }
  if (spanStart < 0 || spanLength === 0) return faults.spanIdMissing
  if (!isPlainId(body, spanStart, spanLength, 16) && parseSpanId(idText(body, spanStart, spanLength)) === undefined) {
    return isZeroText(body, spanStart, spanLength) ? faults.spanIdZero : faults.spanIdMalformed
  }
  return faults.none
}

/** True for `digits` hexadecimal digits that are not all 0. This recognises a usual id without making text of it. */
function isPlainId(body: Uint8Array, start: number, length: number, digits: number): boolean {
  if (length !== digits) return false
  let bits = 0
  for (let pos = start; pos < start + length; pos++) {
    const value = hexValues[body[pos] as number] as number
    if (value === 255) return false
    bits |= value
  }
  return bits !== 0
}

function isZeroText(body: Uint8Array, start: number, length: number): boolean {
  for (let pos = start; pos < start + length; pos++) if (body[pos] !== 0x30) return false
  return true
}

/** An id as text, without escapes. Cut at 256 bytes: no valid id is that long. */
function idText(body: Uint8Array, start: number, length: number): string {
  const text = Buffer.from(body.buffer, body.byteOffset + start, Math.min(length, 256)).toString('utf8')
  if (length > 256 || !text.includes('\\')) return text
  return JSON.parse(`"${text}"`) as string
}

function stop(walk: Walk, problem: string, pos: number): -1 {
  walk.refusal = refusal('invalid_body', `the body is not an OTLP trace request in JSON: ${problem} at byte ${pos}`)
  return -1
}

function stopAtNodes(walk: Walk): -1 {
  walk.refusal = tooManyNodes(walk.limits, walk.table.count + 1)
  return -1
}
