import { TransientError } from '#src/lib/failure.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Heartbeat } from '../../index-store.ts'
import { numberIn, objectIn } from './answer-parts.ts'
import type { Elasticsearch } from './client.ts'

/** What was written and what of it readers can find. */
export type Freshness = Readonly<{
  /** This index is written to. */
  wrote(index: string): void
  /** Makes all that was written searchable, unless it was done only just before. `progress`: how far the index is now. */
  refresh(progress?: Pick<Heartbeat, 'position' | 'head'>): Promise<void>
  /** The same, at once. */
  refreshNow(): Promise<void>
  /** Progress as readers may be told it: no further than what they can find. */
  capped(progress: Heartbeat): Heartbeat
}>

/** A refresh may take a fifth of the time: short pauses while little is written, longer ones under load. */
const pauseOfRefresh = 4
/** An index that is behind by so long is refreshed each quarter of that: readers see it a quarter later than they do anyway. */
const pauseOfLag = 0.25
const pauseOfLagMsMax = 10_000

/**
 * How long the index takes to come to what the log holds, in ms; 0 while it stands at the head. From what it is told: when
 * the head was where, and when the index came there.
 */
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
  /** A name that all indices written to bear, with wildcards. */
  all: string
  everyMs: number
  now: () => number
}>

/** Elasticsearch takes addresses of at most 4,096 bytes, and the name of an index may be some hundred long. */
const namedMax = 20

/**
 * Elasticsearch shows what was written after a refresh, which costs the same for one document as for some thousands, and
 * leaves a segment that has to be merged: so it is not done with each batch, but at most each `everyMs`, and less often by an
 * index that is far behind.
 */
export function createFreshness({ elasticsearch, all, everyMs, now }: RefreshOptions, start: Heartbeat): Freshness {
  const dirty = new Set<string>()
  let shown = start
  const lag = createLag(now)
  let [beganAt, tookMs] = [-Infinity, 0]
  /** One after the other: who asks while one is under way may have written after it began. */
  let turn: Promise<void> = Promise.resolve()
  let showing: readonly string[] = []
  const show = async (indices: readonly string[]): Promise<void> => {
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
  const showDirty = async (): Promise<void> => {
    if (dirty.size === 0) return
    const start = now()
    // What is written from here on may or may not be shown by this.
    showing = [...dirty]
    dirty.clear()
    try {
      await show(showing)
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
    const behind = Math.min(lag.ms() * pauseOfLag, pauseOfLagMsMax)
    return beganAt + Math.max(everyMs, tookMs + Math.max(tookMs * pauseOfRefresh, behind))
  }
  return {
    wrote: (index) => void dirty.add(index),
    refreshNow,
    async refresh(progress) {
      if (progress !== undefined) lag.tell(progress)
      if (now() >= notBefore()) await refreshNow()
    },
    capped(progress) {
      if (dirty.size + showing.length === 0) shown = progress
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
