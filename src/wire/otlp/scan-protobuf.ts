import { type Refusal, refusal } from '#src/events/refusal.ts'
import { type Result, fail, ok } from '#src/lib/result.ts'
import { cutProtobuf } from './cut-protobuf.ts'
import { actions, actionTable, depthTable, librarySpansField, nodeTable, unknownByWireType } from './protobuf-schema.ts'
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

/** OTLP has no groups. Unknown ones are stepped over, up to this depth. */
const groupDepthMax = 32
/** The most messages of any kind per node: limits what repeated singular fields can make the decoder do. */
const messagesPerNode = 4

type Walk = IdPlaces & {
  readonly body: Uint8Array
  readonly table: SpanTable
  readonly limits: ScanLimits
  readonly nodesMax: number
  readonly depthMax: number
  nodes: number
  messages: number
  /** The varint read last. */
  value: number
  refusal: Refusal | undefined
}

/** Scans protobuf bytes. Looks at every field header once, in a loop over a table, so that a header costs a few nanoseconds. */
export function scanProtobuf(bytes: Uint8Array, limits: ScanLimits): Result<SpanScan, Refusal> {
  // A plain view keeps the loop monomorphic, also if a Buffer is given.
  const body = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const table = createSpanTable()
  const walk: Walk = {
    body,
    table,
    limits,
    nodesMax: limits.nodesPerRequestMax,
    depthMax: limits.nestingDepthMax,
    nodes: 0,
    messages: 0,
    traceStart: -1,
    traceLength: 0,
    spanStart: -1,
    spanLength: 0,
    value: 0,
    refusal: undefined,
  }
  if (!walkMessage(walk, actions.request, 0, body.length, 0)) {
    return fail(walk.refusal ?? refusal('invalid_body', 'the body is not an OTLP trace request'))
  }
  const hexOf = (start: number, length: number, digits: number): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.min(length, digits))
      .toString('hex')
      .padStart(length === 8 ? digits : 0, '0')
  return ok(createSpanScan({ table, hexOf, cut: (keep) => cutProtobuf(body, keep) }))
}

function walkMessage(walk: Walk, message: number, start: number, end: number, depth: number): boolean {
  const { body } = walk
  let pos = start
  while (pos < end) {
    let tag = body[pos++] as number
    if (tag > 0x7f) {
      pos = readVarint32(walk, pos - 1, end, 0x0f)
      if (pos < 0) return false
      tag = walk.value
    }
    const action = tag < 256 ? (actionTable[message * 256 + tag] as number) : actionOfWideTag(message, tag)
    pos = action < actions.length ? skipScalar(walk, action, tag, pos, end) : walkField(walk, action, pos, end, depth)
    if (pos < 0) return false
  }
  return true
}

/** Steps over a length-delimited field whose length is at `start`, or enters it if it is a known message. Returns its end, or -1. */
function walkField(walk: Walk, action: number, start: number, end: number, depth: number): number {
  let pos = start + 1
  let length = start < end ? (walk.body[start] as number) : 0xff
  if (length > 0x7f) {
    pos = readVarint32(walk, start, end, 0x07)
    if (pos < 0) return -1
    length = walk.value
  }
  if (length > end - pos) return stop(walk, 'cut short', pos)
  if (action > actions.length && !enter(walk, action, pos, pos + length, depth)) return -1
  return pos + length
}

function enter(walk: Walk, action: number, start: number, end: number, depth: number): boolean {
  if (action === actions.traceId) {
    walk.traceStart = start
    walk.traceLength = end - start
    return true
  }
  if (action === actions.spanId) {
    walk.spanStart = start
    walk.spanLength = end - start
    return true
  }
  walk.nodes += nodeTable[action] as number
  if (walk.nodes > walk.nodesMax || ++walk.messages > walk.nodesMax * messagesPerNode) return refuseNodes(walk)
  if (action === actions.span) return enterSpan(walk, start, end)
  if (action === actions.keyValue && depth === 0 && isPlainAttribute(walk.body, start, end)) return true
  const inner = depth + (depthTable[action] as number)
  // Deeper values are never decoded (decode.ts cuts at the same level), so their content does not matter.
  return inner > walk.depthMax || walkMessage(walk, action, start, end, inner)
}

/**
 * True for a usual attribute: a short key, then a short text, a number or a boolean, and nothing else. Attributes are most of a request, so these are
 * recognised at once; anything else is scanned in the general way.
 */
function isPlainAttribute(body: Uint8Array, start: number, end: number): boolean {
  const keyLength = body[start + 1] as number
  const at = start + 2 + keyLength
  if (at + 3 >= end || body[start] !== 0x0a || keyLength > 0x7f || body[at] !== 0x12) return false
  const length = body[at + 1] as number
  return length < 0x80 && at + 2 + length === end && isPlainValue(body, at + 2, length)
}

function isPlainValue(body: Uint8Array, start: number, length: number): boolean {
  switch (body[start] as number) {
    case 0x0a:
      return body[start + 1] === length - 2
    case 0x10:
    case 0x18:
      return length <= 10 && isVarint(body, start + 1, start + length - 1)
    case 0x21:
      return length === 9
    default:
      return false
  }
}

