import { TransientError } from '#src/lib/failure.ts'
import { parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import {
  LostRecordError,
  type Checkpoint,
  type FollowedBuild,
  type Heartbeat,
  type IndexName,
  type MissedDay,
  type Roster,
  type StoredBuild,
} from '../../index-store.ts'
import { formatAhead, parseAhead } from '../ahead-text.ts'
import { isBuildOf, noRoster, otherCollections, otherLog, wasDropped } from '../builds.ts'
import type { Shapes } from '../row.ts'
import { numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import { buildId, changeBuild, recordOf, type Place } from './build-record.ts'
import type { Elasticsearch } from './call.ts'
import { stateIndex, stateRefresh, template, type IndexSettings } from './mapping.ts'
import { dayIn } from './names.ts'
import { recordPath, type StoredRecord } from './records.ts'

type Recorded = StoredRecord | undefined

const rosterId = (projection: string, partition: number): string => `roster:${projection}:${partition}`

/** The epoch of a build that this partition has dropped while others still use it. No log has this name. */
const droppedEpoch = '(dropped)'

function heartbeatOf(source: JsonObject): Heartbeat {
  const of = objectIn(source['heartbeat'])
  const [position, head, at] = [numberIn(of['position']), numberIn(of['head']), numberIn(of['at'])]
  const told = { position, head, at, caughtUpAt: numberIn(of['caughtUpAt']) }
  const ahead = parseAhead(of['ahead'])
  const last = objectIn(of['last'])
  const event = textIn(last['event'])
  return {
    ...told,
    ...(ahead && { ahead }),
    ...(event !== '' && { last: { position: numberIn(last['position']), event } }),
  }
}

/** Each part of it: an update keeps what it does not name. */
const heartbeatSource = ({ position, head, at, caughtUpAt, ahead, last }: Heartbeat): JsonObject => ({
  position,
  head,
  at,
  caughtUpAt,
  ahead: ahead === undefined ? null : formatAhead(ahead),
  last: last === undefined ? null : { ...last },
})

/** What a build's record says of its progress. */
type Told = Readonly<{ checkpoint: Position; heartbeat: Heartbeat }>

/**
 * Records how far a build is; never less than before: what is written and found stays so, while a late owner of the partition knows only of what it has
 * written itself.
 */
export const tellProgress = (place: Place, index: IndexName, told: Told, known?: StoredRecord): Promise<Recorded> =>
  changeBuild(place, index, (source) => furthestOf(storedProgress(source), told), known)

const storedProgress = (source: JsonObject): Told => ({
  checkpoint: numberIn(source['checkpoint']),
  heartbeat: heartbeatOf(source),
})

function furthestOf(stored: Told, told: Told): JsonObject {
  const checkpoint = Math.max(stored.checkpoint, told.checkpoint)
  const [before, now] = [stored.heartbeat, told.heartbeat]
  if (before.position <= now.position) return { checkpoint, heartbeat: heartbeatSource(now) }
  const latest = (part: 'head' | 'at' | 'caughtUpAt'): number => Math.max(before[part], now[part])
  const parts = { head: latest('head'), at: latest('at'), caughtUpAt: latest('caughtUpAt') }
  return { checkpoint, heartbeat: heartbeatSource({ ...before, ...parts }) }
}

function storedBuild(source: JsonObject): StoredBuild {
  return {
    index: textIn(source['index']),
    epoch: source['dropped'] === true ? droppedEpoch : textIn(source['epoch']),
    after: numberIn(source['after']),
    ...storedProgress(source),
    lostDays: lostDaysOf(source),
  }
}

/** The days of lost indices, each once, though every collection has its own index; then those that have only closed ones. */
function lostDaysOf(source: JsonObject): readonly MissedDay[] {
  const keptFrom = textIn(source['keptFrom'])
  const told = Object.keys(objectIn(source['toldLost'])).filter((name) => (dayIn(name) ?? '') >= keptFrom)
  const daysOf = (names: readonly string[]): ReadonlySet<string> => new Set(names.flatMap((name) => dayIn(name) ?? []))
  const lost = daysOf([...valuesIn(source['lostDays']).map(textIn), ...told])
  const closed = [...daysOf(closedIn(source))].filter((day) => !lost.has(day))
  return [
    ...[...lost].sort().map((day): MissedDay => ({ day })),
    ...closed.sort().map((day): MissedDay => ({ day, isClosed: true })),
  ]
}

/** A build as it is stored for this partition; undefined when it is not there. */
export async function readBuild(place: Place, index: IndexName): Promise<StoredBuild | undefined> {
  const source = await recordOf(place, index)
  return source && storedBuild(source)
}

/** What stands for the log of indices that belong to no build: no log's name. */
const leftoverEpoch = '(leftover)'

/**
 * How far a build is; epoch '' where the name is free. It is not where there are indices of that name which no partition has a record of, as
 * after the state index was removed: a new build would hold what is in them.
 */
export async function checkpointOf(place: Place, index: IndexName): Promise<Checkpoint> {
  const build = await readBuild(place, index)
  if (build !== undefined) return { epoch: build.epoch, position: build.checkpoint }
  // In this order: who makes a build makes its record first.
  const isThere = (await indicesOf(place, index)).days.size > 0
  const isLeft = isThere && (await recordsOfBuild(place, index)).length === 0
  return { epoch: isLeft ? leftoverEpoch : '', position: 0 }
}

/** Of a build whose record cannot be written, because it is there no more. */
export const lostRecord = (index: IndexName): LostRecordError =>
  new LostRecordError({
    operation: 'update',
    subject: index,
    hint: 'the build was dropped, or its record was removed: then it is folded anew from the log',
  })

/** How far one of several writers that share a build has come; 0 before it has said so. */
export async function readShare(place: Place, index: IndexName, share: string): Promise<Position> {
  return numberIn(objectIn((await recordOf(place, index))?.['shares'])[share])
}

/** Notes that; never less, as another who has this share may have come further. Undefined if the build is dropped. */
export const noteShare = (place: Place, index: IndexName, share: string, position: Position): Promise<Recorded> =>
  changeBuild(place, index, (source) => {
    const shares = objectIn(source['shares'])
    return { shares: { ...shares, [share]: Math.max(position, numberIn(shares[share])) } }
  })

/** Records that of all. */
export const noteCheckpoint = (place: Place, index: IndexName, position: Position): Promise<Recorded> =>
  changeBuild(place, index, (source) => ({ checkpoint: Math.max(position, numberIn(source['checkpoint'])) }))

/** Day indices, each with its UUID; and with that of its history, where it was restored from a snapshot: over a closed one, it keeps the first. */
export type Days = ReadonlyMap<string, string>

/** The day indices that a record names. Earlier programs noted names alone: then a UUID is ''. */
export const daysIn = (source: JsonObject): Days =>
  new Map(
    valuesIn(source['days']).map((day) =>
      typeof day === 'string' ? [day, ''] : [textIn(objectIn(day)['name']), textIn(objectIn(day)['uuid'])],
    ),
  )

/** Those of which it was last seen that somebody has closed them. */
const closedIn = (source: JsonObject): readonly string[] => valuesIn(source['closedDays']).map(textIn)

type Named = Readonly<{ named: Days; lost: readonly string[]; closed: readonly string[] }>

/** The day indices that a build names, and of these the ones that are lost, or closed (known-days.ts). */
export const namedIn = (source: JsonObject): Named => ({
  named: daysIn(source),
  lost: valuesIn(source['lostDays']).map(textIn),
  closed: closedIn(source),
})

export const sourceOfNamed = ({ named, lost, closed }: Named): JsonObject => ({
  days: [...named.keys()].sort().map((name) => ({ name, uuid: named.get(name) ?? '' })),
  lostDays: [...lost].sort(),
  closedDays: [...closed].sort(),
})

/** The collections of a build, by name; none if it does not exist. */
export async function readShapes(place: Place, index: IndexName): Promise<Shapes> {
  const source = await recordOf(place, index)
  return source === undefined ? {} : (parseJson(textIn(source['shapes'])) as unknown as Shapes)
}

/** Prevents our indices from being created automatically, with whatever mapping the first document suggests. */
export async function forbidAutomatic({ elasticsearch, names }: Place): Promise<void> {
  const make = { operation: 'prepare', subject: names.state, method: 'PUT' } as const
  await elasticsearch.send({ ...make, path: `/_index_template/${names.state}`, body: template(names.all) })
}

/** Creates the state index, and what keeps the others from being created automatically. */
export async function prepareState(place: Place, settings: IndexSettings): Promise<void> {
  const { elasticsearch, names } = place
  await forbidAutomatic(place)
  await createIndex(elasticsearch, names.state, stateIndex(settings))
  // Earlier programs had it refreshed each second. Where this may not be changed, that goes on, and does no harm.
  const change = { operation: 'prepare', subject: names.state, method: 'PUT', accept: [403] } as const
  await elasticsearch.send({ ...change, path: `/${names.state}/_settings`, body: stateRefresh })
}

/** The server's message if its nodes have as many shards as they may. It has no error type of its own. */
const noShardsLeft = /maximum .*shards open/

/** Creates an index, unless it exists. */
export async function createIndex(elasticsearch: Elasticsearch, index: string, body: object): Promise<void> {
  const call = { operation: 'create', subject: index, method: 'PUT', path: `/${index}`, body, accept: [400] } as const
  const { status, body: answer } = await elasticsearch.send(call)
  const error = objectIn(answer['error'])
  if (status !== 400 || error['type'] === 'resource_already_exists_exception') return
  const reason = textIn(error['reason'])
  // Transient: an operator, or retention, will make room, or take away what is in the way.
  const hint = noShardsLeft.test(reason)
    ? 'drop builds that are not needed, or raise cluster.max_shards_per_node'
    : 'an index template or an alias of somebody else may be in its way: change or remove that one'
  throw new TransientError({ operation: 'create', subject: index, cause: new Error(reason), hint })
}

type NewBuild = Readonly<{ index: IndexName; epoch: string; after: Position; shapes: Shapes }>

/** Creates the record of a build, or reads it. A build of another log or with other collections is refused. */
export async function openBuild(place: Place, { index, epoch, after, shapes }: NewBuild): Promise<StoredBuild> {
  const { elasticsearch, names, partition } = place
  const id = buildId(index, partition)
  const heartbeat = { position: after, head: after, at: 0, caughtUpAt: 0 }
  const fresh = { index, partition, epoch, after, checkpoint: after, heartbeat, shapes: stringifyJson(shapes) }
  const call = { operation: 'open', subject: index, method: 'PUT', path: recordPath(names, '_create', id) } as const
  const { status } = await elasticsearch.send({ ...call, body: { kind: 'build', ...fresh }, accept: [409] })
  if (status !== 409) {
    await refuseLeftover(place, index)
    return storedBuild(fresh)
  }
  const source = (await recordOf(place, index)) ?? {}
  if (source['dropped'] === true) throw wasDropped(index)
  if (source['epoch'] !== epoch) throw otherLog(index)
  if (source['shapes'] !== fresh.shapes) throw otherCollections(index)
  return storedBuild(source)
}

/**
 * If all other partitions have dropped the build, the last of them may be removing its indices right now, without having seen our new record. So the
 * removal is finished first.
 */
async function refuseLeftover(place: Place, index: IndexName): Promise<void> {
  const all = await recordsOfBuild(place, index)
  const others = all.filter((source) => source['partition'] !== place.partition)
  if (others.length === 0 || others.some((source) => source['dropped'] !== true)) return
  await dropBuild(place, index)
  throw new TransientError({ operation: 'open', subject: index, hint: 'another partition was just removing it' })
}

/** The records of a build in all partitions, including dropped ones. */
export const recordsOfBuild = async ({ records }: Place, index: IndexName): Promise<readonly JsonObject[]> =>
  (await records.builds()).filter((source) => source['index'] === index)

/** The records of a projection's builds in this partition, including dropped ones. */
async function recordsOf({ records, partition }: Place, projection: string): Promise<readonly JsonObject[]> {
  return (await records.builds()).filter(
    (source) => source['partition'] === partition && isBuildOf(projection, textIn(source['index'])),
  )
}

export async function listBuilds(place: Place, projection: string): Promise<readonly StoredBuild[]> {
  return (await recordsOf(place, projection))
    .filter((source) => source['dropped'] !== true)
    .map(storedBuild)
    .sort((a, b) => (a.index < b.index ? -1 : 1))
}

/** The builds that are behind a position of a log, or follow another log; including dropped ones whose indices other partitions keep. */
export async function listBuildsBefore(
  place: Place,
  projection: string,
  { epoch, position }: Checkpoint,
): Promise<readonly Pick<StoredBuild, 'index' | 'epoch'>[]> {
  return (await recordsOf(place, projection))
    .filter((source) => source['epoch'] !== epoch || numberIn(source['checkpoint']) < position)
    .map((source) => ({ index: textIn(source['index']), epoch: textIn(source['epoch']) }))
}

/** A workspace that was erased up to a position of a log (`epoch`). */
export type Erasure = Readonly<{ workspaceId: WorkspaceId; position: Position; epoch: string }>

/** Notes in a build's record an erasure that the build itself has not reached. */
export const noteErased = (
  place: Place,
  index: IndexName,
  { workspaceId, position, epoch }: Erasure,
): Promise<Recorded> =>
  changeBuild(place, index, (source) => {
    const erased = objectIn(source['erased'])
    const before = objectIn(erased[workspaceId])
    const isOlder = before['epoch'] === epoch && numberIn(before['position']) > position
    return isOlder ? undefined : { erased: { ...erased, [workspaceId]: { position, epoch } } }
  })

/** The erasures noted so, and the epoch of the build's own log. */
export async function readErased(
  place: Place,
  index: IndexName,
): Promise<Readonly<{ epoch: string; erased: readonly Erasure[] }>> {
  const source = (await recordOf(place, index)) ?? {}
  const erased = Object.entries(objectIn(source['erased'])).map(([workspaceId, of]) => {
    const { position, epoch } = objectIn(of)
    return { workspaceId: workspaceId as WorkspaceId, position: numberIn(position), epoch: textIn(epoch) }
  })
  return { epoch: textIn(source['epoch']), erased }
}

/**
 * Partitions share the indices of a build. So each marks its record as dropped, and the last one removes them all. Until then, this partition does not
 * use the name again.
 */
export async function dropBuild(place: Place, index: IndexName): Promise<void> {
  if ((await readBuild(place, index)) === undefined) return
  await changeBuild(place, index, () => ({ dropped: true }))
  const parts = await recordsOfBuild(place, index)
  if (parts.some((source) => source['dropped'] !== true)) return
  const { days } = await indicesOf(place, index)
  await removeIndices(place, index, days.keys())
  const ids = parts.map((source) => buildId(index, numberIn(source['partition'])))
  for (const id of ids) await remove(place, index, recordPath(place.names, '_doc', id))
}

async function remove({ elasticsearch }: Place, index: IndexName, path: string): Promise<void> {
  await elasticsearch.send({ operation: 'drop', subject: index, method: 'DELETE', path, accept: [404] })
}

/** Removes indices of a build; those that are not there any more too. */
export async function removeIndices(place: Place, index: IndexName, names: Iterable<string>): Promise<void> {
  for (const name of names) await remove(place, index, `/${name}`)
}

const identityOf = (part: Json | undefined): string => {
  const settings = objectIn(objectIn(objectIn(part)['settings'])['index'])
  const history = textIn(objectIn(settings['history'])['uuid'])
  return [textIn(settings['uuid']), ...(history === '' ? [] : [history])].join('/')
}

/** The day indices that exist. `closed`: those of them that answer no search, and that a search by a wildcard passes over. */
export type StoredDays = Readonly<{ days: Days; closed: readonly string[] }>

/** A build's existing day indices as the master knows them: another node may be behind it. */
export async function indicesOf({ elasticsearch, names: { build } }: Place, index: IndexName): Promise<StoredDays> {
  const parts = ['settings.index.uuid', 'settings.index.history.uuid', 'state'].map(
    (part) => `metadata.indices.*.${part}`,
  )
  const { body } = await elasticsearch.send({
    operation: 'look for',
    subject: index,
    method: 'GET',
    path: `/_cluster/state/metadata/${build(index)}`,
    query: {
      filter_path: parts.join(),
      expand_wildcards: 'open,closed',
      ignore_unavailable: true,
      allow_no_indices: true,
    },
  })
  const indices = objectIn(objectIn(body['metadata'])['indices'])
  const names = Object.keys(indices).sort()
  const days = new Map(names.map((name) => [name, identityOf(indices[name])]))
  return { days, closed: names.filter((name) => objectIn(indices[name])['state'] === 'close') }
}

/** A roster and the condition under which it may be changed. */
type KnownRoster = Readonly<{ roster: Roster; unchanged: Readonly<Record<string, string | number>> }>

function rosterOf(source: JsonObject): Roster {
  const followed = valuesIn(source['followed']) as unknown as readonly FollowedBuild[]
  const live = typeof source['live'] === 'string' ? source['live'] : undefined
  return { revision: numberIn(source['revision']), live, followed }
}

async function knownRoster({ records, partition }: Place, projection: string): Promise<KnownRoster> {
  const record = await records.read(rosterId(projection, partition))
  if (record === undefined) return { roster: noRoster, unchanged: { op_type: 'create' } }
  return { roster: rosterOf(record.source), unchanged: record.unchanged }
}

export const readRoster = async (place: Place, projection: string): Promise<Roster> =>
  (await knownRoster(place, projection)).roster

/** Compare-and-set: false if the roster has another revision by now. */
export async function writeRoster(place: Place, projection: string, roster: Roster): Promise<boolean> {
  const { elasticsearch, names, partition } = place
  const known = await knownRoster(place, projection)
  if (known.roster.revision !== roster.revision) return false
  const { status } = await elasticsearch.send({
    operation: 'change the roster of',
    subject: projection,
    method: 'PUT',
    path: recordPath(names, '_doc', rosterId(projection, partition)),
    query: known.unchanged,
    body: { kind: 'roster', projection, partition, ...roster, revision: roster.revision + 1 },
    accept: [409],
  })
  return status !== 409
}
