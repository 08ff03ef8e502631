import { TransientError } from '#src/lib/failure.ts'
import type { Heartbeat } from '../../index-store.ts'
import { numberIn, objectIn } from './answer-parts.ts'
import type { Elasticsearch } from './client.ts'

/** What was written and what of it readers can find. */
export type Freshness = Readonly<{
  /** This index is written to. */
  wrote(index: string): void
  /** Makes all that was written searchable, unless it was done only just before. */
  refresh(): Promise<void>
  /** The same, at once. */
  refreshNow(): Promise<void>
  /** Progress as readers may be told it: no further than what they can find. */
  capped(progress: Heartbeat): Heartbeat
}>

/** A refresh may take a tenth of the time: short pauses while little is written, longer ones under load. */
const pauseOfRefresh = 9

export type RefreshOptions = Readonly<{ elasticsearch: Elasticsearch; everyMs: number; now: () => number }>

/**
 * Elasticsearch shows what was written after a refresh, which costs the same for one document as for some thousands: so it is
 * not done with each batch, but at most each `everyMs`.
 */
export function createFreshness({ elasticsearch, everyMs, now }: RefreshOptions, start: Heartbeat): Freshness {
  const dirty = new Set<string>()
  let shown = start
  let notBefore = -Infinity
  const refreshNow = async (): Promise<void> => {
    if (dirty.size === 0) return
    const indices = [...dirty]
    const began = now()
    const { body } = await elasticsearch.send({
      operation: 'refresh',
      subject: `${indices.length} indices`,
      method: 'POST',
      path: `/${indices.join(',')}/_refresh`,
      query: { ignore_unavailable: true, allow_no_indices: true, filter_path: '_shards.failed' },
    })
    if (numberIn(objectIn(body['_shards'])['failed']) > 0) {
      throw new TransientError({ operation: 'refresh', subject: `${indices.length} indices` })
    }
    for (const index of indices) dirty.delete(index)
    const ended = now()
    notBefore = ended + Math.max(everyMs - (ended - began), everyMs === 0 ? 0 : (ended - began) * pauseOfRefresh)
  }
  return {
    wrote: (index) => void dirty.add(index),
    refreshNow,
    async refresh() {
      if (now() >= notBefore) await refreshNow()
    },
    capped(progress) {
      if (dirty.size === 0) shown = progress
      const { position, caughtUpAt } = shown
      return {
        ...progress,
        position: Math.min(position, progress.position),
        caughtUpAt: Math.min(caughtUpAt, progress.caughtUpAt),
      }
    },
  }
}
