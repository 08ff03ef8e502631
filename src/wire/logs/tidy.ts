import { isJsonObject, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Limits } from '#src/config.ts'

export type TidyLimits = Pick<Limits, 'nestingDepthMax' | 'attributesPerRecordMax' | 'recordBytesMax'>

/** Fields that can be stored and searched, and in words what was changed to make them so. */
type Tidy = Readonly<{
  fields: JsonObject
  cuts: readonly string[]
  /** Cuts a text to the same length as the texts of the record. */
  text: (text: string) => string
}>

type Findings = { keys: number; characters: number; illFormed: boolean; deep: boolean }

const asIs = (text: string): string => text.toWellFormed()

/**
 * Makes a record storable: strings well formed (no lone surrogates), nesting, number of fields and size within limits.
 * Nearly every record is fine and comes back as the same object.
 */
export function tidyFields(fields: JsonObject, limits: TidyLimits): Tidy {
  const found: Findings = { keys: 0, characters: 0, illFormed: false, deep: false }
  inspect(fields, 1, limits.nestingDepthMax, found)
  const copied =
    found.illFormed || found.deep || found.keys > limits.attributesPerRecordMax
      ? copyFields(fields, limits)
      : { fields, cuts: [] }
  // A character takes at most six bytes of JSON (an escape).
  if (found.characters * 6 <= limits.recordBytesMax) return { ...copied, text: asIs }
  const size = jsonBytes(copied.fields)
  if (size > limits.recordBytesMax) return shrink(copied, size, limits.recordBytesMax)
  // The record's message may come from a field that was left out, so it is cut too.
  return { ...copied, text: cutter(limits.recordBytesMax) }
}

function inspect(value: Json, depth: number, depthMax: number, found: Findings): void {
  if (typeof value === 'string') {
    found.characters += value.length + 2
    if (!value.isWellFormed()) found.illFormed = true
  } else if (typeof value !== 'object' || value === null) found.characters += 8
  else if (depth > depthMax) found.deep = true
  else if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) inspect(item, depth + 1, depthMax, found)
  } else {
    for (const key of Object.keys(value)) {
      found.keys++
      found.characters += key.length + 4
      if (!key.isWellFormed()) found.illFormed = true
      inspect((value as JsonObject)[key] as Json, depth + 1, depthMax, found)
    }
  }
}

const jsonBytes = (value: Json): number => Buffer.byteLength(stringifyJson(value))

type Copied = Readonly<{ fields: JsonObject; cuts: readonly string[] }>

/** The names inside a name. A tree, because joined names would cost their whole length at each look-up. */
type NameTree = Map<string, NameTree>

/**
 * A copy within the limits. Fields are counted by their dotted names, an outer level before the ones inside it; the items of
 * an array share their names.
 */
function copyFields(fields: JsonObject, limits: TidyLimits): Copied {
  let admitted = 0
  let left = 0
  let same = 0
  let deep = false
  const admit = (names: NameTree, key: string): boolean => {
    if (names.has(key)) return true
    if (admitted >= limits.attributesPerRecordMax) return false
    admitted++
    names.set(key, new Map())
    return true
  }
  const copy = (value: Json, depth: number, names: NameTree): Json => {
    if (typeof value === 'string') return value.toWellFormed()
    if (typeof value !== 'object' || value === null) return value
    if (depth > limits.nestingDepthMax) {
      deep = true
      return `…[cut at depth ${limits.nestingDepthMax}]`
    }
    if (!isJsonObject(value)) return value.map((item) => copy(item, depth + 1, names))
    const made = Object.create(null) as Record<string, Json>
    const keys = Object.keys(value)
    const kept = keys.filter((key) => admit(names, key))
    left += keys.length - kept.length
    for (const key of kept) {
      const name = key.toWellFormed()
      if (name in made) same++
      made[name] = copy(value[key] as Json, depth + 1, names.get(key) ?? new Map())
    }
    return made
  }
  const made = copy(fields, 1, new Map()) as JsonObject
  const cuts: string[] = []
  if (deep) cuts.push(`fields cut at depth ${limits.nestingDepthMax}`)
  if (left > 0) cuts.push(`${left} fields beyond ${limits.attributesPerRecordMax} left out`)
  if (same > 0) cuts.push(`${same} fields left out whose names are the same when well formed`)
  return { fields: made, cuts }
}

/** Cuts the longest texts to one length at which the record fits. If texts are not the cause, leaves fields out. */
function shrink({ fields, cuts }: Copied, size: number, bytesMax: number): Tidy {
  const lengths: number[] = []
  collectLengths(fields, lengths)
  lengths.sort((a, b) => b - a)
  const text = cutter(lengthToFit(lengths, size - bytesMax))
  const shorter = mapTexts(fields, text) as JsonObject
  const note = `${size} bytes cut to ${bytesMax}`
  let rest = jsonBytes(shorter)
  if (rest <= bytesMax) return { fields: shorter, cuts: [...cuts, note], text }
  const kept = Object.create(null) as Record<string, Json>
  const bySize = Object.keys(shorter).map((key) => ({ key, bytes: jsonBytes({ [key]: shorter[key] as Json }) }))
  const dropped = new Set<string>()
  for (const { key, bytes } of bySize.sort((a, b) => b.bytes - a.bytes)) {
    if (rest <= bytesMax) break
    rest -= bytes - 1
    dropped.add(key)
  }
  for (const key of Object.keys(shorter)) if (!dropped.has(key)) kept[key] = shorter[key] as Json
  return { fields: kept, cuts: [...cuts, note, `${dropped.size} fields left out for their size`], text }
}

/** Collects the length of each text in bytes of JSON. */
function collectLengths(value: Json, lengths: number[]): void {
  if (typeof value === 'string') lengths.push(jsonBytes(value))
  else if (Array.isArray(value)) for (const item of value as readonly Json[]) collectLengths(item, lengths)
  else if (isJsonObject(value)) for (const key of Object.keys(value)) collectLengths(value[key] as Json, lengths)
}

/** Room for the marker of a cut text, bytes. At least `keptBytesMin` of the text itself are kept. */
const markerBytes = 40
const keptBytesMin = 256

/** The length, in bytes of JSON, to which the longest texts must be cut to save `excess` bytes. `lengths` is sorted, longest first. */
function lengthToFit(lengths: readonly number[], excess: number): number {
  let together = 0
  for (const [index, length] of lengths.entries()) {
    together += length
    const level = Math.floor((together - excess) / (index + 1)) - markerBytes
    if (level >= (lengths[index + 1] ?? 0)) return Math.max(level, keptBytesMin)
  }
  return keptBytesMin
}

/**
 * Cuts texts whose JSON is longer than `bytesMax`, and marks them with the number of bytes removed. Never splits a surrogate pair: half of one takes
 * more bytes of JSON (an escape) than the whole.
 */
function cutter(bytesMax: number): (text: string) => string {
  return (text) => {
    const whole = text.toWellFormed()
    if (whole.length * 6 <= bytesMax || jsonBytes(whole) <= bytesMax + markerBytes) return whole
    let low = 0
    let high = Math.min(whole.length, bytesMax)
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (jsonBytes(whole.slice(0, middle)) <= bytesMax) low = middle
      else high = middle - 1
    }
    const kept = whole.slice(0, low)
    return `${kept}…[cut ${Buffer.byteLength(whole) - Buffer.byteLength(kept)} bytes]`
  }
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  if (!isJsonObject(value)) return value.map((item) => mapTexts(item, change))
  const made = Object.create(null) as Record<string, Json>
  for (const key of Object.keys(value)) made[key] = mapTexts(value[key] as Json, change)
  return made
}
