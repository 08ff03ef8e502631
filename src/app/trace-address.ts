/** The path of a trace's page, before the trace's id. */
export const tracePath = '/app/trace/'

/** The element id of a span on the page of its trace. */
export const spanPlace = (spanId: string): string => `span-${spanId}`

/** What a trace's page keeps from one address to the next: the search within it, whether its subtrees are folded, and what is shown of its time. */
export type KeptOfTrace = Readonly<{ find?: string; isFolded?: boolean; zoom?: string | undefined }>

/** The address of a trace's page without a fragment, so that parameters can be added. With a span, that span is open and marked. */
export function tracePageAddress(
  traceId: string,
  spanId?: string | null,
  { find = '', isFolded, zoom }: KeptOfTrace = {},
): string {
  const asked = [
    ...(spanId == null ? [] : [`span=${spanId}`]),
    ...(find === '' ? [] : [`find=${encodeURIComponent(find)}`]),
    ...(isFolded === true ? ['folded=1'] : []),
    ...(zoom === undefined ? [] : [`zoom=${zoom}`]),
  ]
  const query = asked.length === 0 ? '' : `?${asked.join('&')}`
  return `${tracePath}${encodeURIComponent(traceId)}${query}`
}

/** The same, scrolled to the span, with the lines before it in view. */
export const traceAddress = (traceId: string, spanId?: string | null, kept?: KeptOfTrace): string =>
  tracePageAddress(traceId, spanId, kept) + (spanId == null ? '' : `#${spanPlace(spanId)}`)
