import { waitMsMax } from '#src/lib/clock.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { heartbeatMaxMs, isFolded, storedBuild, type IndexName, type IndexWriter } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildVersion } from '../rosters/build-name.ts'
import { changeRoster, followedAs, isGone, keptMs, nominate, promoteTo } from '../rosters/roster.ts'
import { pollMs, type BuildContext } from './build-place.ts'
import { foldShares } from './fold-shares.ts'

/**
 * `moved`: readers use the build. `waits`: a projector of another version runs; readers move once one of this version has started and caught
 * up.
 */
export type Moved = 'moved' | 'waits'

/** No process that runs beside us is further ahead: its clock would go back (src/lib/clock.ts). */
const aheadMsMax = waitMsMax + heartbeatMaxMs

/**
 * Whether a projector folds the build that readers use. If its last heartbeat is hours ahead, its clock was wrong then, and it has stopped since, or
 * it runs elsewhere by such a clock: then another heartbeat comes.
 */
export async function isLiveFolded(
  { clock, timers }: BuildContext,
  writer: IndexWriter,
  projection: string,
): Promise<boolean> {
  const beat = async (): Promise<number | undefined> => {
    const { live } = await writer.roster(projection)
    return (await storedBuild(writer, projection, live))?.heartbeat.at
  }
  const [at, since] = [await beat(), clock()]
  if (at === undefined || !isFolded({ at }, since)) return false
  if (at - since <= aheadMsMax) return true
  while (clock() - since <= heartbeatMaxMs) {
    await timers.pause(pollMs)
    if ((await beat()) !== at) return true
  }
  return false
}

/**
 * Whether a program of another version folds the live build. One that has stopped just now seems to: it is waited until another heartbeat
 * comes, or none has come for too long.
 */
export async function isFoldedByOther(context: BuildContext, writer: IndexWriter, { name, version }: Projection) {
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
