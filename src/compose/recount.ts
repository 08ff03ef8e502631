import { decodeLedgerEvent, ledgerSubject, monthOf, sealLedgerEvent, type Month } from '#src/events/allowance.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import { randomId } from '#src/lib/random-id.ts'
import type { LogFile } from '#streams/sqlite/log-file.ts'
import { readAll } from '#streams/follow.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { limitsBeside } from './log-beside.ts'

const readEventsMax = 1_000
/** The reservation of spans that were stored without one. */
const unreserved = ''

/** A month of a workspace. `spent`: by the newest ledger event that is left. `spans`: in the log, by reservation, that `spent` does not include. */
type Counted = { workspaceId: WorkspaceId; month: Month; spent: number; spans: Map<string, number> }
type Months = Map<string, Counted>

function countedOf(months: Months, workspaceId: WorkspaceId, month: Month): Counted {
  const subject = ledgerSubject(workspaceId, month)
  const counted = months.get(subject) ?? { workspaceId, month, spent: 0, spans: new Map<string, number>() }
  months.set(subject, counted)
  return counted
}

const isOfLedger = ({ workspaceId, subject }: RecordedEvent): boolean =>
  subject?.startsWith(ledgerSubject(workspaceId, '')) === true

function takeSpans(months: Months, event: RecordedEvent): void {
  const { workspaceId, receivedAt, counts, reservation = unreserved } = event
  const { spans } = countedOf(months, workspaceId, monthOf(receivedAt))
  spans.set(reservation, (spans.get(reservation) ?? 0) + counts.spans)
}

/** A ledger's event counts all that was spent before it, except by reservations that it says are open. */
function takeLedger(months: Months, event: RecordedEvent, from: Month): void {
  const { month, spent, open } = decodeLedgerEvent(event)
  if (month < from) return
  const counted = countedOf(months, event.workspaceId, month)
  const isOpen = new Set(open.map(({ id }) => id))
  counted.spent = spent
  for (const id of counted.spans.keys()) if (!isOpen.has(id)) counted.spans.delete(id)
}

async function countMonths(stream: Stream, from: Month): Promise<readonly Counted[]> {
  const months: Months = new Map()
  for await (const events of readAll(stream, readEventsMax)) {
    for (const event of events) {
      if (monthOf(event.receivedAt) < from) continue
      if (isOfLedger(event)) takeLedger(months, event, from)
      else if (event.counts.spans > 0) takeSpans(months, event)
    }
  }
  return [...months.values()]
}

/**
 * Corrects the ledgers of a log that has lost events. Spent is what the newest ledger event that is left says, and the spans stored under
 * reservations that this event does not say have ended. To be called while no server runs on the log, so that nobody holds a reservation.
 */
export async function recountLedgers(log: LogFile, clock: Clock): Promise<void> {
  const stream = await createSqliteStream({ ...log, thread: false, limits: limitsBeside })
  try {
    for (const { workspaceId, month, spent: before, spans } of await countMonths(stream, monthOf(clock()))) {
      const spent = [...spans.values()].reduce((sum, each) => sum + each, before)
      const entry = { month, epoch: stream.epoch, by: 'recount', ended: [], spent, open: [] }
      await stream.append([
        sealLedgerEvent('allowance.counted', entry, { workspaceId, at: clock(), unique: randomId() }),
      ])
    }
  } finally {
    await stream.close()
  }
}
