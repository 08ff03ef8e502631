import { PermanentError } from '#src/lib/failure.ts'
import { parseJson, stringifyJson } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type {
  Checkpoint,
  Hit,
  IndexName,
  IndexReader,
  IndexWriter,
  Progress,
  Scope,
  Selection,
  WorkspaceEntries,
} from '../../index-store.ts'
import {
  dayBefore,
  daysReplaced,
  type Collection,
  type DocumentId,
  type Entry,
  type Projection,
} from '../../projection.ts'
import { rowOf, shapeOf, type CollectionShape } from '../row.ts'
import { facetsOf, histogramOf, hitOf, isSelected, refuseTooBroad, searchIn, type StoredEntry } from './read.ts'

type Build = {
  collections: ReadonlyMap<string, Readonly<{ collection: Collection; shape: CollectionShape }>>
  checkpoint: Checkpoint
  progress: Progress
  /** By workspace and collection, then by day and id. */
  stored: Map<string, Map<string, StoredEntry>>
}

/** Everything an index holds, in a fixed order: what two runs of the same events must have alike. */
export type Dump = readonly Readonly<{ workspaceId: string; entry: Entry }>[]

export type MemoryIndexStore = Readonly<{
  writer: IndexWriter
  reader: IndexReader
  dump(index: IndexName): Dump
}>

const placeOf = (workspaceId: WorkspaceId, collection: string): string => `${workspaceId}/${collection}`

/** A document as it comes back from any store: through its JSON. */
const stored = (entry: Entry): Entry => ({ ...entry, document: parseJson(stringifyJson(entry.document)) as object })

function openBuild(index: IndexName, projection: Projection, epoch: string): Build {
  const collections = Object.values(projection.collections) as unknown as readonly Collection[]
  return {
    collections: new Map(
      collections.map((collection) => [collection.name, { collection, shape: shapeOf(collection) }]),
    ),
    checkpoint: { epoch, position: 0 },
    progress: { index, position: 0, head: 0, at: 0, caughtUpAt: 0 },
    stored: new Map(),
  }
}

function removeReplaced(entries: Map<string, StoredEntry>, entry: Entry, lookbackDays: number): void {
  for (const day of daysReplaced(entry.day, lookbackDays)) {
    const name = `${day}/${entry.id}`
    if ((entries.get(name)?.entry.position ?? entry.position) < entry.position) entries.delete(name)
  }
}

function writeEntry(build: Build, workspaceId: WorkspaceId, entry: Entry): void {
  const known = build.collections.get(entry.collection)
  if (known === undefined) throw new PermanentError({ operation: 'write', subject: `collection ${entry.collection}` })
  const place = placeOf(workspaceId, entry.collection)
  const entries = build.stored.get(place) ?? new Map<string, StoredEntry>()
  build.stored.set(place, entries)
  if (entry.replaces === true) removeReplaced(entries, entry, known.shape.lookbackDays)
  const name = `${entry.day}/${entry.id}`
  if ((entries.get(name)?.entry.position ?? -1) >= entry.position) return
  const { replaces: _replaces, ...kept } = stored(entry)
  entries.set(name, { entry: kept, row: rowOf(known.shape, known.collection, kept) })
}

