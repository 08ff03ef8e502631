import protobuf from 'protobufjs/minimal.js'
import { assert } from '#src/lib/assert.ts'
import type { Json } from '#src/lib/json.ts'
import { createBareObject } from './bare-object.ts'
import {
  createCutter,
  markCuts,
  storableTime,
  takeAttribute,
  takeItem,
  type BagDraft,
  type Cutter,
  type DecodeLimits,
} from './span-parts.ts'
import { textOf } from './string-cache.ts'

/** A reader over one request, and what was cut of the record being read. */
export type WireState = Readonly<{ reader: protobuf.Reader; body: Buffer; view: DataView; cutter: Cutter }>

export function createWireState(bytes: Uint8Array, limits: DecodeLimits): WireState {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    reader: new protobuf.Reader(body),
    body,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    cutter: createCutter(limits),
  }
}

/** Reads a field into a draft; the reader is just after the field's tag. */
type FieldReader<Draft> = (state: WireState, draft: Draft) => void
/** By tag (field number × 8 + wire type). */
export type FieldReaders<Draft> = readonly (FieldReader<Draft> | undefined)[]

export type FieldsOf<Draft> = Readonly<Record<number, FieldReader<Draft>>>

export function fieldReaders<Draft>(of: FieldsOf<Draft>): FieldReaders<Draft> {
  const tagMax = Math.max(...Object.keys(of).map(Number))
  return Array.from({ length: tagMax + 1 }, (_none, tag) => of[tag])
}

/** Reads a message up to `end` into a draft; fields without a reader are stepped over. */
export function readMessage<Draft>(state: WireState, fields: FieldReaders<Draft>, draft: Draft, end: number): void {
  const { reader } = state
  while (reader.pos < end) {
    const tag = reader.tag()
    const read = fields[tag]
    if (read === undefined) reader.skipType(tag & 7, 0, tag >>> 3)
    else read(state, draft)
  }
  assert(reader.pos === end, 'an OTLP body is scanned before it is decoded')
}

/** Reads a length, and returns where the field ends. */
export function fieldEnd({ reader }: WireState): number {
  const length = reader.size()
  return reader.pos + length
}

/** Bytes left for texts. A long name may take more than is left; then nothing is. */
const bytesLeft = ({ bytesLeft: left }: Cutter): number => Math.max(0, left)

/** A UTF-8 text, read leniently and cut if the record has no bytes left. */
function readText(state: WireState): string {
  const { reader, body, cutter } = state
  const end = fieldEnd(state)
  const start = reader.pos
  reader.pos = end
  if (cutter.bytesLeft === Infinity) return textOf(body, start, end)
  let keptEnd = Math.min(end, start + bytesLeft(cutter))
  if (keptEnd < end) {
    cutter.bytesCut = true
    while (keptEnd > start && ((body[keptEnd] as number) & 0xc0) === 0x80) keptEnd--
  }
  cutter.bytesLeft = keptEnd < end ? 0 : cutter.bytesLeft - (end - start)
  return textOf(body, start, keptEnd)
}

/** The text of a named field; the name is in the note if the text is cut. */
export function readNamedText(state: WireState, name: string): string {
  const text = readText(state)
  markCuts(state.cutter, name)
  return text
}

/** A time in nanoseconds since the Unix epoch (fixed64). */
export function readTime({ reader, view, cutter }: WireState): bigint {
  const timeNs = view.getBigUint64(reader.pos, true)
  reader.pos += 8
  return storableTime(cutter, timeNs)
}

/** An int64: a number if that is exact, else a bigint. */
function readInteger({ reader, body }: WireState): number | bigint {
  let low = 0
  let middle = 0
  let high = 0
  for (let index = 0; ; index++) {
    const byte = body[reader.pos++] as number
    const bits = byte & 0x7f
    if (index < 4) low += bits * 2 ** (index * 7)
    else if (index < 8) middle += bits * 2 ** (index * 7 - 28)
    else high += bits * 2 ** (index * 7 - 56)
    if (byte < 0x80) break
  }
  const small = low + middle * 2 ** 28
  if (high === 0 && small <= Number.MAX_SAFE_INTEGER) return small
  const exact = BigInt.asIntN(64, BigInt(low) + (BigInt(middle) << 28n) + (BigInt(high) << 56n))
  const number = Number(exact)
  return Number.isSafeInteger(number) ? number : exact
}

