/** The projections of the service, in the order in which they are shown: for code that loads no fold. */
export const projectionNames = ['traces', 'logs', 'correlation', 'allowance'] as const
export type ProjectionName = (typeof projectionNames)[number]
