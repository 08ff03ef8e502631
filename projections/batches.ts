import type { RecordedEvent } from '#src/events/envelope.ts'

export type BatchLimits = Readonly<{ projectorBatchRecordsMax: number; projectorBatchBytesMax: number }>

/** How many records an event holds. */
export const recordsOf = ({ counts }: RecordedEvent): number => counts.spans + counts.logs + counts.rumEvents

/**
 * Cuts what was read where it holds more records than one batch should, or more bytes when they are unpacked: a batch is one
 * transaction, found by readers when all of it is written, and held in memory until then. An event is never cut.
 */
export function* inBatches(
  events: readonly RecordedEvent[],
  { projectorBatchRecordsMax, projectorBatchBytesMax }: BatchLimits,
): Generator<readonly RecordedEvent[]> {
  let batch: RecordedEvent[] = []
  let records = 0
  let bytes = 0
  for (const event of events) {
    const [ownRecords, ownBytes] = [recordsOf(event), event.counts.bytes]
    const isFull = records + ownRecords > projectorBatchRecordsMax || bytes + ownBytes > projectorBatchBytesMax
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      records = 0
      bytes = 0
    }
    batch.push(event)
    records += ownRecords
    bytes += ownBytes
  }
  if (batch.length > 0) yield batch
}
