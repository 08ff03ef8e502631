import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { projectionOfBuild } from '#projections/rosters/build-name.ts'
import type { BuildContext, BuildPlace } from '#projections/builds/build-place.ts'
import { createDecoder, type Decoders } from '#projections/folding/decoded-event.ts'
import type { FirstDay } from '#projections/retention/first-days.ts'
import { foldShare, shareName } from '#projections/folding/fold-share.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { createExpectedAudit } from '#projections/stores/elasticsearch/expected.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import type { Kept } from '#projections/stores/sqlite/writing/build.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { createWriteBehind } from '#projections/folding/write-behind.ts'
import { systemTimers, type Timers } from '#src/lib/timers.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, lineDecoders, mirror } from './line-projections.ts'

type Given = Readonly<{
  stream: Stream
  projections?: readonly Projection[]
  decoders?: Decoders
  workers?: number
  clock?: () => number
  timers?: Timers
  /** Without it everything is kept. */
  firstDay?: FirstDay
}>
type Common = Omit<BuildContext, 'index' | 'scratch'>

const limits = {
  projectorBatchEventsMax: 16,
  projectorBatchRecordsMax: 40,
  projectorBatchBytesMax: 1e6,
  cachedDocumentsMax: 20,
  cachedBytesMax: 1e6,
}

function commonOf({ stream, projections = [counting, mirror], decoders = lineDecoders, ...given }: Given): Common {
  const held = new Set<string>()
  return {
    stream,
    projections,
    decode: createDecoder(decoders),
    clock: given.clock ?? Date.now,
    timers: given.timers ?? systemTimers,
    limits,
    workers: given.workers ?? 2,
    firstDays: async () => given.firstDay ?? (() => ''),
    lock: async (name) => {
      if (held.has(name)) return undefined
      held.add(name)
      return { release: async () => void held.delete(name) }
    },
  }
}

/** Folds by workers of this process, one after the other. */
const foldHere =
  (common: Common, writerOf: (share: string) => IndexWriter): BuildPlace['fold'] =>
  async (tasks, onProgress, signal) => {
    for (const task of tasks) {
      const writer = writerOf(shareName(task.share))
      try {
        // As a thread is given it.
        await foldShare(structuredClone(task), {
          ...common,
          writer,
          onProgress: (position) => {
            signal.throwIfAborted()
            onProgress(task.share.number, position)
          },
        })
      } finally {
        await writer.close()
      }
    }
  }

const sharesOf = new WeakMap<MemoryIndexStore, Map<string, number>>()

/** Shares in memory: each with a checkpoint of its own, kept as long as the store is. */
function memoryPlace(common: Common, store: MemoryIndexStore): BuildPlace {
  const shares = sharesOf.get(store) ?? new Map<string, number>()
  sharesOf.set(store, shares)
  const writerOf = (share: string): IndexWriter => ({
    ...store.writer,
    heartbeat: async () => {},
    checkpoint: async (index) => {
      const { epoch, position } = await store.writer.checkpoint(index)
      return { epoch, position: Math.max(position, shares.get(`${share} ${index}`) ?? 0) }
    },
    write: async (index, entries, checkpoint) => {
      await store.writer.write(index, entries, { ...checkpoint, position: 0 })
      shares.set(`${share} ${index}`, checkpoint.position)
    },
  })
  return { writer: () => store.writer, audit: () => store.audit, fold: foldHere(common, writerOf) }
}

/** What rebuild and verify need, over an index in memory. */
export function memoryContext(given: Given, store: MemoryIndexStore): BuildContext {
  const common = commonOf(given)
  return {
    ...common,
    index: memoryPlace(common, store),
    scratch: async () => ({ ...memoryPlace(common, createMemoryIndexStore()), remove: async () => {} }),
  }
}

/** The projection of a build, with all its stored collections. */
const projectionOf =
  ({ projections }: Common) =>
  (index: string): Projection | undefined => {
    const found = projectionOfBuild(projections, index)
    return found && withSeenEvents(found)
  }

function sqlitePlace(common: Common, folder: string, keeps: Kept = 'all'): BuildPlace {
  const options = { folder, limits: { indexFilesOpenMax: 8 }, keeps }
  return {
    writer: () => createSqliteIndexWriter(options),
    audit: () => createSqliteIndexAudit({ folder }),
    fold: foldHere(common, (share) => createSqliteIndexWriter({ ...options, share })),
  }
}

/** The same over an index in a folder of SQLite files. */
export function sqliteContext(given: Given, folder: string): BuildContext {
  const common = commonOf(given)
  return {
    ...common,
    index: sqlitePlace(common, folder),
    scratch: async () => {
      const path = mkdtempSync(join(folder, 'scratch-'))
      const audit = () => createSqliteIndexAudit({ folder: path, summed: projectionOf(common) })
      return { ...sqlitePlace(common, path, 'sums'), audit, remove: () => rm(path, { recursive: true }) }
    },
  }
}

/** The same over indices of Elasticsearch; what they are compared with is in files of a folder. */
export function elasticsearchContext(
  given: Given,
  { url, prefix, folder }: Readonly<{ url: string; prefix: string; folder: string }>,
): BuildContext {
  const common = commonOf(given)
  const place = { url, prefix, partition: 0 }
  const writer = (share?: string): IndexWriter =>
    createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0, ...(share === undefined ? {} : { share }) })
  return {
    ...common,
    index: {
      writer: () => writer(),
      audit: () => createElasticsearchIndexAudit({ ...place, partitions: 1 }),
      fold: foldHere(common, (share) => createWriteBehind(writer(share))),
    },
    scratch: async () => {
      const path = mkdtempSync(join(folder, 'scratch-'))
      const files = sqlitePlace(common, path, 'entries')
      const audit = () => createExpectedAudit(files.audit(), projectionOf(common), given.stream.epoch)
      return { ...files, audit, remove: () => rm(path, { recursive: true }) }
    },
  }
}
