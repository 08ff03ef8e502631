import { expect } from 'chai'
import { describe, it } from 'mocha'
import { askElasticsearch, indicesWith } from '#test/support/elasticsearch.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, day, index, lineEntry, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'

const dayAfter = '2026-11-22'

describe('an index that somebody has closed in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const lost = async () => (await makeReader().progress('fixture'))?.lostDays
  const change = (name: string, to: '_close' | '_open') => askElasticsearch(url(), `/${name}/${to}`, { method: 'POST' })
  const opened = (to: '_close' | '_open', collection = 'lines') => change(dayIndex(collection), to)
  const heard = { position: 1, head: 1, at: 1, caughtUpAt: 1 }
  const expectToOpen = async (task: Promise<unknown>, name: string): Promise<void> => {
    const failure = await task.then(
      () => new Error('it succeeded'),
      (error: unknown) => error as Error,
    )
    expect(failure.name, failure.message).to.equal('TransientError')
    expect(failure.message)
      .to.contain(name)
      .and.to.match(/it is closed.*open it again \(POST \/INDEX\/_open\)/)
  }

  async function written(options: Parameters<typeof openWriter>[0] = {}) {
    const writer = await openWriter(options)
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
    return writer
  }

  it('is waited for by who writes to it, which is seen with the next heartbeat, and nothing is missing or double later', async () => {
    let now = 0
    const writer = await written({ now: () => now })
    await opened('_close')
    const again = () => write(writer, [lineEntry({}, 2), thingEntry('t', {}, 2)], 2)
    for (let attempt = 0; attempt < 2; attempt++) await expectToOpen(again(), dayIndex('lines'))
    await writer.heartbeat(index, heard)
    expect(await lost()).to.deep.equal([{ day, isClosed: true }])
    await opened('_open')
    await again()
    expect([await count(makeReader()), await count(makeReader(), 'things')]).to.deep.equal([2, 1])
    now += 5_000
    await writer.heartbeat(index, { ...heard, position: 2, head: 2 })
    expect(await lost()).to.equal(undefined)
  })

  it('is waited for by who loads from it', async () => {
    const writer = await written()
    await opened('_close', 'things')
    const key = { workspaceId: acme, collection: 'things', id: 't', day }
    await expectToOpen(writer.load(index, [key]), dayIndex('things'))
    await opened('_open', 'things')
    expect((await writer.load(index, [key])).flat()).to.have.length(1)
  })

  it('is missed within seconds where nothing is written to it, told once, and found again once it is open', async () => {
    let now = 0
    const told: string[] = []
    const writer = await written({
      now: () => now,
      onLost: () => told.push('lost'),
      onClosed: (some) => told.push(...some),
    })
    const beat = (afterMs: number) => {
      now += afterMs
      return writer.heartbeat(index, heard)
    }
    for (const times of [1, 2]) {
      await opened('_close')
      await beat(5_000)
      expect(await lost()).to.deep.equal([{ day, isClosed: true }])
      await beat(60_000)
      expect(told).to.deep.equal(Array.from({ length: times }, () => dayIndex('lines')))
      await opened('_open')
      await beat(5_000)
      expect([await lost(), await count(makeReader())]).to.deep.equal([undefined, 1])
    }
  })

  it('is missed where the build is opened next', async () => {
    await written()
    await opened('_close')
    await openWriter()
    expect(await lost()).to.deep.equal([{ day, isClosed: true }])
    await opened('_open')
    await openWriter()
    expect(await lost()).to.equal(undefined)
  })

  it('hides nothing from an erasure or a comparison, which wait for it', async () => {
    const writer = await written()
    await opened('_close')
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 1 })
    closeLater(audit)
    await expectToOpen(audit.parts(index), dayIndex('lines'))
    await expectToOpen(writer.eraseWorkspace(index, acme, 2), dayIndex('lines'))
    await opened('_open')
    await writer.eraseWorkspace(index, acme, 2)
    expect(await count(makeReader())).to.equal(0)
  })

  it('goes when its day is over, and with its build', async () => {
    const writer = await written()
    await write(writer, [{ ...lineEntry({}, 2), day: dayAfter }], 2)
    await opened('_close')
    expect(await writer.dropDays(index, { of: () => dayAfter, all: dayAfter })).to.equal(2)
    expect(await lost()).to.equal(undefined)
    await change(dayIndex('lines', dayAfter), '_close')
    await writer.drop(index)
    expect(await indicesWith(url(), prefix())).to.deep.equal([`${prefix()}-state`])
  })

  it('may be that of the records: who reads or writes them is told to open it', async () => {
    const writer = await written()
    const state = `${prefix()}-state`
    await change(state, '_close')
    await expectToOpen(makeReader().progress('fixture'), state)
    await expectToOpen(writer.roster('fixture'), state)
    await expectToOpen(writer.heartbeat(index, { ...heard, at: 2 }), state)
    await change(state, '_open')
    await writer.heartbeat(index, { ...heard, at: 3 })
    expect((await makeReader().progress('fixture'))?.at).to.equal(3)
  })
})
