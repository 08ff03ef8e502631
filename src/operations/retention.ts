import type { Stream } from '#streams/stream.ts'
import type { Metrics, Sample } from './metrics.ts'

type Log = Pick<Stream, 'partition' | 'first'>

/** Where each log begins, which is asked of it when the figure is; and what this process has dropped of indexes. */
export function observeRetention(metrics: Metrics, logs: readonly Log[], daysDropped: () => number): void {
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
  metrics.gauge('throughline_index_days_dropped', 'Days of indexes that this process has dropped.', () => [
    { labels: {}, value: daysDropped() },
  ])
}
