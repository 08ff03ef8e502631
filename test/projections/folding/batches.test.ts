import { expect } from 'chai'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { inBatches } from '#projections/folding/batches.ts'

const event = (records: number, bytes: number): RecordedEvent =>
  ({ counts: { spans: records, logs: 0, rumEvents: 0, refused: 0, bytes } }) as RecordedEvent

const cut = (events: readonly RecordedEvent[]): unknown =>
  [...inBatches(events, { projectorBatchRecordsMax: 10, projectorBatchBytesMax: 1_000 })].map((batch) =>
    batch.map(({ counts }) => [counts.spans, counts.bytes]),
  )

describe('projections/folding/batches', () => {
  it('end before they hold more records, or more bytes when unpacked, than one batch should; no event is cut', () => {
    expect(cut([])).to.deep.equal([])
    expect(cut([event(6, 1), event(4, 1), event(1, 1), event(9, 1)])).to.deep.equal([
      [
        [6, 1],
        [4, 1],
      ],
      [
        [1, 1],
        [9, 1],
      ],
    ])
    expect(cut([event(1, 600), event(1, 600), event(1, 300)])).to.deep.equal([
      [[1, 600]],
      [
        [1, 600],
        [1, 300],
      ],
    ])
    expect(cut([event(1, 400), event(1, 600), event(1, 1), event(1, 5_000), event(99, 2)])).to.deep.equal([
      [
        [1, 400],
        [1, 600],
      ],
      [[1, 1]],
      [[1, 5_000]],
      [[99, 2]],
    ])
  })
})
