import type { Position } from '#src/events/envelope.ts'
import { onceDone } from '#src/lib/once.ts'
import type { EntryKey, Heartbeat, IndexName, IndexWriter, WorkspaceEntries } from '../../index-store.ts'
import { daysLookedAt, daysReplaced, type Entry, type Projection } from '../../projection.ts'
import { collectionIn, openedIn, otherLog, wasDropped } from '../refusals.ts'
import { writtenOf, type Written } from '../row.ts'
import { shareIn } from './build-record.ts'
import { checkpointOf, dropBuild, listBuilds, openBuild, recordOf } from './builds.ts'
import { NoPrimaryError, writeAll, type Operation } from './bulk.ts'
import { createDayIndices, type DayIndices } from './day-indices.ts'
import { createDayWatch, createForbid } from './day-watch.ts'
import { documentJson, entryOf, entrySource } from './document.ts'
import { eraseFromBuilds, eraseNoted } from './erase.ts'
import { listDayIndices, prepareState } from './indices.ts'
import { dropIndicesBefore, noteDays } from './known-days.ts'
import { lookUp, type DocumentPlace } from './look-up.ts'
import { defaultSettings, type IndexSettings } from './mapping.ts'
import { documentKey } from './names.ts'
import { connectPlace, type DayHearers, type Place, type PlaceOptions } from './place.ts'
import { createProgress, type Progress } from './progress.ts'
import { createFreshness, type Freshness } from './refresh.ts'
import { readRoster, writeRoster } from './rosters.ts'
import { createTellAgain } from './tell-again.ts'

/** `place`: over a connection that others use too, and that is not this writer's to close. */
type ElasticsearchWriterOptions = (PlaceOptions | Readonly<{ place: Place }>) &
  // Each is called once for an index, until it is so again.
  DayHearers &
  Readonly<{
    settings?: IndexSettings
    /** The least time between two refreshes, and between two progress records without news. */
    refreshEveryMs?: number
    /** Milliseconds of a clock that never goes back. */
    now?: () => number
    /**
     * The name of this writer's share of the work, where several writers fold one build, each its own workspaces. Its checkpoint
     * is the share's; readers are told nothing.
     */
    share?: string
    tellAgainMs?: number
  }>

type Build = Readonly<{
  index: IndexName
  projection: string
  epoch: string
  collections: ReadonlyMap<string, Written>
  days: DayIndices
  watch: ReturnType<typeof createDayWatch>
  freshness: Freshness
  progress: Progress
}>

type Options = Readonly<{
  settings: IndexSettings
  everyMs: number
  now: () => number
  share: string | undefined
  /** Creates the state index, once. */
  prepare(): Promise<void>
  /** See day-watch.ts. */
  forbid(): Promise<void>
}>

const untold: Heartbeat = { position: 0, head: 0, at: 0, caughtUpAt: 0 }

function freshnessOf(
  { elasticsearch, names }: Place,
  { everyMs, now }: Options,
  index: IndexName,
  told = untold,
): Freshness {
  return createFreshness({ elasticsearch, all: names.build(index), everyMs, now }, told)
}

async function openedBuild(
  place: Place,
  options: Options,
  projection: Projection,
  { index, epoch, after }: Readonly<{ index: IndexName; epoch: string; after: Position }>,
): Promise<Build> {
  const { share, prepare } = options
  const collections = writtenOf(projection)
  const shapes = Object.fromEntries([...collections].map(([name, { shape }]) => [name, shape]))
  await prepare()
  const { checkpoint: ofAll, heartbeat: found } = await openBuild(place, { index, epoch, after, shapes })
  // Events folded ahead are read again, and found done.
  const { ahead: _ahead, ...heartbeat } = found
  const checkpoint = share === undefined ? ofAll : Math.max(ofAll, shareIn((await recordOf(place, index)) ?? {}, share))
  // Indices that rebuild workers create are named when the build is opened next.
  const there = share === undefined ? await noteDays(place, index, () => true) : await listDayIndices(place, index)
  if (there === undefined) throw wasDropped(index)
  const freshness = freshnessOf(place, options, index, heartbeat)
  // An earlier writer may have left documents that are not searchable yet.
  for (const name of there.days.keys()) freshness.wrote(name)
  await freshness.refreshNow()
  const days = createDayIndices(place, { ...options, index, collections }, there.days.keys())
  const watch = createDayWatch(place, index, days.has, options)
  const progress = createProgress(place, index, options, { checkpoint, heartbeat })
  return { index, projection: projection.name, epoch, collections, days, watch, freshness, progress }
}

/** The operations for entries: each is written, and what it replaces on other days is deleted. */
function* operationsOf(
  { collections, days, freshness, epoch }: Build,
  entries: readonly WorkspaceEntries[],
): Generator<Operation, void, undefined> {
  for (const { workspaceId, entries: mine } of entries) {
    for (const entry of mine) {
      const written = collectionIn(collections, entry.collection)
      const place = { workspaceId, key: documentKey(workspaceId, entry.id), position: entry.position }
      const document = documentJson({ ...written, epoch }, workspaceId, entry)
      const index = days.of(entry)
      freshness.wrote(index)
      yield { kind: 'index', index, ...place, document }
      if (entry.replaces !== true) continue
      for (const day of daysReplaced(entry.day, written.shape.lookbackDays)) {
        const other = days.of({ collection: entry.collection, day })
        if (day === entry.day || !days.has(other)) continue
        freshness.wrote(other)
        yield { kind: 'delete', index: other, ...place, document: '' }
      }
    }
  }
}

