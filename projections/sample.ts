import type { BuildContext } from './build-place.ts'
import { liveBuilds, verify, type Verdict } from './verify.ts'

/** A number from 0 up to, and without, `below`. */
type Pick = (below: number) => number

/**
 * Compares one workspace of one index with the log, drawn at random; undefined where there is nothing to compare. It is to run
 * beside everything else: `eventsPerSecondMax` keeps it slow.
 */
export async function verifySample(
  context: BuildContext,
  pick: Pick,
  eventsPerSecondMax: number,
): Promise<Verdict | undefined> {
  const names = context.projections.map(({ name }) => name)
  const live = await liveBuilds(context, names)
  const target = live[pick(live.length)]
  if (target === undefined) return undefined
  const audit = context.index.audit()
  const parts = await audit.parts(target.index)
  await audit.close()
  const workspaces = [...new Set(parts.map(({ workspaceId }) => workspaceId))]
  const workspaceId = workspaces[pick(workspaces.length)]
  if (workspaceId === undefined) return undefined
  // One worker: it is in no hurry.
  const [verdict] = await verify({ ...context, workers: 1 }, [target], {
    workspaces: [workspaceId],
    eventsPerSecondMax,
  })
  return verdict
}
