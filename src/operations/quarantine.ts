import type { Metrics } from './metrics.ts'

/** Damaged logs that were set aside and still lie there; `lost`: how many events could not be read. */
export type SetAside = Readonly<{ name: string; lost: number }>

/** The names of the logs that there are, and which of them were set aside. */
export type QuarantinedLogs = Readonly<{ names: readonly string[]; setAside: () => readonly SetAside[] }>

/** Tells of damaged logs for as long as they lie in quarantine. */
export function observeQuarantine(metrics: Metrics, { names, setAside }: QuarantinedLogs): void {
  const each = (value: (of: readonly SetAside[]) => number) => () => {
    const all = setAside()
    return names.map((log) => ({ labels: { log }, value: value(all.filter(({ name }) => name === log)) }))
  }
  metrics.gauge(
    'throughline_quarantined_logs',
    'Damaged logs that were set aside and still lie in quarantine.',
    each(({ length }) => length),
  )
  metrics.gauge(
    'throughline_quarantined_lost_events',
    'Events of those that could not be read.',
    each((all) => all.reduce((sum, { lost }) => sum + lost, 0)),
  )
}