type Wanted = DocumentPlace & Readonly<{ at: number; entry: EntryKey }>

/** The places where the entries of the keys may be, newest day first for each key. */
function wantedOf({ collections, days }: Build, keys: readonly EntryKey[]): readonly Wanted[] {
  return keys.flatMap((key, at) => {
    const { lookbackDays } = collectionIn(collections, key.collection).shape
    const { workspaceId } = key
    return daysLookedAt(key.day, lookbackDays).flatMap((day) => {
      const entry = { ...key, day }
      const index = days.of(entry)
      return days.has(index) ? [{ index, key: documentKey(workspaceId, key.id), workspaceId, at, entry }] : []
    })
  })
}

async function loadEntries(place: Place, build: Build, keys: readonly EntryKey[]) {
  const found: Entry[][] = keys.map(() => [])
  const wanted = wantedOf(build, keys)
  const stored = await lookUp(place.elasticsearch, wanted, entrySource)
  for (const [order, { at, entry }] of wanted.entries()) {
    const document = stored[order]
    if (document !== undefined) found[at]?.push(entryOf(entry.collection, entry.id, entry.day, document.source))
  }
  return found
}

/** Indices without a primary shard are left out of refreshes until all is written. */
async function orLeave(build: Build, task: Promise<void>): Promise<void> {
  try {
    await build.watch.orLookSoon(task)
  } catch (error) {
    if (error instanceof NoPrimaryError) error.indices.forEach(build.freshness.leave)
    throw error
  }
  build.freshness.rejoin()
}

/** What is there for as long as nobody removes it is told once. */
function onlyNew(hear: DayHearers['onBeside']): DayHearers['onBeside'] {
  const known = new Set<string>()
  return (names) => {
    const some = names.filter((name) => !known.has(name))
    for (const name of some) known.add(name)
    if (some.length > 0) hear?.(some)
  }
}

/** The writing side in Elasticsearch, for one partition. */
export function createElasticsearchIndexWriter(given: ElasticsearchWriterOptions): IndexWriter {
  const { settings = defaultSettings, refreshEveryMs: everyMs = 500, now = () => performance.now(), share } = given
  const { onLost, onClosed, onPassedOver, onLazy, onPiped, tellAgainMs = 1_500 } = given
  const told = { onLost, onClosed, onPassedOver, onLazy, onPiped, onBeside: onlyNew(given.onBeside) }
  const place: Place = { ...('place' in given ? given.place : connectPlace(given)), ...told }
  const { elasticsearch } = place
  const [prepare, forbid] = [onceDone(() => prepareState(place, settings)), createForbid(place, now)]
  const options = { settings, everyMs, now, share, prepare, forbid }
  const builds = new Map<IndexName, Build>()
  const buildOf = (index: IndexName): Build => openedIn(builds, index)
  const freshnessAt = (index: IndexName): Freshness => freshnessOf(place, options, index)
  const ofBuilds = () => (share === undefined ? [...builds.values()].map(({ progress }) => progress) : [])
  const tellingAgain = createTellAgain(ofBuilds, tellAgainMs)
  return {
    async open(index, projection, epoch, after = 0) {
      if (!builds.has(index)) builds.set(index, await openedBuild(place, options, projection, { index, epoch, after }))
      if (buildOf(index).epoch !== epoch) throw otherLog(index)
    },
    load: (index, keys) => buildOf(index).watch.orLookSoon(loadEntries(place, buildOf(index), keys)),
    async write(index, entries, checkpoint) {
      const build = buildOf(index)
      const { days, epoch, freshness, progress } = build
      await tellingAgain(async () => {
        await days.prepare(entries)
        await orLeave(build, writeAll({ elasticsearch, epoch, restore: days.restore }, operationsOf(build, entries)))
        if (checkpoint.isAhead !== true) progress.wrote(checkpoint.position)
        await freshness.refresh()
      })
    },
    async checkpoint(index) {
      const build = builds.get(index)
      if (build !== undefined) return { epoch: build.epoch, position: build.progress.recorded() }
      return checkpointOf(place, index)
    },
    async heartbeat(index, heartbeat) {
      const { freshness, watch, progress } = buildOf(index)
      await freshness.refresh(heartbeat)
      if (share === undefined) await watch.look()
      await progress.tell(freshness.capped(heartbeat))
    },
    roster: (projection) => readRoster(place, projection),
    async changeRoster(projection, roster) {
      await prepare()
      // Before readers move to a build, all of it must be searchable.
      await builds.get(roster.live ?? '')?.freshness.refreshNow()
      return writeRoster(place, projection, roster)
    },
    builds: (projection) => listBuilds(place, projection),
    eraseWorkspace: (index, workspaceId, position) =>
      // It goes through all indices of the build, document by document.
      tellingAgain(() => eraseFromBuilds(place, buildOf(index), { workspaceId, position }, freshnessAt)),
    async dropDays(index, { all }) {
      const gone = await dropIndicesBefore(place, index, all)
      builds.get(index)?.days.forget(gone)
      return gone.length
    },
    async drop(index) {
      builds.delete(index)
      await eraseNoted(place, index, freshnessAt(index))
      await dropBuild(place, index)
    },
    async close() {
      try {
        for (const { progress } of builds.values()) await progress.save()
      } finally {
        builds.clear()
        if (!('place' in given)) await elasticsearch.close()
      }
    },
  }
}
