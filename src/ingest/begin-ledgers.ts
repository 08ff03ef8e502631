import type { Stream } from '#streams/stream.ts'
import { ledgerSubject, monthOf, sealBeginning, sealLedgerEvent, type Month } from '#src/events/allowance.ts'
import { beforeAll } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { appendFirst, type LedgerOptions } from './ledger.ts'

const readEventsMax = 1_000

type Counted = { workspaceId: WorkspaceId; month: Month; spans: number }

/** Spans stored before there were ledgers, from a month on. */
async function countUnreserved(stream: Stream, from: Month): Promise<readonly Counted[]> {
  const counted = new Map<string, Counted>()
  for (let position = beforeAll; ;) {
    const events = await stream.read(position, readEventsMax)
    for (const { workspaceId, receivedAt, counts, reservation } of events) {
      const month = monthOf(receivedAt)
      if (counts.spans === 0 || reservation !== undefined || month < from) continue
      const subject = ledgerSubject(workspaceId, month)
      const known = counted.get(subject) ?? { workspaceId, month, spans: 0 }
      known.spans += counts.spans
      counted.set(subject, known)
    }
    const last = events.at(-1)
    if (last === undefined) return [...counted.values()]
    position = last.position
  }
}

/**
 * Ensures that a month without a ledger is a month without spans. A log from before there were ledgers is read once, from its beginning.
 * Call it before spans are reserved. Several processes may call it at once, and again after a crash.
 */
export async function beginLedgers({ stream, clock, holder, newId }: LedgerOptions): Promise<void> {
  const began = sealBeginning(clock())
  if ((await stream.last(began.subject)) !== undefined) return
  for (const { workspaceId, month, spans } of await countUnreserved(stream, monthOf(clock()))) {
    const entry = { month, epoch: stream.epoch, by: holder, ended: [], spent: spans, open: [] }
    const event = sealLedgerEvent('allowance.counted', entry, { workspaceId, at: clock(), unique: newId() })
    await appendFirst(stream, event, ledgerSubject(workspaceId, month))
  }
  await appendFirst(stream, began, began.subject)
}
