import { dropBuild, knowsBuild, noSuchBuild } from '#projections/builds/drop-build.ts'
import { ok } from '#src/lib/result.ts'
import type { Verb } from './verb.ts'
import { projectionOf, withBuilds } from './with-builds.ts'

export const drop: Verb = {
  names: ['BUILD'],
  about: 'removes a build that readers do not use',
  writes: true,
  run: async (given) => {
    const [index = ''] = given.names
    const found = await withBuilds(given, async (context) => {
      const projection = projectionOf(context, index)
      // Partitions number their builds each for itself: some may not have got to this one.
      if (!(await knowsBuild(context, projection, index))) return false
      await dropBuild(context, projection, index)
      return true
    })
    if (!found.includes(true)) throw noSuchBuild(index)
    return ok({ json: { dropped: index }, text: `${index} is gone.` })
  },
}
