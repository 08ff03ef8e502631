import { monthEnd, type Month } from '#src/events/allowance.ts'
import type { EventId } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** The day on which the month's allowance starts anew, `2026-12-01`. */
export const resetDateOf = (month: Month): string => new Date(monthEnd(month)).toISOString().slice(0, 10)

/**
 * `limit`: spans a month by the plan at this moment; null: no limit. `at`: time of receipt, ms. `isSilent`: the answer to this request
 * has no place for a warning, so that the next one that has is told of a mark that this one crosses.
 */
export type SpansAsked = Readonly<{
  workspaceId: WorkspaceId
  spans: number
  limit: number | null
  at: number
  isSilent?: boolean
}>

/** Spans that may be appended, under the name of a reservation; '' when there are none. */
export type Grant = Readonly<{
  granted: number
  /** Spans a month by the plan that it was granted by. */
  limit: number | null
  /** Spans of the month before this grant, those held by others included. */
  used: number
  /** Where `used` stood after this process's last grant that was not silent, never above `used`: so one request crosses each mark. */
  usedBefore: number
  reservation: string
  /** Subject of the ledger that the reservation is in; '' as well. */
  ledger: string
}>

export const nothingGranted = (used: number, limit: number | null): Grant => ({
  granted: 0,
  limit,
  used,
  usedBefore: used,
  reservation: '',
  ledger: '',
})

/**
 * Who knows how many spans the month still allows. Ingest asks before it appends, appends only while nothing is on the subject of
 * the reservation (`reservationSubject`), and says afterwards what became of it, so that never more is stored than the month
 * allows, whatever runs at once and wherever. Owned by ingest; the one arrow against the stream.
 */
export interface AllowanceGate {
  /** All of the spans at once, when this process holds so many; else none, and `reserve` is to be asked. */
  take(asked: SpansAsked): Grant | undefined
  /**
   * As many of the spans as the month allows, after whatever was asked for before is decided. `pending`: the rest is held by
   * another process, or by requests whose outcome is not known yet; ask again in a second.
   */
  reserve(asked: SpansAsked): Promise<Grant | 'pending'>
  /** The event is in the log under the grant's reservation. Of requests with one event only one counts. */
  settle(grant: Grant, eventId: EventId): void
  /** The spans are not in the log and will not be: another request's copy counted, or nothing was written. */
  release(grant: Grant): void
  /**
   * Whether the spans are in the log is not known, or it takes none of this reservation any more: nothing else is granted of it,
   * and what is in the log of it will be counted there.
   */
  doubt(grant: Grant): void
}
