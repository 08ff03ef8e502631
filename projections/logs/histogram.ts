import { formatTimeNs } from '#src/lib/time.ts'
import { countOverTime } from '../histogram.ts'
import type { IndexReader, Scope, Selection } from '../index-store.ts'

/** Counts over record time. Buckets without a record are left out. */
export type LogHistogram = Readonly<{
  step_ms: number
  buckets: readonly Readonly<{ time: string; total: number; by_level: Readonly<Record<string, number>> }>[]
}>

export async function logHistogram(reader: IndexReader, scope: Scope, selection: Selection): Promise<LogHistogram> {
  const { stepMs, buckets } = await countOverTime(reader, scope, selection, 'level')
  return {
    step_ms: stepMs,
    buckets: buckets.map(({ startNs, total, by }) => ({ time: formatTimeNs(startNs), total, by_level: by })),
  }
}
