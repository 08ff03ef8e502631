import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IndexReader } from '#projections/index-store.ts'
import { withLogHead } from '#projections/log-head.ts'
import {
  createElasticsearchIndexReaders,
  type ElasticsearchIndexReader,
} from '#projections/stores/elasticsearch/reader.ts'
import { withEraser } from '#src/compose/threads/eraser.ts'
import type { PartitionsData } from '#src/compose/threads/partitions-thread.ts'
import { createProjectorThread, withBeside, type ProjectorThread } from '#src/compose/threads/projector.ts'
import { retainedReaders } from '#src/compose/threads/retention.ts'
import { createSampler, type Sampler } from '#src/compose/threads/sampler.ts'
import { limits, type ClusterConfig, type Config, type LogConfig } from '#src/config.ts'
import { givenSecrets } from '#src/directory/secrets.ts'
import { positionStep } from '#src/events/envelope.ts'
import { partitionNumber, partitionOf, type PartitionOf } from '#src/events/partition.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { present } from '#src/lib/assert.ts'
import { createClock } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { connectNats, type Nats } from '#streams/jetstream/connect.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { openJetStream, type JetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { openAllowance } from './allowance.ts'
import { openDirectory, type Engines } from './engines.ts'

/** The partitions' names, in order. */
export const partitionNames = ({ partitions }: LogConfig): readonly string[] =>
  Array.from({ length: partitions }, (_, partition) => String(partition))

/**
 * Connects, and creates missing logs, unless `isKnown`: the installation had them. Throws with one line that says what to do.
 */
export async function connectLogs(config: LogConfig, name: string, isKnown?: () => Promise<boolean>): Promise<Nats> {
  const { natsUrl, partitions, natsReplicas, durability, allowLazyLog, allowLostLog, indexPrefix } = config
  const nats = await connectNats({ url: natsUrl, name: `throughline ${name}` })
  let failure: unknown
  /** Its failure is none of NATS, which would be asked again for a minute. */
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
): Promise<JetStream> => openJetStream(nats, { partition, prefix: indexPrefix, limits })

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

/** Readers for requests: aborted with the request, and aware of the heads of their logs (none in a role that serves no queries). */
function requestReaders(
  readers: readonly ElasticsearchIndexReader[],
  logs: readonly JetStream[],
): PartitionOf<IndexReader> {
  const of = partitionOf(readers.map((reader, partition) => ({ reader, log: logs[partition] })))
  return (workspaceId) => {
    const { reader, log } = of(workspaceId)
    const own = reader.readerFor(abortScope.signal())
    return log === undefined ? own : withLogHead(own, log)
  }
}

type Projector = Readonly<{ projector: ProjectorThread; sampler: Sampler | undefined; close(): Promise<void> }>

const noProjector: Projector = {
  projector: {
    start: () => undefined,
    stop: async () => undefined,
    folded: () => [],
    daysDropped: () => 0,
    buildsHolding: () => 0,
  },
  sampler: undefined,
  close: async () => undefined,
}

/** Folds this process's share of the partitions, and verifies samples of it. */
function createProjector(
  { role, sampleEveryMs: everyMs }: Config,
  cluster: ClusterConfig,
  erasing: Parameters<typeof withEraser>[1],
): Projector {
  const data: PartitionsData = { cluster, name: `throughline ${role} projector` }
  const thread = createProjectorThread('partitions-thread.ts', data)
  let room: string | undefined
  const places = () => {
    // Private, since it will hold customer data. Created on first use, so that a process killed before that leaves nothing behind.
    const dataFolder = (room ??= mkdtempSync(join(tmpdir(), 'throughline-samples-')))
    return thread.folded().map((partition) => ({ dataFolder, partition, cluster }))
  }
  const sampler = createSampler({ places, everyMs, eventsPerSecondMax: limits.sampledEventsPerSecondMax })
  const projector = withEraser(withBeside(thread, sampler), erasing)
  return {
    projector,
    sampler,
    close: async () => {
      await projector.stop()
      if (room !== undefined) rmSync(room, { recursive: true, force: true })
    },
  }
}

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

/** The logs of all partitions, the directory and the indexes of a cluster, as far as this role needs them. */
export async function openClusterEngines(config: Config, cluster: ClusterConfig): Promise<Engines> {
  const { role } = config
  const clock = createClock()
  const secrets = givenSecrets(cluster)
  const isKnown = (): Promise<boolean> => hasIndexes(cluster)
  // Ingest starts without Elasticsearch.
  const nats = await connectLogs(cluster, role, role === 'ingest' ? () => isKnown().catch(() => false) : isKnown)
  const directoryStream = await openLog(nats, cluster, directoryPartition)
  const directory = await openDirectory(directoryStream, clock, cluster.pepper)
  const takesIn = role === 'ingest' || role === 'all'
  const folds = role === 'project' || role === 'all'
  const answers = role === 'query' || role === 'all'
  const openOne = (partition: string): Promise<JetStream> => openLog(nats, cluster, partition)
  const logs = takesIn || answers ? await Promise.all(partitionNames(cluster).map(openOne)) : []
  const streams = takesIn ? logs : []
  const readers = createReaders(cluster)
  const allowances = await Promise.all(
    streams.map((stream, partition) =>
      openAllowance({
        stream,
        reader: present(readers[partition], 'each partition has a reader'),
        clock,
        isGone: () => false,
      }),
    ),
  )
  // Roles that need Elasticsearch fail at start without it.
  if (role !== 'ingest') await readers[0]?.progress('logs')
  const erasing = { directory, partitions: cluster.partitions, openLog: openOne, clock }
  const { projector, sampler, close: closeProjector } = folds ? createProjector(config, cluster, erasing) : noProjector
  return {
    clock,
    secrets,
    directory,
    streams,
    readers,
    readerOf: retainedReaders(requestReaders(readers, logs), directory, clock),
    projector,
    sampler,
    allowances,
    files: undefined,
    sweep: () => {
      const workspaceIds = directory.workspaces().map(({ id }) => id)
      for (const [partition, allowance] of allowances.entries()) {
        void allowance.sweep(workspaceIds.filter((id) => partitionNumber(id, cluster.partitions) === partition))
      }
    },
    // In a cluster, `throughline first-run` does this: its processes start together, and have nowhere to keep secrets.
    greet: async () => undefined,
    close: async () => {
      await Promise.all(allowances.map((allowance) => allowance.close()))
      await closeProjector()
      await Promise.all(readers.map((reader) => reader.close()))
      await directory.close()
      await Promise.all([directoryStream, ...logs].map((stream) => stream.close()))
      await nats.close()
    },
  }
}
