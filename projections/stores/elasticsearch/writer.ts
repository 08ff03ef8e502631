import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { EntryKey, Heartbeat, IndexName, IndexWriter, Roster, WorkspaceEntries } from '../../index-store.ts'
import { dayBefore } from '#src/lib/day.ts'
import { daysReplaced, type Collection, type Entry, type Projection } from '../../projection.ts'
import { shapeOf, type CollectionShape } from '../row.ts'
import {
  checkpointOf,
  createIndex,
  dropBuild,
  heartbeatSource,
  indicesOf,
  listBuilds,
  openBuild,
  prepareState,
  readRoster,
  readShare,
  updateBuild,
  writeRoster,
  type Place,
} from './builds.ts'
import { writeAll, type Operation } from './bulk.ts'
import { connectElasticsearch } from './client.ts'
import { documentJson, entryOf, entrySource } from './document.ts'
import { eraseFromBuilds, eraseNoted } from './erase.ts'
import { dropIndicesBefore, noteMade, noteThere } from './known-days.ts'
import { lookUp, type DocumentPlace } from './look-up.ts'
import { dayIndex, defaultSettings, type IndexSettings } from './mapping.ts'
import { createNames, documentKey } from './names.ts'
import { createFreshness, type Freshness } from './refresh.ts'

export type ElasticsearchWriterOptions = Readonly<{
  /** `http(s)://user:password@host:port`. */
  url: string
  /** Begins the names of all indices. */
  prefix: string
  /** Of which partition of the log the builds are. */
  partition: number
  settings?: IndexSettings
  /** The least time between two refreshes, and between two records of progress that say nothing new. */
  refreshEveryMs?: number
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
  /**
   * The name of this writer's share of the work, where several writers fold one build, each its own workspaces. Its checkpoint
   * is the share's; readers are told nothing.
   */
  share?: string
  /** Hears, once, of indices of days that somebody has removed. */
  onLost?: Place['onLost']
}>

type Written = Readonly<{ collection: Collection; shape: CollectionShape }>

type Build = {
  projection: string
  index: IndexName
  epoch: string
  collections: ReadonlyMap<string, Written>
  freshness: Freshness
  /** The days' indices that are there. */
  known: Set<string>
  /** Names of the days' indices, by collection and day: each entry asks for its own. */
  names: Map<string, Map<string, string>>
  /** The batch that was written last; what the build's record says of it. */
  written: Position
  recorded: Position
  told: Heartbeat
  toldAt: number
}

function collectionsOf(projection: Projection): ReadonlyMap<string, Written> {
  const all = Object.values(projection.collections) as unknown as readonly Collection[]
  return new Map(all.map((collection) => [collection.name, { collection, shape: shapeOf(collection) }]))
}

function writtenOf(build: Build, collection: string): Written {
  const written = build.collections.get(collection)
  if (written === undefined) throw new PermanentError({ operation: 'use', subject: `collection ${collection}` })
  return written
}

type Options = Readonly<{
  settings: IndexSettings
  refreshEveryMs: number
  now: () => number
  share: string | undefined
  /** Makes what builds and rosters are kept in, once. */
  prepare(): Promise<void>
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
  const collections = collectionsOf(projection)
  const shapes = Object.fromEntries([...collections].map(([name, { shape }]) => [name, shape]))
  await prepare()
  const { checkpoint: ofAll, heartbeat: found } = await openBuild(place, { index, epoch, after, shapes })
  // What was ahead is met again, and found done.
  const { ahead: _ahead, ...heartbeat } = found
  const checkpoint = share === undefined ? ofAll : Math.max(ofAll, await readShare(place, index, share))
  const known = new Set(await indicesOf(place, index))
  if (share === undefined) await noteThere(place, index, [...known])
  const freshness = freshnessOf(place, options, index, heartbeat)
  // Who wrote before us may have left documents that no reader finds yet.
  for (const name of known) freshness.wrote(name)
  await freshness.refreshNow()
  const progress = { written: checkpoint, recorded: checkpoint, told: heartbeat, toldAt: -Infinity }
  return { projection: projection.name, index, epoch, collections, freshness, known, names: new Map(), ...progress }
}

type DayIndices = Readonly<{
  /** The name of a day's index. */
  of(build: Build, entry: Readonly<{ collection: string; day: string }>): string
  /** Makes those of these entries that are not there yet. */
  prepare(build: Build, entries: readonly WorkspaceEntries[]): Promise<void>
  restore(build: Build, name: string): Promise<void>
}>

