import type { Feature, Workspace } from '#src/directory/directory.ts'

/** Whether the plan of a workspace has a feature; it has what needs none. */
export const planHas = ({ plan }: Pick<Workspace, 'plan'>, feature: Feature | undefined): boolean =>
  feature === undefined || plan.features.includes(feature)
