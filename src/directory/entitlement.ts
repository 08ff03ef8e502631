import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Feature, FollowedView, Workspace } from './directory.ts'

/** The refusal if the workspace's current plan lacks one of the features. */
export function checkEntitlement(
  workspace: Pick<Workspace, 'plan'> | undefined,
  features: readonly Feature[],
): Refusal | undefined {
  const feature = features.find((each) => workspace?.plan.features.includes(each) !== true)
  if (feature === undefined) return undefined
  const detail = `The plan of this workspace (${workspace?.plan.name ?? ''}) does not include ${feature}.`
  return refusal('entitlement_required', detail, { feature })
}

/** The same by the plan that is in the log now, since another process may just have changed it. If that cannot be told: by the one known here. */
export async function checkEntitlementNow(
  directory: FollowedView,
  workspaceId: WorkspaceId,
  features: readonly Feature[],
): Promise<Refusal | undefined> {
  const check = (): Refusal | undefined => checkEntitlement(directory.workspace(workspaceId), features)
  const refused = check()
  return refused !== undefined && (await directory.caughtUp()) ? check() : refused
}
