import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { after as afterAll, before, describe, it } from 'mocha'
import {
  TooBroadError,
  type Filter,
  type IndexReader,
  type IndexWriter,
  type Selection,
} from '#projections/index-store.ts'
import { createElasticsearchIndexReaders } from '#projections/stores/elasticsearch/reader.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import {
  acme,
  day,
  everything,
  index,
  lineEntry,
  noonNs,
  scopeOf,
  thingEntry,
  write,
  openFixture,
  other,
} from '#test/support/index-fixture.ts'
import { startRecordingProxy, type RecordingProxy } from '#test/support/recording-proxy.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

const folder = new URL('../../../golden/elasticsearch/', import.meta.url)
const minuteNs = 60_000_000_000n

/** What is sent is a part of the index's form: a change of it is to be seen. `UPDATE_GOLDEN=1` writes the files anew. */
describe('requests to Elasticsearch', () => {
  /** As long as `throughline`, which stands for it in what is compared. */
  const prefix = `test-${randomBytes(3).toString('hex')}`
  let url = ''
  let proxy: RecordingProxy
  let writer: IndexWriter
  let reader: IndexReader

  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
    proxy = await startRecordingProxy(url)
    const place = { url: proxy.url, prefix, partition: 3 }
    // What is told again within a long batch, and looked at from time to time, comes by the clock.
    writer = createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0, now: () => 0 })
    reader = createElasticsearchIndexReader({ ...place, limits })
  })
  afterAll(async () => {
    await reader.close()
    await writer.close()
    await proxy.close()
    await removeIndices(url, prefix)
  })

  /** What the server chose differs from run to run. */
  const withoutChance = (request: string): string =>
    request.replaceAll(prefix, 'throughline').replaceAll(/"uuid":"[\w-]{22}"/g, '"uuid":"(chosen by the server)"')

  const same = (name: string): void => {
    const requests = proxy.take().map((request) => `${withoutChance(request)}\n`)
    const file = new URL(`${name}.txt`, folder)
    const text = requests.join('\n')
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, text)
    expect(text).to.equal(readFileSync(file, 'utf8'))
  }

  it('open and promote a build', async () => {
    await openFixture(writer)
    same('open')
  })

  it('write documents and records, delete what is replaced, refresh, tell progress', async () => {
    const line = lineEntry({ level: 'WARN', service: ['Cart', 'a"b'], size: -7, text: 'paid 支付 x=1' }, 1)
    await write(writer, [line, thingEntry('t', { weight: 9_007_199_254_740_993n, note: '\ud800' }, 1)], 1)
    await write(writer, [{ ...line, day: '2026-11-22', position: 2, replaces: true }], 2)
    await writer.heartbeat(index, { position: 2, head: 3, at: 1_700_000_000_000, caughtUpAt: 1_699_999_999_000 })
    same('write')
  })

  it('load by id', async () => {
    const key = { workspaceId: acme, collection: 'things', id: 't', day }
    await writer.load(index, [key, { ...key, collection: 'lines' }, { ...key, day: '2026-11-23' }])
    same('load')
  })

  const phrase = (tokens: readonly string[], prefix = false): Filter => ({
    kind: 'phrase',
    fields: ['message'],
    tokens,
    prefix,
  })
  const filters: Readonly<Record<string, Filter>> = {
    keyword: { kind: 'keyword', field: 'service', values: ['cart', 'Other'] },
    number: { kind: 'number', field: 'size', from: -7.5, to: 1n << 62n },
    word: phrase(['paid']),
    phrase: phrase(['paid', '支']),
    prefix: phrase(['pa'], true),
    'phrase prefix': phrase(['paid', '支'], true),
    'two fields': { kind: 'phrase', fields: ['message', 'fields'], tokens: ['paid'] },
    pattern: { kind: 'pattern', fields: ['message'], prefix: 'p', regex: 'p[\\p{L}\\p{N}]{1,3}' },
    range: { kind: 'tokenRange', fields: ['fields'], prefix: 'size#', from: 'size#3f', to: 'size#40' },
    joined: {
      kind: 'and',
      of: [phrase(['paid']), { kind: 'not', of: { kind: 'or', of: [phrase(['y']), phrase(['z'])] } }],
    },
  }
  for (const [name, filter] of Object.entries(filters)) {
    it(`search by ${name}`, async () => {
      const query = { filter, orderBy: 'timeNs', direction: 'desc', limit: 10 } as const
      expect(await reader.search(scopeOf('lines'), query)).to.have.length(1)
      same(`search-${name.replace(' ', '-')}`)
    })
  }

  it('search by a pattern of which others have more words than it may meet', async () => {
    const few = createElasticsearchIndexReader({
      url: proxy.url,
      prefix,
      partition: 3,
      limits: { ...limits, patternExpansionsMax: 1 },
    })
    await write(writer, [lineEntry({ text: 'part' }, 3)], 3, other)
    proxy.take()
    const pattern: Filter = { kind: 'pattern', fields: ['message'], prefix: 'pa', regex: 'pa.*' }
    const query = { filter: pattern, orderBy: 'timeNs', direction: 'desc', limit: 10 } as const
    expect(await few.search(scopeOf('lines'), query)).to.have.length(1)
    same('search-own-words')
    expect(await few.count(scopeOf('lines'), { filter: pattern, fromNs: 0n, toNs: noonNs + 1n })).to.equal(1)
    same('search-own-words-of-days')
    await few.close()
  })

  it('search by a phrase that begins its last word like more words of others than the server takes', async () => {
    const words = (at: number) => Array.from({ length: 1_000 }, (_, n) => `1w${at}x${n}`).join(' ')
    const others = Array.from({ length: 30 }, (_, at) => lineEntry({ text: words(at) }, at + 4))
    await write(writer, others, 33, other)
    proxy.take()
    expect(await reader.count(scopeOf('lines'), { filter: phrase(['x', '1'], true), fromNs: 0n })).to.equal(1)
    same('search-phrase-of-own-words')
    const [all] = createElasticsearchIndexReaders({ url: proxy.url, prefix, limits }, [3])
    const ofRequest = all?.readerFor(new AbortController().signal)
    const filter = phrase(['x', '1'], true)
    await ofRequest?.count(scopeOf('lines'), { filter })
    await ofRequest?.facets(scopeOf('lines'), { filter }, ['level'], 5)
    const looked = proxy.take().filter((request) => request.includes('"_source":["x_message"]'))
    expect(looked, 'once for all questions of one request').to.have.length(1)
    await all?.close()
  })

  it('ask once for what is refused for its own words, which are none of others', async () => {
    const of = Array.from({ length: 20_000 }, (_, n) => phrase([`w${n}`]))
    proxy.take()
    const refused = await reader
      .count(scopeOf('lines'), { filter: { kind: 'or', of } })
      .catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(TooBroadError)
    expect(proxy.take().filter((request) => request.includes('/_search'))).to.have.length(1)
  })

  it('expand a pattern once for all questions of one request', async () => {
    const place = { url: proxy.url, prefix, limits }
    const [all] = createElasticsearchIndexReaders(place, [3])
    const ofRequest = all?.readerFor(new AbortController().signal)
    const selection = { filter: { kind: 'pattern', fields: ['message', 'fields'], prefix: 'p', regex: 'p.*' } } as const
    proxy.take()
    await Promise.all([
      ofRequest?.search(scopeOf('lines'), { ...selection, orderBy: 'timeNs', direction: 'desc', limit: 10 }),
      ofRequest?.count(scopeOf('lines'), selection),
    ])
    await ofRequest?.facets(scopeOf('lines'), selection, ['level'], 5)
    await ofRequest?.facets(scopeOf('lines', other), selection, ['level'], 5)
    const expanded = proxy.take().filter((request) => request.includes('_validate'))
    expect(expanded, 'two fields, of two workspaces').to.have.length(4)
    await all?.close()
  })

  it('expand a few patterns at once, however many a search has', async () => {
    let [underWay, most] = [0, 0]
    const isExpanding = (line: string): boolean => line.includes('_validate')
    const counted = await startRecordingProxy(
      url,
      async (line) => void (isExpanding(line) && (most = Math.max(most, ++underWay))),
      async (line) => void (isExpanding(line) && underWay--),
    )
    const few = createElasticsearchIndexReader({ url: counted.url, prefix, partition: 3, limits })
    const of = Array.from({ length: 20 }, (_, n) => ({ ...filters['pattern'], regex: `p.*${n}` }) as Filter)
    expect(await few.count(scopeOf('lines'), { filter: { kind: 'or', of } })).to.equal(0)
    expect(counted.take().filter(isExpanding)).to.have.length(20)
    expect(most).to.be.within(2, 4)
    await few.close()
    await counted.close()
  })

  it('search a page of a range, a snapshot, another order', async () => {
    const after = { value: noonNs, id: 'z' }
    const selection: Selection = { filter: everything, fromNs: 0n, toNs: noonNs + 1n, upTo: 9, since: 1 }
    await reader.search(scopeOf('lines'), { ...selection, orderBy: 'timeNs', direction: 'desc', after, limit: 10 })
    await reader.search(scopeOf('lines'), { filter: everything, orderBy: 'size', direction: 'asc', limit: 10 })
    same('search-page')
  })

  it('get, count, histogram and facets', async () => {
    const selection = { filter: everything }
    await reader.get(scopeOf('things'), ['t', 'u'])
    await reader.count(scopeOf('lines'), selection)
    await reader.histogram(scopeOf('lines'), selection, minuteNs, 'level')
    await reader.histogram(scopeOf('lines'), { ...selection, fromNs: 0n }, minuteNs, 'level')
    await reader.facets(scopeOf('lines'), selection, ['level', 'service'], 5)
    await reader.progress('fixture')
    same('counts')
  })

  it('list and drop builds', async () => {
    await writer.builds('fixture')
    await writer.drop(index)
    same('builds')
  })
})
