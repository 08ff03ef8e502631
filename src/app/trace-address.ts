/** Where the pages of traces are, each behind its id. */
export const tracePath = '/app/trace/'

/** Where a span stands on the page of its trace. */
export const spanPlace = (spanId: string): string => `span-${spanId}`

/** What the page of a trace may keep from one address to the next: what is looked for within it, and whether its subtrees are folded. */
export type KeptOfTrace = Readonly<{ find?: string; isFolded?: boolean }>

/** The page of a trace, without a place on it, so that more may be added: with a span of it, which is open there and marked. */
export function tracePageAddress(
  traceId: string,
  spanId?: string | null,
  { find = '', isFolded }: KeptOfTrace = {},
): string {
  const asked = [
    ...(spanId == null ? [] : [`span=${spanId}`]),
    ...(find === '' ? [] : [`find=${encodeURIComponent(find)}`]),
    ...(isFolded === true ? ['folded=1'] : []),
  ]
  const query = asked.length === 0 ? '' : `?${asked.join('&')}`
  return `${tracePath}${encodeURIComponent(traceId)}${query}`
}

/** The same, where a page with a span begins on that span, but for the lines before it. */
export const traceAddress = (traceId: string, spanId?: string | null, kept?: KeptOfTrace): string =>
  tracePageAddress(traceId, spanId, kept) + (spanId == null ? '' : `#${spanPlace(spanId)}`)
