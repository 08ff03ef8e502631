import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { askElasticsearch, indicesWith } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, everything, index, lineEntry, noonNs, scopeOf, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'

/** As people name them; `-copy` as Elasticsearch's own examples of `_clone` and `_reindex` do. */
const endings = ['-copy', '_old', '.bak', '-2026.11.22']

describe('an index of a day that somebody has copied beside it in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const ask = (path: string, method: string, body?: object) =>
    askElasticsearch(url(), path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const block = (names: string, isBlocked: boolean) =>
    ask(`/${names}/_settings`, 'PUT', { 'index.blocks.write': isBlocked })
  const copiesOf = (collection: string): readonly string[] =>
    endings.map((ending) => `${dayIndex(collection)}${ending}`)

  async function copyDays(): Promise<void> {
    for (const collection of ['lines', 'things']) {
      await block(dayIndex(collection), true)
      for (const copy of copiesOf(collection))
        expect(await ask(`/${dayIndex(collection)}/_clone/${copy}?wait_for_active_shards=1`, 'PUT')).to.include({
          acknowledged: true,
        })
      // The copies keep the block.
      await block(dayIndex(collection), false)
    }
  }
  async function copied(options: Parameters<typeof openWriter>[0] = {}) {
    const writer = await openWriter(options)
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', { note: 'before' }, 1)], 1)
    await copyDays()
    await write(writer, [thingEntry('t', { note: 'after', timeNs: noonNs + 9n }, 2)], 2)
    return writer
  }

  it('is counted once, and what is read is what was written last', async () => {
    await copied()
    const reader = makeReader()
    expect([await count(reader), await count(reader, 'things')]).to.deep.equal([1, 1])
    const [found] = await reader.get<{ note: string }>(scopeOf('things'), ['t'])
    expect(found?.document.note).to.equal('after')
    const page = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 9 } as const
    const hits = await reader.search<{ note: string }>(scopeOf('things'), page)
    expect(hits.map(({ document }) => document.note)).to.deep.equal(['after'])
    expect((await reader.progress('fixture'))?.lostDays).to.equal(undefined)
  })

  it('is told once, is not missed when it goes, and holds up neither an erasure, a comparison nor who drops the build', async () => {
    let now = 0
    const told: string[] = []
    const lost: string[] = []
    const beside = [...copiesOf('lines'), ...copiesOf('things')].sort()
    const writer = await copied({
      now: () => now,
      onBeside: (names: readonly string[]) => void told.push(...names),
      onLost: (names) => void lost.push(...names),
    })
    const beat = (afterMs: number) => {
      now += afterMs
      return writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
    }
    for (let times = 0; times < 2; times++) await beat(60_000)
    expect(told).to.deep.equal(beside)
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 1 })
    closeLater(audit)
    expect(await audit.parts(index)).to.have.length(1)
    await writer.eraseWorkspace(index, acme, 3)
    expect([await count(makeReader()), await count(makeReader(), 'things')]).to.deep.equal([0, 0])
    await ask(`/${beside[0]}`, 'DELETE')
    await beat(5_000)
    expect([lost, (await makeReader().progress('fixture'))?.lostDays]).to.deep.equal([[], undefined])
    await writer.drop(index)
    expect(await indicesWith(url(), prefix())).to.have.members([`${prefix()}-state`, ...beside.slice(1)])
  })
})
