import { rollBack, wayBack } from '#projections/builds/move-readers.ts'
import type { Projection } from '#projections/projection.ts'
import { ok } from '#src/lib/result.ts'
import type { OpenBuilds, Verb } from './verb.ts'
import { projectionsNamed, withBuilds } from './with-builds.ts'

/** Of all that are asked to go back: who can, where any can. Throws before any has moved. */
async function movable(context: OpenBuilds, asked: readonly Projection[]): Promise<readonly Projection[]> {
  const ways = await Promise.all(asked.map((projection) => wayBack(context, projection)))
  const able = asked.filter((_, at) => ways[at] !== undefined)
  return able.length === 0 ? asked : able
}

async function moveAll(context: OpenBuilds, asked: readonly Projection[]) {
  const able = await movable(context, asked)
  const moved: { projection: string; index: string; former: string }[] = []
  for (const projection of able) moved.push({ projection: projection.name, ...(await rollBack(context, projection)) })
  return { moved, staying: asked.filter((projection) => !able.includes(projection)).map(({ name }) => name) }
}

export const rollback: Verb = {
  names: ['PROJECTION|all'],
  about: 'moves readers back to the build that they used before; it was folded on, so it is just as fresh',
  run: async (given) => {
    const done = await withBuilds(given, (context) => moveAll(context, projectionsNamed(context, given.names[0] ?? '')))
    const moved = done.flatMap((of) => of.moved)
    const lines = [
      ...moved.map(({ index, former }) => `Readers use ${index} again; ${former} is kept.`),
      ...new Set(
        done.flatMap(({ staying }) => staying.map((name) => `${name} stays: no earlier build of it is kept.`)),
      ),
    ]
    return ok({ json: { moved }, text: lines.join('\n') })
  },
}
