import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IndexReader } from '#projections/index-store.ts'
import { withLogHead } from '#projections/reading/log-head.ts'
import type { ElasticsearchIndexReader } from '#projections/stores/elasticsearch/reader.ts'
import { dutiesOf, type ClusterConfig, type Config } from '#src/config.ts'
import { givenSecrets } from '#src/directory/secrets.ts'
import { partitionNumber, partitionOf, type PartitionOf } from '#src/events/partition.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { present } from '#src/lib/assert.ts'
import { createClock } from '#src/lib/clock.ts'
import { makeOwnFolder } from '#src/lib/make-folder.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import type { Stream } from '#streams/stream.ts'
import { openAllowance } from './allowance.ts'
import { connectLogs, createReaders, hasIndexes, openLog, partitionNames } from './cluster-logs.ts'
import { openDirectory, type Engines } from './engines.ts'
import { withEraser, type ErasingOptions } from './eraser.ts'
import { retainedReaders } from './keepings.ts'
import { tidyScratch } from './scratch.ts'
import type { PartitionsData } from './threads/partitions-thread.ts'
import { createProjectorThread, withBeside, type ProjectorThread } from './threads/projector.ts'
import { createSampler, type Sampler } from './threads/sampler.ts'

/** Readers for requests: aborted with the request, and aware of the heads of their logs (none in a role that serves no queries). */
function requestReaders(
  readers: readonly ElasticsearchIndexReader[],
  logs: readonly Stream[],
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

/** Where all processes of this user take samples: so the next one removes what a killed one has left, which is customer data. */
const samplesFolder = (): string => join(tmpdir(), `throughline-samples-${process.getuid?.() ?? 'own'}`)

function tidySamples(dataFolder: string): void {
  try {
    // A folder of another user may hold links to anywhere.
    makeOwnFolder(dataFolder)
    tidyScratch(dataFolder)
  } catch {
    // The next sample fails in the same way and says so. Folding needs no samples.
  }
}

/** Folds this process's share of the partitions, and verifies samples of it. */
function createProjector(
  { role, sampleEveryMs: everyMs }: Config,
  cluster: ClusterConfig,
  erasing: ErasingOptions,
): Projector {
  const data: PartitionsData = { cluster, name: `throughline ${role} projector` }
  const thread = createProjectorThread('partitions-thread.ts', data)
  const dataFolder = samplesFolder()
  tidySamples(dataFolder)
  const places = () => thread.folded().map((partition) => ({ dataFolder, partition, cluster }))
  const sampler = createSampler({ places, everyMs })
  const projector = withEraser(withBeside(thread, sampler), erasing)
  return {
    projector,
    sampler,
    close: async () => {
      await projector.stop()
      tidySamples(dataFolder)
    },
  }
}

/** The logs of all partitions, the directory and the indexes of a cluster, as far as this role needs them. */
export async function openClusterEngines(config: Config, cluster: ClusterConfig): Promise<Engines> {
  const { role } = config
  const clock = createClock()
  const secrets = givenSecrets(cluster)
  const isKnown = (): Promise<boolean> => hasIndexes(cluster)
  // Ingest starts without Elasticsearch.
  const nats = await connectLogs(cluster, role, {
    isKnown: role === 'ingest' ? () => isKnown().catch(() => false) : isKnown,
  })
  const directoryStream = await openLog(nats, cluster, directoryPartition)
  const directory = await openDirectory(directoryStream, clock, cluster.pepper)
  const { takesIn, folds, answers } = dutiesOf(config)
  const openOne = (partition: string): Promise<Stream> => openLog(nats, cluster, partition)
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
