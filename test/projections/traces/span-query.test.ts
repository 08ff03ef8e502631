import { expect } from 'chai'
import { TooBroadError, type IndexReader } from '#projections/index-store.ts'
import { unmetIdPatterns } from '#projections/traces/query.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore } from './every-store.ts'
import { givenSpan, noonNs, received, traceIdOf } from './given.ts'
import { match, readerOf, spansOf, text, walk } from './walked.ts'

const wildcard = (field: string, pattern: string): QueryTree => ({
  kind: 'pattern',
  field,
  syntax: 'wildcard',
  pattern,
})

describeOnEveryStore('traces: q over spans', (newStore) => {
  let reader: IndexReader
  const found = (query: QueryTree): Promise<string[]> => walk(reader, { query, order: 'oldest' }, 10)

  before(async () => {
    reader = await readerOf(newStore, [
      received(1, [
        ...spansOf('a', [
          {
            id: 1,
            atMs: 1,
            name: 'charge card',
            service: 'payment-api',
            attributes: { 'http.status_code': 502, peer: 'db-1', tags: ['x', 'y'], user: { plan: 'pro' } },
            resource: { region: 'eu-west', peer: 'resource-peer' },
            scopeName: 'io.acme.http',
            status: 'error',
            statusMessage: 'card declined by issuer',
            sessionId: 'session-7',
          },
        ]),
        ...spansOf('b', [
          {
            id: 1,
            atMs: 2,
            name: 'list orders',
            service: 'orders',
            attributes: { 'http.status_code': 200 },
            resource: { region: 'us-east' },
            spanEvents: [
              {
                timeNs: noonNs,
                name: 'exception',
                attributes: { 'exception.type': 'java.lang.NullPointerException', peer: 'event-peer' },
                droppedAttributesCount: 0,
              },
            ],
            forMs: 300,
          },
          { id: 2, parent: 1, atMs: 3, service: 'orders', kind: 'client', attributes: { peer: 'db-2' } },
        ]),
      ]),
    ])
  })

  const cases: readonly (readonly [string, QueryTree, readonly string[]])[] = [
    ['a word of the name', text('charge'), ['a']],
    ['a word of a nested value', text('pro'), ['a']],
    ['a word of a resource', text('eu'), ['a']],
    ['a word of an event', text('NullPointerException'), ['b']],
    ['a span attribute', match('peer', 'db-2'), ['b']],
    ['a list item', match('tags', 'y'), ['a']],
    ['a resource attribute', match('region', 'us-east'), ['b']],
    ['an event attribute', match('exception.type', 'nullpointerexception'), ['b']],
    ['the same field of resource, span and event', { kind: 'exists', field: 'peer' }, ['a', 'b']],
    ['span. only', match('span.peer', 'resource-peer'), []],
    ['span. itself', match('span.peer', 'db-1'), ['a']],
    ['resource. only', match('resource.peer', 'resource-peer'), ['a']],
    ['resource. not the span', match('resource.peer', 'db-1'), []],
    ['event. only', match('event.peer', 'event-peer'), ['b']],
    ['event. not the span', match('event.peer', 'db-2'), []],
    ['event.name', match('event.name', 'exception'), ['b']],
    ['scope.name', match('scope.name', 'io.acme.http'), ['a']],
    ['scope. not the resource', match('scope.region', 'eu-west'), []],
    ['a number', match('http.status_code', '502'), ['a']],
    [
      'a range of numbers',
      { kind: 'range', field: 'http.status_code', from: { value: '500', inclusive: true } },
      ['a'],
    ],
    ['a duration', { kind: 'range', field: 'duration', from: { value: '200000000', inclusive: false } }, ['b']],
    ['a service', match('service', 'payment'), ['a']],
    ['a service, exactly', { kind: 'equals', field: 'service', value: 'payment-api' }, ['a']],
    ['a name by its other name', match('name', 'list orders'), ['b']],
    ['a name by its other name, of the span only', match('span.name', 'list orders'), ['b']],
    ['a status', match('status', 'error'), ['a']],
    ['a status message', match('status.message', 'declined by'), ['a']],
    ['a status message, exactly', { kind: 'equals', field: 'status.message', value: 'Card declined by issuer' }, ['a']],
    ['who has a status message', { kind: 'exists', field: 'status.message' }, ['a']],
    ['both on one span', { kind: 'and', of: [match('region', 'us-east'), match('http.status_code', '200')] }, ['b']],
    ['not on two spans', { kind: 'and', of: [match('peer', 'db-2'), match('http.status_code', '200')] }, []],
    ['either', { kind: 'or', of: [match('region', 'us-east'), match('peer', 'db-1')] }, ['a', 'b']],
    ['not a resource', { kind: 'not', of: match('region', 'eu-west') }, ['b']],
    ['a prefix', { kind: 'pattern', field: null, syntax: 'wildcard', pattern: 'nullpointer*' }, ['b']],
    ['what has a parent', { kind: 'exists', field: 'parent_span_id' }, ['b']],
    ['what has none', { kind: 'not', of: { kind: 'exists', field: 'parent_span_id' } }, ['a', 'b']],
    ['what is in a session', { kind: 'exists', field: 'session_id' }, ['a']],
    ['a session by its beginning', wildcard('session_id', 'Sess*'), ['a']],
    ['a session not by its middle', wildcard('session_id', 'ess*'), []],
    ['a trace by the beginning of its id', wildcard('trace_id', traceIdOf('b').slice(0, 7) + '*'), ['b']],
    ['no trace by the end of its id', wildcard('trace_id', `*${traceIdOf('b').slice(-7)}`), []],
    ['no trace whose id does not begin so', wildcard('trace_id', traceIdOf('b').slice(1, 8) + '*'), []],
    ['what every span has', { kind: 'exists', field: 'span_id' }, ['a', 'b']],
    ['nothing without it', { kind: 'not', of: { kind: 'exists', field: 'kind' } }, []],
    ['a status by a pattern', wildcard('status', '*r?or'), ['a']],
    ['a kind by its beginning', wildcard('span.kind', 'SERV*'), ['a', 'b']],
    ['a kind by a regular expression', { kind: 'pattern', field: 'kind', syntax: 'regex', pattern: 'cl.*' }, ['b']],
    ['no kind that there is not', wildcard('kind', 'serve'), []],
  ]
  for (const [name, query, expected] of cases) {
    it(`finds ${name}`, async () => expect(await found(query)).to.deep.equal(expected))
  }

  const spansOfPods = (pods: number) =>
    Array.from({ length: pods }, (_, pod) => givenSpan({ id: pod, resource: { env: 'prod', pod: `pod-${pod}` } }))

  it('finds what a thousand resources and more have in common, and all that is not of them', async () => {
    const fleet = await readerOf(newStore, [
      givenEvent('spans.received', 1, { spans: spansOfPods(1_100) }),
      received(2, spansOf('staging', [{ id: 1, resource: { env: 'staging' } }])),
    ])
    expect(await walk(fleet, { query: match('env', 'prod') })).to.deep.equal([traceIdOf('t')])
    expect(await walk(fleet, { query: { kind: 'not', of: match('env', 'prod') } })).to.deep.equal(['staging'])
  })

  it('looks up several conditions side by side, but not all of many', async () => {
    let [underWay, most] = [0, 0]
    const places: IndexReader['places'] = async (...asked) => {
      most = Math.max(most, ++underWay)
      // What is asked beside it is asked before this turn has ended.
      await new Promise((resolve) => setImmediate(resolve))
      underWay--
      return reader.places(...asked)
    }
    const of = Array.from({ length: 50 }, (_, n) => match('region', n === 49 ? 'us-east' : `nowhere-${n}`))
    const query: QueryTree = { kind: 'or', of: [{ kind: 'and', of: [text('nobody'), text('neither')] }, ...of] }
    expect(await walk({ ...reader, places }, { query, order: 'oldest' })).to.deep.equal(['b'])
    expect(most).to.be.within(4, 8)
  })

  it('refuses a condition that matches too many resources', async () => {
    const broad = await readerOf(newStore, [givenEvent('spans.received', 1, { spans: spansOfPods(10_001) })])
    const refused = await walk(broad, { query: { kind: 'exists', field: 'pod' } }).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(TooBroadError)
    expect(await walk(broad, { query: match('pod', 'pod-7') })).to.deep.equal([traceIdOf('t')])
  })
})

describe('traces: patterns of ids that none meets', () => {
  it('are told by the names that they were asked under', () => {
    const regex: QueryTree = { kind: 'pattern', field: 'parent_span_id', syntax: 'regex', pattern: 'a*' }
    const of = [wildcard('trace_id', '5b8e*'), wildcard('span.span_id', '*5b8e'), regex, wildcard('kind', '*r')]
    const tree: QueryTree = { kind: 'and', of: [{ kind: 'not', of: wildcard('trace_id', '*5b*') }, ...of] }
    expect(unmetIdPatterns(tree)).to.deep.equal(['trace_id', 'span.span_id', 'parent_span_id'])
  })
})
