export const comparePath = '/app/compare'

/** Where a trace is compared with another; without one, where that is chosen. */
export const compareAddress = (traceId: string, otherId?: string): string =>
  `${comparePath}?trace_id=${encodeURIComponent(traceId)}${otherId === undefined ? '' : `&with=${encodeURIComponent(otherId)}`}`
