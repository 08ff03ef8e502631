import { checkDrop, dropBuild, knowsBuild, noSuchBuild } from '#projections/builds/drop-build.ts'
import { ok } from '#src/lib/result.ts'
import type { OpenBuilds } from './services.ts'
import type { Verb } from './verb.ts'
import { projectionOf, withBuilds } from './with-builds.ts'

export const drop: Verb = {
  names: ['BUILD'],
  about: 'removes a build that readers do not use',
  writes: true,
  run: async (given) => {
    const [index = ''] = given.names
    const remove = async (builds: OpenBuilds): Promise<boolean> => {
      const projection = projectionOf(builds, index)
      // Partitions number their builds each for itself: some may not have got to this one.
      if (!(await knowsBuild(builds, projection, index))) return false
      await dropBuild(builds, projection, index)
      return true
    }
    const check = (builds: OpenBuilds): Promise<void> => checkDrop(builds, projectionOf(builds, index), index)
    const found = await withBuilds(given, remove, { check })
    if (!found.includes(true)) throw noSuchBuild(index)
    return ok({ json: { dropped: index }, text: `${index} is gone.` })
  },
}
