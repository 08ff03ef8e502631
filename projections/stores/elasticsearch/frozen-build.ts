import { TransientError } from '#src/lib/failure.ts'
import type { Json, JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { IndexName } from '../../index-store.ts'
import { hitsIn, numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import type { Shapes } from '../row.ts'
import { indicesOf, readBuild, readShapes, type Place } from './builds.ts'
import { reasonOf } from './client.ts'
import { and, type Query } from './filter.ts'
import { idField } from './mapping.ts'
import { patiently } from './patience.ts'
import type { StoredText } from './stored-text.ts'

type Visitor = (text: StoredText) => Promise<void> | void

/** A build as it stood at one moment, with all that its record said before it. */
export type FrozenBuild = Readonly<{
  position: Position
  epoch: string
  shapes: Shapes
  /** The days' indices that were there. */
  indices: ReadonlySet<string>
  /** Documents of one of them, by their ids (code points): each is fetched from wherever it lies, which takes four times as long as `visit`. */
  documents(index: string, query: Query): AsyncGenerator<StoredText>
  /**
   * Documents of one of them in no order, each page where the one before ended. `begin` gives what takes them. When the moment is
   * lost on the way it is asked again, and what it gives takes all documents, those that were taken before too.
   */
  visit(index: string, query: Query, begin: () => Visitor): Promise<void>
  /** The answer of a search that finds nothing but aggregations; empty where no index is there. */
  count(body: object): Promise<JsonObject>
  release(): Promise<void>
}>

/** How long a moment is kept from one search of it to the next. */
const keptFor = '10m'
const pageMax = 500

const documentIn = (hit: JsonObject): StoredText => ({
  key: textIn(hit['_id']),
  routing: textIn(hit['_routing']),
  version: numberIn(hit['_version']),
  source: objectIn(hit['_source']),
})

/** Of all indices, by the name that they share: those of a month by their own would be a longer address than Elasticsearch takes. */
async function openMoment({ elasticsearch, names }: Place, index: IndexName): Promise<string> {
  const path = `/${names.build(index)}`
  const call = { operation: 'freeze', subject: index, method: 'POST' } as const
  const those = { ignore_unavailable: true, allow_no_indices: true }
  await elasticsearch.send({ ...call, path: `${path}/_refresh`, query: those })
  const query = { ...those, keep_alive: keptFor }
  const opened = await patiently(index, async () => {
    const answer = await elasticsearch.send({ ...call, path: `${path}/_pit`, query, accept: [503] })
    return answer.status === 200 ? answer.body : undefined
  })
  return textIn(opened['id'])
}

/** How often a build is frozen again that loses days: one turn of retention may drop several. */
const momentsMax = 10

/**
 * Freezes all of a build at once. What its record says is written was written before: so after a refresh all of that is found, and
 * perhaps more. The record is read first. When a day is dropped no search of the moment is answered any more: then the rest is frozen
 * again, which holds as much, and perhaps more.
 */
export async function freezeBuild(place: Place, index: IndexName): Promise<FrozenBuild> {
  const { elasticsearch } = place
  const { epoch = '', checkpoint: position = 0 } = (await readBuild(place, index)) ?? {}
  const shapes = await readShapes(place, index)
  const indices = await indicesOf(place, index)
  let moment = indices.length === 0 ? undefined : await openMoment(place, index)
  let momentsLost = 0
  const release = async (): Promise<void> => {
    if (moment === undefined) return
    const id = moment
    moment = undefined
    const call = { operation: 'release', subject: index, method: 'DELETE', path: '/_pit' } as const
    await elasticsearch.send({ ...call, body: { id }, accept: [404] })
  }
  const search = async (body: object): Promise<JsonObject> => {
    const call = { operation: 'read', subject: index, method: 'POST', path: '/_search' } as const
    const query = { allow_partial_search_results: false }
    for (let moments = 1; moment !== undefined; moments++) {
      const pit = { id: moment, keep_alive: keptFor }
      const asked = { ...call, query, body: { ...body, track_total_hits: false, pit }, accept: [404] }
      const { status, body: answer } = await elasticsearch.send(asked)
      if (status === 200) {
        moment = textIn(answer['pit_id']) || moment
        return answer
      }
      const cause = new Error(reasonOf(answer))
      if (moments === momentsMax) throw new TransientError({ operation: 'read', subject: index, cause })
      await release()
      momentsLost++
      moment = await openMoment(place, index)
    }
    return {}
  }
  async function* pages(name: string, query: Query, sort: readonly Json[]): AsyncGenerator<readonly StoredText[]> {
    const both = and([{ term: { _index: name } }, query])
    let after: readonly Json[] | undefined
    do {
      const rest = after === undefined ? {} : { search_after: after }
      const answer = await search({ size: pageMax, version: true, query: both, sort, ...rest })
      const hits = hitsIn(answer)
      yield hits.map(documentIn)
      after = hits.length < pageMax ? undefined : valuesIn(hits.at(-1)?.['sort'])
    } while (after !== undefined)
  }
  /** False when the moment was lost on the way: places of one say nothing in another. */
  const visitMoment = async (name: string, query: Query, take: Visitor): Promise<boolean> => {
    const lostBefore = momentsLost
    for await (const texts of pages(name, query, ['_shard_doc'])) {
      if (momentsLost > lostBefore) return false
      for (const text of texts) await take(text)
    }
    return true
  }
  return {
    position,
    epoch,
    shapes,
    indices: new Set(indices),
    async *documents(name, query) {
      // A document of another's making may have no id of ours.
      const sort = [{ [idField]: { order: 'asc', missing: '_first' } }, { _shard_doc: 'asc' }]
      for await (const texts of pages(name, query, sort)) yield* texts
    },
    async visit(name, query, begin) {
      while (!(await visitMoment(name, query, begin())));
    },
    count: (body) => search({ ...body, size: 0 }),
    release,
  }
}
