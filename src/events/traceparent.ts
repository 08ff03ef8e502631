export type Traceparent = Readonly<{ traceId: string; spanId: string; sampled: boolean }>

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/**
 * The ids of a `traceparent` header; undefined when it is invalid and so must be ignored. A version above 00 may carry more
 * after the flags. Source: W3C Trace Context, "traceparent Header Field Values" and "Versioning of traceparent".
 */
export function parseTraceparent(text: string): Traceparent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = traceparent.exec(text.trim()) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
