import { parseJson } from '#src/lib/json.ts'
import type { Hit, IndexQuery, IndexReader, Scope } from '../../../index-store.ts'
import type { DocumentId } from '../../../projection.ts'

/** A hit with its document as the JSON text that is stored: cheaper to hand to another thread than the object. */
export type TextHit = Omit<Hit, 'document'> & Readonly<{ document: string }>
export type TextReader = Omit<IndexReader, 'get' | 'search'> &
  Readonly<{
    get(scope: Scope, ids: readonly DocumentId[]): Promise<readonly TextHit[]>
    search(scope: Scope, query: IndexQuery): Promise<readonly TextHit[]>
  }>

/** The document is parsed when first asked for: often only the places of hits are wanted. */
function hitOf<D extends object>({ id, day, timeNs, position, sort, endsForSize, document: text }: TextHit): Hit<D> {
  let parsed: D | undefined
  return {
    id,
    day,
    timeNs,
    position,
    sort,
    ...(endsForSize === undefined ? {} : { endsForSize }),
    get document() {
      return (parsed ??= parseJson(text) as D)
    },
  }
}

export function withDocuments(reader: TextReader): IndexReader {
  return {
    ...reader,
    get: async <D extends object>(scope: Scope, ids: readonly DocumentId[]) =>
      (await reader.get(scope, ids)).map((hit) => hitOf<D>(hit)),
    search: async <D extends object>(scope: Scope, query: IndexQuery) =>
      (await reader.search(scope, query)).map((hit) => hitOf<D>(hit)),
  }
}
