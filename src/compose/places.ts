import type { IndexWriter } from '#projections/index-store.ts'
import type { Kept } from '#projections/stores/sqlite/writing/build.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { shareName, type FoldTask } from '#projections/folding/fold-share.ts'
import { createWriteBehind } from '#projections/folding/write-behind.ts'
import { limits, type ClusterConfig } from '#src/config.ts'
import type { Ticks } from '#src/lib/clock.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import type { Stream } from '#streams/stream.ts'
import { openLogBeside } from './log-beside.ts'
import { indexFilesOpen } from './open-files.ts'
import { createRoomCheck, type RoomUse } from './reserve.ts'

// Locations of logs and indexes as plain data, which can be passed to a thread. A cluster's drivers are loaded only for a cluster.

export type ClusterPlace = Readonly<{ cluster: ClusterConfig; partition: string }>
export type LogPlace = Readonly<{ file: string; partition: string }> | ClusterPlace
/** The disk that must have room: the reserve of a full disk is not for builds, nor for what they are compared with. */
export type Room = Readonly<{ dataFolder: string; use: RoomUse }>
export type IndexPlace = Readonly<{ folder: string; keeps?: Kept; room?: Room }> | ClusterPlace

/** Opens something over a NATS connection of its own, which is closed with it, or at once if it cannot be opened. */
export async function overOwnConnection<T extends Readonly<{ close(): Promise<void> }>>(
  { natsUrl: url }: ClusterConfig,
  name: string,
  open: (nats: Nats) => Promise<T>,
): Promise<T> {
  const { connectNats } = await import('#streams/jetstream/connect.ts')
  const nats = await connectNats({ url, name })
  try {
    const opened = await open(nats)
    const close = async (): Promise<void> => {
      await opened.close()
      await nats.close()
    }
    return { ...opened, close }
  } catch (error) {
    await nats.close()
    throw error
  }
}

/** A log that others write, over its own connection. */
export async function openLogIn(place: LogPlace): Promise<Stream> {
  if ('file' in place) return openLogBeside(place)
  const { openJetStream } = await import('#streams/jetstream/stream.ts')
  const { cluster, partition } = place
  const options = { partition, prefix: cluster.indexPrefix, limits }
  return overOwnConnection(cluster, 'throughline fold', (nats) => openJetStream(nats, options))
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

/** A writer of index files. With `room`, it begins and writes nothing while the reserve of that disk is given up. */
export function createFilesWriter(
  options: Parameters<typeof createSqliteIndexWriter>[0],
  room?: Room,
  ticks?: Ticks,
): IndexWriter {
  if (room === undefined) return createSqliteIndexWriter(options)
  const checkRoom = createRoomCheck(room.dataFolder, room.use, limits, ticks)
  const writer = createSqliteIndexWriter({ ...options, checkRoom })
  return {
    ...writer,
    open: async (...given) => {
      checkRoom()
      await writer.open(...given)
    },
  }
}

/** A writer of one share of a build. The others are written by as many threads of this process. */
export async function openSharedWriter(place: IndexPlace, of: FoldTask['share']): Promise<IndexWriter> {
  const share = shareName(of)
  if ('folder' in place) {
    const indexFilesOpenMax = indexFilesOpen(limits.indexFilesOpenMax, of.of)
    return createFilesWriter({ ...place, limits: { indexFilesOpenMax }, share }, place.room)
  }
  const { createElasticsearchIndexWriter } = await import('#projections/stores/elasticsearch/writer.ts')
  const at = indexesOf(place.cluster, Number(place.partition))
  return createWriteBehind(createElasticsearchIndexWriter({ ...at, refreshEveryMs: refreshSharedEveryMs, share }))
}
