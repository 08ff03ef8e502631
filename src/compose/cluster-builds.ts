import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { BuildContext, BuildPlace } from '#projections/builds/build-place.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { asksForJson, complain } from '#src/cli/complaint.ts'
import type { OpenBuilds } from '#src/cli/services.ts'
import type { ClusterConfig } from '#src/config.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { holdLease } from '#streams/jetstream/hold-lease.ts'
import { createLeaseBoard, leaseTtlMs } from '#streams/jetstream/lease-board.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { openLog, partitionNames } from './cluster-logs.ts'
import { createFolding } from './folding.ts'
import { readFirstDays } from './keepings.ts'
import { indexesOf, overOwnConnection, type ClusterPlace } from './places.ts'
import { openScratch } from './scratch.ts'
import { foldInThreads, foldWorkers } from './threads/fold-threads.ts'

/** The builds of a partition, as a cluster has them. */
function indexPlace(place: ClusterPlace): BuildPlace {
  const { partitions, indexRefreshMs: refreshEveryMs } = place.cluster
  const at = indexesOf(place.cluster, Number(place.partition))
  return {
    writer: () => createElasticsearchIndexWriter({ ...at, refreshEveryMs }),
    audit: () => createElasticsearchIndexAudit({ ...at, partitions }),
    fold: foldInThreads(place, place),
  }
}

/**
 * Builds used only for comparison, in files beside this process. Elasticsearch does no second fold's work, and an index is not compared
 * with its own output. Search tokens are derived from the entries during the comparison (stores/elasticsearch/expected.ts).
 */
const openScratchOf = (place: ClusterPlace, dataFolder: string, clusterEpoch: string) =>
  openScratch(dataFolder, { keeps: 'entries', clusterEpoch }, place)

/** Another process may hold it at any moment. The work continues at the next call, so this one just ends. */
function loseLease(): never {
  const detail =
    'the lease of this work is lost, because NATS or this machine was too slow to renew it; run this again, and it goes on'
  process.stderr.write(complain({ code: 'failed', detail }, asksForJson(process.argv.slice(2))))
  process.exit(1)
}

/** By then the lease of one that was killed is free, also where NATS is late to forget it: who holds it still is at work. */
const lockPatienceMs = leaseTtlMs + 2_000
const lockPollMs = 250

function createLock(nats: Nats, { cluster, partition }: ClusterPlace): BuildContext['lock'] {
  const { indexPrefix: prefix, natsReplicas: replicas } = cluster
  return async (projection) => {
    const board = await createLeaseBoard({ nats, prefix, replicas })
    const id = randomBytes(8).toString('hex')
    const name = `rebuild-${projection}-${partition}`
    for (const until = performance.now() + lockPatienceMs; ; await pause(lockPollMs)) {
      const held = await holdLease({ board, name, id, onLost: loseLease })
      if (held !== undefined || performance.now() > until) return held
    }
  }
}

async function openBuilds(nats: Nats, place: ClusterPlace, dataFolder: string): Promise<OpenBuilds> {
  const { cluster, partition } = place
  const stream = await openLog(nats, cluster, partition)
  const folding = createFolding()
  const openDirectory = () => openLog(nats, cluster, directoryPartition)
  return {
    stream,
    ...folding,
    firstDays: () => readFirstDays(openDirectory, folding.clock),
    workers: foldWorkers(),
    index: indexPlace(place),
    scratch: async () => openScratchOf(place, dataFolder, stream.epoch),
    lock: createLock(nats, place),
    close: () => stream.close(),
  }
}

/** The builds of one partition, over their own connection. `dataFolder`: room for temporary files. */
export function openPartitionBuilds(place: ClusterPlace, dataFolder: string): Promise<OpenBuilds> {
  return overOwnConnection(place.cluster, 'throughline builds', (nats) => openBuilds(nats, place, dataFolder))
}

/** The builds of a cluster, partition by partition, beside the running processes. `dataFolder`: room for temporary files. */
export function openClusterBuilds(
  nats: Nats,
  cluster: ClusterConfig,
  dataFolder: string,
): Promise<readonly OpenBuilds[]> {
  const places = partitionNames(cluster).map((partition) => ({ cluster, partition }))
  return Promise.all(places.map((place) => openBuilds(nats, place, dataFolder)))
}
