import { randomBytes } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { createProjector } from '#projections/projector.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { explain } from '#src/compose/failure.ts'
import { createRetryReport } from '#src/compose/troubles.ts'
import { limits, type ClusterConfig } from '#src/config.ts'
import { indexesOf } from '#src/compose/places.ts'
import { present } from '#src/lib/assert.ts'
import { connectNats, type Nats } from '#streams/jetstream/connect.ts'
import { createLeaseBoard } from '#streams/jetstream/lease-board.ts'
import { holdPartitions, leaseTtlMs } from '#streams/jetstream/lease.ts'
import { openJetStream, type JetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { createFolding } from './folding.ts'
import { refuseOtherLog } from './other-log.ts'
import type { ProjectorMessage, ProjectorOrder } from './projector.ts'
import { retainPartition } from './retention.ts'

// The thread that folds this process's share of the partitions. It begins when it is told to start, and ends, its leases given
// back, when it is told to stop, or when it cannot go on.

/** What it is started with. `name`: as the operator of NATS sees its connection. */
export type PartitionsData = Readonly<{ cluster: ClusterConfig; name: string }>

const { cluster, name } = workerData as PartitionsData
const port = present(parentPort, 'the projector runs in a thread')
const { partitions, indexPrefix: prefix, indexRefreshMs: refreshEveryMs } = cluster

const stopped = new AbortController()
const told = Promise.withResolvers<void>()
port.on('message', (order: ProjectorOrder) => {
  if (order === 'stop') stopped.abort()
  told.resolve()
})

/** All partitions may be this process's at times: together they keep as much loaded as one would. */
const folding = {
  ...createFolding(),
  limits: {
    ...limits,
    cachedDocumentsMax: Math.ceil(limits.cachedDocumentsMax / partitions),
    cachedBytesMax: Math.ceil(limits.cachedBytesMax / partitions),
  },
}

const tell = (message: ProjectorMessage): void => port.postMessage(message)

type Logs = Readonly<{ stream: JetStream; directory: JetStream }>

const tellLost =
  (partition: number) =>
  (indices: readonly string[]): void =>
    console.error(
      `partition ${partition}: indices of days are gone from Elasticsearch: ${indices.join(', ')}; answers that may lack something of them say ` +
        'so, until "throughline rebuild" of their projection folds them again from the log',
    )

async function foldLog({ stream, directory }: Logs, partition: number, signal: AbortSignal): Promise<void> {
  const onLost = tellLost(partition)
  const writer = createElasticsearchIndexWriter({ ...indexesOf(cluster, partition), refreshEveryMs, onLost })
  const { allowLostLog } = cluster
  const projector = createProjector({
    stream,
    writer,
    ...folding,
    onFailure: ({ projection, error, retried }) =>
      tell({ projection: `${projection} of partition ${partition}`, reason: explain(error), retried }),
    onDeadLetter: (letter) => tell({ ...letter, projection: `${letter.projection} of partition ${partition}` }),
  })
  try {
    const { projections } = folding
    await refuseOtherLog({ stream, writer, projections, allowLostLog, tell: (line) => console.error(line) })
    const stopRetaining = retainPartition({ stream, writer, directory }, tell)
    try {
      tell({ partition: stream.partition, isFolded: true })
      await projector.run(signal)
    } finally {
      tell({ partition: stream.partition, isFolded: false })
      stopRetaining()
    }
  } finally {
    await writer.close()
  }
}

/** Folds one partition until its lease ends. The connection stays: what is opened over it is closed, whichever step fails. */
async function fold(nats: Nats, partition: number, signal: AbortSignal): Promise<void> {
  const stream = await openJetStream(nats, { partition: String(partition), prefix, limits })
  try {
    const directory = await openJetStream(nats, { partition: directoryPartition, prefix, limits })
    try {
      await foldLog({ stream, directory }, partition, signal)
    } finally {
      await directory.close()
    }
  } finally {
    await stream.close()
  }
}

async function run(): Promise<void> {
  const nats = await connectNats({ url: cluster.natsUrl, name })
  try {
    const board = await createLeaseBoard({ nats, prefix, ttlMs: leaseTtlMs, replicas: cluster.natsReplicas })
    await holdPartitions(
      {
        board,
        id: randomBytes(8).toString('hex'),
        partitions,
        ttlMs: leaseTtlMs,
        run: (partition, signal) => fold(nats, partition, signal),
        onFailure: createRetryReport(folding.clock, 'a partition could not be folded on'),
      },
      stopped.signal,
    )
  } finally {
    await nats.close()
  }
}

await told.promise
try {
  if (!stopped.signal.aborted) await run()
} finally {
  port.close()
}
