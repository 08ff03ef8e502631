import { PermanentError } from '#src/lib/failure.ts'
import type { IndexName, IndexWriter, Roster } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { changeRoster, followedAs, forget, giveUp } from '../rosters/roster.ts'
import { pollMs, withWriter, type BuildContext } from './build-place.ts'
import { isLiveFolded } from './move-readers.ts'

export const noSuchBuild = (index: IndexName): PermanentError =>
  new PermanentError({ operation: 'drop', subject: index, hint: 'there is no such build' })

const isKnown = async (writer: IndexWriter, { name }: Projection, index: IndexName): Promise<boolean> =>
  (await writer.builds(name)).some((build) => build.index === index) ||
  followedAs(await writer.roster(name), index) !== undefined

/** Whether a build is stored, or the roster names it. */
export const knowsBuild = (context: BuildContext, projection: Projection, index: IndexName): Promise<boolean> =>
  withWriter(context.index, (writer) => isKnown(writer, projection, index))

const refuse = (index: IndexName, hint: string): PermanentError =>
  new PermanentError({ operation: 'drop', subject: index, hint })

function refuseLive({ live }: Roster, index: IndexName): void {
  if (live === index) throw refuse(index, 'readers use it: rebuild, or roll back, and drop it then')
}

/** Runs a task while no rebuild of the projection can. */
async function whileNoRebuild(
  context: BuildContext,
  { name }: Projection,
  index: IndexName,
  task: (writer: IndexWriter) => Promise<void>,
): Promise<void> {
  const lock = await context.lock(name)
  if (lock === undefined) throw refuse(index, `a rebuild of ${name} is under way: wait for it, or stop it`)
  try {
    await withWriter(context.index, task)
  } finally {
    await lock.release()
  }
}

/** Throws what `dropBuild` would, as things are now: asked of all partitions before any of them loses the build. */
export const checkDrop = (context: BuildContext, projection: Projection, index: IndexName): Promise<void> =>
  whileNoRebuild(context, projection, index, async (writer) => refuseLive(await writer.roster(projection.name), index))

/** Removes a build that readers do not use. Whoever folds it lets go of it first. */
export const dropBuild = (context: BuildContext, projection: Projection, index: IndexName): Promise<void> =>
  whileNoRebuild(context, projection, index, async (writer) => {
    const { name } = projection
    if (!(await isKnown(writer, projection, index))) throw noSuchBuild(index)
    const { roster } = await changeRoster(writer, name, giveUp(index))
    // Readers may have moved to it only now.
    refuseLive(roster, index)
    while (await isLiveFolded(context, writer, name)) {
      if (followedAs(await writer.roster(name), index) === undefined) return
      await context.timers.pause(pollMs)
    }
    await writer.drop(index)
    await changeRoster(writer, name, forget(index))
  })
