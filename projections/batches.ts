import type { RecordedEvent } from '#src/events/envelope.ts'

/**
 * Cuts what was read where it holds more records than one batch should: a batch is one transaction, found by readers when all
 * of it is written, and held in memory until then. An event is never cut.
 */
export function* inBatches(events: readonly RecordedEvent[], recordsMax: number): Generator<readonly RecordedEvent[]> {
  let batch: RecordedEvent[] = []
  let records = 0
  for (const event of events) {
    const { spans, logs, rumEvents } = event.counts
    records += spans + logs + rumEvents
    if (records > recordsMax && batch.length > 0) {
      yield batch
      batch = []
      records = spans + logs + rumEvents
    }
    batch.push(event)
  }
  if (batch.length > 0) yield batch
}
