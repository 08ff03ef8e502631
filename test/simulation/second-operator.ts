import type { BuildContext } from '#projections/builds/build-place.ts'
import { dropBuild } from '#projections/builds/drop-build.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { judgeRebuilt } from './operator.ts'
import { pick } from './simulated-index.ts'
import type { Stage } from './stage.ts'

/** What readers use is the fold of the log at any moment, whatever else goes on. */
async function verifySome({ violate, world }: Stage, context: BuildContext, names: readonly string[]): Promise<void> {
  for (const { index, equal, differences } of await verify(context, await liveBuilds(context, names))) {
    world.note(`verify of ${index}: ${equal}`)
    if (!equal) violate(`${index} is not the fold of the log: ${JSON.stringify(differences[0])}`)
  }
}

/** One thing that a second operator does, who knows nothing of the first: looks, tidies up, or does the same. */
export async function doOther(stage: Stage, context: BuildContext): Promise<void> {
  const { chance, projections } = stage
  const one = pick(projections, chance)
  if (one === undefined) return
  const what = chance.below(5)
  if (what === 0) {
    await verifySome(stage, context, [one.name])
  } else if (what === 1) {
    await verifySome(
      stage,
      context,
      projections.map(({ name }) => name),
    )
  } else if (what === 2) {
    // Whatever there is: readers may use it, and a rebuild may be at it.
    const writer = context.index.writer()
    const { followed } = await writer.roster(one.name)
    const names = [...(await writer.builds(one.name)), ...followed].map(({ index }) => index)
    const index = pick(names, chance)
    if (index !== undefined) await dropBuild(context, one, index)
  } else if (what === 3) {
    await rollBack(context, one)
  } else {
    judgeRebuilt(stage, await rebuild(context, [one], { keep: chance.below(2) === 0 }))
  }
}
