import { TransientError } from '#src/lib/failure.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { IndexName } from '../../index-store.ts'
import type { Shapes } from '../row.ts'
import { hitsIn, numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import { shapesIn, storedBuild } from './build-record.ts'
import { recordOf } from './builds.ts'
import { everyOpen } from './call.ts'
import { and, type Query } from './filter.ts'
import { areAllRead, listDayIndices, notRead, type StoredDays } from './indices.ts'
import { idField } from './mapping.ts'
import { withoutCopiesOf } from './names.ts'
import { sendPatiently } from './patience.ts'
import type { Place } from './place.ts'
import { withoutPrimary } from './primaries.ts'
import { closedHint, reasonOf, withoutPrimaryHint } from './reasons.ts'
import { refreshNamed } from './refresh.ts'
import { askFitting, createPartSizes, type Bound } from './sized-parts.ts'
import type { StoredDocument } from './stored-document.ts'

type Visitor = (document: StoredDocument) => Promise<void> | void

/** What is read of documents: all, or (`_source: false`) only their keys and versions; nothing of what they hold has to be gathered for that. */
type What = Readonly<{ _source?: false }>

/** A build as of one moment, which includes all that its record said before. */
export type FrozenBuild = Readonly<{
  position: Position
  epoch: string
  shapes: Shapes
  /** The day indices that existed. */
  indices: ReadonlySet<string>
  /** The documents of an index in the order of their ids (code points). This takes four times as long as `visit`. */
  documents(index: string, query: Query): AsyncGenerator<StoredDocument>
  /**
   * Visits the documents of an index, in no order. `begin` returns the visitor. If the moment is lost on the way, `begin` is called again, and the new
   * visitor gets all documents, including those already visited.
   */
  visit(index: string, query: Query, begin: () => Visitor, what?: What): Promise<void>
  /** The answer of a search for aggregations only; empty if there is no index. */
  count(body: object): Promise<JsonObject>
  release(): Promise<void>
}>

/** How long is waited for the primary shard of an index that was made only just before. */
const primaryWait = '2s'
/** How long a point in time is kept between two searches. */
const keptFor = '10m'
/** A page is smaller where it would be too large (sized-parts.ts). */
const pageMax = 500

const documentIn = (hit: JsonObject): StoredDocument => ({
  key: textIn(hit['_id']),
  routing: textIn(hit['_routing']),
  version: numberIn(hit['_version']),
  source: objectIn(hit['_source']),
})

/** It would look as if nothing were in a day that cannot be read: a comparison would miss it, and an erasure leave it. */
async function refuseUnread({ elasticsearch, names }: Place, index: IndexName, stored: StoredDays): Promise<void> {
  const refuse = (days: readonly string[], hint: string): TransientError =>
    new TransientError({ operation: 'freeze', subject: days.join(', '), hint })
  if (stored.closed.length > 0) throw refuse(stored.closed, closedHint)
  if (stored.days.size === 0) return
  const found = await withoutPrimary(elasticsearch, names.build(index), primaryWait)
  const without = [...found].filter((name) => names.isDay(index, name)).sort()
  if (without.length > 0) throw refuse(without, withoutPrimaryHint)
}

/** Opens a point in time over all indices of a build, by wildcards: a month of names would make the address too long. `there`: those that were there. */
async function openMoment(place: Place, index: IndexName, there: ReadonlySet<string>): Promise<string> {
  const { elasticsearch, names } = place
  await refreshNamed(elasticsearch, [...there])
  const path = `/${withoutCopiesOf(names.build(index))}/_pit`
  const call = { operation: 'freeze', subject: index, method: 'POST', path } as const
  const query = { ...everyOpen, keep_alive: keptFor }
  const { body: opened } = await sendPatiently(elasticsearch, { ...call, query })
  const { total = there.size } = objectIn(opened['_shards'])
  // An erasure would find nothing to delete.
  if (Number(total) < there.size && !areAllRead(await listDayIndices(place, index), Number(total)))
    throw notRead('freeze', index)
  return textIn(opened['id'])
}

type Search = (body: object, bound?: Bound) => Promise<JsonObject>

/** The documents of an index at a moment, page by page. */
async function* pages(
  search: Search,
  index: string,
  { query: asked, sort, _source }: What & Readonly<{ query: Query; sort: readonly Json[] }>,
): AsyncGenerator<readonly StoredDocument[]> {
  const query = and([{ term: { _index: index } }, asked])
  let after: readonly Json[] | undefined
  const sizes = createPartSizes(pageMax)
  do {
    const body = { version: true, query, sort, _source, search_after: after }
    const wanted = sizes.wanted()
    const { answer, size } = await askFitting(wanted, (count, bound) => search({ size: count, ...body }, bound))
    const hits = hitsIn(answer)
    yield hits.map(documentIn)
    after = hits.length < size ? undefined : valuesIn(hits.at(-1)?.['sort'])
    sizes.asked(wanted, size)
  } while (after !== undefined)
}

/** How often a build is frozen again if days are dropped: a run of retention may drop several. */
const momentsMax = 10

/**
 * Freezes a whole build. The record is read first, then the indices are refreshed: so all that the record says is written is found, and perhaps more. If a
 * day is dropped, Elasticsearch answers no further search of that moment; then the rest is frozen again, and may hold more.
 */
export async function freezeBuild(place: Place, index: IndexName): Promise<FrozenBuild> {
  const { elasticsearch } = place
  const record = await recordOf(place, index)
  const { epoch, checkpoint: position } = storedBuild(record ?? {})
  const shapes = record === undefined ? {} : shapesIn(record)
  const stored = await listDayIndices(place, index)
  await refuseUnread(place, index, stored)
  const indices = new Set(stored.days.keys())
  let moment = indices.size === 0 ? undefined : await openMoment(place, index, indices)
  let momentsLost = 0
  const release = async (): Promise<void> => {
    if (moment === undefined) return
    const id = moment
    moment = undefined
    const call = { operation: 'release', subject: index, method: 'DELETE', path: '/_pit' } as const
    await elasticsearch.send({ ...call, body: { id }, accept: [404], mayRepeat: true })
  }
  const search: Search = async (body, bound) => {
    const call = { operation: 'read', subject: index, method: 'POST', path: '/_search', ...bound } as const
    const query = { allow_partial_search_results: false }
    for (let moments = 1; moment !== undefined; moments++) {
      const pit = { id: moment, keep_alive: keptFor }
      const asked = { ...call, query, body: { ...body, track_total_hits: false, pit }, accept: [404] }
      const { status, body: answer } = await sendPatiently(elasticsearch, asked)
      if (status === 200) {
        moment = textIn(answer['pit_id']) || moment
        return answer
      }
      const cause = new Error(reasonOf(answer))
      if (moments === momentsMax) throw new TransientError({ operation: 'read', subject: index, cause })
      await release()
      momentsLost++
      moment = await openMoment(place, index, indices)
    }
    return {}
  }
  /** False if the moment was lost on the way: the places of one moment mean nothing in another. */
  const visitMoment = async (name: string, query: Query, take: Visitor, what?: What): Promise<boolean> => {
    const lostBefore = momentsLost
    for await (const documents of pages(search, name, { query, sort: ['_shard_doc'], ...what })) {
      if (momentsLost > lostBefore) return false
      for (const document of documents) await take(document)
    }
    return true
  }
  return {
    position,
    epoch,
    shapes,
    indices,
    async *documents(name, query) {
      // A document that somebody else has created may lack our id.
      const sort = [{ [idField]: { order: 'asc', missing: '_first' } }, { _shard_doc: 'asc' }]
      let last: string | undefined
      for await (const documents of pages(search, name, { query, sort })) {
        // Where the moment was lost, the last of a page may stand behind itself in the next moment, and come again.
        yield* documents.filter(({ key }) => key !== last)
        last = documents.at(-1)?.key
      }
    },
    async visit(name, query, begin, what) {
      while (!(await visitMoment(name, query, begin(), what)));
    },
    count: (body) => search({ ...body, size: 0 }),
    release,
  }
}