function createDayIndices(place: Place, { settings, share }: Pick<Options, 'settings' | 'share'>): DayIndices {
  const { elasticsearch, names } = place
  // What workers of a rebuild make is named when the build is opened next.
  const note = async (build: Build, made: readonly string[]): Promise<void> => {
    if (share === undefined && made.length > 0) await noteMade(place, build.index, made)
  }
  const create = async (build: Build, name: string, collection: Collection): Promise<void> => {
    await createIndex(elasticsearch, name, dayIndex(collection, settings))
    build.known.add(name)
  }
  const of: DayIndices['of'] = (build, { collection, day }) => {
    const known = build.names.get(collection)?.get(day)
    if (known !== undefined) return known
    const name = names.day(build.index, collection, day)
    const ofCollection = build.names.get(collection) ?? new Map<string, string>()
    build.names.set(collection, ofCollection.set(day, name))
    return name
  }
  return {
    of,
    async prepare(build, entries) {
      const missing = new Map<string, Collection>()
      for (const entry of entries.flatMap((each) => each.entries)) {
        const name = of(build, entry)
        if (!build.known.has(name)) missing.set(name, writtenOf(build, entry.collection).collection)
      }
      await Promise.all([...missing].map(([name, collection]) => create(build, name, collection)))
      await note(build, [...missing.keys()])
    },
    async restore(build, name) {
      const found = [...build.collections.values()].find(({ collection }) =>
        name.startsWith(names.days(build.index, collection.name).slice(0, -1)),
      )
      if (found === undefined) return
      await create(build, name, found.collection)
      await note(build, [name])
    },
  }
}

/** What entries do: each is written, and what it replaces on other days is deleted. */
function* operationsOf(
  build: Build,
  days: DayIndices,
  entries: readonly WorkspaceEntries[],
): Generator<Operation, void, undefined> {
  for (const operation of allOperations(build, days, entries)) {
    build.freshness.wrote(operation.index)
    yield operation
  }
}

function* allOperations(
  build: Build,
  days: DayIndices,
  entries: readonly WorkspaceEntries[],
): Generator<Operation, void, undefined> {
  for (const { workspaceId, entries: mine } of entries) {
    for (const entry of mine) {
      const { collection, shape } = writtenOf(build, entry.collection)
      const place = { workspaceId, key: documentKey(workspaceId, entry.id), position: entry.position }
      const document = documentJson({ shape, collection, epoch: build.epoch }, workspaceId, entry)
      yield { kind: 'index', index: days.of(build, entry), ...place, document }
      if (entry.replaces !== true) continue
      for (const day of daysReplaced(entry.day, shape.lookbackDays)) {
        const index = days.of(build, { collection: entry.collection, day })
        if (day !== entry.day && build.known.has(index)) yield { kind: 'delete', index, ...place, document: '' }
      }
    }
  }
}

type Wanted = DocumentPlace & Readonly<{ at: number; entry: EntryKey }>

