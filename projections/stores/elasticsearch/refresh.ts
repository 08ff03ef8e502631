import { TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Heartbeat } from '../../index-store.ts'
import { numberIn, objectIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'

/** Tracks what was written and what readers can already find. */
export type Freshness = Readonly<{
  /** Call it before writing to an index. */
  wrote(index: string): void
  /** Leaves out an index without a primary shard, for which a refresh would wait a minute. No further progress is told meanwhile. */
  leave(index: string): void
  /** All is written that was to be: what was left out is refreshed with the rest. */
  rejoin(): void
  /** Makes all that was written searchable, unless that was done just before. `progress`: how far the index is now. */
  refresh(progress?: Pick<Heartbeat, 'position' | 'head'>): Promise<void>
  /** The same, at once. */
  refreshNow(): Promise<void>
  /** The progress that readers may be told: no further than what they can find. */
  capped(progress: Heartbeat): Heartbeat
}>

/** Refreshes may take a fifth of the time: the pause is at least four times as long as the last refresh. */
const pauseOfRefresh = 4
/** An index that is behind is refreshed every quarter of its lag: readers see events a quarter later than they would anyway. */
const pauseOfLag = 0.25
/** One refresh may have taken a minute, as where the server stood still: readers do not wait for four more. */
const pauseMsMax = 10_000

/** How long the index takes to reach the head of the log, ms; 0 while it is there: from when a head was seen until the index is at its position. */
function createLag(now: () => number) {
  let aim: Readonly<{ head: Position; at: number }> | undefined
  let last = 0
  return {
    tell({ position, head }: Pick<Heartbeat, 'position' | 'head'>): void {
      if (position >= head) {
        aim = undefined
        last = 0
      } else if (aim === undefined || position >= aim.head) {
        last = aim === undefined ? 0 : now() - aim.at
        aim = { head, at: now() }
      }
    },
    ms: (): number => (aim === undefined ? 0 : Math.max(last, now() - aim.at)),
  }
}

type RefreshOptions = Readonly<{
  elasticsearch: Elasticsearch
  /** A wildcard name for all indices of the build. */
  all: string
  everyMs: number
  now: () => number
}>

/** The most indices named in a request. Elasticsearch accepts addresses of 4,096 bytes, and an index name may have a hundred. */
const namedMax = 20

async function show({ elasticsearch, all }: RefreshOptions, indices: readonly string[]): Promise<void> {
  const { body } = await elasticsearch.send({
    operation: 'refresh',
    subject: `${indices.length} indices`,
    method: 'POST',
    path: `/${indices.length > namedMax ? all : indices.join(',')}/_refresh`,
    query: { ignore_unavailable: true, allow_no_indices: true, filter_path: '_shards.failed' },
  })
  if (numberIn(objectIn(body['_shards'])['failed']) > 0) {
    throw new TransientError({ operation: 'refresh', subject: `${indices.length} indices` })
  }
}

/**
 * Elasticsearch shows what was written after a refresh. A refresh costs the same for one document as for thousands, and leaves a segment to be merged. So it
 * is done at most every `everyMs`, and less often while the index is far behind.
 */
export function createFreshness(options: RefreshOptions, start: Heartbeat): Freshness {
  const { everyMs, now } = options
  const dirty = new Set<string>()
  const left = new Set<string>()
  let shown = start
  const lag = createLag(now)
  let [beganAt, tookMs] = [-Infinity, 0]
  /** Refreshes run one after the other: a caller may have written after the current one began. */
  let turn: Promise<void> = Promise.resolve()
  let showing: readonly string[] = []
  const showDirty = async (): Promise<void> => {
    if (dirty.size === 0) return
    const start = now()
    // What is written from now on may or may not be included.
    showing = [...dirty]
    dirty.clear()
    try {
      await show(options, showing)
    } catch (error) {
      for (const index of showing) dirty.add(index)
      throw error
    } finally {
      showing = []
    }
    beganAt = start
    tookMs = now() - start
  }
  const refreshNow = (): Promise<void> => {
    const mine = turn.then(showDirty)
    turn = mine.catch(() => {})
    return mine
  }
  const notBefore = (): number => {
    if (everyMs === 0) return -Infinity
    const pauseMs = Math.min(Math.max(tookMs * pauseOfRefresh, lag.ms() * pauseOfLag), pauseMsMax)
    return beganAt + Math.max(everyMs, tookMs + pauseMs)
  }
  return {
    wrote: (index) => {
      left.delete(index)
      dirty.add(index)
    },
    leave: (index) => {
      if (dirty.delete(index)) left.add(index)
    },
    rejoin: () => {
      for (const index of left) dirty.add(index)
      left.clear()
    },
    refreshNow,
    async refresh(progress) {
      if (progress !== undefined) lag.tell(progress)
      if (now() >= notBefore()) await refreshNow()
    },
    capped(progress) {
      if (dirty.size + left.size + showing.length === 0) shown = progress
      const { position, caughtUpAt, ahead } = shown
      const { ahead: _ahead, ...told } = progress
      return {
        ...told,
        position: Math.min(position, progress.position),
        caughtUpAt: Math.min(caughtUpAt, progress.caughtUpAt),
        ...(ahead === undefined ? {} : { ahead }),
      }
    },
  }
}
