import { type Json, type JsonObject, isJsonObject } from '#src/lib/json.ts'
import { createBareObject } from './bare-object.ts'
import { cutText } from './shared-attributes.ts'
import { markCuts, storableTime, takeAttribute, takeItem, type BagDraft, type Cutter } from './span-parts.ts'

/** An integer with more digits is not converted; 64 bits need 20. */
const digitsMax = 20

const nothing: JsonObject = Object.freeze(Object.create(null) as JsonObject)

export const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : nothing)
export const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : []

/** A text; a number becomes its digits, and anything else counts as absent. Lone surrogates become U+FFFD. */
function textOf(cutter: Cutter, value: Json | undefined): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'string') return ''
  const text = value.isWellFormed() ? value : value.toWellFormed()
  if (cutter.bytesLeft === Infinity) return text
  const kept = cutText(text, cutter.bytesLeft)
  if (kept.length < text.length) cutter.bytesCut = true
  cutter.bytesLeft = kept.length < text.length ? 0 : cutter.bytesLeft - kept.length
  return kept
}

export function namedTextOf(cutter: Cutter, value: Json | undefined, name: string): string {
  const text = textOf(cutter, value)
  markCuts(cutter, name)
  return text
}

/** A 64-bit integer given as a number or as digits: a number if that is exact, else a bigint; undefined for anything else. */
function integerOf(value: Json | undefined): number | bigint | undefined {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    return Number.isInteger(value) && Math.abs(value) < 2 ** 64 ? BigInt(value) : undefined
  }
  const text = typeof value === 'bigint' ? value.toString() : value
  if (typeof text !== 'string' || text.length > digitsMax || !/^-?\d+$/.test(text)) return undefined
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

export function countOf(value: Json | undefined): number {
  const count = Number(integerOf(value) ?? 0)
  return count >= 0 && count <= 0xffffffff ? count : 0
}

export function timeOf(cutter: Cutter, value: Json | undefined): bigint {
  const timeNs = BigInt(integerOf(value) ?? 0)
  return timeNs < 0n ? 0n : storableTime(cutter, timeNs)
}

/** An enum value, by number or by name without its prefix (`SPAN_KIND_SERVER`). */
export function enumOf<Name extends string>(names: readonly Name[], prefix: string, value: Json | undefined): Name {
  const number = integerOf(value)
  const [none] = names
  const found =
    number === undefined ? names.find((name) => value === `${prefix}${name.toUpperCase()}`) : names[Number(number)]
  return found ?? (none as Name)
}

/** A double. `NaN` and the infinities stay the texts of the proto3 JSON mapping; other texts become numbers if possible. */
function doubleOf(cutter: Cutter, value: Json): Json {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return null
  const number = value.trim() === '' ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : textOf(cutter, value)
}

function intOf(cutter: Cutter, value: Json): Json {
  return integerOf(value) ?? (typeof value === 'number' ? value : textOf(cutter, value))
}

/** Base64 in standard form with padding; the URL form is accepted too. */
function base64Of(cutter: Cutter, value: Json): string {
  return Buffer.from(textOf(cutter, value), 'base64').toString('base64')
}

type Reader = (cutter: Cutter, value: Json, depth: number) => Json
const readers: readonly Readonly<{ name: string; read: Reader }>[] = [
  { name: 'stringValue', read: textOf },
  { name: 'boolValue', read: (_cutter, value) => value === true || value === 'true' },
  { name: 'intValue', read: intOf },
  { name: 'doubleValue', read: doubleOf },
  { name: 'arrayValue', read: readList },
  { name: 'kvlistValue', read: readMap },
  { name: 'bytesValue', read: base64Of },
]

/** An AnyValue in JSON; levels below the deepest allowed are cut. */
function readValue(cutter: Cutter, value: Json | undefined, depth: number): Json {
  if (depth > cutter.limits.nestingDepthMax) {
    cutter.depthCut = true
    return null
  }
  if (!isJsonObject(value)) return null
  for (const { name, read } of readers) {
    const given = value[name]
    if (given !== undefined && given !== null) return read(cutter, given, depth)
  }
  return null
}

function readList(cutter: Cutter, value: Json, depth: number): Json {
  const list: Json[] = []
  for (const item of listOf(objectOf(value)['values'])) {
    if (takeItem(cutter)) list.push(readValue(cutter, item, depth + 1))
  }
  return list
}

function readMap(cutter: Cutter, value: Json, depth: number): Json {
  const map = createBareObject()
  for (const item of listOf(objectOf(value)['values'])) if (takeItem(cutter)) readKeyValue(cutter, item, map, depth)
  return map
}

/** A name is kept even if the record has no bytes left: otherwise its value could not be told from others. */
function keyOf(cutter: Cutter, value: Json | undefined): string {
  const left = cutter.bytesLeft
  cutter.bytesLeft = cutter.limits.recordBytesMax
  const key = textOf(cutter, value)
  cutter.bytesLeft = left - key.length
  return key
}

function readKeyValue(cutter: Cutter, item: Json, into: Record<string, Json>, depth: number): string {
  const { key: name, value } = objectOf(item)
  const key = keyOf(cutter, name)
  into[key] = readValue(cutter, value, depth + 1)
  return key
}

/** Reads the attributes of a record, up to the limit. Of equal names the last counts. */
export function readAttributes(cutter: Cutter, value: Json | undefined, bag: BagDraft): void {
  for (const item of listOf(value)) {
    if (takeAttribute(cutter, bag)) markCuts(cutter, `attribute ${readKeyValue(cutter, item, bag.attributes, 0)}`)
  }
}
