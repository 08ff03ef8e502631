import { rollBack } from '#projections/move-readers.ts'
import { ok } from '#src/lib/result.ts'
import type { Verb } from './verb.ts'
import { projectionsNamed, withBuilds } from './with-builds.ts'

export const rollback: Verb = {
  name: 'rollback',
  names: ['PROJECTION|all'],
  usage: '',
  about: 'moves readers back to the build that they used before; it was folded on, so it is just as fresh',
  options: {},
  run: async (given) => {
    const moved = await withBuilds(given, async (context) => {
      const done: { projection: string; index: string; former: string }[] = []
      for (const projection of projectionsNamed(context, given.names[0] ?? '')) {
        done.push({ projection: projection.name, ...(await rollBack(context, projection)) })
      }
      return done
    })
    const all = moved.flat()
    const text = all.map(({ index, former }) => `Readers use ${index} again; ${former} is kept.`).join('\n')
    return ok({ json: { moved: all }, text: all.length === 0 ? 'There is no log yet.' : text })
  },
}
