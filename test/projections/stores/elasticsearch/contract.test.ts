import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { indexStoreContract } from '#test/contracts/index-store.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import { askElasticsearch, indicesWith, removeIndices } from '#test/support/elasticsearch.ts'
import {
  day,
  epoch,
  everything,
  fixture,
  index,
  lineEntry,
  other,
  scopeOf,
  write,
} from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

/** What is right over several shards is right over one, which all other tests have. */
const settings = { shards: 2, replicas: 0 }

describe('Elasticsearch', () => {
  let url = ''
  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
  })

  indexStoreContract('elasticsearch', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const place = { url, prefix, partition: 0 }
    return {
      open: async () => ({
        writer: createElasticsearchIndexWriter({ ...place, settings, refreshEveryMs: 0 }),
        reader: createElasticsearchIndexReader({ ...place, limits }),
      }),
      remove: () => removeIndices(url, prefix),
    }
  })

  it('makes the indices of days with the shards and copies that are asked for', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const writer = createElasticsearchIndexWriter({ url, prefix, partition: 0, settings, refreshEveryMs: 0 })
    try {
      await writer.open(index, fixture, epoch)
      await write(writer, [lineEntry({}, 1)], 1)
      const [name] = await indicesWith(url, `${prefix}-${index}-lines-`)
      const found = await askElasticsearch(url, `/${name}/_settings?flat_settings=true`)
      expect(found[name ?? ''])
        .to.have.property('settings')
        .which.deep.includes({
          'index.number_of_shards': '2',
          'index.number_of_replicas': '0',
        })
    } finally {
      await writer.close()
      await removeIndices(url, prefix)
    }
  })

  // With documents of its own alone, a node that stood still would answer from them beside the progress of another node.
  it('keeps the records of builds on every node where days have copies, also those of an earlier program', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const place = { url, prefix, partition: 0 }
    const path = `/${prefix}-state`
    const copies = async (replicas: number | undefined) => {
      const writer = createElasticsearchIndexWriter({ ...place, settings: { shards: 1, replicas } })
      await writer.open(index, fixture, epoch)
      await writer.close()
      const found = await askElasticsearch(url, `${path}/_settings/index.*replicas?flat_settings=true`)
      await removeIndices(url, prefix)
      return (found[`${prefix}-state`] as JsonObject)['settings']
    }
    const makeBefore = (settings: object) =>
      askElasticsearch(url, path, { method: 'PUT', body: JSON.stringify({ settings, mappings: { dynamic: false } }) })
    // Of this one node.
    const spread = { 'index.auto_expand_replicas': '0-4', 'index.number_of_replicas': '0' }
    try {
      expect([await copies(undefined), await copies(1)]).to.deep.equal([spread, spread])
      await makeBefore({ auto_expand_replicas: '0-1' })
      expect(await copies(undefined)).to.deep.equal(spread)
      await makeBefore({ number_of_replicas: 1 })
      expect(await copies(1)).to.deep.equal(spread)
      expect(await copies(0)).to.deep.equal({ 'index.number_of_replicas': '0' })
    } finally {
      await removeIndices(url, prefix)
    }
  })

  it('serves installations of which the name of one begins like the name of another', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const prefixes = [`${prefix}-b`, prefix, `${prefix}-b-c`]
    const places = prefixes.map((each) => ({ url, prefix: each, partition: 0 }))
    const writers = places.map((place) => createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0 }))
    const readers = places.map((place) => createElasticsearchIndexReader({ ...place, limits }))
    try {
      for (const [at, writer] of writers.entries()) {
        await writer.open(index, fixture, epoch)
        await write(
          writer,
          Array.from({ length: at + 1 }, (_, n) => lineEntry({}, n + 1)),
          at + 1,
        )
        await promote(writer, 'fixture', index)
      }
      const counts = readers.map((reader) => reader.count(scopeOf('lines'), { filter: everything }))
      expect(await Promise.all(counts)).to.deep.equal([1, 2, 3])
    } finally {
      for (const each of [...writers, ...readers]) await each.close()
      for (const each of prefixes) await removeIndices(url, each)
    }
  })

  it('drops a day that partitions share when none of them needs it', async function () {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const writers = [0, 1].map((partition) =>
      createElasticsearchIndexWriter({ url, prefix, partition, refreshEveryMs: 0 }),
    )
    const drop = (partition: number, first: string) =>
      writers[partition]?.dropDays(index, { of: () => first, all: first })
    try {
      for (const writer of writers) await writer.open(index, fixture, epoch)
      const days = ['2026-11-09', '2026-11-10', '2026-11-20']
      const entries = days.map((each, at) => lineEntry({}, at + 1, { day: each }))
      for (const writer of writers) await write(writer, entries, 3)
      expect(await drop(0, '2026-11-20'), 'the other one has not said so').to.equal(0)
      expect(await drop(1, '2026-11-10')).to.equal(1)
      const left = (await indicesWith(url, `${prefix}-${index}-lines-`)).map((name) => name.slice(-10))
      expect(left.sort()).to.deep.equal(['2026.11.10', '2026.11.20'])
      expect(await drop(1, '2026-11-20')).to.equal(1)
    } finally {
      for (const writer of writers) await writer.close()
      await removeIndices(url, prefix)
    }
  })

  it('counts the words of a pattern in the days that a reader sees, and no others', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const place = { url, prefix, partition: 0 }
    const writer = createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0 })
    const reader = createElasticsearchIndexReader({ ...place, limits: { patternExpansionsMax: 2 } })
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'pay', regex: 'pay.*' } as const
    try {
      await writer.open(index, fixture, epoch)
      await write(writer, [lineEntry({ text: 'pay1 pay2 pay3' }, 1, { day: '2026-11-09' })], 1)
      await write(writer, [lineEntry({ text: 'pay4' }, 2)], 2)
      await write(writer, [lineEntry({ text: 'pay5 pay6 pay7' }, 3)], 3, other)
      await promote(writer, 'fixture', index)
      expect(await reader.count({ ...scopeOf('lines'), fromDay: day }, { filter: pattern })).to.equal(1)
    } finally {
      for (const each of [writer, reader]) await each.close()
      await removeIndices(url, prefix)
    }
  })
})
