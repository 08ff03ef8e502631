import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { IndexWriter } from '#projections/index-store.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, epoch, index, lineEntry, write } from '#test/support/index-fixture.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { promote } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'

describe('the freshness of Elasticsearch', () => {
  const { url, prefix, makeWriter, openWriter, makeReader, closeLater, count } = useElasticsearchStores()

  it('tells readers no position that they cannot find', async () => {
    let nowMs = 0
    const writer = await openWriter({ refreshEveryMs: 1_000, now: () => nowMs })
    await promote(writer, 'fixture', index)
    const reader = makeReader()
    const beat = (position: number) =>
      writer.heartbeat(index, { position, head: 9, at: position, caughtUpAt: position })
    await write(writer, [lineEntry({}, 1)], 1)
    await beat(1)
    expect(await count(reader)).to.equal(1)
    await write(writer, [lineEntry({}, 2)], 2)
    await beat(2)
    nowMs += 999
    await beat(2)
    const before = await reader.progress('fixture')
    expect([await count(reader), before?.position]).to.deep.equal([1, 1])
    nowMs += 1
    await beat(2)
    const after = await reader.progress('fixture')
    expect([await count(reader), after?.position, after?.caughtUpAt]).to.deep.equal([2, 2, 2])
  })

  it('tells them of nothing ahead of the position that they cannot find', async () => {
    let nowMs = 0
    const writer = await openWriter({ refreshEveryMs: 1_000, now: () => nowMs })
    await promote(writer, 'fixture', index)
    const reader = makeReader()
    const beat = (aheadTo: number) => {
      const ahead = { position: aheadTo, caughtUpAt: aheadTo, behind: new Map() }
      return writer.heartbeat(index, { position: 0, head: 9, at: nowMs, caughtUpAt: 0, ahead })
    }
    const told = async () => (await reader.progress('fixture'))?.ahead?.position
    const writeAhead = (position: number) => {
      const entries = [lineEntry({}, position)]
      return writer.write(index, [{ workspaceId: acme, entries }], { epoch, position, isAhead: true })
    }
    await writeAhead(5)
    await beat(5)
    expect([await count(reader), await told()]).to.deep.equal([1, 5])
    await writeAhead(6)
    await beat(6)
    expect([await count(reader), await told()]).to.deep.equal([1, 5])
    nowMs += 1_000
    await beat(6)
    expect([await count(reader), await told()]).to.deep.equal([2, 6])
    expect((await writer.checkpoint(index)).position).to.equal(0)
  })

  it('tells readers at once that there is more than the index has, and that there is not', async () => {
    const writer = await openWriter({ refreshEveryMs: 1_000, now: () => 0 })
    await promote(writer, 'fixture', index)
    const reader = makeReader()
    for (const head of [1, 2, 1]) {
      await writer.heartbeat(index, { position: 1, head, at: 1, caughtUpAt: 1 })
      expect((await reader.progress('fixture'))?.head).to.equal(head)
    }
  })

  for (const [what, takeLong] of [
    ['a long batch', (writer: IndexWriter) => write(writer, [lineEntry({}, 2)], 2)],
    ['the erasure of a workspace', (writer: IndexWriter) => writer.eraseWorkspace(index, acme, 2)],
  ] as const) {
    it(`tells readers within ${what} that it is still folded, as far as it was`, async () => {
      const told = { position: 1, head: 9, at: 1_000, caughtUpAt: 500 }
      let [nowMs, isLong, isHeld] = [0, false, false]
      const heard = Promise.withResolvers<void>()
      /** It takes until its build has been told of. */
      const hold = async (line: string): Promise<void> => {
        if (!isLong || !line.startsWith('POST /_bulk?')) return
        isHeld = true
        await heard.promise
      }
      const hear = async (line: string): Promise<void> => {
        if (isHeld && line.includes('/_update/build')) heard.resolve()
      }
      const proxy = await startRecordingProxy(url(), hold, hear)
      const writer = await openWriter({ url: proxy.url, tellAgainMs: 20, now: () => (nowMs += 20) })
      await promote(writer, 'fixture', index)
      await write(writer, [lineEntry({}, 1)], 1)
      await writer.heartbeat(index, told)
      isLong = true
      await takeLong(writer)
      const progress = await makeReader().progress('fixture')
      expect(progress).to.include({ position: 1, head: 9, caughtUpAt: 500 })
      expect(progress?.at).to.be.above(told.at)
      closeLater(proxy)
    })
  }

  it('tells readers nothing of what was written while it was being shown', async () => {
    const started = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    let held = false
    const hold = async (line: string): Promise<void> => {
      if (!held || !line.includes('/_refresh')) return
      held = false
      started.resolve()
      await answered.promise
    }
    const proxy = await startRecordingProxy(url(), undefined, hold)
    const writer = await openWriter({ url: proxy.url, refreshEveryMs: 1e9, now: () => 0 })
    closeLater(proxy)
    const reader = makeReader()
    const beat = (position: number) =>
      writer.heartbeat(index, { position, head: 9, at: position, caughtUpAt: position })
    await write(writer, [lineEntry({}, 1)], 1)
    await promote(writer, 'fixture', index)
    await beat(1)
    await write(writer, [lineEntry({}, 2)], 2)
    // Another hand lets readers move, which shows all that is written; the answer takes its time.
    held = true
    const moved = promote(writer, 'fixture', index)
    await started.promise
    await write(writer, [lineEntry({}, 3)], 3)
    await beat(2)
    expect((await reader.progress('fixture'))?.position, 'before the answer').to.equal(1)
    answered.resolve()
    await moved
    await beat(3)
    expect([(await reader.progress('fixture'))?.position, await count(reader)], 'after it').to.deep.equal([1, 2])
    await promote(writer, 'fixture', index)
    await beat(3)
    expect([(await reader.progress('fixture'))?.position, await count(reader)]).to.deep.equal([3, 3])
  })

  it('shows less often what comes late anyway, and at once what stands at the head', async () => {
    let nowMs = 0
    const writer = await openWriter({ refreshEveryMs: 1_000, now: () => nowMs })
    await promote(writer, 'fixture', index)
    const reader = makeReader()
    const fold = async (position: number, head: number): Promise<number> => {
      await write(writer, [lineEntry({}, position)], position)
      await writer.heartbeat(index, { position, head, at: position, caughtUpAt: 0 })
      return count(reader)
    }
    expect(await fold(1, 1)).to.equal(1)
    // Its events have waited for 20 seconds, so they may wait for five more; however late, for ten at most.
    expect(await fold(2, 8)).to.equal(1)
    nowMs = 20_000
    expect(await fold(3, 8)).to.equal(3)
    nowMs += 4_999
    expect(await fold(4, 8)).to.equal(3)
    nowMs += 5_001
    expect(await fold(5, 8)).to.equal(5)
    nowMs = 1_000_000
    expect(await fold(6, 8)).to.equal(6)
    nowMs += 9_999
    expect(await fold(7, 8)).to.equal(6)
    expect(await fold(8, 8)).to.equal(8)
  })

  it('shows all of a build before readers move to it, and what an earlier owner left', async () => {
    const rarely = { refreshEveryMs: 1e9, now: () => 0 }
    const writer = await openWriter(rarely)
    for (const position of [1, 2, 3]) await write(writer, [lineEntry({}, position)], position)
    await promote(writer, 'fixture', index)
    expect(await count(makeReader())).to.equal(3)
    await write(writer, [lineEntry({}, 4)], 4)
    await openWriter(rarely)
    expect(await count(makeReader())).to.equal(4)
  })

  it('keeps nothing of a workspace that is erased, also not what readers could not find yet', async () => {
    const rarely = { refreshEveryMs: 1e9, now: () => 0 }
    const writer = await openWriter(rarely)
    await promote(writer, 'fixture', index)
    for (const position of [1, 2, 3]) await write(writer, [lineEntry({}, position)], position)
    expect(await count(makeReader())).to.be.below(3)
    await writer.eraseWorkspace(index, acme, 4)
    await openWriter(rarely)
    expect(await count(makeReader())).to.equal(0)
  })

  it('begins a share of the work where the build is, unless the share has come further', async () => {
    const whole = await openWriter()
    await write(whole, [lineEntry({}, 5)], 5)
    await whole.close()
    const share = await openWriter({ share: 'first' })
    expect((await share.checkpoint(index)).position).to.equal(5)
    await write(share, [lineEntry({}, 7)], 7)
    await share.close()
    const again = await openWriter({ share: 'first' })
    expect((await again.checkpoint(index)).position).to.equal(7)
  })

  it('notes how far a share is once that can be noted, and counts it from then on', async () => {
    const share = await openWriter({ share: 'first' })
    await write(share, [lineEntry({}, 7)], 7)
    const block = (isSet: boolean) =>
      askElasticsearch(url(), `/${prefix()}-state/_settings`, {
        method: 'PUT',
        body: JSON.stringify({ 'index.blocks.write': isSet }),
      })
    await block(true)
    const failure = await rejection(share.heartbeat(index, { position: 7, head: 7, at: 0, caughtUpAt: 0 }))
    expect(failure.name).to.equal('TransientError')
    expect((await share.checkpoint(index)).position).to.equal(0)
    await block(false)
    await share.close()
    expect((await (await openWriter({ share: 'first' })).checkpoint(index)).position).to.equal(7)
  })

  it('keeps its checkpoint behind what is written, and never ahead', async () => {
    const writer = await openWriter()
    await write(writer, [lineEntry({}, 1)], 1)
    expect((await writer.checkpoint(index)).position).to.equal(0)
    await writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    expect((await writer.checkpoint(index)).position).to.equal(1)
    expect((await makeWriter().checkpoint(index)).position).to.equal(1)
  })
})
