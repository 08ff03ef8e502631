import { expect } from 'chai'
import { logsProjection } from '#projections/logs/fold.ts'
import { histogramStepMs } from '#projections/reading/histogram.ts'
import type { LogDocument } from '#projections/logs/log-document.ts'
import { exportLogs, searchLogs, type LogRequest } from '#projections/logs/query.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { positionStep } from '#src/events/envelope.ts'
import type { Json } from '#src/lib/json.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createFoldHarness, foldAll, givenEvent } from '#test/support/fold-harness.ts'
import { acme, givenLogs, givenRecord, noonNs, treeOf } from './given.ts'
import { carried, createGrowingLog, messagesOf, numbered, search } from './growing-log.ts'

const harness = createFoldHarness(logsProjection)
describe('projections/logs: fold', () => {
  it('keeps each record as it came, under an id of its time, its event and its place', async () => {
    const fields = { big: 9_007_199_254_740_993n, nested: { list: [1, 'two'] } }
    const record = {
      message: 'm',
      level: 'warn',
      service: 's',
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      sessionId: 'c',
    } as const
    const store = await harness.fold([
      givenLogs(1, [
        { ...record, fields, cuts: ['message cut'], timeNs: noonNs + 123_456_789n },
        { message: 'second' },
      ]),
      givenLogs(2, [
        { message: 'old', timeNs: -5n },
        { message: 'early', timeNs: 1_000n },
      ]),
    ])
    const documents = harness.documents<LogDocument>(store, 'logs')
    expect([...documents.keys()].sort()).to.deep.equal([
      '7ffffffffffffffb-00000000000000000000000000000002-0',
      '80000000000003e8-00000000000000000000000000000002-1',
      '98ea0da41e9d8000-00000000000000000000000000000001-1',
      '98ea0da425f94d15-00000000000000000000000000000001-0',
    ])
    const first = documents.get('98ea0da425f94d15-00000000000000000000000000000001-0')
    expect(first).to.deep.equal({
      ...record,
      timestamp: String(noonNs + 123_456_789n),
      source: 'logs',
      fields,
      cuts: ['message cut'],
    })
    const { logs } = await search(store)
    expect(logs[0]).to.deep.include({ timestamp: '2026-11-21T12:00:00.123456789Z', level: 'warn', fields })
    expect(logs.at(-1)).to.deep.include({ message: 'old', timestamp: '1969-12-31T23:59:59.999999995Z' })
  })

  it('takes the logs of browsers as its own source, and leaves other events alone', async () => {
    const rum = givenEvent('rum.received', 2, { logs: [givenRecord({ message: 'in page', source: 'rum' })] })
    const store = await harness.fold([givenLogs(1, [{ message: 'on server' }]), rum])
    expect(messagesOf((await search(store, { query: treeOf('source:rum') })).logs)).to.deep.equal(['in page'])
    expect(messagesOf((await search(store, { query: treeOf('source=logs') })).logs)).to.deep.equal(['on server'])
  })

  it('keeps two equal lines of two requests, and one of a request that came twice', async () => {
    const again = givenLogs(3, [{ message: 'x' }], { id: 'acme.logs.same' })
    const store = await harness.fold([
      givenLogs(1, [{ message: 'x' }]),
      givenLogs(2, [{ message: 'x' }], { id: 'acme.logs.same' }),
      again,
    ])
    expect((await search(store)).logs).to.have.length(2)
  })

  it('keeps workspaces apart', async () => {
    const store = await harness.fold([
      givenLogs(1, [{ message: 'x' }]),
      givenLogs(2, [{ message: 'x' }], { workspace: 'other' }),
    ])
    const { logs } = await search(store)
    expect(logs).to.have.length(1)
    const id = logs[0]?.id ?? ''
    const around = { order: 'desc', limit: 10, around: id, before: 5, afterCount: 5 } as const
    const [found, ...more] = (await searchLogs(store.reader, acme, around)).logs
    expect(found).to.deep.include({ id, message: 'x' })
    expect(more).to.deep.equal([])
    expect((await searchLogs(store.reader, workspaceIdOf('other'), around)).logs).to.deep.equal([])
  })
})

