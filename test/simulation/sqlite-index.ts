import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { IndexName, IndexReader, IndexWriter } from '#projections/index-store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import type { Kept } from '#projections/stores/sqlite/writing/build.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import type { Chance, SimulatedIndex } from './simulated-index.ts'

const limits = { indexFilesOpenMax: 6, patternExpansionsMax: 1_000, patternScanTermsMax: 2_000_000 }
/** So that the small files of a simulation are packed too. */
const tidying = { pagesPerTurn: 4, packedPagesMin: 0 }
const parts = ['', '-wal'] as const

/** How each file of the builds stood since it was last synced, the oldest first. */
function createSnapshots(root: string) {
  const taken = new Map<string, string[]>()
  let made = 0
  const filesOf = (folder: string, index: IndexName): readonly string[] => {
    const path = join(folder, index)
    if (!existsSync(path)) return []
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.db') && name !== 'meta.db').map((name) => join(index, name))
  }
  const take = (folder: string, index: IndexName): void => {
    for (const file of filesOf(folder, index)) {
      const copy = join(root, `snapshot-${++made}`)
      for (const part of parts) {
        if (existsSync(join(folder, file + part))) copyFileSync(join(folder, file + part), copy + part)
      }
      taken.set(file, [...(taken.get(file) ?? []), copy])
    }
  }
  const forget = (index: IndexName): void => {
    for (const file of taken.keys()) if (file.startsWith(`${index}/`)) taken.delete(file)
  }
  return {
    take,
    forget,
    /** Puts each file back to one of its places. */
    restore(folder: string, { below }: Chance): void {
      for (const [file, copies] of taken) {
        const copy = copies[below(copies.length)]
        if (copy === undefined) continue
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        for (const part of parts) {
          rmSync(join(folder, file + part), { force: true })
          if (existsSync(copy + part)) copyFileSync(copy + part, join(folder, file + part))
        }
        rmSync(join(folder, `${file}-shm`), { force: true })
      }
      taken.clear()
    },
  }
}
type Snapshots = ReturnType<typeof createSnapshots>
type Open = Readonly<{
  folder: string
  keeps: Kept
  snapshots: Snapshots
  between: () => Promise<void>
  share: string | undefined
}>
type Opened = Readonly<{ projection: Parameters<IndexWriter['open']>[1]; epoch: string }>

/** A writer whose batches are torn between two workspaces, and whose files are kept as they stood. */
function tornWriter({ folder, keeps, snapshots, between, share }: Open, builds: Map<IndexName, Opened>): IndexWriter {
  const inner = createSqliteIndexWriter({ folder, limits, keeps, tidying, ...(share === undefined ? {} : { share }) })
  /** Builds of which this writer has files that it has not synced. */
  const unsynced = new Set<IndexName>()
  const begin = (index: IndexName): void => {
    unsynced.delete(index)
    snapshots.forget(index)
    snapshots.take(folder, index)
  }
  return {
    ...inner,
    async open(index, projection, epoch, after) {
      await inner.open(index, projection, epoch, after)
      builds.set(index, { projection, epoch })
      // What others have left is synced when a build is opened.
      begin(index)
    },
    async write(index, entries, checkpoint) {
      if (entries.length === 0) return inner.write(index, entries, checkpoint)
      for (const [n, of] of entries.entries()) {
        if (n > 0) await between()
        unsynced.add(index)
        // Only with the last of them the batch is whole.
        await inner.write(index, [of], n === entries.length - 1 ? checkpoint : { ...checkpoint, isAhead: true })
        snapshots.take(folder, index)
      }
    },
    async heartbeat(index, progress) {
      const { position } = await inner.checkpoint(index)
      await inner.heartbeat(index, progress)
      if ((await inner.checkpoint(index)).position !== position) begin(index)
    },
    async eraseWorkspace(index, workspaceId, position) {
      await inner.eraseWorkspace(index, workspaceId, position)
      // Its files are gone for good.
      snapshots.forget(`${index}/${workspaceId}`)
    },
    async drop(index) {
      await inner.drop(index)
      builds.delete(index)
      unsynced.delete(index)
      snapshots.forget(index)
    },
    async close() {
      await inner.close()
      for (const index of unsynced) begin(index)
    },
  }
}

/** An index of SQLite files, which a power cut puts back one by one. Its writers live in one process, whatever they are called. */
export function createSqliteSimulatedIndex(chance: Chance, keeps: Kept = 'all'): SimulatedIndex {
  const root = mkdtempSync(join(tmpdir(), 'throughline-simulation-'))
  const folder = join(root, 'index')
  const snapshots = createSnapshots(root)
  const builds = new Map<IndexName, Opened>()
  const writers: IndexWriter[] = []
  const asides: SimulatedIndex[] = []
  mkdirSync(folder)
  let reader: IndexReader = createSqliteIndexReader({ folder, limits })
  return {
    isNear: true,
    open: (between, share) => {
      const writer = tornWriter({ folder, keeps, snapshots, between, share }, builds)
      writers.push(writer)
      return writer
    },
    audit: () =>
      createSqliteIndexAudit(
        keeps === 'sums' ? { folder, summed: (index) => builds.get(index)?.projection } : { folder },
      ),
    aside: () => {
      const aside = createSqliteSimulatedIndex(chance, 'sums')
      asides.push(aside)
      return aside
    },
    reader: {
      progress: (projection) => reader.progress(projection),
      get: (scope, ids) => reader.get(scope, ids),
      search: (scope, query) => reader.search(scope, query),
      places: (scope, query) => reader.places(scope, query),
      count: (scope, selection) => reader.count(scope, selection),
      histogram: (scope, selection, stepNs, by) => reader.histogram(scope, selection, stepNs, by),
      facets: (scope, selection, fields, valuesMax) => reader.facets(scope, selection, fields, valuesMax),
      close: () => reader.close(),
    },
    async cutPower() {
      await reader.close()
      snapshots.restore(folder, chance)
      // What readers were told goes back to what is surely there, as when a server starts.
      const writer = createSqliteIndexWriter({ folder, limits })
      for (const [index, { projection, epoch }] of builds) await writer.open(index, projection, epoch)
      await writer.close()
      reader = createSqliteIndexReader({ folder, limits })
    },
    async remove() {
      await reader.close()
      for (const writer of writers) await writer.close().catch(() => undefined)
      for (const aside of asides.splice(0)) await aside.remove()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