function createWriter(builds: Map<IndexName, Build>, live: Map<string, IndexName>): IndexWriter {
  const buildOf = (index: IndexName): Build => {
    const build = builds.get(index)
    if (build === undefined) throw new PermanentError({ operation: 'write', subject: index, hint: 'open it first' })
    return build
  }
  const load = (build: Build, workspaceId: WorkspaceId, collection: string, id: DocumentId, day: string): Entry[] => {
    const entries = build.stored.get(placeOf(workspaceId, collection))
    const lookbackDays = build.collections.get(collection)?.shape.lookbackDays ?? 0
    const days = Array.from({ length: lookbackDays + 1 }, (_, index) => dayBefore(day, index))
    return days.flatMap((day) => entries?.get(`${day}/${id}`)?.entry ?? []).map(stored)
  }
  return {
    async open(index, projection, epoch) {
      const build = builds.get(index)
      if (build === undefined) builds.set(index, openBuild(index, projection, epoch))
      else if (build.checkpoint.epoch !== epoch) {
        throw new PermanentError({
          operation: 'open',
          subject: index,
          hint: 'it follows another log: start a new build',
        })
      }
    },
    load: async (index, keys) =>
      keys.map(({ workspaceId, collection, id, day }) => load(buildOf(index), workspaceId, collection, id, day)),
    async write(index, entries: readonly WorkspaceEntries[], checkpoint) {
      const build = buildOf(index)
      for (const of of entries) for (const entry of of.entries) writeEntry(build, of.workspaceId, entry)
      if (checkpoint.position > build.checkpoint.position) build.checkpoint = checkpoint
    },
    checkpoint: async (index) => builds.get(index)?.checkpoint ?? { epoch: '', position: 0 },
    async heartbeat(index, progress) {
      buildOf(index).progress = { index, ...progress }
    },
    async promote(projection, index) {
      buildOf(index)
      live.set(projection, index)
    },
    live: async (projection) => live.get(projection),
    close: async () => {},
  }
}

function createReader(
  builds: ReadonlyMap<IndexName, Build>,
  live: ReadonlyMap<string, IndexName>,
  expansionsMax: number,
): IndexReader {
  const entriesOf = ({ workspaceId, projection, collection }: Scope): readonly StoredEntry[] => {
    const build = builds.get(live.get(projection) ?? '')
    return [...(build?.stored.get(placeOf(workspaceId, collection))?.values() ?? [])]
  }
  const selected = (scope: Scope, selection: Selection): readonly StoredEntry[] => {
    const entries = entriesOf(scope)
    refuseTooBroad(selection.filter, entries, expansionsMax)
    return entries.filter((entry) => isSelected(selection, entry))
  }
  return {
    progress: async (projection) => builds.get(live.get(projection) ?? '')?.progress,
    async get<D extends object>(scope: Scope, ids: readonly DocumentId[]) {
      const newest = new Map<DocumentId, StoredEntry>()
      for (const found of entriesOf(scope)) {
        if ((newest.get(found.entry.id)?.entry.day ?? '') < found.entry.day) newest.set(found.entry.id, found)
      }
      return [...new Set(ids)].flatMap((id): readonly Hit<D>[] => {
        const found = newest.get(id)
        const hit = found && hitOf<D>(found, 'timeNs')
        return hit === undefined ? [] : [hit]
      })
    },
    search: async <D extends object>(scope: Scope, query: Parameters<IndexReader['search']>[1]) =>
      searchIn<D>(selected(scope, query), query),
    count: async (scope, selection) => selected(scope, selection).length,
    histogram: async (scope, selection, stepNs, by) => histogramOf(selected(scope, selection), stepNs, by),
    facets: async (scope, selection, fields, valuesMax) => facetsOf(selected(scope, selection), fields, valuesMax),
    close: async () => {},
  }
}

/** An index in memory: for tests, and the plain measure of what every other store must answer. */
export function createMemoryIndexStore(options = { patternExpansionsMax: 1_000 }): MemoryIndexStore {
  const builds = new Map<IndexName, Build>()
  const live = new Map<string, IndexName>()
  return {
    writer: createWriter(builds, live),
    reader: createReader(builds, live, options.patternExpansionsMax),
    dump(index) {
      const all = [...(builds.get(index)?.stored ?? [])].flatMap(([place, entries]) =>
        [...entries.values()].map(({ entry }) => ({ workspaceId: place.split('/')[0] ?? '', entry })),
      )
      const name = ({ workspaceId, entry }: Dump[number]): string =>
        `${workspaceId}/${entry.collection}/${entry.day}/${entry.id}`
      return all.sort((a, b) => (name(a) < name(b) ? -1 : 1))
    },
  }
}
