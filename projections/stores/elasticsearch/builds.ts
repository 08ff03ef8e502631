import { TransientError } from '#src/lib/failure.ts'
import { stringifyJson, type JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { LostRecordError, isBuildOf, type Checkpoint, type IndexName, type StoredBuild } from '../../index-store.ts'
import { otherCollections, otherLog, wasDropped } from '../refusals.ts'
import type { Shapes } from '../row.ts'
import { numberIn, textIn } from './answer-parts.ts'
import { storedBuild } from './build-record.ts'
import { listDayIndices, removeIndices } from './indices.ts'
import type { Place } from './place.ts'
import { recordPath, type StoredRecord } from './records.ts'

const buildId = (index: IndexName, partition: number): string => `build:${index}:${partition}`

/** The record of a build of this partition; undefined when it is not there. */
export const recordOf = async ({ records, partition }: Place, index: IndexName): Promise<JsonObject | undefined> =>
  (await records.read(buildId(index, partition)))?.source

/** Of all that write at once, such as the workers of a rebuild, one succeeds each time. */
const attemptsMax = 100

/**
 * All changes of a build's record, by compare-and-set: two owners of a partition may write it, as at a handover, and other partitions do. `change` gives
 * the fields to replace, each whole, or nothing; it is asked again where the record was changed meanwhile. `known`: what the record was last known to
 * be, if that has the fields that `change` looks at. Undefined where the build is dropped: it does not come back.
 */
export async function changeBuild(
  place: Place,
  index: IndexName,
  change: (source: JsonObject) => JsonObject | undefined | Promise<JsonObject | undefined>,
  known?: StoredRecord,
): Promise<StoredRecord | undefined> {
  const id = buildId(index, place.partition)
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    const record = (attempts === 0 ? known : undefined) ?? (await place.records.read(id))
    if (record === undefined || record.source['dropped'] === true) return undefined
    const fields = await change(record.source)
    if (fields === undefined) return record
    const updated = await place.records.update({ id, fields, unchanged: record.unchanged })
    if (updated === 'gone') return undefined
    if (updated !== 'changed') return { source: { ...record.source, ...fields }, unchanged: updated }
  }
  throw new TransientError({ operation: 'update', subject: index, hint: 'others change its record all the time' })
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
  const isThere = (await listDayIndices(place, index)).days.size > 0
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

/**
 * Partitions share the indices of a build. So each marks its record as dropped, and the last one removes them all. Until then, this partition does not
 * use the name again.
 */
export async function dropBuild(place: Place, index: IndexName): Promise<void> {
  if ((await readBuild(place, index)) === undefined) return
  await changeBuild(place, index, () => ({ dropped: true }))
  const parts = await recordsOfBuild(place, index)
  if (parts.some((source) => source['dropped'] !== true)) return
  const { days } = await listDayIndices(place, index)
  await removeIndices(place, index, days.keys())
  for (const source of parts) {
    const path = recordPath(place.names, '_doc', buildId(index, numberIn(source['partition'])))
    await place.elasticsearch.send({ operation: 'drop', subject: index, method: 'DELETE', path, accept: [404] })
  }
}
