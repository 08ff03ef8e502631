import { present } from '#src/lib/assert.ts'
import { createGather } from '#src/lib/gather.ts'
import { numberIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'
import { connectElasticsearch } from './client.ts'
import { createNames, type Names } from './names.ts'
import { createGatheredRecords, type Records } from './records.ts'

export type PlaceOptions = Readonly<{
  /** `http(s)://user:password@host:port`, or several with commas. */
  url: string
  /** Begins the names of all indices. */
  prefix: string
  /** Of which partition of the log the builds are. */
  partition: number
}>

type HearNames = (indices: readonly string[]) => void

/** Each hears the names of indices. */
export type DayHearers = Readonly<{
  /** Of days, missed now and not before. */
  onLost?: HearNames | undefined
  /** Of days, closed. */
  onClosed?: HearNames | undefined
  /** Of days, passed over by searches because of an alias that they have. */
  onPassedOver?: HearNames | undefined
  /** Of days, set to answer before they sync, and now set back. */
  onLazy?: HearNames | undefined
  /** Of days, set to have a pipeline change what is written, and now set back. */
  onPiped?: HearNames | undefined
  /** There under names like those of days, and none of ours. */
  onBeside?: HearNames | undefined
}>

/** Where the builds of one partition are, and who is told of their days. */
export type Place = DayHearers &
  Readonly<{
    elasticsearch: Elasticsearch
    names: Names
    records: Records
    /** Another number after each change of any index, as when one is made, removed, closed or put back. */
    stateVersion(): Promise<number>
    partition: number
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
