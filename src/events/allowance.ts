import { z } from 'zod'
import { directoryWorkspaceId } from './directory.ts'
import type { AllowanceEventType, NewEvent, Position, RecordedEvent } from './envelope.ts'
import { decodeFact, sealFact } from './fact.ts'
import type { WorkspaceId } from './workspace-id.ts'

/** A calendar month in UTC: `2026-11`. A span belongs to the month in which the server received it. */
export type Month = string
export const monthOf = (ms: number): Month => new Date(ms).toISOString().slice(0, 7)

/** When the next month starts, in ms. The allowance then starts anew. */
export function monthEnd(month: Month): number {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return Date.UTC(year, number, 1)
}

const count = z.number().int().nonnegative()
const name = z.string().min(1).max(64)

/**
 * A part of the month's allowance that one process may spend. `until`: when (ms) others may treat it as abandoned. `since`: a log position
 * before everything that was spent from it; null in the event that creates it, whose own position serves.
 */
const open = z.object({ id: name, spans: count, holder: name, until: count, since: count.nullable() })

/**
 * Every event of a ledger says what happened (`reserved`, or `ended` with the number of its spans in the log) and the ledger's state after
 * it (`spent` by all ended reservations, and `open`). So a process needs to read only the newest one. Schema version 1.
 */
const ledger = z.object({
  month: z.string().regex(/^\d{4}-\d{2}$/),
  /** Positions belong to this epoch of the log. */
  epoch: z.string().min(1),
  by: name,
  /** `limit`: by the plan as the holder knew it; null: no limit. */
  reserved: z.object({ id: name, spans: count, limit: count.nullable() }).optional(),
  ended: z.array(z.object({ id: name, spent: count })).readonly(),
  spent: count,
  open: z.array(open).readonly(),
})

export type OpenReservation = Readonly<z.output<typeof open>>
export type LedgerEntry = Readonly<z.output<typeof ledger>>
/** The state of a workspace's month: spans spent by ended reservations, and the open reservations. */
export type Ledger = Readonly<{ spent: number; open: readonly (OpenReservation & Readonly<{ since: Position }>)[] }>

export type LedgerEventType = Exclude<AllowanceEventType, 'allowance.closed' | 'allowance.began'>

/** Subject of a month's ledger. */
export const ledgerSubject = (workspaceId: WorkspaceId, month: Month): string => `allowance.${workspaceId}.${month}`
/** Subject of one reservation. Spans may be spent from it only while the subject has no event. */
export const reservationSubject = (workspaceId: WorkspaceId, reservation: string): string =>
  `reservation.${workspaceId}.${reservation}`

type Place = Readonly<{ workspaceId: WorkspaceId; at: number; subject: string }>

const seal = (type: AllowanceEventType, unique: string, place: Place, payload: object): NewEvent =>
  sealFact({ id: `${place.workspaceId}.allowance.${unique}`, type, retentionClass: 'allowance', ...place }, payload)

/** The event as the log takes it. `at` in ms; `unique`: 32 hex characters that no other event has. */
export function sealLedgerEvent(
  type: LedgerEventType,
  entry: LedgerEntry,
  { workspaceId, at, unique }: Readonly<{ workspaceId: WorkspaceId; at: number; unique: string }>,
): NewEvent {
  const subject = ledgerSubject(workspaceId, entry.month)
  return seal(type, unique, { workspaceId, at, subject }, ledger.parse(entry))
}

/** The event that ends a reservation, wherever its holder is; identical whoever writes it. */
export function sealClosing(reservation: string, { workspaceId, at }: Omit<Place, 'subject'>): NewEvent {
  const subject = reservationSubject(workspaceId, reservation)
  return seal('allowance.closed', `${reservation}.closed`, { workspaceId, at, subject }, { reservation })
}

/** Written once per log: from here on no span is stored without a reservation. Belongs to no workspace. */
export function sealBeginning(at: number): NewEvent & Readonly<{ subject: string }> {
  const subject = 'allowance.began'
  const place = { workspaceId: directoryWorkspaceId, at, subject }
  return { ...seal('allowance.began', 'began', place, {}), subject }
}

export const decodeLedgerEvent = (recorded: RecordedEvent): LedgerEntry =>
  decodeFact(recorded, ledger, 'read allowance')

/** The ledger's state after its newest event, in the log of this epoch. */
export function ledgerAfter(newest: RecordedEvent | undefined, epoch: string): Ledger {
  if (newest === undefined) return { spent: 0, open: [] }
  const entry = decodeLedgerEvent(newest)
  // If this log was moved, positions of the old log mean nothing here.
  const sinceOf = (since: Position | null): Position => (entry.epoch === epoch ? (since ?? newest.position) : 0)
  return { spent: entry.spent, open: entry.open.map((each) => ({ ...each, since: sinceOf(each.since) })) }
}
