import { lagMs, type IndexReader, type Progress } from '#projections/index-store.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics, Sample } from './metrics.ts'

type Index = Readonly<{ partition: string; reader: IndexReader }>
type Options = Readonly<{ indexes: readonly Index[]; projections: readonly string[]; clock: Clock }>

/** An index that cannot be read hides none of the others; if none can be read, that failure is reported. */
function whole(samples: readonly PromiseSettledResult<readonly Sample[]>[]): readonly Sample[] {
  const failed = samples.find((each) => each.status === 'rejected')
  if (failed !== undefined && samples.every(({ status }) => status === 'rejected')) throw failed.reason
  return samples.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
}

async function readability({ partition, reader }: Index, projection: string): Promise<Sample> {
  const value = await reader.progress(projection).then(
    () => 0,
    () => 1,
  )
  return { labels: { projection, partition }, value }
}

/** How far each index is, as its projector last wrote; read from the index at each scrape. */
export function observeIndexes(metrics: Metrics, { indexes, projections, clock }: Options): void {
  const each = async (value: (progress: Progress) => number): Promise<readonly Sample[]> => {
    const samples = indexes.flatMap(({ partition, reader }) =>
      projections.map(async (projection): Promise<readonly Sample[]> => {
        const progress = await reader.progress(projection)
        return progress === undefined ? [] : [{ labels: { projection, partition }, value: value(progress) }]
      }),
    )
    return whole(await Promise.allSettled(samples))
  }
  metrics.gauge(
    'throughline_index_lag_seconds',
    'How long ago the last of what the index holds came; 0 when it holds all.',
    () => each((progress) => lagMs(progress, clock()) / 1_000),
  )
  metrics.gauge('throughline_index_position', 'The last event that readers of the index can find.', () =>
    each(({ position }) => position),
  )
  metrics.gauge(
    'throughline_index_lost_days',
    'Days of workspaces of which the file is gone, or the index is gone or closed: see throughline status.',
    () => each(({ lostDays = [] }) => lostDays.length),
  )
  metrics.gauge(
    'throughline_index_unreadable',
    '1 for an index that could not be read, of which nothing else is told; else 0.',
    () => Promise.all(indexes.flatMap((index) => projections.map((projection) => readability(index, projection)))),
  )
  metrics.gauge('throughline_index_log_head', 'The last event of the log, as the projector saw it.', () =>
    each(({ head }) => head),
  )
}
