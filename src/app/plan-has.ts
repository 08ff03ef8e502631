import type { Feature, Workspace } from '#src/directory/directory.ts'

/** Whether the plan of a workspace has a feature; it has what needs none. */
export const planHas = ({ plan }: Pick<Workspace, 'plan'>, feature: Feature | undefined): boolean =>
  feature === undefined || plan.features.includes(feature)

const featureOfPage: Readonly<Partial<Record<string, Feature>>> = {
  '/app/traces': 'tracing',
  '/app/map': 'tracing',
  '/app/logs': 'logs',
}

/** Whether the plan of a workspace has the page at `path`, which is refused otherwise. */
export const planHasPage = (workspace: Pick<Workspace, 'plan'>, path: string): boolean =>
  planHas(workspace, featureOfPage[path])