/** Where the entries of the keys may be, newest day first for each. */
function wantedOf(build: Build, days: DayIndices, keys: readonly EntryKey[]): readonly Wanted[] {
  return keys.flatMap((key, at) => {
    const { lookbackDays } = writtenOf(build, key.collection).shape
    const { workspaceId } = key
    return Array.from({ length: lookbackDays + 1 }, (_, before) => dayBefore(key.day, before)).flatMap((day) => {
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

const furthest = ({ position, ahead }: Heartbeat): Position => Math.max(position, ahead?.position ?? 0)
const isComplete = ({ position, head }: Heartbeat): boolean => position >= head

/** Records how far the build is, where that says something new or was last said some time ago. */
async function record(
  place: Place,
  build: Build,
  progress: Heartbeat,
  { now, refreshEveryMs, share }: Options,
): Promise<void> {
  if (share !== undefined) {
    if (!(await recordWritten(place, build, share))) throw dropped(build)
    return
  }
  const { told, toldAt, written: checkpoint, freshness } = build
  const heartbeat = freshness.capped(progress)
  const isNews = furthest(heartbeat) > furthest(told) || isComplete(heartbeat) !== isComplete(told)
  if (!isNews && now() - toldAt < refreshEveryMs) return
  const isThere = await updateBuild(place, build.index, { checkpoint, heartbeat: heartbeatSource(heartbeat) })
  if (!isThere) throw dropped(build)
  Object.assign(build, { recorded: checkpoint, told: heartbeat, toldAt: now() })
}

/** Records how far what was written is durable, and tells readers nothing; false when the build is not there any more. */
async function recordWritten(place: Place, build: Build, share: string | undefined): Promise<boolean> {
  const { written: checkpoint, recorded, index } = build
  if (checkpoint <= recorded) return true
  build.recorded = checkpoint
  return updateBuild(place, index, share === undefined ? { checkpoint } : { shares: { [share]: checkpoint } })
}

const rosterAttemptsMax = 20

/** Which builds there are and which of them readers use. Before readers move to a build, they can find all of it. */
function createRosters(place: Place, builds: ReadonlyMap<IndexName, Build>, prepare: () => Promise<void>) {
  const roster = (projection: string): Promise<Roster> => readRoster(place, projection)
  const changeRoster = async (projection: string, next: Roster): Promise<boolean> => {
    await prepare()
    await builds.get(next.live ?? '')?.freshness.refreshNow()
    return writeRoster(place, projection, next)
  }
  return {
    roster,
    changeRoster,
    live: async (projection: string) => (await roster(projection)).live,
    builds: (projection: string) => listBuilds(place, projection),
    async promote(projection: string, index: IndexName) {
      if (!builds.has(index)) throw notOpen(index)
      for (let attempt = 0; attempt < rosterAttemptsMax; attempt++) {
        if (await changeRoster(projection, { ...(await roster(projection)), live: index })) return
      }
      throw new TransientError({
        operation: 'promote',
        subject: index,
        hint: 'other processes keep changing the roster',
      })
    },
  }
}

const dropped = ({ index }: Build): PermanentError =>
  new PermanentError({ operation: 'update', subject: index, hint: 'the build was dropped' })

const notOpen = (index: IndexName): PermanentError =>
  new PermanentError({ operation: 'use', subject: index, hint: 'open it first' })

const otherLog = (index: IndexName): PermanentError =>
  new PermanentError({ operation: 'open', subject: index, hint: 'it follows another log: start a new build' })

/** The writing side in Elasticsearch, for one partition. */
export function createElasticsearchIndexWriter(given: ElasticsearchWriterOptions): IndexWriter {
  const {
    url,
    prefix,
    partition,
    settings = defaultSettings,
    refreshEveryMs = 500,
    now = () => performance.now(),
    share,
    onLost,
  } = given
  const elasticsearch = connectElasticsearch(url)
  const place: Place = { elasticsearch, names: createNames(prefix), partition, onLost }
  const options = { settings, refreshEveryMs, now, share, prepare: createPrepare(place, settings) }
  const builds = new Map<IndexName, Build>()
  const days = createDayIndices(place, options)
  const buildOf = (index: IndexName): Build => {
    const build = builds.get(index)
    if (build === undefined) throw notOpen(index)
    return build
  }
  return {
    async open(index, projection, epoch, after = 0) {
      if (!builds.has(index)) builds.set(index, await openedBuild(place, options, projection, { index, epoch, after }))
      if (buildOf(index).epoch !== epoch) throw otherLog(index)
    },
    load: (index, keys) => loadEntries(place, days, buildOf(index), keys),
    async write(index, entries, checkpoint) {
      const build = buildOf(index)
      await days.prepare(build, entries)
      const restore = (name: string): Promise<void> => days.restore(build, name)
      await writeAll({ elasticsearch, epoch: build.epoch, restore }, operationsOf(build, days, entries))
      if (checkpoint.isAhead !== true) build.written = Math.max(build.written, checkpoint.position)
      await build.freshness.refresh()
    },
    async checkpoint(index) {
      const build = builds.get(index)
      if (build !== undefined) return { epoch: build.epoch, position: build.recorded }
      return checkpointOf(place, index)
    },
    async heartbeat(index, progress) {
      const build = buildOf(index)
      await build.freshness.refresh(progress)
      await record(place, build, progress, options)
    },
    ...createRosters(place, builds, options.prepare),
    eraseWorkspace: (index, workspaceId, position) =>
      eraseFromBuilds(place, buildOf(index), { workspaceId, position }, (other) => freshnessOf(place, options, other)),
    async dropDays(index, { all }) {
      const gone = await dropIndicesBefore(place, index, all)
      for (const name of gone) builds.get(index)?.known.delete(name)
      return gone.length
    },
    async drop(index) {
      builds.delete(index)
      await eraseNoted(place, index, freshnessOf(place, options, index))
      await dropBuild(place, index)
    },
    async close() {
      for (const build of builds.values()) await recordWritten(place, build, share)
      builds.clear()
      await elasticsearch.close()
    },
  }
}
