import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { IndexWriter } from '#projections/index-store.ts'
import { begin, changeRoster } from '#projections/rosters/roster.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, day, epoch, fixture, index, lineEntry, other, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { rejection } from '#test/support/read-all.ts'

const [dayAfter, twoAfter] = ['2026-11-22', '2026-11-23']
const keptFrom = (from: string) => ({ of: () => from, all: from })

/** As for a moment at every handover: each of the two has read what the other changes before it writes. */
describe('the record of a build that two owners of a partition write at once', () => {
  const { url, prefix, makeWriter, openWriter, makeReader, closeLater, dayIndex } = useElasticsearchStores()
  const lost = async (partition = 0) => (await makeReader(partition).progress('fixture'))?.lostDays
  const writeDay = (writer: IndexWriter, of: string, position: number) =>
    write(writer, [{ ...lineEntry({}, position), day: of }], position)
  const beat = (writer: IndexWriter, position: number, head: number, at: number) =>
    writer.heartbeat(index, { position, head, at, caughtUpAt: at })
  const progress = async () => {
    const { position, head, at } = (await makeReader().progress('fixture')) ?? {}
    return { position, head, at }
  }

  /** Two owners; `meanwhile` happens once, when the late one has decided what to write into the record and before that arrives. */
  async function twoOwners(meanwhile: (owner: IndexWriter) => Promise<unknown>, options: { share?: string } = {}) {
    const owner = await openWriter(options)
    await promote(owner, 'fixture', index)
    let isSet = false
    const proxy = await startRecordingProxy(url(), async (line) => {
      if (!isSet || !line.includes(`/_update/${encodeURIComponent(`build:${index}:0`)}`)) return
      isSet = false
      await meanwhile(owner)
    })
    const late = await openWriter({ url: proxy.url, ...options })
    closeLater(proxy)
    return {
      owner,
      late,
      race: async (task: Promise<unknown>) => {
        isSet = true
        await task
        expect(isSet, 'it has happened').to.equal(false)
      },
    }
  }

  it('keeps the names that either has noted, so that the removal of either index is missed', async () => {
    const { late, race } = await twoOwners((owner) => writeDay(owner, day, 1))
    await race(writeDay(late, dayAfter, 2))
    for (const each of [day, dayAfter]) {
      await askElasticsearch(url(), `/${dayIndex('lines', each)}`, { method: 'DELETE' })
    }
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }, { day: dayAfter }])
  })

  it('keeps a loss that one has noted while the other named an index', async () => {
    const { owner, late, race } = await twoOwners(async (it) => {
      await askElasticsearch(url(), `/${dayIndex('lines')}`, { method: 'DELETE' })
      await writeDay(it, day, 2)
    })
    await writeDay(owner, day, 1)
    await race(writeDay(late, dayAfter, 2))
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
  })

  it('does not bring back the name of a day that one has let go of, whose removal is no loss', async () => {
    const { owner, late, race } = await twoOwners((it) => it.dropDays(index, keptFrom(dayAfter)))
    await writeDay(owner, day, 1)
    await race(writeDay(late, dayAfter, 2))
    await openWriter()
    expect(await lost()).to.equal(undefined)
  })

  it('does not name a day that it has let go of when it is opened, while another partition still needs it', async () => {
    const { owner } = await twoOwners(async () => {})
    await writeDay(owner, day, 1)
    const one = await openWriter({ partition: 1 })
    await write(one, [lineEntry({}, 1)], 1, other)
    await owner.dropDays(index, keptFrom(dayAfter))
    await openWriter()
    expect(await one.dropDays(index, keptFrom(dayAfter))).to.equal(1)
    const told: string[] = []
    await openWriter({ onLost: (indices) => told.push(...indices) })
    expect([await lost(), told]).to.deep.equal([undefined, []])
  })

  it('says no less of what is folded when one that is behind writes last', async () => {
    const { owner, late, race } = await twoOwners(async (it) => {
      await writeDay(it, day, 3)
      await beat(it, 3, 4, 1_000)
    })
    await writeDay(late, day, 2)
    await race(beat(late, 2, 3, 2_000))
    expect(await progress()).to.deep.equal({ position: 3, head: 4, at: 2_000 })
    expect(await makeWriter().checkpoint(index)).to.deep.equal({ epoch, position: 3 })
    await beat(owner, 4, 4, 3_000)
    expect(await progress()).to.deep.equal({ position: 4, head: 4, at: 3_000 })
  })

  it('keeps the furthest progress of a share that two have', async () => {
    const [share, options] = ['0', { share: '0' }]
    const { owner, late, race } = await twoOwners((it) => beat(it, 9, 9, 1_000), options)
    await writeDay(owner, day, 9)
    await writeDay(late, day, 5)
    await race(beat(late, 5, 9, 1_000))
    expect(await (await openWriter({ share })).checkpoint(index)).to.deep.equal({ epoch, position: 9 })
  })

  it('says to who folds a share of it that one has dropped the build', async () => {
    const [owner, worker] = [await openWriter(), await openWriter({ share: '0' })]
    await writeDay(worker, day, 1)
    await owner.drop(index)
    expect((await rejection(beat(worker, 1, 1, 1_000))).message).to.match(/the build was dropped/)
  })

  it('keeps the latest erasure of a workspace, which is repeated where the build is dropped', async () => {
    const next = 'fixture-v1-002'
    const { owner, late, race } = await twoOwners((it) => it.eraseWorkspace(next, acme, 9))
    await write(await openWriter({ partition: 1 }), [lineEntry({}, 1)], 1, other)
    for (const writer of [owner, late]) await writer.open(next, fixture, epoch)
    await promote(owner, 'fixture', next)
    await changeRoster(owner, 'fixture', begin(index))
    await race(late.eraseWorkspace(next, acme, 7))
    await writeDay(owner, day, 8)
    await owner.drop(index)
    await askElasticsearch(url(), `/${dayIndex('lines')}/_refresh`, { method: 'POST' })
    expect(await askElasticsearch(url(), `/${dayIndex('lines')}/_count`)).to.include({ count: 1 })
  })

  it('is not written any more once one has dropped the build, nor are documents', async () => {
    const { owner, late } = await twoOwners(async () => {})
    const one = await openWriter({ partition: 1 })
    await writeDay(late, day, 1)
    await owner.drop(index)
    const failures = [beat(late, 1, 1, 1_000), writeDay(late, twoAfter, 2)].map((task) => task.catch(String))
    for (const failure of await Promise.all(failures)) expect(failure).to.match(/the build was dropped/)
    await one.drop(index)
    expect(await askElasticsearch(url(), `/${prefix()}-${index}-*/_count`)).to.include({ count: 0 })
  })
})
