import {
  createElasticsearchIndexReaders,
  type ElasticsearchIndexReader,
} from '#projections/stores/elasticsearch/reader.ts'
import { limits, type ClusterConfig, type LogConfig } from '#src/config.ts'
import { positionStep } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'

// What processes and verbs reach a cluster's engines by.

/** The partitions' names, in order. */
export const partitionNames = ({ partitions }: LogConfig): readonly string[] =>
  Array.from({ length: partitions }, (_, partition) => String(partition))

/** `isKnown`: whether the installation had logs. `mustExist`: what has none is not begun. */
type ConnectOptions = Readonly<{ isKnown?: () => Promise<boolean>; mustExist?: boolean }>

/** Connects, and creates missing logs, unless the options say otherwise. Throws with one line that says what to do. */
export async function connectLogs(
  config: LogConfig,
  name: string,
  { isKnown, mustExist = false }: ConnectOptions = {},
): Promise<Nats> {
  const { natsUrl, partitions, natsReplicas, durability, allowLazyLog, allowLostLog, indexPrefix } = config
  const nats = await connectNats({ url: natsUrl, name: `throughline ${name}` })
  let failure: unknown
  /** `provisionLogs` tries again for a minute after a TransientError: one of Elasticsearch is kept from it, and thrown in the end. */
  const isKnownOnce = async (): Promise<boolean> => {
    try {
      return (await isKnown?.()) ?? false
    } catch (error) {
      failure = error
      throw new PermanentError({ operation: 'ask', subject: 'Elasticsearch', cause: error })
    }
  }
  try {
    await provisionLogs(nats, {
      partitions,
      prefix: indexPrefix,
      allowLazyLog,
      allowLostLog,
      mustExist,
      warn: (line) => console.error(line),
      isKnown: isKnownOnce,
      ...(natsReplicas === undefined ? {} : { replicas: natsReplicas }),
      ...(durability === undefined ? {} : { proof: durability }),
    })
  } catch (error) {
    await nats.close()
    throw failure ?? error
  }
  return nats
}

export const openLog = (
  nats: Nats,
  { indexPrefix }: Pick<LogConfig, 'indexPrefix'>,
  partition: string,
): Promise<Stream> =>
  openJetStream(nats, { partition, prefix: indexPrefix, limits, warn: (line) => console.error(line) })

/** The readers, one for each partition. Does not ask Elasticsearch anything yet. */
export const createReaders = ({
  elasticsearchUrl,
  indexPrefix,
  partitions,
}: ClusterConfig): readonly ElasticsearchIndexReader[] =>
  createElasticsearchIndexReaders(
    { url: elasticsearchUrl, prefix: indexPrefix, limits },
    Array.from({ length: partitions }, (_, partition) => partition),
  )

/** Whether indexes of the installation hold events: a NATS without any of its logs, as with another disk, is not a new installation then. */
export async function hasIndexes(cluster: ClusterConfig): Promise<boolean> {
  const readers = createReaders(cluster)
  try {
    const progress = await Promise.all(readers.map((reader) => reader.progress('logs')))
    // The first event of a log is none of a sender's.
    return progress.some((one) => one !== undefined && one.position > positionStep)
  } finally {
    await Promise.all(readers.map((reader) => reader.close()))
  }
}