/** True when the varint at `start` has its last byte at `last`. */
function isVarint(body: Uint8Array, start: number, last: number): boolean {
  for (let pos = start; pos < last; pos++) if ((body[pos] as number) < 0x80) return false
  return (body[last] as number) < 0x80
}

function enterSpan(walk: Walk, start: number, end: number): boolean {
  const { limits, table } = walk
  if (table.count === limits.recordsPerBatchMax) {
    walk.refusal = tooManySpans(limits, table.count + 1)
    return false
  }
  walk.traceStart = -1
  walk.spanStart = -1
  if (!walkMessage(walk, actions.span, start, end, 0)) return false
  addSpan(table, start, end, walk, faultOf(walk))
  return true
}

function faultOf({ body, traceStart, traceLength, spanStart, spanLength }: Walk): number {
  if (traceStart < 0 || traceLength === 0) return faults.traceIdMissing
  if (traceLength !== 16 && traceLength !== 8) return faults.traceIdMalformed
  if (isZero(body, traceStart, traceLength)) return faults.traceIdZero
  if (spanStart < 0 || spanLength === 0) return faults.spanIdMissing
  if (spanLength !== 8) return faults.spanIdMalformed
  return isZero(body, spanStart, spanLength) ? faults.spanIdZero : faults.none
}

function isZero(body: Uint8Array, start: number, length: number): boolean {
  for (let pos = start; pos < start + length; pos++) if (body[pos] !== 0) return false
  return true
}

function actionOfWideTag(message: number, tag: number): number {
  const unknown = unknownByWireType[tag & 7] as number
  if (tag >>> 3 !== librarySpansField || message !== actions.resourceSpans) return unknown
  return unknown === actions.length ? actions.scopeSpans : actions.mismatch
}

/** Steps over a field that is not length-delimited; -1 when it is malformed. */
function skipScalar(walk: Walk, action: number, tag: number, pos: number, end: number): number {
  switch (action) {
    case actions.varint:
      return skipVarint(walk, pos, end)
    case actions.fixed64:
      return pos + 8 <= end ? pos + 8 : stop(walk, 'cut short', pos)
    case actions.fixed32:
      return pos + 4 <= end ? pos + 4 : stop(walk, 'cut short', pos)
    case actions.group:
      return skipGroup(walk, tag >>> 3, pos, end, 0)
    case actions.mismatch:
      return stop(walk, `field ${tag >>> 3} has wire type ${tag & 7}, which is not its own`, pos)
    default:
      return stop(walk, `field ${tag >>> 3} has wire type ${tag & 7}, which cannot be`, pos)
  }
}

function skipVarint(walk: Walk, start: number, end: number): number {
  const { body } = walk
  const last = Math.min(end, start + 10)
  for (let pos = start; pos < last; pos++) {
    const byte = body[pos] as number
    if (byte < 0x80) return pos - start === 9 && byte > 1 ? stop(walk, 'a varint is too long', start) : pos + 1
  }
  return stop(walk, last === end ? 'cut short' : 'a varint is too long', start)
}

/** Reads a tag or a length into `walk.value`; `lastMax` is the largest allowed fifth byte. Returns where it ends, or -1. */
function readVarint32(walk: Walk, start: number, end: number, lastMax: number): number {
  const { body } = walk
  let value = 0
  for (let shift = 0, pos = start; shift < 35; shift += 7, pos++) {
    if (pos >= end) return stop(walk, 'cut short', start)
    const byte = body[pos] as number
    if (shift === 28 && byte > lastMax) return stop(walk, 'a varint is too long', start)
    value = (value | ((byte & 0x7f) << shift)) >>> 0
    if (byte < 0x80) {
      walk.value = value
      return pos + 1
    }
  }
  return stop(walk, 'a varint is too long', start)
}

function skipGroup(walk: Walk, field: number, start: number, end: number, depth: number): number {
  if (depth > groupDepthMax) return stop(walk, 'groups are nested too deep', start)
  let pos = start
  while (pos < end) {
    const at = pos
    pos = readVarint32(walk, pos, end, 0x0f)
    if (pos < 0) return -1
    const tag = walk.value
    if ((tag & 7) === 4) return tag >>> 3 === field ? pos : stop(walk, 'a group ends that did not begin', at)
    const action = tag >>> 3 === 0 ? actions.malformed : (unknownByWireType[tag & 7] as number)
    if (action === actions.length) {
      pos = readVarint32(walk, pos, end, 0x07)
      if (pos < 0) return -1
      pos = walk.value > end - pos ? stop(walk, 'cut short', at) : pos + walk.value
    } else if (action === actions.group) {
      pos = skipGroup(walk, tag >>> 3, pos, end, depth + 1)
    } else {
      pos = skipScalar(walk, action, tag, pos, end)
    }
    if (pos < 0) return -1
  }
  return stop(walk, 'a group does not end', start)
}

function stop(walk: Walk, problem: string, pos: number): -1 {
  const hint = walk.body[0] === 0x7b ? ' (it looks like JSON, which is sent as application/json)' : ''
  const detail = `the body is not an OTLP trace request in protobuf: ${problem} at byte ${pos}${hint}`
  walk.refusal = refusal('invalid_body', detail)
  return -1
}

function refuseNodes(walk: Walk): false {
  walk.refusal = tooManyNodes(walk.limits, walk.table.count + 1)
  return false
}
