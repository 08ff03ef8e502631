import { PermanentError } from '#src/lib/failure.ts'
import type { IndexName, IndexWriter } from '../index-store.ts'
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
