import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Place } from '#projections/stores/elasticsearch/place.ts'
import { createProgress } from '#projections/stores/elasticsearch/progress.ts'
import { createTellAgain } from '#projections/stores/elasticsearch/tell-again.ts'

describe('the last heartbeat of a build in Elasticsearch', () => {
  it('is repeated before a long batch, and not that of a build which had none when others had theirs', async () => {
    const updated: (readonly [string, unknown])[] = []
    const records: Place['records'] = {
      read: async () => ({ source: {}, unchanged: {} }),
      update: async ({ id, fields }) => {
        updated.push([id, fields['heartbeat']])
        return {}
      },
      builds: async () => [],
    }
    const place = { records, partition: 0 } as Place
    let nowMs = 0
    const toldAt = async (index: string, at: number) => {
      nowMs = at
      const heartbeat = { position: 1, head: 1, at, caughtUpAt: at }
      const options = { now: () => nowMs, everyMs: 500, share: undefined }
      const progress = createProgress(place, index, options, { checkpoint: 1, heartbeat })
      await progress.tell(heartbeat)
      return progress
    }
    const builds = [await toldAt('left', 10_000), await toldAt('folded', 20_000)]
    updated.length = 0
    const tellingAgain = createTellAgain(() => builds, 1_500)
    nowMs = 21_000
    await tellingAgain(async () => undefined)
    expect(updated, 'it was told just before').to.deep.equal([])
    nowMs = 22_000
    await tellingAgain(async () => undefined)
    const again = { position: 1, head: 1, at: 22_000, caughtUpAt: 20_000, ahead: null, last: null, lacking: null }
    expect(updated).to.deep.equal([['build:folded:0', again]])
  })
})
