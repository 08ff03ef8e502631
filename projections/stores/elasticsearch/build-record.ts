import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createGather } from '#src/lib/gather.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { IndexName } from '../../index-store.ts'
import { numberIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'
import { connectElasticsearch } from './client.ts'
import { createNames, type Names } from './names.ts'
import { createGatheredRecords, type Records, type StoredRecord } from './records.ts'

export type PlaceOptions = Readonly<{
  /** `http(s)://user:password@host:port`, or several with commas. */
  url: string
  /** Begins the names of all indices. */
  prefix: string
  /** Of which partition of the log the builds are. */
  partition: number
}>

/** Where the builds of one partition are. `onLost` hears of days' indices, by name, that are missed and were not before; `onClosed`, that are closed. */
export type Place = Readonly<{
  elasticsearch: Elasticsearch
  names: Names
  records: Records
  /** Another number after each change of any index, as when one is made, removed, closed or put back. */
  stateVersion(): Promise<number>
  partition: number
  onLost?: ((indices: readonly string[]) => void) | undefined
  onClosed?: ((indices: readonly string[]) => void) | undefined
}>

/** By one connection: what is asked of the records of all these partitions at once goes in one request. */
export function connectPlaces(
  { url, prefix }: Omit<PlaceOptions, 'partition'>,
  partitions: readonly number[],
): readonly Place[] {
  const [elasticsearch, names] = [connectElasticsearch(url), createNames(prefix)]
  const records = createGatheredRecords(elasticsearch, names)
  const askVersion = createGather(() => versionOf(elasticsearch))
  const stateVersion = async (): Promise<number> => (await askVersion(undefined)).answer
  return partitions.map((partition) => ({ elasticsearch, names, records, stateVersion, partition }))
}

async function versionOf(elasticsearch: Elasticsearch): Promise<number> {
  const call = { operation: 'look at', subject: 'the state of Elasticsearch', method: 'GET' } as const
  const { body } = await elasticsearch.send({
    ...call,
    path: '/_cluster/state/version',
    query: { filter_path: 'version' },
  })
  return numberIn(body['version'])
}

export const connectPlace = ({ partition, ...options }: PlaceOptions): Place =>
  present(connectPlaces(options, [partition])[0], 'there is one for each partition')

export const buildId = (index: IndexName, partition: number): string => `build:${index}:${partition}`

/** The record of a build of this partition; undefined when it is not there. */
export const recordOf = async ({ records, partition }: Place, index: IndexName): Promise<JsonObject | undefined> =>
  (await records.read(buildId(index, partition)))?.source

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
  known?: StoredRecord,
): Promise<StoredRecord | undefined> {
  const id = buildId(index, place.partition)
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    const record = (attempts === 0 ? known : undefined) ?? (await place.records.read(id))
    if (record === undefined || record.source['dropped'] === true) return undefined
    const fields = await change(record.source)
    if (fields === undefined) return record
    const updated = await place.records.update({ id, fields, unchanged: record.unchanged })
    if (updated === 'gone') return undefined
    if (updated !== 'changed') return { source: { ...record.source, ...fields }, unchanged: updated }
  }
  throw new TransientError({ operation: 'update', subject: index, hint: 'others change its record all the time' })
}
