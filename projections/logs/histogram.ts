import { formatTimeNs } from '#src/lib/time.ts'
import { countOverTime, type Counted, type Steps } from '../histogram.ts'
import type { IndexReader } from '../index-store.ts'

/** Counts over record time. Buckets without a record are left out. `and_later`: the last one, which has no end. */
export type LogHistogram = Readonly<{
  step_ms: number
  buckets: readonly Readonly<{
    time: string
    total: number
    by_level: Readonly<Record<string, number>>
    and_later?: true
  }>[]
}>

export async function logHistogram(reader: IndexReader, counted: Counted, steps: Steps): Promise<LogHistogram> {
  const { stepMs, buckets } = await countOverTime(reader, { ...counted, by: 'level' }, steps)
  return {
    step_ms: stepMs,
    buckets: buckets.map(({ startNs, total, by, andLater }) => ({
      time: formatTimeNs(startNs),
      total,
      by_level: by,
      ...(andLater === undefined ? {} : { and_later: andLater }),
    })),
  }
}