describe('projections/logs: search', () => {
  let store: MemoryIndexStore
  before(async () => {
    const levels = ['info', 'info', 'warn', 'error', null] as const
    store = await foldAll(logsProjection, [
      givenLogs(
        1,
        Array.from({ length: 50 }, (_, index) => ({
          message: `Line ${index} of the log`,
          // Two records at each time: ties go by id.
          atMs: Math.floor(index / 2) * 1_000,
          level: levels[index % 5] ?? null,
          service: index % 2 === 0 ? 'even' : 'odd',
          traceId: index < 10 ? 'a'.repeat(32) : null,
          sessionId: index === 3 ? 's1' : null,
          fields: { n: index, 'a.b': index, a: { c: 'x' } },
        })),
      ),
    ])
  })

  it('pages through everything once, in both directions', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const seen: string[] = []
      let next: Json = null
      do {
        const page = await search(store, { order, limit: 7, ...(next === null ? {} : { after: carried(next) }) })
        seen.push(...messagesOf(page.logs))
        next = page.next
        expect(page.logs.length).to.be.at.most(7)
      } while (next !== null)
      expect(new Set(seen).size).to.equal(50)
      const numbers = seen.map((message) => Math.floor(Number(message.split(' ')[1]) / 2))
      expect(numbers).to.deep.equal([...numbers].sort((a, b) => (order === 'asc' ? a - b : b - a)))
    }
    expect((await search(store, { limit: 50 })).next).to.equal(null)
    expect((await search(store, { limit: 49 })).next).not.to.equal(null)
  })

  it('filters by level, service, ids and time', async () => {
    const count = async (request: Partial<LogRequest>): Promise<number> => (await search(store, request)).logs.length
    expect(await count({ levels: ['warn', 'error'] })).to.equal(20)
    expect(await count({ service: 'ODD' })).to.equal(25)
    expect(await count({ service: 'od' })).to.equal(0)
    expect(await count({ traceId: 'a'.repeat(32) })).to.equal(10)
    expect(await count({ sessionId: 's1' })).to.equal(1)
    expect(await count({ fromNs: noonNs + 10_000_000_000n })).to.equal(30)
    expect(await count({ toNs: noonNs + 10_000_000_000n })).to.equal(20)
    expect(await count({ fromNs: noonNs + 10_000_000_000n, toNs: noonNs + 11_000_000_000n })).to.equal(2)
    expect(await count({ query: treeOf('n:[10 TO 19]'), levels: ['error'], service: 'odd' })).to.equal(1)
  })

  it('shows a record among its neighbours', async () => {
    const { logs } = await search(store, { order: 'asc' })
    const id = logs[20]?.id ?? ''
    const around = async (request: Partial<LogRequest>): Promise<string[]> =>
      messagesOf((await search(store, { around: id, before: 2, afterCount: 3, ...request })).logs)
    const expected = messagesOf(logs.slice(18, 24))
    expect(await around({ order: 'asc' })).to.deep.equal(expected)
    expect(await around({ order: 'desc' })).to.deep.equal([...expected].reverse())
    expect(await around({ order: 'asc', before: 0, afterCount: 0 })).to.deep.equal([expected[2]])
    expect(await around({ order: 'asc', service: 'odd', before: 1, afterCount: 1 })).to.deep.equal([
      'Line 19 of the log',
      'Line 20 of the log',
      'Line 21 of the log',
    ])
    const page = await search(store, { around: id, before: 1, afterCount: 1, order: 'asc' })
    const after = await search(store, { order: 'asc', limit: 2, after: carried(page.next) })
    expect(messagesOf(after.logs)).to.deep.equal(messagesOf(logs.slice(22, 24)))
    const alone = async (around = ''): Promise<Json> =>
      (await search(store, { around, before: 1, afterCount: 0, order: 'asc' })).next
    const next = await search(store, { order: 'asc', limit: 2, after: carried(await alone(id)) })
    expect(messagesOf(next.logs), 'behind one that stands last').to.deep.equal(messagesOf(logs.slice(21, 23)))
    expect(await alone(logs.at(-1)?.id)).to.equal(null)
    expect((await search(store, { around: 'no such' })).logs).to.deep.equal([])
  })

  it('counts, by level over time and by value, only when asked', async () => {
    const plain = await search(store)
    expect(plain).not.to.have.any.keys('histogram', 'facets', 'count')
    const page = await search(store, { limit: 1, query: treeOf('n<20'), include: ['histogram', 'facets', 'count'] })
    expect(page.count).to.equal(20)
    expect(page.histogram?.step_ms).to.equal(100)
    expect(page.histogram?.buckets.reduce((sum, { total }) => sum + total, 0)).to.equal(20)
    expect(page.histogram?.buckets[0]).to.deep.equal({
      time: '2026-11-21T12:00:00.000000000Z',
      total: 2,
      by_level: { info: 2 },
    })
    expect(page.facets?.map(({ field }) => field)).to.deep.equal(['level', 'service', 'source'])
    expect(page.facets?.[0]?.values).to.deep.equal([
      { value: 'info', count: 8 },
      { value: 'error', count: 4 },
      { value: 'warn', count: 4 },
    ])
    const none = await search(store, { query: treeOf('nothing'), include: ['histogram', 'facets', 'count'] })
    expect([none.count, none.histogram?.buckets]).to.deep.equal([0, []])
  })

  it('chooses steps that cut any range into at most 100 buckets', () => {
    const cases: readonly (readonly [rangeMs: number, stepMs: number])[] = [
      [0, 1],
      [100, 1],
      [101, 10],
      [3_600_000, 60_000],
      [86_400_000, 900_000],
      [30_000 * 100, 30_000],
      [7 * 86_400_000, 2 * 3_600_000],
      [86_400_000 * 100, 86_400_000],
      [86_400_000 * 100 + 1, 2 * 86_400_000],
      [1e15, 36_400 * 86_400_000],
    ]
    for (const [rangeMs, stepMs] of cases) {
      expect(histogramStepMs(noonNs, noonNs + BigInt(rangeMs) * 1_000_000n), `${rangeMs}`).to.equal(stepMs)
    }
  })

  it('marks what was found, and answers only the fields that were asked for', async () => {
    const page = await search(store, {
      query: treeOf('"of the" (line 7 OR nothing*) -log2 n:7'),
      fields: ['a.b', 'a.c', 'none'],
    })
    const [item] = page.logs
    expect(item?.message).to.equal('Line 7 of the log')
    expect(item?.highlights).to.deep.equal([
      { start: 0, end: 4 },
      { start: 5, end: 6 },
      { start: 7, end: 13 },
    ])
    expect({ ...item?.fields }).to.deep.equal({ 'a.b': 7, 'a.c': 'x' })
  })

  it('finds a field by its dotted name wherever its objects begin, and says nothing where there is none', async () => {
    const fields = { 'k8s.pod': { name: 'cart-1', labels: { app: 'cart' } }, k8s: { node: 'n1' } }
    const nested = await harness.fold([givenLogs(1, [{ message: 'm', fields }])])
    const asked = ['k8s.pod.name', 'k8s.pod.labels.app', 'k8s.node', 'k8s.pod.none', 'no.such.field']
    const { logs } = await search(nested, { fields: asked })
    expect({ ...logs[0]?.fields }).to.deep.equal({
      'k8s.pod.name': 'cart-1',
      'k8s.pod.labels.app': 'cart',
      'k8s.node': 'n1',
    })
  })
})

