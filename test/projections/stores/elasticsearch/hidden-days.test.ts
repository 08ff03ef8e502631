import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, everything, index, lineEntry, scopeOf, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'

describe('an index that somebody has hidden in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const hide = (hidden: boolean) =>
    askElasticsearch(url(), `/${dayIndex('lines')},${dayIndex('things')}/_settings`, {
      method: 'PUT',
      body: JSON.stringify({ 'index.hidden': hidden }),
    })

  it('is found, counted as there, written to and refreshed as before', async () => {
    let now = 0
    const told: string[] = []
    const writer = await openWriter({ now: () => now, onLost: () => told.push('lost') })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({ text: 'paid' }, 1), thingEntry('t', {}, 1)], 1)
    expect(await hide(true)).to.deep.equal({ acknowledged: true })
    const reader = makeReader()
    expect(await count(reader)).to.equal(1)
    await write(writer, [lineEntry({ text: 'paid again' }, 2)], 2)
    now += 60_000
    await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
    await openWriter()
    const page = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 9 } as const
    expect(await reader.search(scopeOf('lines'), page)).to.have.length(2)
    expect((await reader.progress('fixture'))?.lostDays).to.equal(undefined)
    expect(told).to.deep.equal([])
  })

  it('hides nothing from a comparison, an erasure, or who drops its day', async () => {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
    await hide(true)
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 1 })
    closeLater(audit)
    expect(await audit.parts(index)).to.have.length.above(0)
    await writer.eraseWorkspace(index, acme, 2)
    await hide(false)
    expect([await count(makeReader()), await count(makeReader(), 'things')]).to.deep.equal([0, 0])
    await hide(true)
    expect(await writer.dropDays(index, { of: () => '2026-11-22', all: '2026-11-22' })).to.equal(2)
  })
})
