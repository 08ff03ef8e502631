import {
  TooBroadError,
  type Bucket,
  type Facet,
  type IndexQuery,
  type IndexReader,
  type Scope,
  type Selection,
} from '../../../index-store.ts'
import { timeOfRecordId, type DocumentId } from '../../../projection.ts'
import { createCounter, topValues } from '../../counts.ts'
import { createSizedHits } from '../../within-size.ts'
import { readBodies } from '../bodies.ts'
import type { Look } from '../database.ts'
import { lostDays } from '../known-days.ts'
import { readProgress } from '../build-record.ts'
import { findRow } from '../stored-rows.ts'
import { countAll, countDay, countValues, type Hear } from './counting.ts'
import { createDayFiles, type DayFiles } from './day-files.ts'
import {
  holdsAny,
  mayHold,
  sortedRows,
  walkedRows,
  type AskedDay,
  type DayCollection,
  type Place,
  type TimeRange,
} from './day-query.ts'
import { createExpansion, type ExpansionLimits } from './expand.ts'
import { inTimeOrder, mergeRows, type Placed, type Source } from './merge.ts'
import { withDocuments, type TextHit, type TextReader } from './text-reader.ts'

export type SqliteReaderOptions = Readonly<{
  folder: string
  limits: Readonly<{ indexFilesOpenMax: number }> & ExpansionLimits
  /** How often a thread looks for builds that readers have left, ms. */
  leaveEveryMs?: number
}>

type Found = Placed<DayCollection>

function hitsOf(found: readonly Found[]): readonly TextHit[] {
  const bodies = new Map<DayCollection, ReadonlyMap<bigint, unknown>>()
  for (const { of } of found) {
    if (bodies.has(of)) continue
    const rows = found.filter((one) => one.of === of).map(({ place }) => place.row)
    bodies.set(of, readBodies(of.database, of.tables, rows))
  }
  return found.map(({ of, place: { row, timeNs, position, sort } }) => ({
    id: sort.id,
    day: of.day,
    timeNs,
    position,
    sort,
    document: String(bodies.get(of)?.get(row)),
  }))
}

/** How many bodies are read at once if it is not known how many are needed. */
const bodiesAtOnce = 32

/** The first hits, up to so many characters of documents. */
function sizedHitsOf(found: readonly Found[], charactersMax: number): readonly TextHit[] {
  const { hits, take } = createSizedHits<TextHit>(charactersMax)
  for (let at = 0; at < found.length; at += bodiesAtOnce) {
    for (const hit of hitsOf(found.slice(at, at + bodiesAtOnce))) if (!take(hit, hit.document.length)) return hits
  }
  return hits
}

/** A file's rows in the order asked for: a walk if rowids are in that order, otherwise sorted by SQLite. */
function sourceOf(day: AskedDay, query: IndexQuery): Source<DayCollection> {
  const { orderBy, direction, after } = query
  if (orderBy !== 'timeNs') return { of: day, reach: undefined, rows: () => sortedRows(day, query, query) }
  const reach = direction === 'asc' ? day.earliest : day.latest
  // A walk begins at the cursor's millisecond; `inTimeOrder` skips what comes before the cursor.
  const beyond = after === undefined ? {} : direction === 'asc' ? { fromNs: after.value } : { toNs: after.value + 1n }
  const range = { ...query, ...narrower(query, beyond) }
  if (day.spilled) return { of: day, reach, rows: () => sortedRows(day, range, query) }
  return { of: day, reach, rows: () => inTimeOrder(walkedRows(day, range, direction), query) }
}

function narrower(a: TimeRange, b: TimeRange): TimeRange {
  const fromNs = a.fromNs === undefined || (b.fromNs !== undefined && b.fromNs > a.fromNs) ? b.fromNs : a.fromNs
  const toNs = a.toNs === undefined || (b.toNs !== undefined && b.toNs < a.toNs) ? b.toNs : a.toNs
  return { fromNs, toNs }
}

function findPlace({ database, tables }: DayCollection, id: DocumentId): Place | undefined {
  const columns = findRow(database, tables, id)
  if (columns === undefined) return undefined
  const timeNs = columns['time'] as bigint
  const row = columns['row'] as bigint
  return { row, timeNs, position: Number(columns['position']), sort: { value: timeNs, id } }
}

/** Whether a file may hold a record of this id, by the time the id begins with. */
function mayHoldId(day: DayCollection, id: DocumentId): boolean {
  if (day.tables.shape.kind === 'document') return true
  const time = timeOfRecordId(id)
  return time !== undefined && time >= day.earliest && time <= day.latest
}

