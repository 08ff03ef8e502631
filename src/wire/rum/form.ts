/** What a RUM body is: Grafana Faro's transport body, OTLP JSON of a browser's exporter, or the plain form. */
export type RumForm = 'faro' | 'otlp' | 'plain'
export type RumPart = 'events' | 'measurements' | 'logs' | 'exceptions' | 'spans'

/** The form, by the keys of the body; the decoder has the same rule. */
export function formOf(keys: Iterable<string>): RumForm | undefined {
  const names = new Set(keys)
  if (names.has('resourceSpans')) return 'otlp'
  if (['meta', 'logs', 'exceptions', 'measurements', 'traces'].some((name) => names.has(name))) return 'faro'
  return names.has('events') ? 'plain' : undefined
}
