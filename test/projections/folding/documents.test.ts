import { expect } from 'chai'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { dayBefore } from '#src/lib/day.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { day, lineEntry, lines } from '#test/support/index-fixture.ts'

describe('the documents of a lane', () => {
  it('are of a record that a batch puts again the last alone, whichever days these were received on', () => {
    const { id, document } = lineEntry({}, 1)
    for (const [first, second] of [
      [dayBefore(day, 1), day],
      [day, dayBefore(day, 1)],
    ] as const) {
      const cache = createDocumentCache({ cachedDocumentsMax: 9, cachedBytesMax: 1e6 })
      for (const [n, on] of [first, second].entries()) {
        const event = givenEvent('logs.received', n + 1, {}, { receivedAt: Date.parse(on) })
        cache.documents(event).put({ collection: lines, id }, document, { replaces: true })
      }
      const entries = cache.takeChanged().flatMap((changed) => changed.entries)
      expect(entries.map((entry) => entry.day)).to.deep.equal([second])
    }
  })
})
