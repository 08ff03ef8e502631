import { parseJson, stringifyJson } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { IndexAudit } from '../../index-audit.ts'
import {
  isBuildOf,
  noRoster,
  type EntryKey,
  type Hit,
  type IndexName,
  type IndexReader,
  type IndexWriter,
  type KeptDays,
  type Roster,
  type Scope,
  type Selection,
  type StoredBuild,
  type WorkspaceEntries,
} from '../../index-store.ts'
import { daysLookedAt, daysReplaced, type DocumentId, type Entry } from '../../projection.ts'
import { collectionIn, openedIn, otherLog } from '../refusals.ts'
import { rowOf, writtenOf, type Written } from '../row.ts'
import { createMemoryAudit } from './audit.ts'
import { openBuild, type Build } from './build.ts'
import { facetsOf, histogramOf, hitOf, isSelected, refuseTooBroad, searchIn, type StoredEntry } from './read.ts'

/** Everything an index holds, in a fixed order: it must be the same for the same events. */
export type Dump = readonly Readonly<{ workspaceId: string; entry: Entry }>[]

/** The order of a dump. */
export function inOrder(dump: Dump): Dump {
  const name = ({ workspaceId, entry }: Dump[number]): string =>
    `${workspaceId}/${entry.collection}/${entry.day}/${entry.id}`
  return dump.toSorted((a, b) => (name(a) < name(b) ? -1 : 1))
}

export type MemoryIndexStore = Readonly<{
  writer: IndexWriter
  reader: IndexReader
  audit: IndexAudit
  dump(index: IndexName): Dump
}>

const placeOf = (workspaceId: WorkspaceId, collection: string): string => `${workspaceId}/${collection}`

/** A document as it comes back from any store: through its JSON. */
const stored = (entry: Entry): Entry => ({ ...entry, document: parseJson(stringifyJson(entry.document)) as object })

function removeReplaced(entries: Map<string, StoredEntry>, entry: Entry, lookbackDays: number): void {
  for (const day of daysReplaced(entry.day, lookbackDays)) {
    const name = `${day}/${entry.id}`
    if ((entries.get(name)?.entry.position ?? entry.position) < entry.position) entries.delete(name)
  }
}

type Made = Readonly<{ workspaceId: WorkspaceId; known: Written; replaces: boolean; stored: StoredEntry }>

function make(build: Build, workspaceId: WorkspaceId, entry: Entry): Made {
  const known = collectionIn(build.collections, entry.collection)
  const { replaces = false, ...kept } = stored(entry)
  return { workspaceId, known, replaces, stored: { entry: kept, row: rowOf(known.shape, known.collection, kept) } }
}

function put(build: Build, { workspaceId, known, replaces, stored }: Made): void {
  const { entry } = stored
  if (entry.position <= (build.erased.get(workspaceId) ?? 0)) return
  const place = placeOf(workspaceId, entry.collection)
  const entries = build.stored.get(place) ?? new Map<string, StoredEntry>()
  build.stored.set(place, entries)
  if (replaces) removeReplaced(entries, entry, known.shape.lookbackDays)
  const name = `${entry.day}/${entry.id}`
  if ((entries.get(name)?.entry.position ?? -1) >= entry.position) return
  entries.set(name, stored)
}

type Rosters = Map<string, Roster>

/** The methods of a writer that are about builds as a whole. */
function createBuilds(builds: Map<IndexName, Build>, rosters: Rosters) {
  const rosterOf = (projection: string): Roster => rosters.get(projection) ?? noRoster
  const stored = ([index, { after, checkpoint, progress }]: readonly [IndexName, Build]): StoredBuild => {
    const { index: _index, after: _after, ...heartbeat } = progress
    return { index, epoch: checkpoint.epoch, after, checkpoint: checkpoint.position, heartbeat }
  }
  return {
    roster: async (projection: string) => rosterOf(projection),
    async changeRoster(projection: string, roster: Roster) {
      if (rosterOf(projection).revision !== roster.revision) return false
      rosters.set(projection, { ...roster, revision: roster.revision + 1 })
      return true
    },
    builds: async (projection: string) =>
      [...builds]
        .filter(([index]) => isBuildOf(projection, index))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(stored),
    drop: async (index: IndexName) => void builds.delete(index),
    async dropDays(index: IndexName, kept: KeptDays) {
      const dropped = new Set<string>()
      for (const [place, entries] of builds.get(index)?.stored ?? []) {
        const workspaceId = place.split('/', 1)[0] as WorkspaceId
        for (const [name, { entry }] of entries) {
          if (entry.day >= kept.of(workspaceId)) continue
          entries.delete(name)
          dropped.add(`${workspaceId}/${entry.day}`)
        }
      }
      return dropped.size
    },
  }
}

