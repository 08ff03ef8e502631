import { expect } from 'chai'
import { createDocumentCache } from '#projections/folding/documents.ts'
import { dayBefore } from '#src/lib/day.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { day, lineEntry, lines, thingEntry, things } from '#test/support/index-fixture.ts'

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

  it('are found on the last of the days that they stand on within the look-back, in whichever order they were loaded', () => {
    const [older, newer] = [
      thingEntry('one', { note: 'older' }, 1, { day: dayBefore(day, 1) }),
      thingEntry('one', {}, 1),
    ]
    for (const found of [
      [older, newer],
      [newer, older],
    ]) {
      const cache = createDocumentCache({ cachedDocumentsMax: 9, cachedBytesMax: 1e6 })
      const event = givenEvent('logs.received', 2, {}, { receivedAt: Date.parse(day) })
      const { workspaceId } = event.event
      cache.add([{ workspaceId, collection: things.name, id: 'one', day }], [found])
      expect(cache.documents(event).get({ collection: things, id: 'one' })).to.equal(newer.document)
    }
  })
})
