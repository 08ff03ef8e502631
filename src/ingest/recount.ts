import type { Limits } from '#src/config.ts'
import type { Position } from '#src/events/envelope.ts'
import type { Ticks } from '#src/lib/clock.ts'
import type { Timers } from '#src/lib/timers.ts'

export type RecountLimits = Pick<Limits, 'heldSpansPollMs' | 'heldSpansPollsMax'>
export type RecountOptions = Readonly<{
  /**
   * Spans that count, of all events up to a position: a request that is twice in the log counts once. Undefined if that is not known for
   * certain.
   */
  counted: (position: Position) => Promise<number | undefined>
  ticks: Ticks
  timers: Timers
  limits: RecountLimits
  onFailure: (error: unknown) => void
  signal: AbortSignal
}>

/** Asks what counts of a month, for who is about to refuse something. A count that cannot be had is none: nothing else fails for it. */
export type Recount = Readonly<{
  /** `later`: it may be known in a moment, for which requests may still wait. Undefined: it cannot be told. */
  ask(position: Position): Promise<number | 'later' | undefined>
  /** The ledger's event at this position says what counts. */
  know(position: Position, count: number): void
  /** Requests have waited for it in vain a moment ago: whoever forgets that lets the next one wait as long. */
  isInVain(): boolean
}>

/** How long it matters that requests have waited in vain. Later, the count may well be had again. */
const inVainMs = 60_000

/** The pause between two looks at what counts, once requests have waited for it in vain. */
const recountPauseMs = 1_000

export function createRecount({ counted, ticks, timers, limits, onFailure, signal }: RecountOptions): Recount {
  const { heldSpansPollMs: pollMs, heldSpansPollsMax } = limits
  const waitMsMax = pollMs * heldSpansPollsMax
  let known: Readonly<{ position: Position; count: number }> | undefined
  /** How long requests have waited since it was last known, and when it was last asked, by `ticks`. */
  let [waitedMs, askedAt] = [0, -Infinity]
  let isUnderWay = false

  const know = (position: Position, count: number): void => {
    known = { position, count }
    waitedMs = 0
  }
  /** What comes too late for who asked is known to the next who asks. */
  const look = async (position: Position): Promise<void> => {
    isUnderWay = true
    try {
      const count = await counted(position)
      if (count !== undefined) know(position, count)
    } catch (error) {
      if (!signal.aborted) onFailure(error)
    } finally {
      isUnderWay = false
    }
  }
  return {
    know,
    isInVain: () => waitedMs > 0 && ticks() - askedAt < inVainMs,
    ask: async (position) => {
      if (known?.position === position) return known.count
      const isAwaited = waitedMs < waitMsMax
      if (isUnderWay || (!isAwaited && ticks() - askedAt < recountPauseMs)) return undefined
      const began = ticks()
      await Promise.race([look(position), timers.pause(Math.max(pollMs, waitMsMax - waitedMs), signal)])
      askedAt = ticks()
      if (known?.position === position) return known.count
      // With the pause that follows.
      waitedMs += askedAt - began + pollMs
      return isAwaited ? 'later' : undefined
    },
  }
}
