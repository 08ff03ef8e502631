import { PermanentError } from '#src/lib/failure.ts'
import { keptMs } from '../folding/lanes.ts'
import { checkTail } from '../folding/log-tail.ts'
import {
  heartbeatMaxMs,
  isFolded,
  storedBuild,
  type FollowedBuild,
  type IndexName,
  type IndexWriter,
  type Roster,
} from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildVersion, isMadeBefore } from './build-name.ts'
import { withWriter, type BuildContext } from './build-place.ts'
import { foldShares } from './fold-shares.ts'
import { changeRoster, followedAs, forget, giveUp, isGone, nominate, promoteTo } from './roster.ts'

const pollMs = 100

/**
 * `moved`: readers use the build. `waits`: a projector of another version runs; readers move once one of this version has started and caught
 * up.
 */
export type Moved = 'moved' | 'waits'

async function isLiveFolded({ clock }: BuildContext, writer: IndexWriter, projection: string): Promise<boolean> {
  const { live } = await writer.roster(projection)
  const found = await storedBuild(writer, projection, live)
  return found !== undefined && isFolded(found.heartbeat, clock())
}

/**
 * Whether a program of another version folds the live build. One that has stopped just now seems to: it is waited until another heartbeat
 * comes, or none has come for too long.
 */
async function isFoldedByOther(context: BuildContext, writer: IndexWriter, { name, version }: Projection) {
  const since = context.clock()
  for (let first: number | undefined; ;) {
    const { live } = await writer.roster(name)
    const found = await storedBuild(writer, name, live)
    if (found === undefined || buildVersion(found.index) === version) return false
    const { at } = found.heartbeat
    if (!isFolded({ at }, context.clock()) || context.clock() - since > heartbeatMaxMs) return false
    first ??= at
    if (at !== first) return true
    await context.timers.pause(pollMs)
  }
}

/** Whether a program of a later version folds the live build. */
const isFoldedByLater = async (
  context: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  live: IndexName | undefined,
): Promise<boolean> =>
  buildVersion(live ?? '') > projection.version && (await isFoldedByOther(context, writer, projection))

/** Whether a program of another version has to be replaced by one of this version, which then moves readers. */
const mustWait: typeof isFoldedByLater = async (context, writer, projection, live) =>
  buildVersion(live ?? '') < projection.version || (await isFoldedByLater(context, writer, projection, live))

/**
 * Throws PermanentError where a program of a later version folds the live build. It would not let readers go to one of this version, nor would a
 * server of this version move them: that folds nothing while readers use a build of a later one.
 */
export async function refuseBesideLater(
  context: BuildContext,
  writer: IndexWriter,
  projection: Projection,
): Promise<void> {
  const { name } = projection
  const { live } = await writer.roster(name)
  if (!(await isFoldedByLater(context, writer, projection, live))) return
  const hint = `a program of a later version folds ${live}: stop it first`
  throw new PermanentError({ operation: 'rebuild', subject: name, hint })
}

/**
 * Folds a build to the head of the log, not only up to where the live one is: that may hold more than its heartbeat says, because its projector
 * may have ended between a batch and the heartbeat.
 */
async function catchUp(context: BuildContext, writer: IndexWriter, projection: string, index: IndexName) {
  const stored = await storedBuild(writer, projection, index)
  const until = await context.stream.head()
  if (stored === undefined || stored.checkpoint >= until) return
  try {
    await foldShares(context, context.index, [{ projection, index, after: stored.after, until }])
  } catch (error) {
    // If the build was removed during the fold, the caller reports that instead.
    if (!isGone(await writer.roster(projection), index)) throw error
  }
}

/**
 * Moves readers to a build that is near the log's head. The projector that folds the live build does it, between two batches, when both builds
 * are at the same position, so no reader goes back in time. If no projector runs, it is done here, once nothing is missing.
 */
export async function moveReaders(
  context: BuildContext,
  writer: IndexWriter,
  projection: Projection,
  index: IndexName,
): Promise<Moved> {
  const { name } = projection
  await changeRoster(writer, name, nominate(index))
  for (;;) {
    const roster = await writer.roster(name)
    const { live } = roster
    if (live === index) return 'moved'
    const as = followedAs(roster, index)
    if (as === undefined || as === 'dropped') {
      // It was removed before the last of it was folded.
      if (as === undefined) await writer.drop(index)
      const hint = 'it was dropped meanwhile'
      throw new PermanentError({ operation: 'move readers to', subject: index, hint })
    }
    // Readers were here already, and moved on to another candidate.
    if (as === 'kept') await changeRoster(writer, name, nominate(index))
    if (!(await isLiveFolded(context, writer, name))) {
      await catchUp(context, writer, name, index)
      // A projector may have begun meanwhile. It says so before it writes anything.
      if (await isLiveFolded(context, writer, name)) continue
      const { changed } = await changeRoster(writer, name, promoteTo(index, live, context.clock() + keptMs))
      if (changed) return 'moved'
      continue
    }
    if (await mustWait(context, writer, projection, live)) return 'waits'
    await context.timers.pause(pollMs)
  }
}

type WayBack = Readonly<{ index: IndexName; former: IndexName }>
type WayIn = Readonly<{ kept: FollowedBuild; live: IndexName }>

