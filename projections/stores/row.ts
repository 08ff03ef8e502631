import { sentinel, wholePrefix, wholeToken } from '#src/events/tokens.ts'
import { clampInt64, int64Max, int64Min } from '#src/lib/int64.ts'
import { collectionsOf, timeOfRecordId, type Collection, type Entry, type Projection } from '../projection.ts'

/** What every store needs to know of a collection. Plain data, stored with the index for its readers. */
export type CollectionShape = Omit<Collection, 'belongsTo' | 'repeatsWithin' | 'searchable'>

export function shapeOf(collection: Collection<never>): CollectionShape {
  const { name, kind, lookbackDays, fields, countedBy, countedWhere, countedTogether } = collection
  return {
    name,
    kind,
    lookbackDays,
    fields,
    ...(countedBy === undefined ? {} : { countedBy }),
    ...(countedWhere === undefined ? {} : { countedWhere }),
    ...(countedTogether === undefined ? {} : { countedTogether }),
  }
}

/** A collection as a writer needs it. */
export type Written = Readonly<{ collection: Collection; shape: CollectionShape }>

/** The collections of a projection, by name. */
export const writtenOf = (projection: Projection): ReadonlyMap<string, Written> =>
  new Map(collectionsOf(projection).map((collection) => [collection.name, { collection, shape: shapeOf(collection) }]))

/** The collections of a build, by name. */
export type Shapes = Readonly<Record<string, CollectionShape>>

/** The searchable form of an entry, normalized so that all stores compare alike. */
export type Row = Readonly<{
  timeNs: bigint
  /** Within int64, without fraction. */
  numbers: ReadonlyMap<string, bigint>
  /** As the document has them: facets show these (countedValues). */
  keywords: ReadonlyMap<string, readonly string[]>
  ids: ReadonlyMap<string, readonly string[]>
  /** Tokens with single blanks between. */
  tokens: ReadonlyMap<string, string>
}>

/** The smallest int64 at or above a bound, or the greatest at or below it; undefined where there is none. */
function nearestInt64(bound: number | bigint, side: 'above' | 'below'): bigint | undefined {
  if (Number.isNaN(bound)) return undefined
  if (bound > int64Max) return side === 'below' ? int64Max : undefined
  if (bound < int64Min) return side === 'above' ? int64Min : undefined
  if (typeof bound === 'bigint') return bound
  return BigInt(side === 'above' ? Math.ceil(bound) : Math.floor(bound))
}

/** The int64s that lie between two bounds, inclusive where given; undefined where none do. */
export function int64sBetween(
  from: number | bigint | undefined,
  to: number | bigint | undefined,
): Readonly<{ least: bigint | undefined; most: bigint | undefined }> | undefined {
  const least = from === undefined ? undefined : nearestInt64(from, 'above')
  const most = to === undefined ? undefined : nearestInt64(to, 'below')
  if ((from !== undefined && least === undefined) || (to !== undefined && most === undefined)) return undefined
  return { least, most }
}

/** The integer that a number field holds; undefined for NaN and infinities. */
function integerOf(value: number | bigint): bigint | undefined {
  if (typeof value === 'bigint') return clampInt64(value)
  return Number.isFinite(value) ? clampInt64(BigInt(Math.trunc(value))) : undefined
}

// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]/

/** Replaces control characters by their pictures and lone surrogates by U+FFFD: engines must not get NUL or broken text. */
export function visible(text: string): string {
  if (!controls.test(text)) return text.toWellFormed()
  return text.toWellFormed().replace(new RegExp(controls, 'g'), (character) => {
    const code = character.charCodeAt(0)
    return code === 0x7f ? '\u2421' : String.fromCharCode(0x2400 + code)
  })
}

/** The term by which a value of a keyword field is found: the whole value, case folded, as one token. */
export const keywordTerm = wholeToken
/** The prefix of the terms of values with a prefix. */
export const keywordTermPrefix = wholePrefix

/** The tokens of a `tokens` field; several values are separated by the sentinel. */
const tokenText = (value: string | readonly string[]): string =>
  typeof value === 'string' ? value : value.filter((text) => text !== '').join(` ${sentinel} `)

type FieldValue = string | readonly string[] | number | bigint

function numberValue(name: string, value: FieldValue): bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return integerOf(value)
  throw new Error(`${name} is a number field and cannot hold text`)
}

function textValue(name: string, value: FieldValue): string | readonly string[] {
  if (typeof value !== 'number' && typeof value !== 'bigint') return value
  throw new Error(`${name} is a text field and cannot hold a number`)
}

/** A longer keyword is counted by its beginning, because engines bound what they sort and count by. */
const countedCharactersMax = 8_000
/** Whether a value is counted under itself. */
export const isCountedWhole = (value: string): boolean => value.length <= countedCharactersMax

const counted = (value: string): string =>
  isCountedWhole(value) ? value : `${value.slice(0, countedCharactersMax).toWellFormed()}…`

/** The values of a keyword field as histograms and facets count and show them. Searches still find them whole. */
export const countedValues = (values: readonly string[]): readonly string[] =>
  values.every(isCountedWhole) ? values : [...new Set(values.map(counted))]

/** The distinct values of a keyword field. */
function valuesOf(value: string | readonly string[]): readonly string[] {
  if (typeof value === 'string') return [value.toWellFormed()]
  return [...new Set(value)].map((text) => text.toWellFormed())
}

/**
 * The indexed form of an entry. Throws on a value that its field cannot hold: a defect of the projection. A record's time is the one its id begins with,
 * because it is found by that: `recordTime`, where it is known.
 */
export function rowOf(
  shape: CollectionShape,
  collection: Collection,
  entry: Entry,
  recordTime = shape.kind === 'record' ? timeOfRecordId(entry.id) : undefined,
): Row {
  const { timeNs, fields } = collection.searchable(entry.document)
  const numbers = new Map<string, bigint>()
  const keywords = new Map<string, readonly string[]>()
  const ids = new Map<string, readonly string[]>()
  const tokens = new Map<string, string>()
  for (const field in shape.fields) {
    const value = fields[field]
    if (value === undefined) continue
    const kind = shape.fields[field]
    if (kind === 'tokens') tokens.set(field, tokenText(textValue(field, value)))
    else if (kind === 'keyword') keywords.set(field, valuesOf(textValue(field, value)))
    else if (kind === 'id') ids.set(field, valuesOf(textValue(field, value)))
    else {
      const integer = numberValue(field, value)
      if (integer !== undefined) numbers.set(field, integer)
    }
  }
  return { timeNs: recordTime ?? clampInt64(timeNs), numbers, keywords, ids, tokens }
}
