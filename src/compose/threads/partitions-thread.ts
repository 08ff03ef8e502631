import { randomBytes } from 'node:crypto'
import { workerData } from 'node:worker_threads'
import { connectPlaces, type Place } from '#projections/stores/elasticsearch/place.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { limits, type ClusterConfig } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { randomId } from '#src/lib/random-id.ts'
import { inStep, systemTimers } from '#src/lib/timers.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { holdPartitions } from '#streams/jetstream/hold-partitions.ts'
import { createLeaseBoard } from '#streams/jetstream/lease-board.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { createFolding } from '../folding.ts'
import { createRetryReport } from '../troubles.ts'
import { foldPartition, runWhenTold, type Tell } from './fold-partition.ts'
import { createPassOver } from './lost-messages.ts'
import { refuseOtherLog } from './other-log.ts'

// The thread that folds this process's share of the partitions. It has given its leases back when it ends.

/** What it is started with. `name`: as the operator of NATS sees its connection. */
export type PartitionsData = Readonly<{ cluster: ClusterConfig; name: string }>

const { cluster, name } = workerData as PartitionsData
const {
  partitions,
  elasticsearchUrl: url,
  indexPrefix: prefix,
  indexRefreshMs: refreshEveryMs,
  allowLostLog,
  indexSettings: settings,
} = cluster

/** This process may hold all partitions: together they cache as much as one would, and their heartbeats go in one request a second. */
const folding = {
  ...createFolding(),
  timers: inStep(systemTimers),
  limits: {
    ...limits,
    cachedDocumentsMax: Math.ceil(limits.cachedDocumentsMax / partitions),
    cachedBytesMax: Math.ceil(limits.cachedBytesMax / partitions),
  },
}

const print = (line: string): void => console.error(line)

const passOver = createPassOver({ allowLostLog, clock: folding.clock, newId: randomId, tell: print })

const printLost =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices of days are gone from Elasticsearch: ${indices.join(', ')}; answers that may lack something of them say ` +
        'so, until "throughline rebuild" of their projection folds them again from the log',
    )

const printClosed =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices of days are closed in Elasticsearch: ${indices.join(', ')}; answers that may lack something of them say so, ` +
        'and what belongs there waits, until they are opened again (POST /INDEX/_open)',
    )

const printPassedOver =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices of days have an alias named like a copy of a day, for which Elasticsearch leaves them out of searches: ` +
        `${indices.join(', ')}; answers that may lack something of them say so, until that alias is removed (DELETE /INDEX/_alias/ALIAS)`,
    )

const printLazy =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices of days were set to answer before they sync, so that a crash of Elasticsearch loses what is counted as folded: ` +
        `${indices.join(', ')}; index.translog.durability is set back to request`,
    )

const printPiped =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices of days had a pipeline, which may have changed or dropped what was written to them: ${indices.join(', ')}; ` +
        'index.final_pipeline is set back to _none; verify the projection, and rebuild it where it differs',
    )

const printBeside =
  (partition: number) =>
  (indices: readonly string[]): void =>
    print(
      `partition ${partition}: indices that are none of this installation stand among its own, such as copies of them: ${indices.join(', ')}; ` +
        'no erasure or retention reaches them, and they are counted where their names do not go on with -, _ or . behind the day: ' +
        'remove them, or give them names that do not begin with INDEX_PREFIX-',
    )

/** One for each partition. They ask for the records of builds at the same time, as at a start, and share one request. */
const places = connectPlaces({ url, prefix }, [...Array(partitions).keys()])
type Reached = Readonly<{ nats: Nats; place: Place }>

/** Folds one partition until its lease ends. The connections stay: what is opened over them is closed, whichever step fails. */
async function fold({ nats, place }: Reached, tell: Tell, signal: AbortSignal): Promise<void> {
  const { partition } = place
  // Warns of the log's settings, because nobody else looks at a log in which nothing arrives.
  const stream = await openJetStream(nats, { partition: String(partition), prefix, limits, warn: print })
  try {
    const directory = await openJetStream(nats, { partition: directoryPartition, prefix, limits })
    try {
      const told = {
        onLost: printLost(partition),
        onClosed: printClosed(partition),
        onPassedOver: printPassedOver(partition),
        onLazy: printLazy(partition),
        onPiped: printPiped(partition),
        onBeside: printBeside(partition),
      }
      const writer = createElasticsearchIndexWriter({ place, settings, refreshEveryMs, ...told })
      try {
        await refuseOtherLog({ stream, writer, projections: folding.projections, allowLostLog, tell: print })
        const nameOf = (projection: string): string => `${projection} of partition ${partition}`
        try {
          await foldPartition({ stream, writer, directory, folding, nameOf }, tell, signal)
        } catch (error) {
          await passOver(stream, error)
          throw error
        }
      } finally {
        await writer.close()
      }
    } finally {
      await directory.close()
    }
  } finally {
    await stream.close()
  }
}

await runWhenTold(async (tell, stopped) => {
  const nats = await connectNats({ url: cluster.natsUrl, name })
  try {
    const board = await createLeaseBoard({ nats, prefix, replicas: cluster.natsReplicas })
    await holdPartitions(
      {
        board,
        id: randomBytes(8).toString('hex'),
        partitions,
        run: (partition, signal) =>
          fold({ nats, place: present(places[partition], 'it is a partition') }, tell, signal),
        onFailure: createRetryReport(folding.clock, 'a partition could not be folded on'),
      },
      stopped,
    )
  } finally {
    await nats.close()
    await places[0]?.elasticsearch.close()
  }
})
