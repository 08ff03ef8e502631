import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Filter } from '#projections/index-store.ts'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { lookUp } from '#projections/stores/elasticsearch/look-up.ts'
import { askElasticsearch, indicesWith } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
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
  type Line,
  type Thing,
} from '#test/support/index-fixture.ts'
import { liveOf, promote } from '#test/support/promote.ts'

const previousDay = '2026-11-20'

describe('Elasticsearch, when things go wrong', () => {
  const { url, prefix, makeWriter, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const failureOf = async (task: Promise<unknown>): Promise<Error> => {
    const failure = await task.then(
      () => new Error('it succeeded'),
      (error: unknown) => error,
    )
    return failure as Error
  }

  describe('writing', () => {
    it('names the document that cannot be indexed, and goes on without it', async () => {
      const writer = await openWriter()
      const id = 'i'.repeat(40_000)
      const failure = await failureOf(write(writer, [thingEntry(id, {}, 1), lineEntry({}, 1)], 1))
      expect(failure.name).to.equal('PermanentError')
      expect(failure.message).to.match(/ acme\/#\S+ of \S+ at 1: .*\(.*rebuild the projection/)
      expect(failure.message).to.contain(dayIndex('things'))
      await write(writer, [lineEntry({}, 1)], 2)
      await promote(writer, 'fixture', index)
      expect(await count(makeReader())).to.equal(1)
    })

    it('keeps documents of long ids apart, and finds them', async () => {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      const ids = ['é'.repeat(300), `${'é'.repeat(299)}e`, 'short', ...['a', 'b'].map((end) => 'x'.repeat(900) + end)]
      await write(
        writer,
        ids.map((id, weight) => thingEntry(id, { weight }, 1)),
        1,
      )
      const keys = ids.map((id) => ({ workspaceId: acme, collection: 'things', id, day }))
      const loaded = await writer.load(index, keys)
      expect(loaded.map(([entry]) => (entry?.document as Thing | undefined)?.weight)).to.deep.equal([...ids.keys()])
      const hits = await makeReader().get<Thing>(scopeOf('things'), ids)
      expect(hits.map(({ id, document }) => [id, document.weight])).to.deep.equal(ids.map((id, place) => [id, place]))
    })

    it('refuses to take the place of another log, and names the document', async () => {
      const writer = await openWriter()
      await write(writer, [thingEntry('t', { weight: 1 }, 5)], 5)
      const place = `/${dayIndex('things')}/_doc/acme%2Ft?routing=acme&version=7&version_type=external`
      await askElasticsearch(url(), place, { method: 'PUT', body: '{"i":"t","t":0,"p":7,"e":"another","b":"{}"}' })
      const failure = await failureOf(write(writer, [thingEntry('t', { weight: 2 }, 7)], 7))
      expect(failure.name).to.equal('PermanentError')
      expect(failure.message).to.match(/acme\/t of .* \(another log's document/)
    })

    it('refuses a build that was made with other collections, whose indices have other mappings', async () => {
      await openWriter()
      const { things: _, ...collections } = fixture.collections
      const failure = await failureOf(makeWriter().open(index, { ...fixture, collections }, epoch))
      expect(failure.name).to.equal('PermanentError')
    })

    it('lets no older state of a document take the place of a newer one, whoever writes it', async () => {
      const [first, second] = [await openWriter(), await openWriter()]
      const at = (weight: number, position: number) => [thingEntry('t', { weight }, position, { created: 1 })]
      await write(first, at(1, 1), 1)
      await write(second, at(3, 3), 3)
      await write(first, at(2, 2), 2)
      await write(first, at(3, 3), 3)
      await promote(first, 'fixture', index)
      const [hit] = await makeReader().get<Thing>(scopeOf('things'), ['t'])
      expect([hit?.document.weight, hit?.position]).to.deep.equal([3, 3])
    })

    it('does not bring back a record that was replaced, when its write comes late', async () => {
      const [owner, late] = [await openWriter(), await openWriter()]
      const old = lineEntry({ text: 'old' }, 1, { day: previousDay })
      await write(owner, [old], 1)
      await write(owner, [lineEntry({ text: 'new' }, 2, { id: old.id, replaces: true })], 2)
      await write(late, [old], 1)
      await promote(owner, 'fixture', index)
      expect(await count(makeReader())).to.equal(1)
    })

    it('makes the index of a day anew that was dropped meanwhile', async () => {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
      await askElasticsearch(url(), `/${dayIndex('lines')},${dayIndex('things')}`, { method: 'DELETE' })
      const key = { workspaceId: acme, collection: 'things', id: 't', day }
      expect(await writer.load(index, [key])).to.deep.equal([[]])
      expect(await count(makeReader())).to.equal(0)
      await write(writer, [lineEntry({}, 2)], 2)
      expect(await count(makeReader())).to.equal(1)
      const mapping = JSON.stringify(await askElasticsearch(url(), `/${dayIndex('lines')}/_mapping`))
      expect(mapping).to.contain('"analyzer":"whitespace"')
    })

    it('writes once more what was lost of a request, as it was', async () => {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
      await askElasticsearch(url(), `/${dayIndex('things')}`, { method: 'DELETE' })
      const lost = [thingEntry('u', { note: '支付失败 Müller' }, 3), thingEntry('v', { note: 'plain' }, 5)] as const
      const kept = [lineEntry({ text: 'für' }, 2), lineEntry({ text: '支付' }, 4)] as const
      await write(writer, [kept[0], lost[0], kept[1], lost[1]], 5)
      const keys = lost.map(({ id }) => ({ workspaceId: acme, collection: 'things', id, day }))
      expect(await writer.load(index, keys)).to.deep.equal(lost.map((entry) => [entry]))
      expect(await count(makeReader())).to.equal(3)
    })

    it('lets no index of ours come into being by itself', async () => {
      await openWriter()
      await askElasticsearch(url(), `/${dayIndex('lines')}/_doc`, { method: 'POST', body: '{"t":1}' })
      expect(await indicesWith(url(), prefix())).to.deep.equal([`${prefix()}-state`])
    })

    it('says that there is no room, and writes when there is again', async function () {
      const block = (on: boolean | null) =>
        askElasticsearch(url(), `/${dayIndex('lines')}/_settings`, {
          method: 'PUT',
          body: JSON.stringify({ 'index.blocks.read_only_allow_delete': on }),
        })
      // The server takes the block away by itself when it next looks at its disk: so it is set again for each try.
      let isFull = false
      const fill = async (line: string): Promise<void> => {
        if (isFull && line.includes('/_bulk')) await block(true)
      }
      const proxy = await startRecordingProxy(url(), fill)
      const writer = await openWriter({ url: proxy.url })
      closeLater(proxy)
      await promote(writer, 'fixture', index)
      await write(writer, [lineEntry({}, 1)], 1)
      isFull = true
      const failure = await failureOf(write(writer, [lineEntry({}, 2)], 2))
      expect(failure.name).to.equal('TransientError')
      expect(failure.message)
        .to.contain(`index [${dayIndex('lines')}] blocked by`)
        .and.to.contain('make room')
      isFull = false
      await block(null)
      await write(writer, [lineEntry({}, 2)], 2)
      expect(await count(makeReader())).to.equal(2)
    })

    it('takes a block of writes for something that passes, of documents and of the record of builds', async () => {
      const block = (name: string, on: boolean | null) =>
        askElasticsearch(url(), `/${name}/_settings`, {
          method: 'PUT',
          body: JSON.stringify({ 'index.blocks.write': on }),
        })
      const writer = await openWriter()
      await write(writer, [lineEntry({}, 1)], 1)
      const documents = () => write(writer, [lineEntry({}, 2)], 2)
      const progress = () => writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
      const blocked = { [dayIndex('lines')]: documents, [`${prefix()}-state`]: progress }
      for (const [name, task] of Object.entries(blocked)) {
        await block(name, true)
        const failure = await failureOf(task())
        expect(failure.name, name).to.equal('TransientError')
        expect(failure.message).to.contain(`index [${name}] blocked by`).and.to.contain('lift the block')
        await block(name, null)
      }
    })

    it('writes batches larger than a request', async () => {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      const text = 'word '.repeat(100_000)
      const entries = Array.from({ length: 12 }, (_, n) => lineEntry({ text }, n + 1))
      await write(writer, entries, 12)
      expect(await count(makeReader())).to.equal(12)
    })
  })

  it('lets no pipeline of somebody else change or drop what it writes, whoever set it, nor a template keep it from going on', async () => {
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await askElasticsearch(url(), path, { method, ...(body && { body: JSON.stringify(body) }) })
      expect(answer, path).to.not.have.property('error')
    }
    const template = `/_index_template/${prefix()}-of-somebody-else`
    const pipelines = { 'index.default_pipeline': 'nowhere', 'index.final_pipeline': 'nowhere' }
    const put = (settings: object) =>
      ask('PUT', template, { index_patterns: [`${prefix()}-*`], priority: 1e6, template: { settings } })
    await put({ ...pipelines, 'index.mapping.total_fields.limit': 2 })
    try {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      const failure = await failureOf(write(writer, [lineEntry({}, 1)], 1))
      expect(failure.name).to.equal('TransientError')
      expect(failure.message).to.match(/Limit of total fields \[2\].*an index template/)
      await put(pipelines)
      await write(writer, [lineEntry({}, 1)], 1)
      await ask('PUT', `/${dayIndex('lines')}/_settings`, { 'index.default_pipeline': 'nowhere' })
      await write(writer, [lineEntry({}, 2)], 2)
      await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
      expect(await count(makeReader())).to.equal(2)
    } finally {
      await ask('DELETE', template)
    }
  })

  it('finds all of what it writes whatever a template of somebody else says of new indices: hidden ones, that keep no documents', async () => {
    const ask = (method: string, path: string, body?: object) =>
      askElasticsearch(url(), path, { method, ...(body && { body: JSON.stringify(body) }) })
    const path = `/_index_template/${prefix()}-of-somebody-else`
    const mappings = { _source: { enabled: false }, properties: { foo: { type: 'keyword' } } }
    const template = { settings: { 'index.hidden': true }, mappings, aliases: { [`of-all-${prefix()}`]: {} } }
    await ask('PUT', path, { index_patterns: [`${prefix()}-*`], priority: 1e6, template })
    try {
      const writer = await openWriter()
      await promote(writer, 'fixture', index)
      await write(writer, [lineEntry({ text: 'paid' }, 1)], 1)
      await writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
      const page = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 2 } as const
      const found = await makeReader().search(scopeOf('lines'), page)
      expect(found.map(({ position, document }) => ({ position, document }))).to.deep.equal([
        { position: 1, document: lineEntry({ text: 'paid' }, 1).document },
      ])
    } finally {
      await ask('DELETE', path)
    }
  })

  it('refuses a phrase whose last word may be any of too many, and answers where they are fewer', async () => {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    const text = (at: number) => Array.from({ length: 1_000 }, (_, n) => `pay w${at}x${n}`).join(' ')
    const entries = Array.from({ length: 30 }, (_, at) => lineEntry({ text: text(at) }, at + 1))
    await write(writer, entries, 30)
    const search = (last: string) =>
      makeReader().count(scopeOf('lines'), {
        filter: { kind: 'phrase', fields: ['message'], tokens: ['pay', last], prefix: true },
      })
    expect((await failureOf(search('w'))).name).to.equal('TooBroadError')
    expect(await search('w29')).to.equal(1)
  })

  it('answers a phrase whose last word may be any of too many that others hold, by the words of its own workspace', async () => {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    const text = (at: number) => Array.from({ length: 1_000 }, (_, n) => `order 1${at}x${n} (1${n}`).join(' ')
    const others = Array.from({ length: 30 }, (_, at) => lineEntry({ text: text(at) }, at + 1))
    await write(writer, others, 30, other)
    const texts = [
      'order 12 paid',
      'an order: 1.5',
      'order 1',
      'order of 17',
      '18 order',
      'order order 19',
      'no',
      'order 2',
    ]
    const own = texts.map((each, at) => lineEntry({ text: each }, at + 31))
    const early = lineEntry({ text: 'order 1early', timeNs: 5n }, 39, { day: previousDay })
    await write(writer, [...own, early], 39)
    const order: Filter = { kind: 'phrase', fields: ['message', 'fields'], tokens: ['order', '1'], prefix: true }
    const reader = makeReader()
    const found = await reader.search<Line>(scopeOf('lines'), {
      filter: order,
      orderBy: 'position',
      direction: 'asc',
      limit: 9,
    })
    expect(found.map(({ document }) => document.text)).to.deep.equal(
      [0, 1, 2, 5].map((at) => texts[at]).concat('order 1early'),
    )
    const count = (filter: Filter, more: object = {}) => reader.count({ ...scopeOf('lines'), ...more }, { filter })
    expect(await count(order, { fromDay: day })).to.equal(4)
    expect(await reader.count(scopeOf('lines'), { filter: order, toNs: 6n })).to.equal(1)
    expect(await count({ kind: 'not', of: order })).to.equal(4)
    expect(await count({ ...order, tokens: ['order', 'order', '1'] })).to.equal(1)
    expect(await count({ ...order, tokens: ['no', 'order', '1'] })).to.equal(0)
    expect(await count({ kind: 'or', of: [order, { ...order, tokens: ['order', '2'] }] })).to.equal(6)
    // Of its own words there may be as many as a pattern may meet.
    const many = Array.from({ length: 1_001 }, (_, n) => `1own${n}`).join(' ')
    await write(writer, [lineEntry({ text: `order ${many}` }, 40)], 40)
    expect((await failureOf(count(order))).name).to.equal('TooBroadError')
    expect(await reader.count(scopeOf('lines'), { filter: order, toNs: 6n })).to.equal(1)
  })

  it('waits for the shards of an index that was made only just before', async () => {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({ text: 'a word' }, 1)], 1)
    const held = { 'index.routing.allocation.require.nowhere': 'yes' }
    const name = dayIndex('lines', previousDay)
    const mappings = { properties: { x_message: { type: 'text', analyzer: 'whitespace' } } }
    const body = JSON.stringify({ settings: { ...held, 'index.number_of_replicas': 0 }, mappings })
    await askElasticsearch(url(), `/${name}?wait_for_active_shards=0`, { method: 'PUT', body })
    const word: Filter = { kind: 'pattern', fields: ['message'], prefix: '', regex: 'w.*' }
    const counts = Promise.all([count(makeReader()), makeReader().count(scopeOf('lines'), { filter: word })])
    const released = JSON.stringify({ 'index.routing.allocation.require.nowhere': null })
    await askElasticsearch(url(), `/${name}/_settings`, { method: 'PUT', body: released })
    expect(await counts).to.deep.equal([1, 1])
  })

  it('waits for the shard of an index that another writer has made only just before, when it loads from it', async () => {
    const held = { 'index.routing.allocation.require.nowhere': 'yes', 'index.number_of_replicas': 0 }
    const name = dayIndex('lines')
    const body = JSON.stringify({ settings: held })
    await askElasticsearch(url(), `/${name}?wait_for_active_shards=0`, { method: 'PUT', body })
    const elasticsearch = connectElasticsearch(url())
    closeLater(elasticsearch)
    let isAsked = false
    const asking: typeof elasticsearch.send = async (call) => {
      const answer = await elasticsearch.send(call)
      if (!isAsked) {
        isAsked = true
        const released = JSON.stringify({ 'index.routing.allocation.require.nowhere': null })
        await askElasticsearch(url(), `/${name}/_settings`, { method: 'PUT', body: released })
      }
      return answer
    }
    const place = { index: name, key: 'acme/none', workspaceId: acme }
    expect(await lookUp({ ...elasticsearch, send: asking }, [place], [])).to.deep.equal([undefined])
    expect(isAsked).to.equal(true)
  })

  it('waits for the shard of what stands beside the builds, when that was made only just before', async () => {
    const settings = { 'index.routing.allocation.require.nowhere': 'yes', 'index.number_of_replicas': 0 }
    const state = `${prefix()}-state`
    const body = JSON.stringify({ settings })
    await askElasticsearch(url(), `/${state}?wait_for_active_shards=0`, { method: 'PUT', body })
    const progress = makeReader().progress('fixture')
    const released = JSON.stringify({ 'index.routing.allocation.require.nowhere': null })
    await askElasticsearch(url(), `/${state}/_settings`, { method: 'PUT', body: released })
    expect(await progress).to.equal(undefined)
  })

  describe('partitions', () => {
    const entries = [lineEntry({}, 1)]

    it('keep apart what stands beside the documents that they share the indices for', async () => {
      const [zero, one] = [await openWriter(), await openWriter({ partition: 1 })]
      await promote(zero, 'fixture', index)
      await zero.write(index, [{ workspaceId: acme, entries }], { epoch, position: 1 })
      await one.write(index, [{ workspaceId: other, entries }], { epoch, position: 7 })
      await one.heartbeat(index, { position: 7, head: 7, at: 7, caughtUpAt: 7 })
      expect(await liveOf(one, 'fixture')).to.equal(undefined)
      expect((await zero.checkpoint(index)).position).to.equal(0)
      expect((await one.builds('fixture')).map(({ checkpoint }) => checkpoint)).to.deep.equal([7])
      expect(await count(makeReader(0))).to.equal(1)
      expect(await count(makeReader(1), 'lines', other)).to.equal(0)
      await promote(one, 'fixture', index)
      expect(await count(makeReader(1), 'lines', other)).to.equal(1)
    })

    it('drop a build each for itself: the documents go with the last', async () => {
      const [zero, one] = [await openWriter(), await openWriter({ partition: 1 })]
      await promote(one, 'fixture', index)
      await zero.write(index, [{ workspaceId: acme, entries }], { epoch, position: 1 })
      await one.write(index, [{ workspaceId: other, entries }], { epoch, position: 1 })
      await zero.drop(index)
      expect(await zero.builds('fixture')).to.deep.equal([])
      expect(await count(makeReader(1), 'lines', other)).to.equal(1)
      const again = await failureOf(zero.open(index, fixture, epoch))
      expect([again.name, again.message.includes('dropped')]).to.deep.equal(['PermanentError', true])
      expect((await zero.checkpoint(index)).epoch).to.not.be.oneOf(['', epoch])
      await one.drop(index)
      expect(await indicesWith(url(), prefix())).to.deep.equal([`${prefix()}-state`])
      await zero.open(index, fixture, epoch)
      expect(await zero.checkpoint(index)).to.deep.equal({ epoch, position: 0 })
    })

    it('lose nothing when one begins a build that the last of the others is removing', async () => {
      const zero = await openWriter()
      await zero.write(index, [{ workspaceId: acme, entries }], { epoch, position: 1 })
      // It has said so, and looked whether others have the build; it has not removed the indices yet.
      const record = `/${prefix()}-state/_update/${encodeURIComponent(`build:${index}:0`)}`
      await askElasticsearch(url(), record, { method: 'POST', body: JSON.stringify({ doc: { dropped: true } }) })
      const one = makeWriter({ partition: 1 })
      const failure = await failureOf(one.open(index, fixture, epoch))
      expect([failure.name, failure.message.includes('removing it')]).to.deep.equal(['TransientError', true])
      expect(await indicesWith(url(), prefix())).to.deep.equal([`${prefix()}-state`])
      await one.open(index, fixture, epoch)
      await zero.drop(index)
      await one.write(index, [{ workspaceId: other, entries }], { epoch, position: 1 })
      await promote(one, 'fixture', index)
      expect(await count(makeReader(1), 'lines', other)).to.equal(1)
    })

    it('stops who still writes progress of a build that was dropped', async () => {
      const [owner, other] = [await openWriter(), await openWriter()]
      await owner.drop(index)
      const failure = await failureOf(other.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 }))
      expect([failure.name, failure.message.includes('dropped')]).to.deep.equal(['PermanentError', true])
    })
  })
})
