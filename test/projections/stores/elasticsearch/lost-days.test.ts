import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import {
  acme,
  day,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  other,
  scopeOf,
  thingEntry,
  write,
  openFixture,
} from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { rejection } from '#test/support/read-all.ts'

const [dayAfter, twoAfter] = ['2026-11-22', '2026-11-23']
const keptFrom = (from: string) => ({ of: () => from, all: from })

describe('an index of a day that somebody removed from Elasticsearch', () => {
  const { url, prefix, makeWriter, openWriter, makeReader, closeLater, dayIndex } = useElasticsearchStores()
  const lost = async (partition = 0) => (await makeReader(partition).progress('fixture'))?.lostDays
  const removeDay = (of = day) => askElasticsearch(url(), `/${dayIndex('lines', of)}`, { method: 'DELETE' })

  async function written() {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
    await write(writer, [{ ...lineEntry({}, 2), day: dayAfter }], 2)
    expect(await lost()).to.equal(undefined)
    return writer
  }

  it('is missed where it is written to again, and from then on', async () => {
    const writer = await written()
    await removeDay()
    await write(writer, [lineEntry({}, 3)], 3)
    expect(await lost()).to.deep.equal([{ day }])
    expect((await writer.builds('fixture'))[0]?.lostDays).to.deep.equal([{ day }])
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 1 })
    closeLater(audit)
    expect(await audit.lost?.(index)).to.deep.equal([{ day }])
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
  })

  it('is missed by who looks through the build before anybody has noted it', async () => {
    const writer = await written()
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 1 })
    closeLater(audit)
    expect(await audit.lost?.(index)).to.deep.equal([])
    await removeDay()
    expect(await audit.lost?.(index)).to.deep.equal([{ day }])
    expect(await lost(), 'it is for who folds the build to note it, and to tell').to.equal(undefined)
    await write(writer, [lineEntry({}, 3)], 3)
    expect(await audit.lost?.(index)).to.deep.equal([{ day }])
    await writer.dropDays(index, keptFrom(twoAfter))
    expect(await audit.lost?.(index)).to.deep.equal([])
  })

  it('is missed by all partitions that have it, whichever makes it anew, until its day is over', async () => {
    const writers = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })] as const
    for (const writer of writers) await promote(writer, 'fixture', index)
    await write(writers[0], [lineEntry({}, 1)], 1)
    await write(writers[1], [lineEntry({}, 1)], 1, other)
    await removeDay()
    await write(writers[0], [lineEntry({}, 2)], 2)
    await write(writers[1], [lineEntry({}, 2)], 2, other)
    expect([await lost(0), await lost(1)]).to.deep.equal([[{ day }], [{ day }]])
    await openWriter({ partition: 1 })
    expect(await lost(1)).to.deep.equal([{ day }])
    for (const writer of writers) await writer.dropDays(index, keptFrom(twoAfter))
    expect([await lost(0), await lost(1)]).to.deep.equal([undefined, undefined])
  })

  it('is missed by a partition that has it, when another that had nothing in it makes it anew', async () => {
    const writers = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })] as const
    for (const writer of writers) await promote(writer, 'fixture', index)
    const both = [lineEntry({}, 1), { ...lineEntry({}, 2), day: dayAfter }]
    await write(writers[0], both, 2)
    // It is the first day that this one needs.
    await writers[0].dropDays(index, keptFrom(day))
    for (const each of [day, dayAfter]) await removeDay(each)
    await write(writers[1], both, 2, other)
    expect([await lost(0), await lost(1)]).to.deep.equal([[{ day }, { day: dayAfter }], undefined])
  })

  it('is missed also where it could not be named at first, or another partition not be told', async () => {
    let failing = ''
    const proxy = await startRecordingProxy(url(), async (line) => {
      if (failing === '' || !line.includes(`/_update/${encodeURIComponent(failing)}`)) return
      failing = ''
      throw new Error('the connection was lost')
    })
    const writers = [await openWriter({ partition: 0 }), await openWriter({ url: proxy.url, partition: 1 })] as const
    closeLater(proxy)
    for (const writer of writers) await promote(writer, 'fixture', index)
    const writeAgain = async (fails: string): Promise<void> => {
      failing = fails
      const entries = [{ workspaceId: other, entries: [lineEntry({}, 1)] }]
      const again = () => writers[1].write(index, entries, { epoch, position: 1 })
      expect((await rejection(again())).name).to.equal('TransientError')
      await again()
    }
    await writeAgain(`build:${index}:1`)
    await removeDay()
    await writers[0].write(index, [{ workspaceId: acme, entries: [lineEntry({}, 1)] }], { epoch, position: 1 })
    expect(await lost(1)).to.deep.equal([{ day }])
    await removeDay()
    await writeAgain(`build:${index}:0`)
    expect(await lost(0)).to.deep.equal([{ day }])
  })

  it('is not missed where two fold a partition at once, and both make it', async () => {
    const writers = [await openWriter(), await openWriter()] as const
    await promote(writers[0], 'fixture', index)
    for (const writer of writers) await write(writer, [lineEntry({}, 1)], 1)
    await openWriter()
    expect(await lost()).to.equal(undefined)
  })

  it('is missed only where it is gone, in a record of an earlier program, which names no UUIDs', async () => {
    const writer = await written()
    await writer.close()
    const doc = { days: [dayIndex('lines'), dayIndex('lines', dayAfter)] }
    const path = `/${prefix()}-state/_update/${encodeURIComponent(`build:${index}:0`)}`
    await askElasticsearch(url(), path, { method: 'POST', body: JSON.stringify({ doc }) })
    await openWriter()
    expect(await lost()).to.equal(undefined)
    await removeDay()
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
  })

  it('is named once to whoever folds', async () => {
    const told: string[] = []
    const writer = await openWriter({ onLost: (indices) => told.push(...indices) })
    await write(writer, [lineEntry({}, 1)], 1)
    await removeDay()
    await write(writer, [lineEntry({}, 2)], 2)
    await removeDay()
    await write(writer, [lineEntry({}, 3)], 3)
    expect(told).to.deep.equal([dayIndex('lines')])
  })

  it('is missed where the build is opened next, also before it is written to', async () => {
    await written()
    await removeDay()
    const next = await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
    await write(next, [{ ...lineEntry({}, 3), day: dayAfter }], 3)
    expect(await lost()).to.deep.equal([{ day }])
  })

  it('is missed within seconds where nothing is written to it', async () => {
    let now = 0
    const told: string[] = []
    const writer = await openWriter({ now: () => now, onLost: (indices) => told.push(...indices) })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    await removeDay()
    const beat = () => writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    await beat()
    expect(await lost()).to.equal(undefined)
    now += 5_000
    await beat()
    expect(await lost()).to.deep.equal([{ day }])
    expect(told).to.deep.equal([dayIndex('lines')])
  })

  it('is missed within a minute where the template was removed too, so that a write made it with a mapping of no use', async () => {
    let now = 0
    const writer = await openWriter({ now: () => now })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    const template = `/_index_template/${prefix()}-state`
    await askElasticsearch(url(), template, { method: 'DELETE' })
    await removeDay()
    await write(writer, [lineEntry({}, 2)], 2)
    expect(await lost(), 'Elasticsearch has made it').to.equal(undefined)
    const search = makeReader().search(scopeOf('lines'), {
      filter: everything,
      orderBy: 'timeNs',
      direction: 'desc',
      limit: 1,
    })
    expect(String(await search.catch((error: unknown) => error))).to.match(
      /mapping or settings are not as they were made: rebuild/,
    )
    now += 60_000
    await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
    expect(await lost()).to.deep.equal([{ day }])
    expect(await askElasticsearch(url(), template), 'nor is the next one made so').to.have.property('index_templates')
  })

  it('is missed where an older record of its build was put back meanwhile, which does not name it', async () => {
    let now = 0
    const writer = await openWriter({ now: () => now })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    const path = `/${prefix()}-state/_update/${encodeURIComponent(`build:${index}:0`)}`
    await askElasticsearch(url(), path, { method: 'POST', body: JSON.stringify({ doc: { days: [] } }) })
    now += 60_000
    await writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    await removeDay()
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
  })

  it('is not made automatically, which is told to Elasticsearch once a minute for all builds together', async () => {
    let now = 0
    const proxy = await startRecordingProxy(url())
    const writer = await openWriter({ url: proxy.url, now: () => now })
    closeLater(proxy)
    const next = 'fixture-v1-002'
    await writer.open(next, fixture, epoch)
    const askedIn = (requests: readonly string[]) => requests.filter((line) => line.startsWith('PUT /_index_template/'))
    expect(askedIn(proxy.take())).to.have.length(1)
    for (const minutes of [1, 2]) {
      now = minutes * 60_000
      const progress = { position: 0, head: 0, at: now, caughtUpAt: now }
      await Promise.all([index, next].map((build) => writer.heartbeat(build, progress)))
      expect(askedIn(proxy.take())).to.have.length(1)
    }
  })

  it('is missed at a turn of retention, until its day is over', async () => {
    const writer = await written()
    await removeDay(dayAfter)
    await writer.dropDays(index, keptFrom(day))
    expect(await lost()).to.deep.equal([{ day: dayAfter }])
    await writer.dropDays(index, keptFrom(twoAfter))
    expect(await lost()).to.equal(undefined)
  })

  it('is not missed where its day is over for all partitions, nor when something comes late', async () => {
    const writer = await written()
    const one = makeWriter({ partition: 1 })
    await openFixture(one)
    await one.write(index, [{ workspaceId: other, entries: [lineEntry({}, 1)] }], { epoch, position: 1 })
    await one.dropDays(index, keptFrom(dayAfter))
    expect(await writer.dropDays(index, keptFrom(dayAfter))).to.equal(2)
    await write(writer, [lineEntry({}, 3)], 3)
    await one.write(index, [{ workspaceId: other, entries: [lineEntry({}, 3)] }], { epoch, position: 3 })
    await openWriter()
    await makeWriter({ partition: 1 }).open(index, fixture, epoch)
    expect([await lost(), await lost(1)]).to.deep.equal([undefined, undefined])
  })

  it('is missed where an older state was restored over it from a snapshot, which leaves it its UUID', async () => {
    const writer = await written()
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await askElasticsearch(url(), path, { method, ...(body && { body: JSON.stringify(body) }) })
      expect(answer, path).to.not.have.property('error')
    }
    const [repository, name] = [`/_snapshot/${prefix()}`, dayIndex('lines')]
    await ask('PUT', repository, { type: 'fs', settings: { location: prefix() } })
    await ask('PUT', `${repository}/older?wait_for_completion=true`, { indices: name })
    await write(writer, [lineEntry({}, 3)], 3)
    await ask('POST', `/${name}/_close`)
    await ask('POST', `${repository}/older/_restore?wait_for_completion=true`, { indices: name })
    await ask('DELETE', `${repository}/older`)
    await ask('DELETE', repository)
    await openWriter()
    expect(await lost()).to.deep.equal([{ day }])
    await write(writer, [lineEntry({}, 4)], 4)
    await openWriter()
    expect(await lost(), 'once').to.deep.equal([{ day }])
  })

  it('is not missed of a build that a rebuild folds anew', async () => {
    const writer = await written()
    await removeDay()
    const next = 'fixture-v1-002'
    await writer.open(next, fixture, epoch)
    await writer.write(next, [{ workspaceId: acme, entries: [lineEntry({}, 1)] }], { epoch, position: 1 })
    await promote(writer, 'fixture', next)
    expect(await lost()).to.equal(undefined)
  })
})
