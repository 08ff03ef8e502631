import { setTimeout as sleep } from 'node:timers/promises'
import { TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Heartbeat } from '../../index-store.ts'
import { numberIn, objectIn } from './answer-parts.ts'
import { everyOpen, type Elasticsearch } from './call.ts'
import { withoutPrimary } from './primaries.ts'

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
      if (position >= head) aim = undefined
      else if (aim === undefined || position >= aim.head) {
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

/** Shows what was written to some indices, by names or a wildcard. Where a shard fails and others do not, the answer is a 200 that says so. */
export async function refreshIndices(elasticsearch: Elasticsearch, indices: string, subject = indices): Promise<void> {
  const { body } = await elasticsearch.send({
    operation: 'refresh',
    subject,
    method: 'POST',
    path: `/${indices}/_refresh`,
    query: { ...everyOpen, filter_path: '_shards.failed' },
    mayRepeat: true,
  })
  if (numberIn(objectIn(body['_shards'])['failed']) > 0) throw new TransientError({ operation: 'refresh', subject })
}

/** By their names: a wildcard would wait for copies too that somebody has made beside them, which may have no shard. */
export async function refreshNamed(elasticsearch: Elasticsearch, indices: readonly string[]): Promise<void> {
  for (let from = 0; from < indices.length; from += namedMax) {
    await refreshIndices(elasticsearch, indices.slice(from, from + namedMax).join(), `${indices.length} indices`)
  }
}

/** After so long it is asked what a refresh waits for. */
const patienceMs = 2_000

const isOver = (task: Promise<unknown>, ms: number): Promise<boolean> =>
  Promise.race([task.then(() => true), sleep(ms, false, { ref: false })])

/** Indices for which a refresh waits, because they have no primary shard, and its end. */
type Late = Readonly<{ indices: readonly string[]; ended: Promise<void> }>

/**
 * Refreshes. For those that have no primary shard it does not wait for the minute that Elasticsearch does. It is asked again and again which those are:
 * the master knows of a node's end only later, by half a minute where that one hangs.
 */
async function show(options: RefreshOptions, indices: readonly string[]): Promise<Late> {
  const ended = refreshNamed(options.elasticsearch, indices)
  while (!(await isOver(ended, patienceMs))) {
    const without = await withoutPrimary(options.elasticsearch, options.all).catch(() => new Set<string>())
    const late = indices.filter((index) => without.has(index))
    if (late.length === 0) continue
    const others = indices.filter((index) => !without.has(index))
    await refreshNamed(options.elasticsearch, others)
    return { indices: late, ended }
  }
  return { indices: [], ended }
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
  /** Refreshes that have not ended, also those of late ones. */
  let underWay = 0
  /** Indices are dirty again if their refresh fails. */
  const follow = async (indices: readonly string[], refresh: Promise<void>): Promise<void> => {
    underWay++
    try {
      await refresh
    } catch (error) {
      for (const index of indices) dirty.add(index)
      throw error
    } finally {
      underWay--
    }
  }
  const followLate = ({ indices, ended }: Late): void => void follow(indices, ended).catch(() => {})
  const showDirty = async (): Promise<void> => {
    if (dirty.size === 0) return
    const began = now()
    const indices = [...dirty]
    // What is written from now on may or may not be included.
    dirty.clear()
    await follow(indices, show(options, indices).then(followLate))
    beganAt = began
    tookMs = now() - began
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
    wrote: (index) => void dirty.add(index),
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
      if (dirty.size + left.size + underWay === 0) shown = progress
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
