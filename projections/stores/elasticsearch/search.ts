import { clampInt64 } from '#src/lib/int64.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import type { Hit, IndexQuery, PlacesQuery, SortKey } from '../../index-store.ts'
import type { DocumentId } from '../../projection.ts'
import { compareSort } from '../order.ts'
import { createSizedHits } from '../within-size.ts'
import { bigintIn, hitsIn, numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import { ask, targetKey, visibleDays, type Target } from './ask.ts'
import { documentOf } from './document.ts'
import { and, ofWorkspace, type Query } from './filter.ts'
import { bodyField, idField, numberField, positionField, timeField } from './mapping.ts'
import { dayIn, documentKey } from './names.ts'
import { askFitting, inSizedParts, type Bound } from './sized-parts.ts'

/** Elasticsearch returns at most 10,000 hits at once; pages with bodies are smaller. */
const pageMax = 2_000
/**
 * If a search may end for its size, its pages are so small that all hits of one are likely to fit: Elasticsearch holds all of a page in its heap,
 * and four of 128 hits of a megabyte are more than a small one has. A place where nobody has searched yet may hold such ones.
 */
const firstUnseenPage = 16
const firstSizedPage = 128

const source: readonly string[] = [idField, timeField, positionField, bodyField]

function sortField(orderBy: string): string {
  if (orderBy === 'timeNs') return timeField
  return orderBy === 'position' ? positionField : numberField(orderBy)
}

/** The body of a search for one page. If several days hold a document at the same place, the last written comes first. */
function pageBody(query: Query, { orderBy, direction }: IndexQuery, after: readonly Json[] | undefined, size: number) {
  const field = sortField(orderBy)
  const isNumber = orderBy !== 'timeNs' && orderBy !== 'position'
  const order = { order: direction, ...(isNumber ? { unmapped_type: 'long' } : {}) }
  return {
    size,
    track_total_hits: false,
    _source: source,
    query: isNumber ? and([query, { exists: { field } }]) : query,
    sort: [{ [field]: order }, { [idField]: direction }, { [positionField]: 'desc' }],
    search_after: after,
  }
}

type Found = Readonly<{ index: string; source: JsonObject; sort: readonly Json[] }>

const foundIn = (answer: JsonObject): readonly Found[] =>
  hitsIn(answer).map((hit) => ({
    index: textIn(hit['_index']),
    source: objectIn(hit['_source']),
    sort: valuesIn(hit['sort']),
  }))

function hitOf<D extends object>({ index, source: from, sort }: Found): Hit<D> {
  const id = textIn(from[idField])
  return {
    id,
    day: dayIn(index) ?? '',
    timeNs: bigintIn(from[timeField]),
    position: numberIn(from[positionField]),
    sort: { value: bigintIn(sort[0]), id },
    document: documentOf(from) as D,
  }
}

/** After this position nothing comes, in the third sort order. */
const beyondPositions = -1

const placeAfter = ({ value, id }: SortKey): readonly Json[] => [clampInt64(value), id, beyondPositions]

/** Where a page begins, and how many hits to ask for. */
type PageAt = Readonly<{ after: readonly Json[] | undefined; size: number }>

/** The next hits, and how many were asked for in the end: fewer where they would have too many bytes. */
type Page = Readonly<{ found: readonly Found[]; size: number }>

type Pages = Readonly<{
  /** How many hits the next page may have at most. */
  most(): number
  next(at: PageAt): Promise<Page>
}>

/** Walks the hits in order, each place once, page by page, until there are enough or `take` returns false. */
async function eachPlace(
  { after: begin, limit }: PlacesQuery,
  { most, next }: Pages,
  take: (found: Found, place: SortKey) => boolean,
): Promise<void> {
  let after = begin === undefined ? undefined : placeAfter(begin)
  let last: SortKey | undefined
  for (let taken = 0; taken < limit;) {
    const { found, size } = await next({ after, size: Math.min(limit - taken, most()) })
    for (const each of found) {
      const place = { value: bigintIn(each.sort[0]), id: textIn(each.sort[1]) }
      if (last !== undefined && compareSort(last, place) === 0) continue
      if (!take(each, place)) return
      last = place
      taken++
    }
    if (found.length < size) return
    after = found.at(-1)?.sort
  }
}

/** How large the pages of a search may be that may end for its size: as many hits as there is room for, if they are like those seen. */
function sizedPages(target: Target, charactersMax: number) {
  const { seen } = target
  const key = targetKey(target)
  let [hits, characters, lastSize] = [0, 0, 0]
  return {
    most(): number {
      const mean = hits === 0 ? seen.meanOf(key) : characters / hits
      if (mean === undefined) return firstUnseenPage
      const fitting = Math.ceil((charactersMax - characters) / Math.max(mean, 1)) + 1
      return Math.max(1, Math.min(fitting, Math.max(firstSizedPage, lastSize * 2), pageMax))
    },
    saw({ found, size }: Page): void {
      lastSize = size
      if (found.length === 0) return
      const sum = found.reduce((length, { source: from }) => length + textIn(from[bodyField]).length, 0)
      hits += found.length
      characters += sum
      seen.saw(key, sum / found.length)
    },
  }
}

/** The hits of a search, which may end for their size. */
export async function searchPages<D extends object>(
  target: Target,
  query: Query,
  asked: IndexQuery,
): Promise<readonly Hit<D>[]> {
  const { charactersMax } = asked
  const { hits, take } = createSizedHits<Hit<D>>(charactersMax)
  const sized = charactersMax === undefined ? undefined : sizedPages(target, charactersMax)
  const next = async ({ after, size: wanted }: PageAt): Promise<Page> => {
    const { answer, size } = await askFitting(wanted, (some, bound) =>
      ask(target, pageBody(query, asked, after, some), sized === undefined ? {} : bound),
    )
    const page = { found: foundIn(answer), size }
    sized?.saw(page)
    return page
  }
  await eachPlace(asked, { most: () => sized?.most() ?? pageMax, next }, (found) =>
    take(hitOf<D>(found), textIn(found.source[bodyField]).length),
  )
  return hits
}

/** Without documents, a page may have as many hits as Elasticsearch returns at once. */
const placesPageMax = 10_000

/** The places of the hits of a search, from their sort values alone. */
export async function placesIn(target: Target, query: Query, asked: PlacesQuery): Promise<readonly SortKey[]> {
  const places: SortKey[] = []
  const next = async ({ after, size }: PageAt): Promise<Page> => {
    const body = { ...pageBody(query, asked, after, size), _source: false }
    return { found: foundIn(await ask(target, body)), size }
  }
  await eachPlace(asked, { most: () => placesPageMax, next }, (_, place) => places.push(place) > 0)
  return places
}

const idsAtOnce = 500

/** The body of a look-up by id: the newest day of each. Index names sort like their days. */
function idsBody(target: Target, ids: readonly DocumentId[]): object {
  const { workspaceId } = target
  const values = ids.map((id) => documentKey(workspaceId, id))
  return {
    size: ids.length,
    track_total_hits: false,
    _source: source,
    query: and([ofWorkspace(workspaceId), { ids: { values } }, ...visibleDays(target)]),
    collapse: { field: idField },
    sort: [{ _index: 'desc' }],
  }
}

/** The hits of ids, in the order asked. */
export async function find<D extends object>(target: Target, asked: readonly DocumentId[]): Promise<readonly Hit<D>[]> {
  const ids = [...new Set(asked)]
  const hits = new Map<DocumentId, Hit<D>>()
  const part = async (some: readonly DocumentId[], bound: Bound) =>
    foundIn(await ask(target, idsBody(target, some), bound))
  for await (const found of inSizedParts(ids, idsAtOnce, part)) {
    for (const { index, source: from } of found) {
      const hit = hitOf<D>({ index, source: from, sort: [from[timeField] ?? 0] })
      hits.set(hit.id, hit)
    }
  }
  return ids.flatMap((id) => hits.get(id) ?? [])
}
