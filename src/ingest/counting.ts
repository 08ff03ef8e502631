import type { Position } from '#src/events/envelope.ts'
import type { MonthLedger } from './ledger.ts'

/** Counts what was spent of reservations whose end only the log can tell: those of dead processes, and of appends with unknown outcome. */
export type Counting = Readonly<{
  /** Closes the reservation and counts, unless that is running or done. */
  start(reservation: Readonly<{ id: string; since: Position }>): void
  /** Spans spent, once counted. */
  result(id: string): number | undefined
  hasResults(): boolean
  /** Forgets all other results: the ends of those reservations are in the ledger. */
  keep(ids: ReadonlySet<string>): void
  isBusy(): boolean
  /** Resolves when no count is running. */
  settled(): Promise<void>
}>

/** `onCounted` is called with each result, `onFailure` with each failed attempt, which may be started again. */
export function createCounting(
  ledger: Pick<MonthLedger, 'close'>,
  { onCounted, onFailure }: Readonly<{ onCounted: () => void; onFailure: (error: unknown) => void }>,
): Counting {
  const results = new Map<string, number>()
  const underWay = new Map<string, Promise<void>>()

  const count = async (reservation: Readonly<{ id: string; since: Position }>): Promise<void> => {
    try {
      results.set(reservation.id, await ledger.close(reservation))
      underWay.delete(reservation.id)
      onCounted()
    } catch (error) {
      underWay.delete(reservation.id)
      onFailure(error)
    }
  }
  return {
    start: (reservation) => {
      if (results.has(reservation.id) || underWay.has(reservation.id)) return
      underWay.set(reservation.id, count(reservation))
    },
    result: (id) => results.get(id),
    hasResults: () => results.size > 0,
    keep: (ids) => {
      for (const id of results.keys()) if (!ids.has(id)) results.delete(id)
    },
    isBusy: () => underWay.size > 0,
    settled: async () => void (await Promise.all(underWay.values())),
  }
}