/**
 * Where a way back leads: to the build of one that was begun and broken off, which is a candidate then, or to the last kept one;
 * undefined if there is none. What a later program has kept is none: this one cannot fold it. Throws if it is of an earlier version, or
 * if readers use a later program's build and there is none of this version to leave it for.
 */
function wayIn({ live, followed }: Roster, { name, version }: Projection): WayIn | undefined {
  if (live === undefined) return undefined
  const known = followed.filter(({ index }) => buildVersion(index) <= version)
  const begun = known.find(({ index, as }) => as === 'candidate' && isMadeBefore(index, live))
  const kept = begun ?? known.findLast(({ as }) => as === 'kept')
  const keptVersion = kept === undefined ? undefined : buildVersion(kept.index)
  if (keptVersion !== version && buildVersion(live) > version)
    throw refuseRollBack(
      name,
      `no build of version ${version} is kept, and this program does not fold ${live}: run rebuild ${name} of this program`,
    )
  if (kept !== undefined && keptVersion !== version)
    throw refuseRollBack(
      name,
      `${kept.index} is of version ${keptVersion}, which only the program of that version folds: run rollback of that one`,
    )
  return kept && { kept, live }
}

/** Whether readers have gone back, so that the way leads to a later build; undefined if no build is kept. Throws as `wayIn` does. */
export async function isBack({ index }: BuildContext, projection: Projection): Promise<boolean | undefined> {
  const roster = await withWriter(index, (writer) => writer.roster(projection.name))
  const way = wayIn(roster, projection)
  return way && isMadeBefore(way.live, way.kept.index)
}

/** The build that readers used before, and the one that they use now; undefined if none is kept. Throws if it cannot be folded further. */
export async function wayBack(context: BuildContext, projection: Projection): Promise<WayBack | undefined> {
  const { name } = projection
  const refuse = (hint: string): PermanentError => refuseRollBack(name, hint)
  return withWriter(context.index, async (writer) => {
    const way = wayIn(await writer.roster(name), projection)
    if (way === undefined) return undefined
    const { index: kept, lost = false } = way.kept
    const stored = await storedBuild(writer, name, kept)
    if (stored?.epoch !== context.stream.epoch)
      throw refuse(`${kept} is of another log, as before a backup was restored: nothing can be folded into it`)
    if (lost) throw refuse(`${kept} has seen what the log has lost: nothing can be folded into it`)
    await checkTail(context.stream, stored)
    if (await isFoldedByOther(context, writer, projection))
      throw refuse(`a program of another version folds ${way.live}: stop it first`)
    return { index: kept, former: way.live }
  })
}

const refuseRollBack = (subject: string, hint: string): PermanentError =>
  new PermanentError({ operation: 'roll back', subject, hint })

/** The build to which readers are about to move; undefined if there is none. To one of another version no program of this one moves them. */
async function nextOf({ index }: BuildContext, { name, version }: Projection): Promise<IndexName | undefined> {
  const { followed } = await withWriter(index, (writer) => writer.roster(name))
  return followed.find((build) => build.as === 'candidate' && buildVersion(build.index) === version)?.index
}

/**
 * Readers go back to the build that they used before. `decided`: the way back as it was when that was decided. Whoever has gone it meanwhile has
 * done what was wanted: to look for it again would turn round.
 */
export async function rollBack(context: BuildContext, projection: Projection, decided?: WayBack): Promise<WayBack> {
  const way = decided ?? (await wayBack(context, projection))
  if (way === undefined) {
    const next = await nextOf(context, projection)
    const moving = next === undefined ? '' : `; readers are about to move to ${next}`
    throw refuseRollBack(projection.name, `no earlier build of it is kept${moving}`)
  }
  await withWriter(context.index, (writer) => moveReaders(context, writer, projection, way.index))
  return way
}

export const noSuchBuild = (index: IndexName): PermanentError =>
  new PermanentError({ operation: 'drop', subject: index, hint: 'there is no such build' })

const isKnown = async (writer: IndexWriter, { name }: Projection, index: IndexName): Promise<boolean> =>
  (await writer.builds(name)).some((build) => build.index === index) ||
  followedAs(await writer.roster(name), index) !== undefined

/** Whether a build is stored, or the roster names it. */
export const knowsBuild = (context: BuildContext, projection: Projection, index: IndexName): Promise<boolean> =>
  withWriter(context.index, (writer) => isKnown(writer, projection, index))

/** Removes a build that readers do not use. Whoever folds it lets go of it first. */
export async function dropBuild(context: BuildContext, projection: Projection, index: IndexName): Promise<void> {
  const { name } = projection
  const lock = await context.lock(name)
  const refuse = (hint: string): PermanentError => new PermanentError({ operation: 'drop', subject: index, hint })
  if (lock === undefined) throw refuse(`a rebuild of ${name} is under way: wait for it, or stop it`)
  try {
    await withWriter(context.index, async (writer) => {
      if (!(await isKnown(writer, projection, index))) throw noSuchBuild(index)
      const { roster } = await changeRoster(writer, name, giveUp(index))
      // Readers may have moved to it only now.
      if (roster.live === index) throw refuse('readers use it: rebuild, or roll back, and drop it then')
      while (await isLiveFolded(context, writer, name)) {
        if (followedAs(await writer.roster(name), index) === undefined) return
        await context.timers.pause(pollMs)
      }
      await writer.drop(index)
      await changeRoster(writer, name, forget(index))
    })
  } finally {
    await lock.release()
  }
}
