import type { IndexWriter } from '#projections/index-store.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writer.ts'
import { createWriteBehind } from '#projections/write-behind.ts'
import { openLogBeside } from '#src/compose/threads/log-beside.ts'
import { limits, type ClusterConfig } from '#src/config.ts'
import type { Stream } from '#streams/stream.ts'

// Locations of logs and indexes as plain data, which can be passed to a thread. A cluster's drivers are loaded only for a cluster.

export type ClusterPlace = Readonly<{ cluster: ClusterConfig; partition: string }>
export type LogPlace = Readonly<{ file: string; partition: string }> | ClusterPlace
/** `entriesAlone`: for builds that nobody searches. */
export type IndexPlace = Readonly<{ folder: string; entriesAlone?: boolean }> | ClusterPlace

/** A log that others write, over its own connection. */
export async function openLogIn(place: LogPlace): Promise<Stream> {
  if ('file' in place) return openLogBeside(place)
  const { connectNats } = await import('#streams/jetstream/connect.ts')
  const { openJetStream } = await import('#streams/jetstream/stream.ts')
  const { cluster, partition } = place
  const nats = await connectNats({ url: cluster.natsUrl, name: 'throughline fold' })
  const stream = await openJetStream(nats, { partition, prefix: cluster.indexPrefix, limits })
  return {
    ...stream,
    close: async () => {
      await stream.close()
      await nats.close()
    },
  }
}

/** Where the indexes of a partition are, and how missing ones are created. */
export const indexesOf = (
  { elasticsearchUrl: url, indexPrefix: prefix, indexSettings: settings }: ClusterConfig,
  partition: number,
) => ({
  url,
  prefix,
  partition,
  settings,
})

/** Nobody reads a build that several writers share: it is refreshed once, when all are done. */
const refreshSharedEveryMs = 60_000

/** A writer of one share of a build. */
export async function openSharedWriter(place: IndexPlace, share: string): Promise<IndexWriter> {
  if ('folder' in place) return createSqliteIndexWriter({ ...place, limits, share })
  const { createElasticsearchIndexWriter } = await import('#projections/stores/elasticsearch/writer.ts')
  const at = indexesOf(place.cluster, Number(place.partition))
  return createWriteBehind(createElasticsearchIndexWriter({ ...at, refreshEveryMs: refreshSharedEveryMs, share }))
}
