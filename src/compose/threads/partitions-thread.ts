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
import type { Stream } from '#streams/stream.ts'
import { createFolding } from '../folding.ts'
import { createRetryReport } from '../troubles.ts'
import { dayHearers } from './day-hearers.ts'
import { foldPartition, runWhenTold, type Tell } from './fold-partition.ts'
import { createPassOver, passOverBehind } from './lost-messages.ts'
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

const lossOptions = { allowLostLog, clock: folding.clock, newId: randomId, tell: print }
const passOver = createPassOver(lossOptions)

/** Looks for what is missing behind the fold, while a task runs, if somebody says that the log goes on without. */
async function lookingBehind(stream: Stream, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  if (!allowLostLog) return task()
  const over = new AbortController()
  const given = {
    passOver: createPassOver(lossOptions),
    timers: systemTimers,
    signal: AbortSignal.any([signal, over.signal]),
  }
  const looking = passOverBehind(stream, given)
  try {
    await task()
  } finally {
    over.abort()
    await looking
  }
}

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
      const writer = createElasticsearchIndexWriter({
        place,
        settings,
        refreshEveryMs,
        ...dayHearers(partition, print),
      })
      try {
        await refuseOtherLog({ stream, writer, projections: folding.projections, allowLostLog, tell: print })
        const nameOf = (projection: string): string => `${projection} of partition ${partition}`
        try {
          await lookingBehind(stream, signal, () =>
            foldPartition({ stream, writer, directory, folding, nameOf }, tell, signal),
          )
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
