import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { IndexWriter } from '#projections/index-store.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, day, index, lineEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { rejection } from '#test/support/read-all.ts'

const nextDay = '2026-11-22'

describe('indices of days that have no primary shard', () => {
  const { url, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const ask = (path: string, method: string, body?: object) =>
    askElasticsearch(url(), path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const days = (): readonly string[] => [day, nextDay].map((of) => dayIndex('lines', of))

  /** As where the only node that had it is gone: it is there, and no shard of it answers. */
  async function lose(name: string): Promise<void> {
    const { [name]: made } = (await ask(`/${name}`, 'GET')) as Record<string, { mappings: object }>
    await ask(`/${name}`, 'DELETE')
    const settings = { number_of_replicas: 0, refresh_interval: '-1', 'routing.allocation.require.nowhere': 'yes' }
    await ask(`/${name}?wait_for_active_shards=0`, 'PUT', { settings, mappings: made?.mappings })
  }
  /** Without what it held. */
  async function bringBack(name: string): Promise<void> {
    await ask(`/${name}/_settings`, 'PUT', { 'index.routing.allocation.require.nowhere': null })
    await ask(`/_cluster/health/${name}?wait_for_status=yellow`, 'GET')
  }
  const writeBoth = (writer: IndexWriter, from: number): Promise<void> =>
    write(writer, [lineEntry({}, from), lineEntry({}, from + 1, { day: nextDay })], from + 1)
  const beat = (writer: IndexWriter, position: number): Promise<void> =>
    writer.heartbeat(index, { position, head: position, at: position, caughtUpAt: position })

  it('are all left out of refreshes, and named, where something is to be written to several', async () => {
    const proxy = await startRecordingProxy(url())
    const writer = await openWriter({ url: proxy.url })
    closeLater(proxy)
    await promote(writer, 'fixture', index)
    await writeBoth(writer, 1)
    await beat(writer, 2)
    for (const name of days()) await lose(name)
    const failure = await rejection(writeBoth(writer, 3))
    expect(failure.message)
      .to.match(/its primary shard is not active/)
      .and.include(days().join(', '))
    proxy.take()
    await beat(writer, 2)
    expect(proxy.take().filter((line) => line.includes('-lines-') && line.includes('_refresh'))).to.deep.equal([])
    for (const name of days()) await bringBack(name)
    await writeBoth(writer, 3)
    await beat(writer, 4)
    const reader = makeReader()
    expect([(await reader.progress('fixture'))?.position, await count(reader)]).to.deep.equal([4, 2])
  })

  it('do not hold up who opens their build, which says no more of itself until they are back', async () => {
    const before = await openWriter()
    await promote(before, 'fixture', index)
    await writeBoth(before, 1)
    await beat(before, 2)
    const [lost = ''] = days()
    await lose(lost)
    let isAnswered = false
    const proxy = await startRecordingProxy(url(), undefined, async (line) => {
      if (line.includes(lost) && line.includes('_refresh')) isAnswered = true
    })
    const writer = await openWriter({ url: proxy.url })
    closeLater(proxy)
    expect(isAnswered, 'nobody has waited for its shard').to.equal(false)
    await write(writer, [lineEntry({}, 3, { day: nextDay })], 3)
    await beat(writer, 3)
    const reader = makeReader()
    expect((await reader.progress('fixture'))?.position).to.equal(2)
    await bringBack(lost)
    while ((await reader.progress('fixture'))?.position !== 3) {
      await beat(writer, 3)
      await setTimeout(20)
    }
    expect(await count(reader)).to.equal(2)
  })

  it('hold up who loads from them for a moment, who names them', async () => {
    const proxy = await startRecordingProxy(url())
    const writer = await openWriter({ url: proxy.url })
    closeLater(proxy)
    await writeBoth(writer, 1)
    const [lost = ''] = days()
    await lose(lost)
    proxy.take()
    const failure = await rejection(writer.load(index, [{ workspaceId: acme, collection: 'lines', id: 'any', day }]))
    expect(failure.name).to.equal('TransientError')
    expect(failure.message)
      .to.match(/^look up \S+ \(its primary shard is not active/)
      .and.include(lost)
    // Others wait meanwhile: for three seconds, not for six.
    expect(proxy.take().filter((line) => line.includes('/_mget'))).to.have.length.below(8)
  })

  it('keep a workspace from being erased, which is said at once', async () => {
    const proxy = await startRecordingProxy(url())
    const writer = await openWriter({ url: proxy.url })
    closeLater(proxy)
    await writeBoth(writer, 1)
    await beat(writer, 2)
    const [lost = ''] = days()
    await lose(lost)
    proxy.take()
    const failure = await rejection(writer.eraseWorkspace(index, acme, 3))
    expect(failure.message).to.equal(
      `freeze ${lost} (its primary shard is not active: GET _cluster/allocation/explain says why; where it is lost for good, rebuild the projection)`,
    )
    expect(failure.name).to.equal('TransientError')
    expect(proxy.take().filter((line) => line.includes('-lines-') && line.includes('_refresh'))).to.deep.equal([])
    await bringBack(lost)
    await writer.eraseWorkspace(index, acme, 3)
    expect(await count(makeReader())).to.equal(0)
  })
})
