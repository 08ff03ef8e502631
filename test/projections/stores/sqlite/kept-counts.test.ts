import { expect } from 'chai'
import { DatabaseSync } from 'node:sqlite'
import type { Filter, IndexReader } from '#projections/index-store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { isStored, spans } from '#projections/traces/span-document.ts'
import { traces } from '#projections/traces/trace-document.ts'
import { traceFilters } from '#projections/traces/trace-request.ts'
import {
  acme,
  epoch,
  everything,
  fixture,
  lineEntry,
  lines,
  noonNs,
  scopeOf,
  sets,
  thingEntry,
  things,
  write,
} from '#test/support/index-fixture.ts'
import { limits, openSqliteFixture, type SqliteFixture } from '#test/support/sqlite-fixture.ts'
import { promote } from '#test/support/promote.ts'

const secondNs = 1_000_000_000n
const minuteNs = 60n * secondNs
const paid: Filter = { kind: 'phrase', fields: ['message'], tokens: ['paid'] }
const level = (value: string): Filter => ({ kind: 'keyword', field: 'level', values: [value] })
const not = (of: Filter): Filter => ({ kind: 'not', of })
const both = (...of: readonly Filter[]): Filter => ({ kind: 'and', of })
const counted: Filter = { kind: 'number', field: 'weight', from: 1 }
const tags = Array.from({ length: 8 }, (_, bit) => `tag${bit}`)
const setOf = (n: number): readonly string[] => tags.filter((_, bit) => (n >> bit) % 2 === 1)

