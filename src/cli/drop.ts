import { dropBuild } from '#projections/move-readers.ts'
import { ok } from '#src/lib/result.ts'
import type { Verb } from './verb.ts'
import { projectionOf, withBuilds } from './with-builds.ts'

export const drop: Verb = {
  name: 'drop',
  names: ['BUILD'],
  usage: '',
  about: 'removes a build that readers do not use',
  options: {},
  run: async (given) => {
    const [index = ''] = given.names
    await withBuilds(given, (context) => dropBuild(context, projectionOf(context, index), index))
    return ok({ json: { dropped: index }, text: `${index} is gone.` })
  },
}
