import { join } from 'node:path'
import type { IndexReader } from '#projections/index-store.ts'
import { createElasticsearchIndexReaders } from '#projections/stores/elasticsearch/reader.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { limits, type ClusterConfig } from '#src/config.ts'
import { partitionOf, type PartitionOf } from '#src/events/partition.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { clusterAt } from './clusters.ts'

type Log = Omit<Stream, 'append'>

/** What a server keeps, read beside it, whichever form it has. Lists are in order of the partitions. */
type Installation = Readonly<{
  logs: readonly Log[]
  directory: Log
  indexes: readonly IndexReader[]
  indexOf: PartitionOf<IndexReader>
  close(): Promise<void>
}>

type Opened = Pick<Installation, 'logs' | 'directory' | 'indexes'> & Readonly<{ disconnect: () => Promise<void> }>

async function openEmbedded(dataFolder: string): Promise<Opened> {
  return {
    logs: [await openSqliteStreamReader({ file: join(dataFolder, 'log', '0.db'), partition: '0' })],
    directory: await openSqliteStreamReader({ file: join(dataFolder, 'directory.db'), partition: 'directory' }),
    indexes: [createSqliteIndexReader({ folder: join(dataFolder, 'index'), limits })],
    disconnect: async () => undefined,
  }
}

async function openCluster({ natsUrl, elasticsearchUrl, partitions, indexPrefix }: ClusterConfig): Promise<Opened> {
  const nats = await connectNats({ url: natsUrl })
  const open = (partition: string) => openJetStream(nats, { partition, prefix: indexPrefix, limits })
  const numbers = Array.from({ length: partitions }, (_, partition) => partition)
  return {
    logs: await Promise.all(numbers.map((partition) => open(String(partition)))),
    directory: await open(directoryPartition),
    indexes: createElasticsearchIndexReaders({ url: elasticsearchUrl, prefix: indexPrefix, limits }, numbers),
    disconnect: () => nats.close(),
  }
}

export async function openInstallation({ dataFolder }: Readonly<{ dataFolder: string }>): Promise<Installation> {
  const cluster = clusterAt(dataFolder)
  const { disconnect, ...opened } = await (cluster === undefined
    ? openEmbedded(dataFolder)
    : openCluster(cluster.config))
  return {
    ...opened,
    indexOf: partitionOf(opened.indexes),
    close: async () => {
      await Promise.all([...opened.logs, opened.directory, ...opened.indexes].map((each) => each.close()))
      await disconnect()
    },
  }
}