describe('counts that SQLite keeps', () => {
  let given: SqliteFixture
  let reader: IndexReader
  let file: DatabaseSync

  beforeEach(async () => {
    given = await openSqliteFixture()
    const { folder, writer } = given
    const entries = Array.from({ length: 256 }, (_, n) => [
      thingEntry(`t${n}`, { weight: n < 6 ? 0 : 1, tags: setOf(n) }, n + 1),
      lineEntry({ level: n % 4 === 0 ? 'error' : 'info', service: setOf(n), text: n % 2 === 0 ? 'paid' : '' }, n + 1),
    ])
    await write(writer, entries.flat(), 256)
    await writer.close()
    reader = createSqliteIndexReader({ folder, limits })
    file = new DatabaseSync(given.dayFile())
  })
  afterEach(async () => {
    await reader.close()
    file.close()
    given.remove()
  })

  /** From now on only what is kept can answer. */
  const removeRows = (): void => file.exec('DELETE FROM r_things; DELETE FROM r_lines')
  const rowsOf = (table: string): unknown => file.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']

  it('are as many as there are values, however many sets of them rows have', () => {
    // Each tag; none, and beyond the first. A level has one value.
    expect([rowsOf('m_things'), rowsOf('m_lines')]).to.deep.equal([8 + 1, 8 + 2 + 2])
  })

  it('answer what is asked with the condition that they are kept for', async () => {
    removeRows()
    const selection = { filter: counted, fromNs: noonNs, toNs: noonNs + minuteNs }
    expect(await reader.count(scopeOf('things'), selection)).to.equal(250)
    const [facet] = await reader.facets(scopeOf('things'), selection, ['tags'], 2)
    expect(facet?.values.map(({ value, count }) => [value, count])).to.deep.equal([
      ['tag3', 128],
      ['tag4', 128],
    ])
    const [bucket] = await reader.histogram(scopeOf('things'), selection, minuteNs, 'tags')
    expect([bucket?.total, bucket?.by['tag0'], bucket?.by['tag7']]).to.deep.equal([250, 125, 128])
  })

  it('leave the edges beside whole minutes to the rows there', async () => {
    const selection = { filter: counted, fromNs: noonNs - 90n * secondNs, toNs: noonNs + 30n * secondNs }
    const [facet] = await reader.facets(scopeOf('things'), selection, ['tags'], 1)
    expect(facet?.values).to.deep.equal([{ value: 'tag3', count: 128 }])
    removeRows()
    expect(await reader.facets(scopeOf('things'), selection, ['tags'], 1)).to.deep.equal([
      { field: 'tags', values: [] },
    ])
  })

  it('do not answer what is asked of other rows', async () => {
    removeRows()
    expect(await reader.count(scopeOf('things'), { filter: everything })).to.equal(0)
    expect(await reader.count(scopeOf('things'), { filter: { ...counted, to: 5 } })).to.equal(0)
  })

  it('answer what is asked of one value only where no row has another beside it', async () => {
    removeRows()
    const of = (field: string, value: string): Filter => ({ kind: 'keyword', field, values: [value] })
    const tagged = both(counted, of('tags', 'tag1'))
    expect(await reader.facets(scopeOf('things'), { filter: tagged }, ['tags'], 9)).to.deep.equal([
      { field: 'tags', values: [] },
    ])
    const [levels] = await reader.facets(scopeOf('lines'), { filter: of('level', 'ERROR') }, ['level'], 9)
    expect(levels?.values).to.deep.equal([{ value: 'error', count: 64 }])
  })

  it('of values together answer conditions on any of them, in shorter steps', async () => {
    removeRows()
    const error: Filter = { kind: 'keyword', field: 'level', values: ['Error'] }
    const tag7: Filter = { kind: 'keyword', field: 'service', values: ['tag7', 'none'] }
    const filter: Filter = { kind: 'and', of: [error, { kind: 'not', of: tag7 }] }
    const selection = { filter, toNs: noonNs + 10n * secondNs }
    expect(await reader.count(scopeOf('lines'), selection)).to.equal(32)
    const facets = await reader.facets(scopeOf('lines'), selection, ['level', 'service'], 2)
    expect(facets.map(({ values }) => values.map(({ value, count }) => [value, count]))).to.deep.equal([
      [['error', 32]],
      [
        ['tag2', 16],
        ['tag3', 16],
      ],
    ])
    const buckets = await reader.histogram(scopeOf('lines'), selection, 5n * secondNs, 'level')
    expect(buckets).to.deep.equal([{ startNs: noonNs, total: 32, by: { error: 32 } }])
  })

  it('of values together answer what those of single values do, where a quarter of an hour is short enough', async () => {
    removeRows()
    const ask = async (stepNs: bigint) => {
      const selection = { filter: everything, fromNs: noonNs, toNs: noonNs + 30n * minuteNs }
      const [facet] = await reader.facets(scopeOf('lines'), selection, ['level'], 2)
      const buckets = await reader.histogram(scopeOf('lines'), selection, stepNs, 'level')
      const count = await reader.count(scopeOf('lines'), selection)
      return [count, facet?.values, buckets.map(({ total, by }) => [total, by])]
    }
    const answer = [
      256,
      [
        { value: 'info', count: 192 },
        { value: 'error', count: 64 },
      ],
      [[256, { info: 192, error: 64 }]],
    ]
    expect(await ask(minuteNs)).to.deep.equal(answer)
    // Which are fewer to read: a minute's are not looked at.
    file.exec('DELETE FROM m_lines')
    expect(await ask(15n * minuteNs)).to.deep.equal(answer)
    file.exec('DELETE FROM c_lines WHERE grain = 900000000000')
    expect(await ask(15n * minuteNs)).to.not.deep.equal(answer)
  })

  it('of a word are those of its postings: their rowids tell time and values', async () => {
    removeRows()
    const selection = { filter: paid, fromNs: noonNs, toNs: noonNs + secondNs }
    expect(await reader.histogram(scopeOf('lines'), selection, secondNs, 'level')).to.deep.equal([
      { startNs: noonNs, total: 128, by: { error: 64, info: 64 } },
    ])
    const [facet] = await reader.facets(scopeOf('lines'), selection, ['service'], 1)
    expect(facet?.values).to.deep.equal([{ value: 'tag1', count: 64 }])
    expect(await reader.count(scopeOf('lines'), selection)).to.equal(128)
  })

  it('of rows without a word are those of all, less those of its postings', async () => {
    removeRows()
    const countsOf = async (filter: Filter) => {
      const selection = { filter, fromNs: noonNs, toNs: noonNs + 5n * secondNs }
      const [count, [bucket], facets] = await Promise.all([
        reader.count(scopeOf('lines'), selection),
        reader.histogram(scopeOf('lines'), selection, 5n * secondNs, 'level'),
        reader.facets(scopeOf('lines'), selection, ['level', 'service'], 1),
      ])
      return [count, bucket?.total, bucket?.by, ...facets.map(({ values }) => values)]
    }
    const expected = (info: number, tag: string, of: number): readonly unknown[] => [
      info,
      info,
      { info },
      [{ value: 'info', count: info }],
      [{ value: tag, count: of }],
    ]
    const absent: Filter = { kind: 'pattern', fields: ['message'], prefix: 'q', regex: 'q.*' }
    // All that are errors have the word: none is left, and the level is not listed. An odd number has the first bit.
    const odd = expected(128, 'tag0', 128)
    expect(await countsOf(not(paid))).to.deep.equal(odd)
    expect(await countsOf(not({ kind: 'or', of: [absent, level('error'), paid] }))).to.deep.equal(odd)
    expect(await countsOf(both(level('info'), not(both(paid, not(level('error'))))))).to.deep.equal(odd)
    const others = not(both(level('info'), not(absent)))
    expect(await countsOf(not({ kind: 'or', of: [paid, others] }))).to.deep.equal(odd)
    expect(await countsOf(both(not(absent), level('info')))).to.deep.equal(expected(192, 'tag0', 128))
    expect(await countsOf(both(level('error'), not(paid)))).to.deep.equal([0, undefined, undefined, [], []])
  })

  it('are not asked about rows without a word that nearly all have, nor of a position', async () => {
    removeRows()
    const selection = { filter: not({ ...paid, tokens: ['pai'], prefix: true }), upTo: 256 }
    expect(await reader.count(scopeOf('lines'), selection)).to.equal(0)
    const any: Filter = { kind: 'keywordPrefix', field: 'level', prefix: '' }
    expect(await reader.histogram(scopeOf('lines'), { filter: not(any) }, minuteNs, 'level')).to.deep.equal([])
  })

  it('do not have a pattern expanded more than once', async () => {
    const pattern: Filter = { kind: 'pattern', fields: ['message'], prefix: 'pa', regex: 'pa.*' }
    const selection = { filter: not(pattern) }
    const narrow = createSqliteIndexReader({ folder: given.folder, limits: { ...limits, patternScanTermsMax: 1 } })
    const [facet] = await narrow.facets(scopeOf('lines'), selection, ['level'], 9)
    expect(facet?.values).to.deep.equal([{ value: 'info', count: 128 }])
    expect(await narrow.count(scopeOf('lines'), selection)).to.equal(128)
    // All errors are met: a walk of the others is tried after all.
    const none = await narrow.facets(scopeOf('lines'), { filter: both(level('error'), not(pattern)) }, ['level'], 9)
    expect(none).to.deep.equal([{ field: 'level', values: [] }])
    await narrow.close()
  })

  it('of values together do not answer what is asked of less time than they are kept by', async () => {
    removeRows()
    const asked = { filter: everything, fromNs: noonNs, toNs: noonNs + 5n * secondNs - 1n }
    expect(await reader.count(scopeOf('lines'), asked)).to.equal(0)
    expect(await reader.histogram(scopeOf('lines'), { filter: everything }, secondNs, 'level')).to.deep.equal([])
  })

  it('are of rows that have the number that they are kept for, whichever', async () => {
    const sized = { ...lines, countedWhere: { field: 'size' } }
    const projection = { ...fixture, name: 'sized', collections: { lines: sized, things, sets } }
    const writer = createSqliteIndexWriter({ folder: given.folder, limits, syncEveryMs: 0 })
    await writer.open('sized-v1-001', projection, epoch)
    await promote(writer, 'sized', 'sized-v1-001')
    const sizes = [-5, 0, NaN, 7, 9, 11]
    const entries = sizes.map((size, n) => lineEntry({ level: 'info', size, text: n < 3 ? 'paid' : '' }, n + 1))
    await writer.write('sized-v1-001', [{ workspaceId: acme, entries }], { position: sizes.length, epoch })
    await writer.close()
    const scope = { ...scopeOf('lines'), projection: 'sized' }
    const totals = async (filter: Filter) => {
      const [[bucket], [facet]] = await Promise.all([
        reader.histogram(scope, { filter }, 5n * secondNs, 'level'),
        reader.facets(scope, { filter }, ['level'], 9),
      ])
      return [bucket?.total, facet?.values[0]?.count]
    }
    const hasSize: Filter = { kind: 'number', field: 'size' }
    expect(await totals(both(paid, hasSize))).to.deep.equal([2, 2])
    expect(await totals(paid)).to.deep.equal([3, 3])
    expect(await totals(both(hasSize, not(paid)))).to.deep.equal([3, 3])
    expect(await totals(not(paid))).to.deep.equal([3, 3])
    expect(await reader.count(scope, { filter: both(not(paid), hasSize) })).to.equal(3)
    const other = new DatabaseSync(given.dayFile('sized-v1-001'))
    other.exec('DELETE FROM r_lines')
    other.close()
    const countOf = (size: Omit<Filter & { kind: 'number' }, 'kind' | 'field'>) =>
      reader.count(scope, { filter: { kind: 'number', field: 'size', ...size } })
    expect([await countOf({}), await countOf({ from: 0 })]).to.deep.equal([5, 0])
    expect(await totals(both(hasSize, not(paid)))).to.deep.equal([3, 3])
    expect(await totals(not(paid))).to.deep.equal([undefined, undefined])
  })

  it('of one field are told beside rows of another that is not counted', async () => {
    const byLevel = { ...lines, countedBy: ['level'], countedTogether: false }
    const projection = { ...fixture, name: 'leveled', collections: { lines: byLevel, things, sets } }
    const writer = createSqliteIndexWriter({ folder: given.folder, limits, syncEveryMs: 0 })
    await writer.open('leveled-v1-001', projection, epoch)
    await promote(writer, 'leveled', 'leveled-v1-001')
    const entries = [1, 2, 3].map((n) => lineEntry({ level: 'info', service: ['cart'] }, n))
    await writer.write('leveled-v1-001', [{ workspaceId: acme, entries }], { position: 3, epoch })
    await writer.close()
    const scope = { ...scopeOf('lines'), projection: 'leveled' }
    const selection = { filter: everything, fromNs: noonNs - 90n * secondNs, toNs: noonNs + 30n * secondNs }
    expect(await reader.facets(scope, selection, ['level', 'service'], 9)).to.deep.equal([
      { field: 'level', values: [{ value: 'info', count: 3 }] },
      { field: 'service', values: [{ value: 'cart', count: 3 }] },
    ])
  })

  it('of spans are kept for those that are stored', () => {
    expect(isStored).to.deep.equal({ kind: 'number', ...spans.countedWhere })
  })

  it('of traces are kept for those that a list without conditions shows', async () => {
    const { traces: asked } = await traceFilters(reader, acme, {})
    expect(asked).to.deep.equal({ kind: 'number', ...traces.countedWhere })
    expect(counted).to.deep.equal({ kind: 'number', ...things.countedWhere })
  })
})
