import type { Facet, Hit, IndexQuery, IndexReader, Scope, Selection } from '../../index-store.ts'
import type { DocumentId } from '../../projection.ts'
import { TooManyWordsError, visibleDays, type Target } from './ask.ts'
import { readBuild } from './builds.ts'
import type { Elasticsearch } from './call.ts'
import { count, facets, histogram } from './counts.ts'
import { expandPhrases } from './expand-phrases.ts'
import { expandPatterns, remembering, type ExpansionLimits } from './expand.ts'
import { and, selectionQuery, type Expansions, type Query } from './filter.ts'
import { connectPlaces, type Place, type PlaceOptions } from './place.ts'
import { createRecords } from './records.ts'
import { readRoster } from './rosters.ts'
import { find, placesIn, searchPages } from './search.ts'
import { createSeenSizes, type SeenSizes } from './seen-sizes.ts'

/** `readerFor`: the reader of one request, whose queries are aborted with the signal. */
export type ElasticsearchIndexReader = IndexReader &
  Readonly<{ readerFor(signal: AbortSignal | undefined): IndexReader }>

/** The reading side in Elasticsearch, for each of some partitions. */
export const createElasticsearchIndexReaders = (
  { limits, ...options }: Omit<PlaceOptions, 'partition'> & Readonly<{ limits: ExpansionLimits }>,
  partitions: readonly number[],
): readonly ElasticsearchIndexReader[] =>
  connectPlaces(options, partitions).map((place) => abortableReader(place, limits))

function abortableReader(place: Place, limits: ExpansionLimits): ElasticsearchIndexReader {
  const { elasticsearch } = place
  const seen = createSeenSizes()
  const all = readerOn(place, limits, seen)
  const abortable = (signal: AbortSignal): Place => {
    const aborted: Elasticsearch = { ...elasticsearch, send: (call) => elasticsearch.send({ ...call, signal }) }
    return { ...place, elasticsearch: aborted, records: createRecords(aborted, place.names) }
  }
  return {
    ...all,
    readerFor: (signal) => (signal === undefined ? all : readerOn(abortable(signal), limits, seen, remembering)),
  }
}

function readerOn(
  place: Place,
  limits: ExpansionLimits,
  seen: SeenSizes,
  used: typeof remembering = (expand) => expand,
): IndexReader {
  const { elasticsearch, names } = place
  const [patternsIn, phrasesIn] = [used(expandPatterns), used(expandPhrases)]
  /** Where a scope is stored now; undefined before the first promotion. Looked up each time, because readers may move at any moment. */
  const targetOf = async ({ workspaceId, projection, collection, fromDay }: Scope): Promise<Target | undefined> => {
    const { live } = await readRoster(place, projection)
    if (live === undefined) return undefined
    return { elasticsearch, indices: names.days(live, collection), workspaceId, fromDay, seen }
  }
  const selected = async <T>(
    scope: Scope,
    selection: Selection,
    nothing: T,
    task: (target: Target, query: Query) => Promise<T>,
  ): Promise<T> => {
    const target = await targetOf(scope)
    if (target === undefined) return nothing
    const asked = (expansions: Expansions): Promise<T> => {
      const query = selectionQuery(scope.workspaceId, selection, expansions)
      const days = visibleDays(target)
      return task(target, days.length === 0 ? query : and([query, ...days]))
    }
    const patterns = await patternsIn(target, selection, limits)
    try {
      return await asked(patterns)
    } catch (error) {
      // The words may be those of others.
      if (!(error instanceof TooManyWordsError)) throw error
      const phrases = await phrasesIn(target, selection, limits)
      if (phrases.size === 0) throw error
      return await asked(new Map([...patterns, ...phrases]))
    }
  }
  return {
    async progress(projection) {
      const { live: index } = await readRoster(place, projection)
      const build = index === undefined ? undefined : await readBuild(place, index)
      if (build === undefined) return undefined
      const { after, heartbeat, lostDays = [] } = build
      return { index: build.index, after, ...heartbeat, ...(lostDays.length > 0 && { lostDays }) }
    },
    async get<D extends object>(scope: Scope, ids: readonly DocumentId[]) {
      const target = await targetOf(scope)
      return target === undefined ? [] : find<D>(target, ids)
    },
    search: <D extends object>(scope: Scope, asked: IndexQuery) =>
      selected(scope, asked, [], (target, query): Promise<readonly Hit<D>[]> => searchPages<D>(target, query, asked)),
    places: (scope, asked) => selected(scope, asked, [], (target, query) => placesIn(target, query, asked)),
    count: (scope, selection) => selected(scope, selection, 0, count),
    histogram: (scope, selection, stepNs, by) =>
      selected(scope, selection, [], (target, query) => histogram(target, query, { ...selection, stepNs, by })),
    facets: (scope, selection, fields, valuesMax) =>
      selected(
        scope,
        selection,
        fields.map((field): Facet => ({ field, values: [] })),
        (target, query) => facets(target, query, fields, valuesMax),
      ),
    close: () => elasticsearch.close(),
  }
}
