export type Traceparent = Readonly<{ traceId: string; spanId: string; flags: number }>

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/i

/**
 * The `traceparent` header (W3C Trace Context level 2, §3.2), ids in lower case; undefined when it is not one: wrong form,
 * version ff, an all-zero id, or more after version 00. Upper case is taken too, though the specification has none.
 */
export function parseTraceparent(text: string): Traceparent | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] = form.exec(text.trim().toLowerCase()) ?? []
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
