import { monthEnd, type Month } from '#src/events/allowance.ts'
import type { EventId } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** The day on which the month's allowance resets, `2026-12-01`. */
export const resetDateOf = (month: Month): string => new Date(monthEnd(month)).toISOString().slice(0, 10)

/**
 * `limit`: spans a month by the plan at this moment; null: no limit. `at`: time of receipt, ms. `isSilent`: the answer to this request
 * cannot carry a warning; if it crosses a warning mark, the next answer that can will carry it.
 */
export type SpansAsked = Readonly<{
  workspaceId: WorkspaceId
  spans: number
  limit: number | null
  at: number
  isSilent?: boolean
}>

/** Spans that may be appended under a reservation. */
export type Grant = Readonly<{
  granted: number
  /** Spans a month of the plan that it was granted by. */
  limit: number | null
  /** Spans used in the month before this grant; near the limit, including those held by others. */
  used: number
  /** `used` after this process's previous grant that was not silent, at most `used`: so exactly one request crosses each mark. */
  usedBefore: number
  /** '' when nothing was granted. */
  reservation: string
  /** Subject of the ledger that the reservation is in; '' when nothing was granted. */
  ledger: string
}>

/** Shares of the limit; a sender is warned when one of them is passed. */
const warningMarks = [0.95, 0.8]
/** The highest mark between these numbers of used spans; undefined if there is none. */
export const markPassed = (limit: number, before: number, after: number): number | undefined =>
  warningMarks.find((share) => before < share * limit && after >= share * limit)

export const nothingGranted = (used: number, limit: number | null): Grant => ({
  granted: 0,
  limit,
  used,
  usedBefore: used,
  reservation: '',
  ledger: '',
})

/**
 * Knows how many spans the month still allows. Ingest asks it before an append, appends only while the reservation's subject is empty
 * (`reservationSubject`), and reports the outcome afterwards. So never more is stored than the month allows, however many processes
 * append concurrently. Owned by ingest; the one dependency against the flow of data (src/README.md).
 */
export interface AllowanceGate {
  /** All of the spans asked for, if this process holds that many; otherwise undefined: call `reserve`. */
  take(asked: SpansAsked): Grant | undefined
  /**
   * As many of the spans as the month allows, once all earlier requests for spans are decided. `pending`: the rest is held by
   * another process, or by requests whose outcome is not known yet; ask again in a second.
   */
  reserve(asked: SpansAsked): Promise<Grant | 'pending'>
  /** The event is in the log under the grant's reservation. Several requests that share an event (retries) count once. */
  settle(grant: Grant, eventId: EventId): void
  /** The spans are not in the log and will not be: another request's copy counted, or nothing was written. */
  release(grant: Grant): void
  /**
   * It is unknown whether the spans are in the log, or the reservation was closed: nothing more is granted from it, and its spans
   * will be counted in the log.
   */
  doubt(grant: Grant): void
}
