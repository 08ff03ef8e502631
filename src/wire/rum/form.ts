/** The form of a RUM body: Grafana Faro's transport body, OTLP JSON from a browser's exporter, or the plain form. */
export type RumForm = 'faro' | 'otlp' | 'plain'
export type RumPart = 'events' | 'measurements' | 'logs' | 'exceptions' | 'spans'

/** The form of a body with these keys; undefined if it is none. The scan and the decoder both use it. */
export function formOf(keys: Iterable<string>): RumForm | undefined {
  const names = new Set(keys)
  if (names.has('resourceSpans')) return 'otlp'
  if (['meta', 'logs', 'exceptions', 'measurements', 'traces'].some((name) => names.has(name))) return 'faro'
  return names.has('events') ? 'plain' : undefined
}
