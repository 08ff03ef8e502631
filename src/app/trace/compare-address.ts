export const comparePath = '/app/compare'

/** The address of the comparison of two traces; with only one, of the choice of the other. */
export const compareAddress = (traceId: string, otherId?: string): string =>
  `${comparePath}?trace_id=${encodeURIComponent(traceId)}${otherId === undefined ? '' : `&with=${encodeURIComponent(otherId)}`}`
