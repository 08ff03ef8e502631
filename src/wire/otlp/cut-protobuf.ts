import { assert } from '#src/lib/assert.ts'
import { librarySpansField } from './protobuf-schema.ts'

type Chunks = { readonly parts: Uint8Array[]; size: number }
type Keep = (index: number) => boolean
/** State of the walk: the body, and the number of the next span. */
type Cut = { readonly body: Uint8Array; readonly keep: Keep; index: number }
type Field = { number: number; wireType: number; start: number; contentStart: number; end: number }

/**
 * The request with the kept spans only. Walks the three outer messages of a scanned body. Copies spans and everything beside them as bytes, and
 * writes the lengths around them anew.
 */
export function cutProtobuf(body: Uint8Array, keep: Keep): Uint8Array {
  const cut: Cut = { body, keep, index: 0 }
  const out: Chunks = { parts: [], size: 0 }
  eachField(body, 0, body.length, (field) => {
    if (field.number === 1 && field.wireType === 2) cutGroup(cut, field, out, cutResourceSpans)
    else push(out, body.subarray(field.start, field.end))
  })
  const bytes = new Uint8Array(out.size)
  let pos = 0
  for (const part of out.parts) {
    bytes.set(part, pos)
    pos += part.length
  }
  return bytes
}

/** Copies the content of a message that holds spans, and returns how many of them are kept. */
type CutContent = (cut: Cut, field: Field, out: Chunks) => number

/** Copies a message that holds spans by `inner`, with a new length, or drops it if no span is kept. Returns how many are kept. */
function cutGroup(cut: Cut, field: Field, out: Chunks, inner: CutContent): number {
  const content: Chunks = { parts: [], size: 0 }
  const kept = inner(cut, field, content)
  if (kept === 0) return 0
  push(out, Uint8Array.from([...varint((field.number << 3) | 2), ...varint(content.size)]))
  for (const part of content.parts) push(out, part)
  return kept
}

function cutResourceSpans(cut: Cut, group: Field, out: Chunks): number {
  let kept = 0
  eachField(cut.body, group.contentStart, group.end, (field) => {
    const spans = field.wireType === 2 && (field.number === 2 || field.number === librarySpansField)
    if (spans) kept += cutGroup(cut, field, out, cutScopeSpans)
    else push(out, cut.body.subarray(field.start, field.end))
  })
  return kept
}

function cutScopeSpans(cut: Cut, group: Field, out: Chunks): number {
  let kept = 0
  eachField(cut.body, group.contentStart, group.end, (field) => {
    if (field.number === 2 && field.wireType === 2) {
      if (!cut.keep(cut.index++)) return
      kept++
    }
    push(out, cut.body.subarray(field.start, field.end))
  })
  return kept
}

function push(out: Chunks, part: Uint8Array): void {
  out.parts.push(part)
  out.size += part.length
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return [...bytes, rest]
}

/** Calls back for each field, in order, of a message that the scanner has accepted. */
function eachField(body: Uint8Array, start: number, end: number, each: (field: Field) => void): void {
  let pos = start
  while (pos < end) {
    const [tag, next] = readVarint(body, pos)
    const wireType = tag & 7
    const fieldEnd = endOfField(body, tag, next)
    const contentStart = wireType === 2 ? readVarint(body, next)[1] : next
    each({ number: tag >>> 3, wireType, start: pos, contentStart, end: fieldEnd })
    pos = fieldEnd
  }
  assert(pos === end, 'a body that is cut was scanned before')
}

function readVarint(body: Uint8Array, start: number): readonly [value: number, end: number] {
  let value = 0
  let pos = start
  for (let shift = 0; pos < body.length; shift += 7) {
    const byte = body[pos++] as number
    value = (value | ((byte & 0x7f) << shift)) >>> 0
    if (byte < 0x80) break
  }
  return [value, pos]
}

function endOfField(body: Uint8Array, tag: number, start: number): number {
  switch (tag & 7) {
    case 0:
      return readVarint(body, start)[1]
    case 1:
      return start + 8
    case 5:
      return start + 4
    case 2: {
      const [length, contentStart] = readVarint(body, start)
      return contentStart + length
    }
    default:
      return endOfGroup(body, start)
  }
}

function endOfGroup(body: Uint8Array, start: number): number {
  let pos = start
  while (pos < body.length) {
    const [tag, next] = readVarint(body, pos)
    if ((tag & 7) === 4) return next
    pos = endOfField(body, tag, next)
  }
  return pos
}
