import type { Feature, Workspace } from '#src/directory/directory.ts'

/** Whether a workspace's plan has a feature; true if no feature is needed. */
export const planHas = ({ plan }: Pick<Workspace, 'plan'>, feature: Feature | undefined): boolean =>
  feature === undefined || plan.features.includes(feature)

const featureOfPage: Readonly<Partial<Record<string, Feature>>> = {
  '/app/traces': 'tracing',
  '/app/map': 'tracing',
  '/app/logs': 'logs',
}

/** Whether a workspace's plan includes the page at `path`; otherwise the page is refused. */
export const planHasPage = (workspace: Pick<Workspace, 'plan'>, path: string): boolean =>
  planHas(workspace, featureOfPage[path])
