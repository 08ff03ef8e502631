import type { Hit, IndexReader } from '#projections/index-store.ts'
import { stringifyJson } from '#src/lib/json.ts'

/** A reader that says what the largest of its answers came to: in characters of JSON, and in documents or places of a collection. */
export function measuredReader(reader: IndexReader) {
  const most = { characters: 0, documents: new Map<string, number>(), places: new Map<string, number>() }
  const measure = <D extends object>(collection: string, hits: readonly Hit<D>[]): readonly Hit<D>[] => {
    const characters = hits.reduce((sum, { document }) => sum + stringifyJson(document).length, 0)
    most.characters = Math.max(most.characters, characters)
    most.documents.set(collection, Math.max(most.documents.get(collection) ?? 0, hits.length))
    return hits
  }
  const measured: IndexReader = {
    ...reader,
    get: async <D extends object>(...[scope, ids]: Parameters<IndexReader['get']>) =>
      measure(scope.collection, await reader.get<D>(scope, ids)),
    search: async <D extends object>(...[scope, query]: Parameters<IndexReader['search']>) =>
      measure(scope.collection, await reader.search<D>(scope, query)),
    places: async (...[{ collection, ...scope }, query]) => {
      const places = await reader.places({ ...scope, collection }, query)
      most.places.set(collection, Math.max(most.places.get(collection) ?? 0, places.length))
      return places
    },
  }
  return { reader: measured, most }
}
