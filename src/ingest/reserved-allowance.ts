import { ledgerSubject, monthOf, type Month } from '#src/events/allowance.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { assert } from '#src/lib/assert.ts'
import type { AllowanceGate, SpansAsked } from './allowance.ts'
import { createMonthLedger, type LedgerOptions } from './ledger.ts'
import type { MonthOptions } from './ledger-turn.ts'
import { createMonthAllowance, type MonthAllowance } from './month-allowance.ts'

export type ReservedAllowanceOptions = LedgerOptions &
  Pick<MonthOptions, 'ticks' | 'timers' | 'random' | 'limits' | 'isGone' | 'onFailure'> &
  Readonly<{
    /** Like `RecountOptions.counted`, for a workspace's month. */
    counted: (workspaceId: WorkspaceId, month: Month, position: Position) => Promise<number | undefined>
  }>

export type ReservedAllowance = AllowanceGate &
  Readonly<{
    /** Takes back, over time, what dead processes left in this month's ledgers. */
    sweep(workspaceIds: readonly WorkspaceId[]): Promise<void>
    /** Returns everything held. Later requests get `pending`. */
    close(): Promise<void>
  }>

const tickMs = 500

/**
 * The span allowance of the workspaces of one stream, for any number of processes that append to it: each reserves spans in the
 * months' ledgers and grants them to its requests. See src/README.md.
 */
export function createReservedAllowance(options: ReservedAllowanceOptions): ReservedAllowance {
  const { clock, timers, counted } = options
  const closed = new AbortController()
  const months = new Map<string, MonthAllowance>()

  const monthAllowanceOf = (workspaceId: WorkspaceId, month: Month): MonthAllowance => {
    const subject = ledgerSubject(workspaceId, month)
    const known = months.get(subject)
    if (known !== undefined) return known
    const made = createMonthAllowance({
      ...options,
      ledger: createMonthLedger(options, workspaceId, month),
      counted: (position) => counted(workspaceId, month, position),
      signal: closed.signal,
    })
    months.set(subject, made)
    return made
  }
  const stopTicking = timers.every(tickMs, () => {
    const now = monthOf(clock())
    for (const [subject, month] of months) {
      month.tick()
      // One with a warning to carry waits for an answer that can, until its month is over.
      const isWaiting = month.isUntold() && subject.endsWith(now)
      if (month.isIdle() && !isWaiting) months.delete(subject)
    }
  })
  const allowanceFor = ({ workspaceId, spans, at }: SpansAsked): MonthAllowance => {
    assert(Number.isSafeInteger(spans) && spans >= 0, 'spans are counted')
    return monthAllowanceOf(workspaceId, monthOf(at))
  }

  return {
    take: (asked) => allowanceFor(asked).take(asked),
    reserve: async (asked) => (closed.signal.aborted ? 'pending' : allowanceFor(asked).reserve(asked)),
    settle: (grant, eventId) => months.get(grant.ledger)?.settle(grant, eventId),
    release: (grant) => months.get(grant.ledger)?.release(grant),
    doubt: (grant) => months.get(grant.ledger)?.doubt(grant),
    sweep: async (workspaceIds) => {
      const month = monthOf(clock())
      // One after the other: nobody waits for it.
      for (const workspaceId of workspaceIds) {
        if (!closed.signal.aborted) await monthAllowanceOf(workspaceId, month).look()
      }
    },
    close: async () => {
      closed.abort()
      stopTicking()
      await Promise.all([...months.values()].map((month) => month.giveBack()))
    },
  }
}
