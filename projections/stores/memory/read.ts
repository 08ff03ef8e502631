import type { Position } from '#src/events/envelope.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { floorTo } from '#src/lib/int64.ts'
import { TooBroadError, type Bucket, type Facet, type Hit, type IndexQuery, type Selection } from '../../index-store.ts'
import type { Entry } from '../../projection.ts'
import { compareSort } from '../order.ts'
import { patternsOf, type PatternFilter } from '../pattern.ts'
import { createCounter, topValues } from '../counts.ts'
import { createSizedHits } from '../within-size.ts'
import { countedValues, type Row } from '../row.ts'
import { match, tokenTest } from './match.ts'

/** An entry with what is indexed of it. */
export type StoredEntry = Readonly<{ entry: Entry; row: Row }>

/** As `patternExpansionsMax` of config.ts. */
const expansionsMax = 1_000

/** In each day that holds a record within the range of time, a pattern may meet so many words. */
export function refuseTooBroad(selection: Selection, entries: readonly StoredEntry[]): void {
  const patterns = patternsOf(selection.filter)
  for (const ofDay of Map.groupBy(entries, ({ entry }) => entry.day).values()) {
    if (!ofDay.some((stored) => isInRange(selection, stored))) continue
    for (const pattern of patterns) refuseTooMany(pattern, ofDay)
  }
}

function refuseTooMany(pattern: PatternFilter, entries: readonly StoredEntry[]): void {
  const test = tokenTest(pattern)
  const met = new Set<string>()
  for (const { row } of entries) {
    for (const field of pattern.fields) {
      for (const token of (row.tokens.get(field) ?? '').split(' ')) if (token !== '' && test(token)) met.add(token)
    }
  }
  if (met.size > expansionsMax) throw new TooBroadError(`the pattern meets more than ${expansionsMax} words of a day`)
}

const isInRange = ({ fromNs, toNs }: Selection, { row: { timeNs } }: StoredEntry): boolean =>
  (fromNs === undefined || timeNs >= fromNs) && (toNs === undefined || timeNs < toNs)

export function isSelected(selection: Selection, stored: StoredEntry): boolean {
  const { entry, row } = stored
  const { upTo, since } = selection
  if (!isInRange(selection, stored)) return false
  if (upTo !== undefined && entry.position > upTo) return false
  if (since !== undefined && entry.position <= since) return false
  return match(selection.filter, row)
}

function sortValue(orderBy: string, position: Position, row: Row): bigint | undefined {
  if (orderBy === 'timeNs') return row.timeNs
  return orderBy === 'position' ? BigInt(position) : row.numbers.get(orderBy)
}

/** A hit; undefined if the entry has no value to be ordered by. */
export function hitOf<D extends object>({ entry, row }: StoredEntry, orderBy: string): Hit<D> | undefined {
  const value = sortValue(orderBy, entry.position, row)
  if (value === undefined) return undefined
  const { id, day, position } = entry
  return { id, day, timeNs: row.timeNs, position, sort: { value, id }, document: entry.document as D }
}

export function searchIn<D extends object>(entries: readonly StoredEntry[], query: IndexQuery): readonly Hit<D>[] {
  const { orderBy, direction, after, limit, charactersMax } = query
  const sign = direction === 'asc' ? 1 : -1
  const hits: Hit<D>[] = []
  for (const stored of entries) {
    const hit = isSelected(query, stored) ? hitOf<D>(stored, orderBy) : undefined
    if (hit !== undefined && (after === undefined || sign * compareSort(hit.sort, after) > 0)) hits.push(hit)
  }
  hits.sort((a, b) => sign * compareSort(a.sort, b.sort) || b.position - a.position)
  const found = hits
    .filter((hit, index) => index === 0 || compareSort(hit.sort, hits[index - 1]?.sort ?? hit.sort) !== 0)
    .slice(0, limit)
  const sized = createSizedHits<Hit<D>>(charactersMax)
  for (const hit of found) if (!sized.take(hit, stringifyJson(hit.document).length)) break
  return sized.hits
}

export function histogramOf(entries: readonly StoredEntry[], stepNs: bigint, by: string): readonly Bucket[] {
  const counter = createCounter()
  for (const { row } of entries) counter.add(floorTo(row.timeNs, stepNs), countedValues(row.keywords.get(by) ?? []), 1)
  return counter.buckets()
}

export function facetsOf(
  entries: readonly StoredEntry[],
  fields: readonly string[],
  valuesMax: number,
): readonly Facet[] {
  return fields.map((field) => {
    const counts = new Map<string, number>()
    for (const { row } of entries) {
      for (const value of countedValues(row.keywords.get(field) ?? [])) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return topValues(field, counts, valuesMax)
  })
}
