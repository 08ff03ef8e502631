import type { Position } from '#src/events/envelope.ts'
import type { EntryKey, Heartbeat, IndexName, IndexWriter, WorkspaceEntries } from '../../index-store.ts'
import { daysLookedAt, daysReplaced, type Entry, type Projection } from '../../projection.ts'
import { collectionIn, openedIn, otherLog, wasDropped } from '../builds.ts'
import { writtenOf } from '../row.ts'
import { connectPlace, type Place, type PlaceOptions } from './build-record.ts'
import {
  checkpointOf,
  dropBuild,
  forbidAutomatic,
  indicesOf,
  listBuilds,
  lostRecord,
  noteCheckpoint,
  noteShare,
  openBuild,
  prepareState,
  readRoster,
  readShare,
  tellProgress,
  writeRoster,
} from './builds.ts'
import { NoPrimaryError, writeAll, type Operation } from './bulk.ts'
import { createDayIndices, type BuildOfDays, type DayIndices } from './day-indices.ts'
import { documentJson, entryOf, entrySource } from './document.ts'
import { eraseFromBuilds, eraseNoted } from './erase.ts'
import { dropIndicesBefore, noteDays } from './known-days.ts'
import { lookUp, type DocumentPlace } from './look-up.ts'
import { defaultSettings, type IndexSettings } from './mapping.ts'
import { documentKey } from './names.ts'
import type { StoredRecord } from './records.ts'
import { createFreshness, type Freshness } from './refresh.ts'
import { createTellAgain } from './tell-again.ts'

