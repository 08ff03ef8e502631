import type { Stream } from '#streams/stream.ts'
import type { Metrics, Sample } from './metrics.ts'

type Log = Pick<Stream, 'partition' | 'first'>
/** What retention has done here, and what keeps it from more. */
type Done = Readonly<{ daysDropped(): number; buildsHolding(): number }>

/** Where each log begins, read from it at each scrape; what this process has dropped of indexes; and what keeps it from cutting logs. */
export function observeRetention(metrics: Metrics, logs: readonly Log[], { daysDropped, buildsHolding }: Done): void {
  const firsts = async (valueOf: (first: Readonly<{ position: number; receivedAt: number }>) => number) => {
    const samples = logs.map(async ({ partition, first }): Promise<readonly Sample[]> => {
      const found = await first()
      return found === undefined ? [] : [{ labels: { partition }, value: valueOf(found) }]
    })
    return (await Promise.all(samples)).flat()
  }
  metrics.gauge('throughline_log_first_position', 'Position of the first event that a log still holds.', () =>
    firsts(({ position }) => position),
  )
  metrics.gauge('throughline_log_first_received_timestamp_seconds', 'When that event was received.', () =>
    firsts(({ receivedAt }) => receivedAt / 1_000),
  )
  metrics.gauge('throughline_index_days_dropped', 'Days of indexes that this process has dropped.', daysDropped)
  metrics.gauge(
    'throughline_log_holding_builds',
    'Builds because of which logs that this process folds are not cut as far as they might be.',
    buildsHolding,
  )
}
