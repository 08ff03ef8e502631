import type { EventId } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'

/** A calendar month in UTC: `2026-11`. A span belongs to the month in which the server received it. */
export type Month = string
export const monthOf = (ms: number): Month => new Date(ms).toISOString().slice(0, 7)

/** The day on which the month's allowance starts anew, `2026-12-01`. */
export function resetDateOf(month: Month): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10)
}

/** `limit`: spans a month by the plan at this moment; null: no limit. `at`: time of receipt, ms. */
export type SpansAsked = Readonly<{
  workspaceId: WorkspaceId
  eventId: EventId
  spans: number
  limit: number | null
  at: number
}>

/** `used`: spans of the month before this grant, those held by others included. */
export type Grant = Readonly<{ granted: number; used: number; reservation: string }>

/**
 * Who knows how many spans the month still allows. Ingest asks before it appends and says afterwards what became of it, so that
 * never more is stored than the month allows, whatever runs at once. Owned by ingest; the one arrow against the stream.
 */
export interface AllowanceGate {
  /**
   * Holds as many of the spans as the month allows, after whatever was asked for before is decided. `pending`: the rest is held
   * by requests whose outcome is not known yet; ask again in a second.
   */
  reserve(asked: SpansAsked): Promise<Grant | 'pending'>
  /** The spans held are in the log. */
  settle(reservation: string): Promise<void>
  /** The spans held are not in the log and will not be: another request's copy counted, or nothing was written. */
  release(reservation: string): Promise<void>
  /** Whether the event is in the log is not known: the spans stay held until it is. */
  doubt(reservation: string): Promise<void>
}