/** `place`: over a connection that others use too, and that is not this writer's to close. */
type ElasticsearchWriterOptions = (PlaceOptions | Readonly<{ place: Place }>) &
  Readonly<{
    settings?: IndexSettings
    /** Called once for day indices that somebody has removed, and for those that somebody has closed. */
    onLost?: Place['onLost']
    onClosed?: Place['onClosed']
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

type Build = BuildOfDays & {
  projection: string
  epoch: string
  freshness: Freshness
  /** The last batch that was written; the checkpoint in the build's record. */
  written: Position
  recorded: Position
  told: Heartbeat
  toldAt: number
  /** What its record was when this was last told. */
  record: StoredRecord | undefined
  /** When to ask next whether any index has changed, and when to look at its day indices next in any case. */
  askAt: number
  lookAt: number
  /** What was last answered. */
  stateVersion: number
}

/** How often it is asked whether any index has changed; then, and this often, one looks whether all day indices are there and open. */
const askEveryMs = 5_000
const lookEveryMs = 60_000

type Options = Readonly<{
  settings: IndexSettings
  refreshEveryMs: number
  now: () => number
  share: string | undefined
  /** Creates the state index, once. */
  prepare(): Promise<void>
  /** Forbids again that indices are made automatically, as often as one looks. All builds share that. */
  forbid(): Promise<void>
}>

const untold: Heartbeat = { position: 0, head: 0, at: 0, caughtUpAt: 0 }

function createPrepare(place: Place, settings: IndexSettings): () => Promise<void> {
  let prepared: Promise<void> | undefined
  return () => {
    prepared ??= prepareState(place, settings).catch((error: unknown) => {
      prepared = undefined
      throw error
    })
    return prepared
  }
}

function createForbid(place: Place, now: () => number): () => Promise<void> {
  let askedAt = now()
  return async () => {
    if (now() - askedAt < lookEveryMs) return
    askedAt = now()
    await forbidAutomatic(place).catch((error: unknown) => {
      askedAt = -Infinity
      throw error
    })
  }
}

function freshnessOf(
  { elasticsearch, names }: Place,
  { refreshEveryMs: everyMs, now }: Options,
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
  const checkpoint = share === undefined ? ofAll : Math.max(ofAll, await readShare(place, index, share))
  // Indices that rebuild workers create are named when the build is opened next.
  const there = share === undefined ? await noteDays(place, index, () => true) : await indicesOf(place, index)
  if (there === undefined) throw wasDropped(index)
  const known = new Set(there.days.keys())
  const freshness = freshnessOf(place, options, index, heartbeat)
  // An earlier writer may have left documents that are not searchable yet.
  for (const name of known) freshness.wrote(name)
  await freshness.refreshNow()
  const now = options.now()
  const looked = { askAt: now + askEveryMs, lookAt: now + lookEveryMs, stateVersion: 0 }
  const at = { ...looked, toldAt: -Infinity, record: undefined }
  const progress = { written: checkpoint, recorded: checkpoint, told: heartbeat, ...at }
  const days = { known, unnamed: new Set<string>(), names: new Map<string, Map<string, string>>() }
  return { projection: projection.name, index, epoch, collections, freshness, ...days, ...progress }
}

/** The operations for entries: each is written, and what it replaces on other days is deleted. */
function* operationsOf(
  build: Build,
  days: DayIndices,
  entries: readonly WorkspaceEntries[],
): Generator<Operation, void, undefined> {
  const { freshness, known, epoch } = build
  for (const { workspaceId, entries: mine } of entries) {
    for (const entry of mine) {
      const { collection, shape } = collectionIn(build.collections, entry.collection)
      const place = { workspaceId, key: documentKey(workspaceId, entry.id), position: entry.position }
      const document = documentJson({ shape, collection, epoch }, workspaceId, entry)
      const index = days.of(build, entry)
      freshness.wrote(index)
      yield { kind: 'index', index, ...place, document }
      if (entry.replaces !== true) continue
      for (const day of daysReplaced(entry.day, shape.lookbackDays)) {
        const other = days.of(build, { collection: entry.collection, day })
        if (day === entry.day || !known.has(other)) continue
        freshness.wrote(other)
        yield { kind: 'delete', index: other, ...place, document: '' }
      }
    }
  }
}

type Wanted = DocumentPlace & Readonly<{ at: number; entry: EntryKey }>

/** The places where the entries of the keys may be, newest day first for each key. */
function wantedOf(build: Build, days: DayIndices, keys: readonly EntryKey[]): readonly Wanted[] {
  return keys.flatMap((key, at) => {
    const { lookbackDays } = collectionIn(build.collections, key.collection).shape
    const { workspaceId } = key
    return daysLookedAt(key.day, lookbackDays).flatMap((day) => {
      const entry = { ...key, day }
      const index = days.of(build, entry)
      return build.known.has(index) ? [{ index, key: documentKey(workspaceId, key.id), workspaceId, at, entry }] : []
    })
  })
}

async function loadEntries(place: Place, days: DayIndices, build: Build, keys: readonly EntryKey[]) {
  const found: Entry[][] = keys.map(() => [])
  const wanted = wantedOf(build, days, keys)
  const stored = await lookUp(place.elasticsearch, wanted, entrySource)
  for (const [order, { at, entry }] of wanted.entries()) {
    const document = stored[order]
    if (document !== undefined) found[at]?.push(entryOf(entry.collection, entry.id, entry.day, document.source))
  }
  return found
}

/**
 * Misses the day indices that somebody removed while nothing was written to them; or, where the template was removed as well, that a write has
 * made anew with another mapping, which no search can use. And those that somebody has closed.
 */
async function lookAfter(place: Place, build: Build, { now, share, forbid }: Options): Promise<void> {
  if (share !== undefined || now() < build.askAt) return
  const stateVersion = await place.stateVersion()
  build.askAt = now() + askEveryMs
  if (stateVersion === build.stateVersion && now() < build.lookAt) return
  await forbid()
  // An older record may have been put back, which lacks some names.
  await noteDays(place, build.index, (name) => build.known.has(name))
  Object.assign(build, { stateVersion, lookAt: now() + lookEveryMs })
}

/** What somebody has closed fails whoever needs it: it is looked for with the next heartbeat. */
async function orLookAfter<T>(build: Build, task: Promise<T>): Promise<T> {
  try {
    return await task
  } catch (error) {
    Object.assign(build, { askAt: -Infinity, lookAt: -Infinity })
    throw error
  }
}

/** Indices without a primary shard are left out of refreshes until all is written. */
async function orLeave(build: Build, task: Promise<void>): Promise<void> {
  try {
    await orLookAfter(build, task)
  } catch (error) {
    if (error instanceof NoPrimaryError) error.indices.forEach(build.freshness.leave)
    throw error
  }
  build.freshness.rejoin()
}

const furthest = ({ position, ahead }: Heartbeat): Position => Math.max(position, ahead?.position ?? 0)
const isComplete = ({ position, head }: Heartbeat): boolean => position >= head

/** Records how far the build is, if that is news or was last recorded some time ago. */
async function record(
  place: Place,
  build: Build,
  progress: Heartbeat,
  { now, refreshEveryMs, share }: Options,
): Promise<void> {
  if (share !== undefined) {
    if (!(await recordWritten(place, build, share))) throw lostRecord(build.index)
    return
  }
  const { told, toldAt, written: checkpoint, freshness } = build
  const heartbeat = freshness.capped(progress)
  const isNews = furthest(heartbeat) > furthest(told) || isComplete(heartbeat) !== isComplete(told)
  if (!isNews && now() - toldAt < refreshEveryMs) return
  build.record = await tellProgress(place, build.index, { checkpoint, heartbeat }, build.record)
  if (build.record === undefined) throw lostRecord(build.index)
  Object.assign(build, { recorded: checkpoint, told: heartbeat, toldAt: now() })
}

/** Records the checkpoint without telling readers; false if the build no longer exists. */
async function recordWritten(place: Place, build: Build, share: string | undefined): Promise<boolean> {
  const { written: checkpoint, recorded, index } = build
  if (checkpoint <= recorded) return true
  const noting =
    share === undefined ? noteCheckpoint(place, index, checkpoint) : noteShare(place, index, share, checkpoint)
  if ((await noting) === undefined) return false
  build.recorded = Math.max(build.recorded, checkpoint)
  return true
}

/** The writing side in Elasticsearch, for one partition. */
export function createElasticsearchIndexWriter(given: ElasticsearchWriterOptions): IndexWriter {
  const { settings = defaultSettings, refreshEveryMs = 500, now = () => performance.now(), share } = given
  const { onLost, onClosed, tellAgainMs = 1_500 } = given
  const place: Place = { ...('place' in given ? given.place : connectPlace(given)), onLost, onClosed }
  const { elasticsearch } = place
  const [prepare, forbid] = [createPrepare(place, settings), createForbid(place, now)]
  const options = { settings, refreshEveryMs, now, share, prepare, forbid }
  const builds = new Map<IndexName, Build>()
  const days = createDayIndices(place, options)
  const buildOf = (index: IndexName): Build => openedIn(builds, index)
  const freshnessAt = (index: IndexName): Freshness => freshnessOf(place, options, index)
  const told = (): Iterable<Build> => (share === undefined ? builds.values() : [])
  const tellingAgain = createTellAgain(place, told, { everyMs: tellAgainMs, now })
  return {
    async open(index, projection, epoch, after = 0) {
      if (!builds.has(index)) builds.set(index, await openedBuild(place, options, projection, { index, epoch, after }))
      if (buildOf(index).epoch !== epoch) throw otherLog(index)
    },
    load: (index, keys) => orLookAfter(buildOf(index), loadEntries(place, days, buildOf(index), keys)),
    async write(index, entries, checkpoint) {
      const build = buildOf(index)
      await days.prepare(build, entries)
      const restore = (name: string): Promise<void> => days.restore(build, name)
      const operations = operationsOf(build, days, entries)
      await tellingAgain(async () => {
        await orLeave(build, writeAll({ elasticsearch, epoch: build.epoch, restore }, operations))
        if (checkpoint.isAhead !== true) build.written = Math.max(build.written, checkpoint.position)
        await build.freshness.refresh()
      })
    },
    async checkpoint(index) {
      const build = builds.get(index)
      if (build !== undefined) return { epoch: build.epoch, position: build.recorded }
      return checkpointOf(place, index)
    },
    async heartbeat(index, progress) {
      const build = buildOf(index)
      await build.freshness.refresh(progress)
      await lookAfter(place, build, options)
      await record(place, build, progress, options)
    },
    roster: (projection) => readRoster(place, projection),
    async changeRoster(projection, roster) {
      await options.prepare()
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
      for (const name of gone) builds.get(index)?.known.delete(name)
      return gone.length
    },
    async drop(index) {
      builds.delete(index)
      await eraseNoted(place, index, freshnessAt(index))
      await dropBuild(place, index)
    },
    async close() {
      try {
        for (const build of builds.values()) await recordWritten(place, build, share)
      } finally {
        builds.clear()
        if (!('place' in given)) await elasticsearch.close()
      }
    },
  }
}
