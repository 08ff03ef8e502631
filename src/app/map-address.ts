/** The map of who calls whom in the traces that a search finds. It takes the conditions of /app/traces. */
export const mapPath = '/app/map'

type OfServices = Readonly<{ trace_id: string; services: readonly unknown[] }>

/** A link to the map of one trace, if it has several services. */
export const mapLinks = ({ trace_id: traceId, services }: OfServices): readonly (readonly [string, string])[] =>
  services.length > 1 ? [[`${mapPath}?trace_id=${encodeURIComponent(traceId)}`, 'Service map']] : []
