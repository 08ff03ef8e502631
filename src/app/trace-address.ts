/** Where a span stands on the page of its trace. */
export const spanPlace = (spanId: string): string => `span-${spanId}`

/** The page of a trace; with a span of it, which is open there, marked, and where the page begins. */
export const traceAddress = (traceId: string, spanId?: string | null): string =>
  spanId == null ? `/app/trace/${traceId}` : `/app/trace/${traceId}?span=${spanId}#${spanPlace(spanId)}`
