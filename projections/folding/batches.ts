import type { RecordedEvent } from '#src/events/envelope.ts'

export type BatchLimits = Readonly<{ projectorBatchRecordsMax: number; projectorBatchBytesMax: number }>

/** How many records an event holds. */
export const recordsOf = ({ counts }: RecordedEvent): number => counts.spans + counts.logs + counts.rumEvents

/**
 * Splits events into batches of a limited number of records and of unpacked bytes. A batch is one transaction: readers find it when all of it
 * is written, and it is held in memory until then. An event is never split.
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
