import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Place } from '#projections/stores/elasticsearch/build-record.ts'
import { createTellAgain } from '#projections/stores/elasticsearch/tell-again.ts'

describe('the last heartbeat of a build in Elasticsearch', () => {
  it('is repeated before a long batch, and not that of a build which had none when others had theirs', async () => {
    const updated: string[] = []
    const records: Place['records'] = {
      read: async () => ({ source: {}, unchanged: {} }),
      update: async ({ id }) => {
        updated.push(id)
        return {}
      },
      builds: async () => [],
    }
    const place = { records, partition: 0 } as Place
    const toldAt = (index: string, at: number) => {
      const told = { position: 1, head: 1, at, caughtUpAt: at }
      return { index, recorded: 1, told, toldAt: at, record: undefined }
    }
    const builds = [toldAt('folded', 20_000), toldAt('left', 10_000)]
    const tellingAgain = createTellAgain(place, () => builds, { everyMs: 1_500, now: () => 22_000 })
    await tellingAgain(async () => undefined)
    expect(updated).to.deep.equal(['build:folded:0'])
  })
})
