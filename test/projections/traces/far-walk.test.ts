import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { searchTraces } from '#projections/traces/query.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore } from './every-store.ts'
import { givenLog, msNs, noonNs, received, traceIdOf, type GivenSpan } from './given.ts'
import { acme, daysLater, nameOf, readerOf, spansOf, walk } from './walked.ts'

const hourMs = 3_600_000
const numbered = (count: number, name: string): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${n}`)

/** Spans of one trace, a millisecond apart, from so many seconds on. */
const many = (name: string, atSecond: number, count: number): readonly GivenSpan[] =>
  spansOf(
    name,
    Array.from({ length: count }, (_, id): GivenSpan => ({ id, atMs: 1_000 * atSecond + id })),
  )

describeOnEveryStore('traces: a walk past very many that it leaves out', (newStore) => {
  it('goes on behind those that have spans only around the range', async () => {
    const around = numbered(120, 'around').flatMap((name) =>
      spansOf(name, [
        { id: 'a', atMs: -2 * hourMs },
        { id: 'b', parent: 'a', atMs: 2 * hourMs },
      ]),
    )
    const through = spansOf('through', [
      { id: 'a', atMs: -3 * hourMs },
      { id: 'b', parent: 'a', atMs: 0 },
    ])
    const reader = await readerOf(newStore, [received(1, [...around, ...through])])
    const hourNs = BigInt(hourMs) * msNs
    expect(await walk(reader, { fromNs: noonNs - hourNs, toNs: noonNs + hourNs }, 1)).to.deep.equal(['through'])
  })

  /** More than are looked up before their spans are. */
  const logged = numbered(1_001, 'logged')
  const loggedSpans = logged.flatMap((name) => spansOf(name, [{ id: 'a', service: 'quiet', sessionId: 'visit' }]))
  const logsOf = (n: number, names: readonly string[], header = {}) =>
    givenEvent(
      'logs.received',
      n,
      { logs: names.map((name, ordinal) => givenLog({ ordinal, traceId: traceIdOf(name) })) },
      header,
    )

  it('goes on behind those of whose spans one matches, and which are of no such session', async () => {
    // One step through the spans meets three of these traces.
    const others = numbered(160, 'other').flatMap((name, n) => many(name, n + 1, 20))
    const wanted = spansOf('wanted', [{ id: 'a', atMs: 1, sessionId: 'visit' }])
    const reader = await readerOf(newStore, [received(1, [...loggedSpans, ...others, ...wanted])])
    expect(await walk(reader, { service: 'checkout', sessionId: 'visit' }, 10)).to.deep.equal(['wanted'])
  })

  it('takes longer steps where traces have many that match: each may take as long as all', async () => {
    const names = numbered(12, 'big').toReversed()
    const reader = await readerOf(newStore, [
      received(
        1,
        names.flatMap((name, n) => many(name, 12 - n, 100)),
      ),
    ])
    let searches = 0
    const counted: IndexReader = {
      ...reader,
      search: async (scope, query) => {
        if (scope.collection === 'spans') searches++
        return reader.search(scope, query)
      },
    }
    const { traces } = await searchTraces(counted, acme, { service: 'checkout', order: 'newest', limit: 10 })
    expect(traces.map(nameOf)).to.deep.equal(names.slice(0, 10))
    expect(searches).to.be.below(6)
  })

  it('keeps to a session of few traces too', async () => {
    const reader = await readerOf(newStore, [
      received(1, [...spansOf('mine', [{ id: 'a', sessionId: 'visit' }]), ...spansOf('other', [{ id: 'a', atMs: 1 }])]),
    ])
    for (const order of ['newest', 'oldest', 'longest'] as const)
      expect(await walk(reader, { service: 'checkout', sessionId: 'visit', order })).to.deep.equal(['mine'])
  })

  it('finds what has logs beside a trace that goes on for weeks', async () => {
    const again = [0, 9, 18].flatMap((days, n) => [
      received(2 * n + 3, spansOf('long', [{ id: `l${n}`, atMs: 10 + n }]), daysLater(days)),
      logsOf(2 * n + 4, ['long'], daysLater(days)),
    ])
    const reader = await readerOf(newStore, [
      received(1, [...loggedSpans, ...spansOf('wanted', [{ id: 'a', atMs: 1 }])]),
      logsOf(2, [...logged, 'wanted']),
      ...again,
    ])
    expect(await walk(reader, { service: 'checkout', has: ['logs'] }, 10)).to.deep.equal(['long', 'wanted'])
  })

  it('orders by duration those with a matching span, also beside one that has very many', async () => {
    const giant = Array.from({ length: 5_001 }, (_, id): GivenSpan => ({ id, atMs: 1_000 + id, service: 'busy' }))
    const reader = await readerOf(newStore, [
      received(1, [
        ...spansOf('giant', giant),
        ...spansOf('other', [{ id: 'a', forMs: 500 }]),
        ...spansOf('small', [{ id: 'a', service: 'busy' }]),
      ]),
    ])
    expect(await walk(reader, { service: 'busy', order: 'longest' }, 10)).to.deep.equal(['giant', 'small'])
  })

  it('goes by what a trace has been since it began, not before', async () => {
    const store = newStore()
    const of = (name: string, forMs: number) => spansOf(name, [{ id: 'a', forMs }])
    await foldIntoStore(store, tracesProjection, [received(1, [...of('a', 100), ...of('b', 50), ...of('c', 1_000)])])
    await foldIntoStore(store, tracesProjection, [received(2, of('c', 10))])
    expect(await walk(store.reader, { order: 'longest' }, 1)).to.deep.equal(['a', 'b', 'c'])
  })
})
