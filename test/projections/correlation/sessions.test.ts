import { expect } from 'chai'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { searchSessions, type SessionPage, type SessionRequest } from '#projections/correlation/search-sessions.ts'
import { ofSessions, sessionsOf, type RumRecord } from '#projections/correlation/rum-session.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { pageCharactersMax } from '#projections/reading/page-size.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import type { LogRecord, RumEvent } from '#src/events/telemetry.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore, type NewStore } from '../traces/every-store.ts'
import { givenLog, givenRumEvent, msNs, noonNs } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
const at = (ms: number): bigint => noonNs + BigInt(ms) * msNs
const timeAt = (ms: number): string => formatTimeNs(at(ms))

async function readerOf(newStore: NewStore, events: readonly DecodedEvent[]): Promise<IndexReader> {
  const store = newStore()
  for (const projection of [logsProjection, correlationProjection]) await foldIntoStore(store, projection, events)
  return store.reader
}

/** What one browser sends in one body. */
function sent(
  n: number,
  events: readonly Partial<RumEvent>[],
  logs: readonly Partial<LogRecord>[] = [],
  workspace = 'acme',
): DecodedEvent {
  const rumEvents = events.map((event, at) => givenRumEvent({ ordinal: logs.length + at, ...event }))
  const records = logs.map((log, ordinal) => givenLog({ ordinal, source: 'rum', ...log }))
  return givenEvent('rum.received', n, { rumEvents, logs: records }, { workspace })
}

const usual = { omitsLogs: false, recordsMax: 100, sessionsMax: 50 }
const idsOf = ({ sessions }: SessionPage): readonly string[] => sessions.map(({ session_id: id }) => id)

describe('sessions of records', () => {
  const record = (ms: number, sessionId: string | null, more: Partial<RumRecord> = {}): RumRecord => ({
    sort: { value: at(ms), id: `${ms}` },
    ...{ sessionId, service: null, url: null, user: null, isError: false },
    ...more,
  })

  it('are told by their records: of when, how many, how many errors, and what the newest says', () => {
    const records = [
      record(9, 'b'),
      record(8, 'a', { isError: true }),
      record(7, null, { url: '/of-nobody', isError: true }),
      record(6, 'a', { url: '/new', service: 'shop' }),
      record(5, 'b', { user: 'ann' }),
      record(4, 'a', { url: '/old', service: 'old', user: 'bob', isError: true }),
    ]
    expect(sessionsOf(records)).to.deep.equal([
      {
        ...{ session_id: 'b', first: timeAt(5), last: timeAt(9), event_count: 2, error_count: 0 },
        ...{ service: null, url: null, user: 'ann' },
      },
      {
        ...{ session_id: 'a', first: timeAt(4), last: timeAt(8), event_count: 3, error_count: 2 },
        ...{ service: 'shop', url: '/new', user: 'bob' },
      },
    ])
    expect(sessionsOf([])).to.deep.equal([])
  })

  it('are no more than may be, and the records end before the first beyond them', () => {
    const records = [record(5, 'a'), record(4, null), record(3, 'b'), record(2, 'a'), record(1, 'c'), record(0, 'a')]
    expect(ofSessions(records, 2)).to.deep.equal(records.slice(0, 4))
    expect(ofSessions(records, 1)).to.deep.equal(records.slice(0, 2))
    expect(ofSessions(records, 3)).to.deep.equal(records)
  })
})

