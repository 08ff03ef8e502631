/** The projections of the service, in the order in which they are told of: for who opens no fold. */
export const projectionNames = ['traces', 'logs', 'correlation', 'allowance'] as const
export type ProjectionName = (typeof projectionNames)[number]
