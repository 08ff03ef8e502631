import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { Feature, Workspace } from './directory.ts'

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
