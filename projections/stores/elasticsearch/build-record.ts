import { TransientError } from '#src/lib/failure.ts'
import { isJsonObject, type JsonObject } from '#src/lib/json.ts'
import type { IndexName } from '../../index-store.ts'
import { numberIn } from './answer-parts.ts'
import { connectElasticsearch, type Answer, type Elasticsearch } from './client.ts'
import { createNames, type Names } from './names.ts'
import { patiently } from './patience.ts'

export type PlaceOptions = Readonly<{
  /** `http(s)://user:password@host:port`. */
  url: string
  /** Begins the names of all indices. */
  prefix: string
  /** Of which partition of the log the builds are. */
  partition: number
}>

/** Where the builds of one partition are. `onLost` hears of days' indices, by name, that are missed and were not before. */
export type Place = Readonly<{
  elasticsearch: Elasticsearch
  names: Names
  partition: number
  onLost?: ((indices: readonly string[]) => void) | undefined
}>

export const connectPlace = ({ url, prefix, partition }: PlaceOptions): Place => ({
  elasticsearch: connectElasticsearch(url),
  names: createNames(prefix),
  partition,
})

export const buildId = (index: IndexName, partition: number): string => `build:${index}:${partition}`

export const sourceOf = ({ body }: Answer): JsonObject | undefined =>
  isJsonObject(body['_source']) ? body['_source'] : undefined

export const path = (names: Names, kind: '_doc' | '_create' | '_update', id: string): string =>
  `/${names.state}/${kind}/${encodeURIComponent(id)}`

/** The current document of the state index, refreshed or not. */
export async function read({ elasticsearch, names }: Place, id: string): Promise<Answer | undefined> {
  const call = { operation: 'read', subject: id, method: 'GET', path: path(names, '_doc', id) } as const
  const answer = await patiently(id, async () => {
    const given = await elasticsearch.send({ ...call, accept: [404, 503] })
    return given.status === 503 ? undefined : given
  })
  return answer.status === 404 ? undefined : answer
}

/** The condition under which a document is still as it was in this answer. */
export const unchangedSince = ({ body }: Answer): Unchanged => ({
  if_seq_no: numberIn(body['_seq_no']),
  if_primary_term: numberIn(body['_primary_term']),
})
type Unchanged = Readonly<Record<string, number>>

/** The record of a build, or of it what was last written, and the condition under which it still is so. */
export type BuildRecord = Readonly<{ source: JsonObject; unchanged: Unchanged }>

async function knownRecord(place: Place, index: IndexName): Promise<BuildRecord | undefined> {
  const answer = await read(place, buildId(index, place.partition))
  return answer && { source: sourceOf(answer) ?? {}, unchanged: unchangedSince(answer) }
}

/** The record of a build of this partition; undefined when it is not there. */
export const recordOf = async (place: Place, index: IndexName): Promise<JsonObject | undefined> =>
  (await knownRecord(place, index))?.source

/** Of all that write at once, such as the workers of a rebuild, one succeeds each time. */
const attemptsMax = 100

type Change = JsonObject | undefined

/**
 * All changes of a build's record, by compare-and-set: two owners of a partition may write it, as at a handover, and other partitions do. `change` gives
 * the fields to replace, each whole, or nothing; it is asked again where the record was changed meanwhile. `known`: what the record was last known to
 * be, if that has the fields that `change` looks at. Undefined where the build is dropped: it does not come back.
 */
export async function changeBuild(
  place: Place,
  index: IndexName,
  change: (source: JsonObject) => Change | Promise<Change>,
  known?: BuildRecord,
): Promise<BuildRecord | undefined> {
  const { elasticsearch, names, partition } = place
  const call = { operation: 'update', subject: index, method: 'POST', accept: [404, 409] } as const
  const at = path(names, '_update', buildId(index, partition))
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    const record = (attempts === 0 ? known : undefined) ?? (await knownRecord(place, index))
    if (record === undefined || record.source['dropped'] === true) return undefined
    const doc = await change(record.source)
    if (doc === undefined) return record
    const query = { ...record.unchanged, _source: false }
    const answer = await elasticsearch.send({ ...call, path: at, query, body: { doc } })
    if (answer.status === 404) return undefined
    if (answer.status !== 409) return { source: { ...record.source, ...doc }, unchanged: unchangedSince(answer) }
  }
  throw new TransientError({ operation: 'update', subject: index, hint: 'others change its record all the time' })
}