describeOnEveryStore('sessions of browsers', (newStore) => {
  let reader: IndexReader
  const ask = (more: Partial<SessionRequest> = {}): Promise<SessionPage> =>
    searchSessions(reader, acme, { ...usual, ...more })

  before(async () => {
    reader = await readerOf(newStore, [
      sent(
        1,
        [
          { sessionId: 'Visit', timeNs: at(10), url: 'https://shop.example/cart', fields: { user: { id: 7 } } },
          { sessionId: 'Visit', timeNs: at(30), name: 'paid', url: 'https://shop.example/paid' },
        ],
        [
          { sessionId: 'Visit', timeNs: at(20), level: 'error', service: 'shop', message: 'TypeError: boom' },
          { sessionId: 'Visit', timeNs: at(21), level: 'warn', service: 'shop' },
        ],
      ),
      sent(2, [
        { sessionId: 'visit', timeNs: at(40), type: 'error', service: 'desk', fields: { user: 'bob' } },
        { sessionId: 'visit', timeNs: at(5), type: 'exception', service: 'desk' },
        { timeNs: at(35) },
      ]),
      sent(
        3,
        [],
        [
          {
            ...{ sessionId: 'only logs', timeNs: at(25), level: 'fatal' as const },
            fields: { page: { url: '/in-a-log' }, user: { email: 'ann@shop.example', id: '7' } },
          },
        ],
      ),
      givenEvent('logs.received', 4, { logs: [givenLog({ sessionId: 'Visit', timeNs: at(50), level: 'error' })] }),
      givenEvent('logs.received', 5, { logs: [givenLog({ sessionId: 'of a server', timeNs: at(60) })] }),
      sent(6, [{ sessionId: 'theirs', timeNs: at(45) }], [], 'globex'),
    ])
  })

  it('are told by their events, exceptions and logs, and by no log of a server', async () => {
    const { sessions, read, next } = await ask()
    expect(sessions).to.deep.equal([
      {
        ...{ session_id: 'visit', first: timeAt(5), last: timeAt(40), event_count: 2, error_count: 2 },
        ...{ service: 'desk', url: null, user: 'bob' },
      },
      {
        ...{ session_id: 'Visit', first: timeAt(10), last: timeAt(30), event_count: 4, error_count: 1 },
        ...{ service: 'shop', url: 'https://shop.example/paid', user: '7' },
      },
      {
        ...{ session_id: 'only logs', first: timeAt(25), last: timeAt(25), event_count: 1, error_count: 1 },
        ...{ service: 'checkout', url: '/in-a-log', user: 'ann@shop.example' },
      },
    ])
    expect(read).to.deep.equal({ count: 8, newest: timeAt(40), oldest: timeAt(5), without_session: 1 })
    expect(next).to.equal(null)
  })

  it('are of a time, of a service, and of what a search fits', async () => {
    expect(idsOf(await ask({ fromNs: at(10), toNs: at(25) }))).to.deep.equal(['Visit'])
    expect(idsOf(await ask({ service: 'desk' }))).to.deep.equal(['visit'])
    expect(idsOf(await ask({ query: { kind: 'text', text: 'boom' } }))).to.deep.equal(['Visit'])
    expect(idsOf(await ask({ query: { kind: 'text', text: 'paid' } }))).to.deep.equal(['Visit'])
    const user = { kind: 'equals', field: 'user.email', value: 'ann@shop.example' } as const
    expect(idsOf(await ask({ query: user }))).to.deep.equal(['only logs'])
    expect(idsOf(await ask({ query: { kind: 'match', field: 'service', text: 'desk' } }))).to.deep.equal(['visit'])
  })

  it('have no logs where the plan has none', async () => {
    const { sessions, read } = await ask({ omitsLogs: true })
    expect(sessions.map(({ session_id: id, event_count: events }) => [id, events])).to.deep.equal([
      ['visit', 2],
      ['Visit', 2],
    ])
    expect(read.count).to.equal(5)
  })

  for (const recordsMax of [1, 2, 3, 7, 8])
    for (const sessionsMax of [1, 2, 3])
      it(`are of each record once, in pages of ${recordsMax} and ${sessionsMax} sessions`, async () => {
        const met: (readonly [string, number, number])[] = []
        let read = 0
        let page = await ask({ recordsMax, sessionsMax })
        for (;;) {
          expect(page.read.count).to.be.within(1, recordsMax)
          expect(page.sessions.length).to.be.at.most(sessionsMax)
          read += page.read.count
          met.push(...page.sessions.map((each) => [each.session_id, each.event_count, each.error_count] as const))
          if (page.next === null) break
          page = await ask({ recordsMax, sessionsMax, after: page.next })
        }
        expect(read).to.equal(8)
        const sumOf = (id: string, part: 1 | 2): number =>
          met.filter(([each]) => each === id).reduce((sum, each) => sum + each[part], 0)
        expect(['visit', 'Visit', 'only logs'].map((id) => [sumOf(id, 1), sumOf(id, 2)])).to.deep.equal([
          [2, 2],
          [4, 1],
          [1, 1],
        ])
      })
})

describeOnEveryStore('sessions of large browser events', (newStore) => {
  it('are read as far as a page goes, and all of them page by page', async () => {
    const large = { stack: 'x'.repeat(1_500_000) }
    const events = Array.from({ length: 6 }, (_, n) => ({ sessionId: `${n}`, timeNs: at(n), fields: large }))
    const logs = Array.from({ length: 6 }, (_, n) => ({ sessionId: `${n}`, timeNs: at(n - 3), fields: large }))
    const reader = await readerOf(newStore, [sent(1, events, logs)])
    const counts: number[] = []
    let page = await searchSessions(reader, acme, { ...usual, fromNs: at(-10) })
    for (;;) {
      counts.push(page.read.count)
      if (page.next === null) break
      page = await searchSessions(reader, acme, { ...usual, fromNs: at(-10), after: page.next })
    }
    expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(12)
    expect(Math.max(...counts)).to.be.below(12)
  })

  it('are read where one event alone is more than a page, the first one too', async () => {
    const large = { stack: 'x'.repeat(pageCharactersMax / 2 + 1) }
    const events = [{}, large].map((fields, n) => ({ sessionId: `${n}`, timeNs: at(n), fields }))
    const reader = await readerOf(newStore, [sent(1, events)])
    const met: string[] = []
    for (let after: SessionRequest['after'] | null; after !== null && met.length < 9;) {
      const page = await searchSessions(reader, acme, { ...usual, ...(after && { after }) })
      met.push(...idsOf(page))
      after = page.next
    }
    expect(met).to.deep.equal(['1', '0'])
  })
})