/** A double; NaN and the infinities become their texts in the proto3 JSON mapping. */
function readDouble({ reader, view }: WireState): number | string {
  const value = view.getFloat64(reader.pos, true)
  reader.pos += 8
  return Number.isFinite(value) ? value : String(value)
}

function readBase64(state: WireState): string {
  const { reader, body, cutter } = state
  const end = fieldEnd(state)
  const kept = Math.min(end - reader.pos, bytesLeft(cutter))
  const text = body.toString('base64', reader.pos, reader.pos + kept)
  if (reader.pos + kept < end) cutter.bytesCut = true
  cutter.bytesLeft -= kept
  reader.pos = end
  return text
}

/** An id of 8 or 16 bytes as hex digits, left-padded to `digits`; '' when it is missing, all zero or of another length. */
export function readId(state: WireState, digits: 16 | 32): string {
  const { reader, body } = state
  const end = fieldEnd(state)
  const start = reader.pos
  reader.pos = end
  if (end - start !== 8 && (end - start) * 2 !== digits) return ''
  const text = body.toString('hex', start, end)
  return /^0+$/.test(text) ? '' : text.padStart(digits, '0')
}

/** An AnyValue. Of several values the last counts, but several lists or maps in a row are joined, as protobuf merges messages. */
function readValue(state: WireState, end: number, depth: number, before: Json): Json {
  const { reader } = state
  let value = before
  while (reader.pos < end) {
    const tag = reader.tag()
    switch (tag) {
      case 10:
        value = readText(state)
        break
      case 16:
        value = reader.bool()
        break
      case 24:
        value = readInteger(state)
        break
      case 33:
        value = readDouble(state)
        break
      case 42:
        value = readList(state, fieldEnd(state), depth, Array.isArray(value) ? (value as Json[]) : [])
        break
      case 50:
        value = readMap(state, fieldEnd(state), depth, value)
        break
      case 58:
        value = readBase64(state)
        break
      default:
        reader.skipType(tag & 7, 0, tag >>> 3)
    }
  }
  return value
}

/** A value one level down; levels below the deepest allowed are cut. */
function readInnerValue(state: WireState, depth: number, before: Json): Json {
  const { reader, cutter } = state
  const end = fieldEnd(state)
  if (depth <= cutter.limits.nestingDepthMax) return readValue(state, end, depth, before)
  cutter.depthCut = true
  reader.pos = end
  return null
}

function readList(state: WireState, end: number, depth: number, list: Json[]): Json {
  const { reader } = state
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag !== 10) reader.skipType(tag & 7, 0, tag >>> 3)
    else if (takeItem(state.cutter)) list.push(readInnerValue(state, depth + 1, null))
    else reader.pos = fieldEnd(state)
  }
  return list
}

function readMap(state: WireState, end: number, depth: number, before: Json): Json {
  const { reader } = state
  const merges = typeof before === 'object' && before !== null && !Array.isArray(before)
  const map = merges ? (before as Record<string, Json>) : createBareObject()
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag !== 10) reader.skipType(tag & 7, 0, tag >>> 3)
    else if (takeItem(state.cutter)) readKeyValue(state, map, depth)
    else reader.pos = fieldEnd(state)
  }
  return map
}

/** A name is kept even if the record has no bytes left: otherwise its value could not be told from others. */
function readKey(state: WireState): string {
  const { cutter } = state
  const left = cutter.bytesLeft
  if (left === Infinity) return readText(state)
  cutter.bytesLeft = cutter.limits.recordBytesMax
  const key = readText(state)
  cutter.bytesLeft = left - key.length
  return key
}

/** Reads a KeyValue into a map that inherits no names. A later value of the same key replaces the earlier. */
function readKeyValue(state: WireState, into: Record<string, Json>, depth: number): string {
  const { reader } = state
  const end = fieldEnd(state)
  let key = ''
  let value: Json = null
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag === 10) key = readKey(state)
    else if (tag === 18) value = readInnerValue(state, depth + 1, value)
    else reader.skipType(tag & 7, 0, tag >>> 3)
  }
  into[key] = value
  return key
}

/** Reads an attribute of a record, or skips it beyond the limit. */
export function readAttribute(state: WireState, bag: BagDraft): void {
  const { reader, cutter } = state
  if (!takeAttribute(cutter, bag)) {
    reader.pos = fieldEnd(state)
    return
  }
  const key = readKeyValue(state, bag.attributes, 0)
  markCuts(cutter, `attribute ${key}`)
}