function findAll(days: readonly DayCollection[], ids: readonly DocumentId[]): readonly TextHit[] {
  const found = [...new Set(ids)].flatMap((id) => {
    for (const day of days) {
      const place = mayHoldId(day, id) ? findPlace(day, id) : undefined
      if (place !== undefined) return [{ of: day, place }]
    }
    return []
  })
  return hitsOf(found)
}

function rowsOf(days: readonly AskedDay[], query: IndexQuery): readonly Found[] {
  const sources = days.map((day) => sourceOf(day, query))
  return mergeRows(sources, query)
}

function search(days: readonly AskedDay[], query: IndexQuery): readonly TextHit[] {
  const found = rowsOf(days, query)
  return query.charactersMax === undefined ? hitsOf(found) : sizedHitsOf(found, query.charactersMax)
}

function facetsOf(
  days: readonly AskedDay[],
  selection: Selection,
  fields: readonly string[],
  valuesMax: number,
): readonly Facet[] {
  const counts = new Map(fields.map((field) => [field, new Map<string, number>()]))
  const hear: Hear = (field, value, count) => {
    const known = counts.get(field)
    known?.set(value, (known.get(value) ?? 0) + count)
  }
  for (const day of days) countValues(day, selection, [...counts.keys()], hear)
  return fields.map((field) => topValues(field, counts.get(field) ?? new Map(), valuesMax))
}

/**
 * For the second try of a question, which leaves out days: a filter may only have failed in one of the others because these had been looked at
 * before it. The second tries of one reading share what they have compiled.
 */
function createCompiledAnew() {
  const known = new WeakMap<DayCollection['compiled'], DayCollection['compiled']>()
  return (day: DayCollection): DayCollection => {
    const compiled: DayCollection['compiled'] = known.get(day.compiled) ?? new Map()
    known.set(day.compiled, compiled)
    return { ...day, compiled }
  }
}

export type SqliteTextReader = TextReader & Pick<DayFiles, 'together' | 'leave'>

/** The reading side of a folder of SQLite files, with documents as stored text. It blocks while it works; what `look` throws ends a question. */
export function createSqliteTextReader(options: SqliteReaderOptions, look?: Look): SqliteTextReader {
  const { folder, limits } = options
  const files = createDayFiles(folder, limits.indexFilesOpenMax, look)
  const compiledAnew = createCompiledAnew()
  const asked = <T>(scope: Scope, selection: Selection, task: (days: readonly AskedDay[]) => T): T =>
    files.withDays(scope, (days) => {
      const askedOf = (some: readonly DayCollection[]): T => {
        const expansion = createExpansion(limits, selection)
        return task(some.map((day) => ({ ...day, expansion })))
      }
      const possible = days.filter((day) => mayHold(day, selection))
      try {
        return askedOf(possible)
      } catch (error) {
        if (!(error instanceof TooBroadError)) throw error
        // No words of a day count against a pattern if none of its records is asked for.
        const held = possible.filter((day) => holdsAny(day, selection))
        if (held.length === possible.length) throw error
        return askedOf(held.map(compiledAnew))
      }
    })
  return {
    answersInOrder: true,
    showsWholeBatches: true,
    together: (task) => files.together(task),
    leave: () => files.leave(),
    async progress(projection) {
      const build = files.liveNow(projection)
      if (build === undefined) return undefined
      const lost = lostDays(build.meta)
      const told = { index: build.index, after: build.after, ...readProgress(build.meta) }
      return lost.length === 0 ? told : { ...told, lostDays: lost }
    },
    get: async (scope, ids) => files.withDays(scope, (days) => findAll(days, ids)),
    search: async (scope, query) => asked(scope, query, (days) => search(days, query)),
    places: async (scope, query) => asked(scope, query, (days) => rowsOf(days, query).map(({ place }) => place.sort)),
    count: async (scope, selection) =>
      asked(scope, selection, (days) => days.reduce((sum, day) => sum + countAll(day, selection), 0)),
    histogram: async (scope, selection, stepNs, by): Promise<readonly Bucket[]> =>
      asked(scope, selection, (days) => {
        const counter = createCounter()
        for (const day of days) countDay(day, selection, { stepNs, by }, counter)
        return counter.buckets()
      }),
    facets: async (scope, selection, fields, valuesMax) =>
      asked(scope, selection, (days) => facetsOf(days, selection, fields, valuesMax)),
    close: async () => files.close(),
  }
}

/** `createSqliteTextReader` with its documents; run it in a thread of its own (query-thread.ts). */
export const createSqliteIndexReader = (options: SqliteReaderOptions): IndexReader =>
  withDocuments(createSqliteTextReader(options))