function createWriter(builds: Map<IndexName, Build>, rosters: Rosters): IndexWriter {
  const buildOf = (index: IndexName): Build => openedIn(builds, index)
  const load = (build: Build, { workspaceId, collection, id, day }: EntryKey): Entry[] => {
    const entries = build.stored.get(placeOf(workspaceId, collection))
    const { lookbackDays } = collectionIn(build.collections, collection).shape
    const days = daysLookedAt(day, lookbackDays)
    return days.flatMap((one) => entries?.get(`${one}/${id}`)?.entry ?? []).map(stored)
  }
  return {
    ...createBuilds(builds, rosters),
    async open(index, projection, epoch, after = 0) {
      const build = builds.get(index)
      if (build === undefined) builds.set(index, openBuild(index, projection, epoch, after))
      else if (build.checkpoint.epoch !== epoch) throw otherLog(index)
      // Another program makes rows its own way, as where it goes on with files.
      else build.collections = writtenOf(projection)
    },
    load: async (index, keys) => keys.map((key) => load(buildOf(index), key)),
    async write(index, written: readonly WorkspaceEntries[], checkpoint) {
      const build = buildOf(index)
      // All is made before any of it is there: an entry that cannot be made leaves nothing of its batch.
      const made = written.flatMap(({ workspaceId, entries }) =>
        entries.map((entry) => make(build, workspaceId, entry)),
      )
      for (const one of made) put(build, one)
      const { epoch, position, isAhead } = checkpoint
      if (isAhead !== true && position > build.checkpoint.position) build.checkpoint = { epoch, position }
    },
    async eraseWorkspace(index, workspaceId, position) {
      const { stored, erased } = buildOf(index)
      erased.set(workspaceId, Math.max(erased.get(workspaceId) ?? 0, position))
      for (const [place, entries] of stored) {
        if (!place.startsWith(placeOf(workspaceId, ''))) continue
        for (const [name, { entry }] of entries) if (entry.position <= position) entries.delete(name)
      }
    },
    checkpoint: async (index) => builds.get(index)?.checkpoint ?? { epoch: '', position: 0 },
    async heartbeat(index, progress) {
      const build = buildOf(index)
      build.progress = { index, after: build.after, ...progress }
    },
    close: async () => {},
  }
}

function createReader(builds: ReadonlyMap<IndexName, Build>, rosters: Rosters): IndexReader {
  const liveOf = (projection: string): Build | undefined => builds.get(rosters.get(projection)?.live ?? '')
  const entriesOf = ({ workspaceId, projection, collection, fromDay = '' }: Scope): readonly StoredEntry[] => {
    const all = liveOf(projection)?.stored.get(placeOf(workspaceId, collection))?.values() ?? []
    return [...all].filter(({ entry }) => entry.day >= fromDay)
  }
  const selected = (scope: Scope, selection: Selection): readonly StoredEntry[] => {
    const entries = entriesOf(scope)
    refuseTooBroad(selection, entries)
    return entries.filter((entry) => isSelected(selection, entry))
  }
  return {
    showsWholeBatches: true,
    progress: async (projection) => liveOf(projection)?.progress,
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
    places: async (scope, query) => searchIn(selected(scope, query), query).map(({ sort }) => sort),
    count: async (scope, selection) => selected(scope, selection).length,
    histogram: async (scope, selection, stepNs, by) => histogramOf(selected(scope, selection), stepNs, by),
    facets: async (scope, selection, fields, valuesMax) => facetsOf(selected(scope, selection), fields, valuesMax),
    close: async () => {},
  }
}

/** An index in memory, for tests: the other stores must answer like it. */
export function createMemoryIndexStore(): MemoryIndexStore {
  const builds = new Map<IndexName, Build>()
  const rosters: Rosters = new Map()
  return {
    writer: createWriter(builds, rosters),
    reader: createReader(builds, rosters),
    audit: createMemoryAudit(builds),
    dump(index) {
      const all = [...(builds.get(index)?.stored ?? [])].flatMap(([place, entries]) =>
        [...entries.values()].map(({ entry }) => ({ workspaceId: place.split('/')[0] ?? '', entry })),
      )
      return inOrder(all)
    },
  }
}
