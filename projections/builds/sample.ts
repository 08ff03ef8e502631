import { withAudit, type BuildContext } from './build-place.ts'
import { isOwn } from './own-versions.ts'
import { liveBuilds, verify, type Verdict } from './verify.ts'

/**
 * Compares one random workspace of one random index with the log; undefined if there is nothing to compare, as until an upgrade has folded
 * the indexes anew. It runs beside everything else, so `eventsPerSecondMax` keeps it slow. `pick`: a number from 0 up to, and without,
 * `below`.
 */
export async function verifySample(
  context: BuildContext,
  pick: (below: number) => number,
  eventsPerSecondMax: number,
): Promise<Verdict | undefined> {
  const names = context.projections.map(({ name }) => name)
  const live = (await liveBuilds(context, names)).filter((build) => isOwn(context.projections, build))
  const target = live[pick(live.length)]
  if (target === undefined) return undefined
  const parts = await withAudit(context.index, (audit) => audit.parts(target.index))
  const workspaces = [...new Set(parts.map(({ workspaceId }) => workspaceId))]
  const workspaceId = workspaces[pick(workspaces.length)]
  if (workspaceId === undefined) return undefined
  // One worker: there is no hurry.
  const [verdict] = await verify({ ...context, workers: 1 }, [target], {
    workspaces: [workspaceId],
    eventsPerSecondMax,
  })
  return verdict
}