describe('projections/logs: export', () => {
  it('takes the smaller batches the larger the records are', async () => {
    const { store, append } = createGrowingLog()
    const message = 'x'.repeat(300_000)
    await append(
      givenLogs(
        1,
        Array.from({ length: 40 }, (_, index) => ({ message, atMs: index })),
      ),
    )
    const found = await exportLogs(store.reader, acme, { order: 'desc', fields: [] })
    const sizes: number[] = []
    for await (const items of found.batches) sizes.push(items.length)
    expect(sizes).to.deep.equal([16, 16, 8])
  })

  it('is whole where a request came once more after days, whose records are found once', async () => {
    const { store, append } = createGrowingLog()
    const first = numbered(1, 0, 3)
    const { id, receivedAt } = first.event
    await append(first)
    await append(givenLogs(2, first.logs(), { id, receivedAt: receivedAt + 3 * 86_400_000 }))
    const found = await exportLogs(store.reader, acme, { order: 'asc' })
    const seen: string[] = []
    for await (const items of found.batches) seen.push(...messagesOf(items))
    expect(seen).to.deep.equal(['line 0', 'line 1', 'line 2'])
  })

  it('is empty before the first build', async () => {
    const found = await exportLogs(createMemoryIndexStore().reader, acme, { order: 'desc' })
    expect(found.matched).to.equal(0)
    const first = await found.batches[Symbol.asyncIterator]().next()
    expect(first.done).to.equal(true)
  })

  it('stops reading when it is let go', async () => {
    const { store, append } = createGrowingLog()
    await append(numbered(1, 0, 500))
    let searches = 0
    const reader = {
      ...store.reader,
      search: (...args: Parameters<typeof store.reader.search>) => (searches++, store.reader.search(...args)),
    }
    const { batches } = await exportLogs(reader as typeof store.reader, acme, { order: 'asc' })
    for await (const items of batches) if (items.length > 0) break
    expect(searches).to.equal(1)
  })
})

it('positions of a page are those of the index', async () => {
  const { store, append } = createGrowingLog()
  await append(numbered(3, 0, 1))
  expect((await search(store)).progress?.position).to.equal(3 * positionStep)
})
