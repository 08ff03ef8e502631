import { expect } from 'chai'
import { correlationProjection } from '#projections/correlation/fold.ts'
import {
  correlate,
  type Correlation,
  type CorrelationId,
  type CorrelationRequest,
} from '#projections/correlation/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { recordId } from '#projections/projection.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldCorrelated, foldIntoStore } from '../traces/every-store.ts'
import { givenLog, givenRumEvent, givenSpan, msNs, noonNs, spanIdOf, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
const globex = workspaceIdOf('globex')
const at = (ms: number): bigint => noonNs + BigInt(ms) * msNs

const messages = ({ logs }: Correlation): readonly string[] => logs?.items.map(({ message }) => message) ?? []
const names = ({ rum_events: events }: Correlation): readonly string[] => events?.items.map(({ name }) => name) ?? []
const logIdOf = (n: number, ms: number, ordinal = 0): string =>
  recordId(at(ms), n.toString(16).padStart(32, '0'), ordinal)

describeOnEveryStore('correlation: lookups', (newStore) => {
  let reader: IndexReader
  const ask = (
    kind: CorrelationId['kind'],
    value: string,
    more: Partial<CorrelationRequest> = {},
  ): Promise<Correlation> => correlate(reader, acme, { id: { kind, value }, ...more })

  before(async () => {
    reader = await foldCorrelated(newStore(), [
      givenEvent('spans.received', 1, {
        spans: [
          givenSpan({ trace: 'cart', id: 'web', sessionId: 'visit', atMs: 10 }),
          givenSpan({ trace: 'cart', id: 'db', parent: 'web', atMs: 12 }),
          givenSpan({ trace: 'pay', id: 'pay', parent: 'lost', sessionId: 'visit', atMs: 50 }),
          givenSpan({ trace: 'alone', id: 'alone', atMs: 11 }),
        ],
      }),
      givenEvent('logs.received', 2, {
        logs: [
          givenLog({ trace: 'cart', message: 'in the cart', timeNs: at(13), spanId: spanIdOf('db') }),
          givenLog({ ordinal: 1, trace: 'pay', message: 'paid', timeNs: at(51) }),
          givenLog({ ordinal: 2, sessionId: 'visit', message: 'in the visit', timeNs: at(20) }),
          givenLog({ ordinal: 3, trace: 'alone', message: 'alone', timeNs: at(11) }),
          givenLog({ ordinal: 4, message: 'at the same time', timeNs: at(12) }),
          givenLog({ ordinal: 5, trace: 'dark', message: 'of a trace without spans', timeNs: at(70) }),
          givenLog({ ordinal: 6, spanId: spanIdOf('bare'), message: 'only a span', timeNs: at(80) }),
          givenLog({
            ordinal: 7,
            trace: 'dark',
            spanId: spanIdOf('never came'),
            message: 'in a span that never came',
            timeNs: at(69),
          }),
        ],
      }),
      givenEvent('rum.received', 3, {
        rumEvents: [
          givenRumEvent({ sessionId: 'visit', name: 'view', timeNs: at(5) }),
          givenRumEvent({ ordinal: 1, sessionId: 'visit', trace: 'cart', name: 'click', timeNs: at(9) }),
          givenRumEvent({ ordinal: 2, sessionId: 'visit', trace: 'pay', name: 'pay', timeNs: at(49) }),
          givenRumEvent({ ordinal: 3, sessionId: 'another', name: 'elsewhere', timeNs: at(9) }),
          givenRumEvent({
            ordinal: 4,
            sessionId: null,
            trace: 'darker',
            spanId: spanIdOf('never came'),
            name: 'in another trace',
            timeNs: at(71),
          }),
        ],
      }),
      givenEvent('spans.refused', 4, {
        refusedSpans: [{ traceId: traceIdOf('pay'), spanId: spanIdOf('refused'), reason: 'rejected_allowance' }],
      }),
      givenEvent(
        'logs.received',
        5,
        { logs: [givenLog({ trace: 'cart', sessionId: 'visit', message: 'theirs' })] },
        { workspace: 'globex' },
      ),
    ])
  })

  it('gives all of a trace, and of its session what names no other trace', async () => {
    const answer = await ask('trace_id', traceIdOf('cart'))
    expect(answer.found).to.equal(true)
    expect(answer.trace?.spans.map(({ span_id }) => span_id)).to.deep.equal([spanIdOf('web'), spanIdOf('db')])
    expect(answer.trace?.summary.trace_id).to.equal(traceIdOf('cart'))
    expect(messages(answer)).to.deep.equal(['in the cart', 'in the visit'])
    expect(names(answer)).to.deep.equal(['view', 'click'])
    expect(answer.sessions).to.have.length(1)
    expect(answer.sessions[0]?.session_id).to.equal('visit')
    expect(answer.sessions[0]?.linked_by).to.have.members(['span', 'rum_event'])
    expect(answer.ids).to.deep.equal({
      trace_ids: [traceIdOf('cart')],
      session_ids: ['visit'],
      span_ids: [],
      log_ids: [],
    })
    expect(answer.timeline.map(({ kind }) => kind)).to.deep.equal([
      'rum_event',
      'rum_event',
      'span',
      'span',
      'log',
      'log',
    ])
    expect(answer.timeline[2]).to.deep.equal({
      time: '2026-11-21T12:00:00.010000000Z',
      kind: 'span',
      ref: spanIdOf('web'),
    })
    expect(answer.how).to.deep.include({
      from: `trace:${traceIdOf('cart')}`,
      to: 'session:visit',
      by: 'span.session_id',
    })
    expect(answer.how).to.deep.include({ from: `trace:${traceIdOf('cart')}`, to: 'logs', by: 'trace_id' })
    expect(answer.how).to.deep.include({ from: 'session:visit', to: 'logs', by: 'session_id' })
    expect(answer.how.filter(({ by }) => by === 'span_id')).to.deep.equal([])
    expect(answer.truncated).to.equal(false)
  })

  it('gives all traces of a session, and through them their logs', async () => {
    const answer = await ask('session_id', 'visit')
    expect(answer.traces?.items.map(({ trace_id }) => trace_id)).to.deep.equal(['pay', 'cart'].map(traceIdOf))
    expect(answer.trace?.summary.trace_id).to.equal(traceIdOf('pay'))
    expect(answer.trace?.missing.map(({ reason }) => reason)).to.include.members(['rejected_allowance'])
    expect(messages(answer)).to.deep.equal(['in the cart', 'in the visit', 'paid'])
    expect(names(answer)).to.deep.equal(['view', 'click', 'pay'])
    expect(answer.ids.trace_ids).to.have.members(['pay', 'cart'].map(traceIdOf))
    expect(answer.timeline.map(({ kind }) => kind)).to.include.members(['trace', 'span', 'log', 'rum_event'])
  })

  it('joins nothing by closeness in time', async () => {
    const answer = await ask('trace_id', traceIdOf('alone'))
    expect(messages(answer)).to.deep.equal(['alone'])
    expect(names(answer)).to.deep.equal([])
    expect(answer.sessions).to.deep.equal([])
  })

  it('takes a trace id in any form, and a traceparent', async () => {
    const id = traceIdOf('cart')
    const dashed = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
    for (const value of [id.toUpperCase(), dashed]) {
      expect((await ask('trace_id', value)).trace?.summary.trace_id, value).to.equal(id)
    }
    const answer = await ask('traceparent', `00-${id}-${spanIdOf('db')}-01`)
    expect(answer.trace?.summary.trace_id).to.equal(id)
    expect(answer.how[0]).to.deep.equal({ from: 'traceparent', to: `trace:${id}`, by: 'traceparent' })
    const shouted = await ask('id', `00-${id}-${spanIdOf('db')}-01`.toUpperCase())
    expect(shouted.how[0]?.to).to.equal(`trace:${id}`)
    expect((await ask('traceparent', id)).found).to.equal(false)
  })

  it('finds the trace of a span: stored, named as a parent, or refused', async () => {
    for (const [span, trace] of [
      ['db', 'cart'],
      ['lost', 'pay'],
      ['refused', 'pay'],
    ] as const) {
      const answer = await ask('span_id', spanIdOf(span).toUpperCase())
      expect(answer.trace?.summary.trace_id, span).to.equal(traceIdOf(trace))
      expect(answer.how[0]).to.deep.equal({
        from: `span:${spanIdOf(span)}`,
        to: `trace:${traceIdOf(trace)}`,
        by: 'span_id',
      })
    }
    const bare = await ask('span_id', spanIdOf('bare'))
    expect(messages(bare)).to.deep.equal(['only a span'])
    expect(bare.how).to.deep.equal([{ from: `span:${spanIdOf('bare')}`, to: 'logs', by: 'span_id' }])
  })

  it('follows a record that names a span to its trace, where the span itself never came', async () => {
    for (const kind of ['span_id', 'id'] as const) {
      const answer = await ask(kind, spanIdOf('never came'))
      expect(messages(answer), kind).to.deep.equal(['in a span that never came', 'of a trace without spans'])
      expect(names(answer), kind).to.deep.equal(['in another trace'])
      const from = `span:${spanIdOf('never came')}`
      expect(answer.how, kind).to.deep.include.members([
        { from, to: `trace:${traceIdOf('dark')}`, by: 'span_id' },
        { from, to: `trace:${traceIdOf('darker')}`, by: 'span_id' },
        { from, to: 'logs', by: 'span_id' },
        { from, to: 'rum_events', by: 'span_id' },
      ])
    }
  })

  it('finds what a log belongs to', async () => {
    const ofTrace = await ask('log_id', logIdOf(2, 13))
    expect(ofTrace.trace?.summary.trace_id).to.equal(traceIdOf('cart'))
    expect(ofTrace.ids.log_ids).to.deep.equal([logIdOf(2, 13)])
    expect(messages(ofTrace)).to.deep.equal(['in the cart', 'in the visit'])
    const ofSession = await ask('log_id', logIdOf(2, 20, 2))
    expect(ofSession.traces?.items).to.have.length(2)
    const ofNothing = await ask('log_id', logIdOf(2, 12, 4))
    expect(ofNothing).to.deep.include({ found: true, trace: null })
    expect(messages(ofNothing)).to.deep.equal(['at the same time'])
  })

  it('tries every shape that an id fits', async () => {
    const rumId = recordId(at(9), '3'.padStart(32, '0'), 1)
    for (const value of [
      traceIdOf('cart'),
      spanIdOf('db'),
      logIdOf(2, 13),
      rumId,
      `00-${traceIdOf('cart')}-${spanIdOf('x')}-00`,
    ]) {
      const answer = await ask('id', value)
      expect(answer.trace?.summary.trace_id, value).to.equal(traceIdOf('cart'))
      expect(answer.ids.session_ids, value).to.deep.equal(['visit'])
      expect(
        answer.traces?.items.map(({ trace_id }) => trace_id),
        'of a record that names both, its trace',
      ).to.deep.equal([traceIdOf('cart')])
    }
    expect(names(await ask('id', 'another'))).to.deep.equal(['elsewhere'])
    expect((await ask('id', 'visit')).traces?.items).to.have.length(2)
    expect(messages(await ask('id', spanIdOf('bare')))).to.deep.equal(['only a span'])
  })

  it('knows a trace that only a log names, and a session that only a browser event names', async () => {
    const dark = await ask('trace_id', traceIdOf('dark'))
    expect(dark.found).to.equal(true)
    expect(dark.trace?.summary).to.include({ span_count: 0, start: null, has_logs: true })
    const another = await ask('session_id', 'another')
    expect(another).to.deep.include({ found: true, trace: null })
    expect(names(another)).to.deep.equal(['elsewhere'])
    expect(another.sessions).to.deep.equal([{ session_id: 'another', linked_by: [] }])
  })

  it('finds nothing of what was never seen, in any kind', async () => {
    const unknown: readonly (readonly [CorrelationId['kind'], string])[] = [
      ['trace_id', traceIdOf('never')],
      ['trace_id', 'not an id'],
      ['traceparent', `00-${traceIdOf('never')}-${spanIdOf('db')}-01`],
      ['session_id', 'never'],
      ['span_id', spanIdOf('never')],
      ['log_id', logIdOf(9, 9)],
      ['log_id', 'not an id'],
      ['id', 'never'],
      ['id', traceIdOf('never')],
    ]
    for (const [kind, value] of unknown) {
      const answer = await ask(kind, value)
      expect(answer.found, `${kind} ${value}`).to.equal(false)
      expect(answer.timeline).to.deep.equal([])
    }
    expect((await ask('id', spanIdOf('never'))).ids.span_ids).to.deep.equal([])
  })

  it('never answers from another workspace', async () => {
    const theirs = await correlate(reader, globex, { id: { kind: 'session_id', value: 'visit' } })
    expect(messages(theirs)).to.deep.equal(['theirs'])
    expect(names(theirs)).to.deep.equal([])
    expect(theirs.trace).to.equal(null)
    const span = await correlate(reader, globex, { id: { kind: 'span_id', value: spanIdOf('db') } })
    expect(span.found).to.equal(false)
    const log = await correlate(reader, globex, { id: { kind: 'log_id', value: logIdOf(2, 13) } })
    expect(log.found).to.equal(false)
  })

  it('leaves out parts, and still knows that they are there', async () => {
    const answer = await ask('trace_id', traceIdOf('alone'), { omit: ['traces', 'logs'] })
    expect(answer).to.deep.include({ found: true, trace: null, traces: null, logs: null, timeline: [] })
    expect((await ask('session_id', 'visit', { omit: ['traces'] })).logs?.items).to.have.length(3)
    expect((await ask('log_id', logIdOf(2, 12, 4), { omit: ['logs'] })).found).to.equal(true)
  })

  it('shows a record that is asked for on the first page, and on no other', async () => {
    const asked: string[] = []
    let after: CorrelationRequest['after']
    do {
      const { logs } = await ask('log_id', logIdOf(2, 20, 2), {
        limits: { logs: 1 },
        ...(after === undefined ? {} : { after }),
      })
      asked.push(...(logs?.items ?? []).map(({ message }) => message))
      after = logs?.next == null ? undefined : { logs: logs.next }
    } while (after !== undefined)
    expect(asked).to.deep.equal(['in the visit', 'in the cart', 'paid'])
  })

  it('cuts each part at its limit and goes on from there', async () => {
    const limits = { spans: 1, traces: 1, logs: 1, rum_events: 2 }
    const first = await ask('session_id', 'visit', { limits })
    expect(first.truncated).to.equal(true)
    expect([first.traces?.truncated, first.logs?.truncated, first.rum_events?.truncated]).to.deep.equal([
      true,
      true,
      true,
    ])
    const after = { traces: first.traces?.next, logs: first.logs?.next, rum_events: first.rum_events?.next }
    const second = await ask('session_id', 'visit', { limits, after: JSON.parse(JSON.stringify(after)) })
    expect(second.traces?.items.map(({ trace_id }) => trace_id)).to.deep.equal([traceIdOf('cart')])
    expect(second.traces?.next).to.equal(null)
    expect(messages(second)).to.deep.equal(['in the visit'])
    expect(names(second)).to.deep.equal(['pay'])
  })

  it('asks once how far each index is', async () => {
    const asked: string[] = []
    const counting: IndexReader = {
      ...reader,
      progress: (projection) => {
        asked.push(projection)
        return reader.progress(projection)
      },
    }
    await correlate(counting, acme, { id: { kind: 'trace_id', value: traceIdOf('cart') } })
    expect(asked.sort()).to.deep.equal(['correlation', 'logs', 'traces'])
  })

  it('pages through the spans of the trace', async () => {
    const limits = { spans: 1 }
    const cart = await ask('trace_id', traceIdOf('cart'), { limits })
    expect(cart.truncated).to.equal(true)
    const spans = cart.trace?.spans_next ?? undefined
    const rest = await ask('trace_id', traceIdOf('cart'), { limits, after: spans === undefined ? {} : { spans } })
    expect(rest.trace?.spans.map(({ span_id }) => span_id)).to.deep.equal([spanIdOf('db')])
    const ofSession = await ask('session_id', 'visit', { limits, after: spans === undefined ? {} : { spans } })
    expect(ofSession.trace?.spans.map(({ span_id }) => span_id)).to.deep.equal([spanIdOf('db')])
  })

  it('is as far as the index that is furthest behind, and nowhere while one is not built', async () => {
    const followed = new Map([
      ['traces', { position: 3, head: 4, at: 70, caughtUpAt: 40 }],
      ['logs', { position: 1, head: 3, at: 80, caughtUpAt: 60 }],
      ['correlation', { position: 2, head: 5, at: 90, caughtUpAt: 50 }],
    ])
    const progressOf = async (without?: string) => {
      const progress: IndexReader['progress'] = async (name) => {
        const its = followed.get(name)
        return its === undefined || name === without ? undefined : { index: name, after: 0, ...its }
      }
      const id = { kind: 'session_id', value: 'visit' } as const
      return (await correlate({ ...reader, progress }, acme, { id })).progress
    }
    // The log has come to where the index that has seen most of it says, and is followed since when the one that is furthest behind says.
    expect(await progressOf()).to.include({ index: 'logs', position: 1, head: 5, at: 70, caughtUpAt: 40 })
    expect(await progressOf('correlation')).to.equal(undefined)
  })
})

describeOnEveryStore('correlation: a session with more traces than are looked up', (newStore) => {
  it('has parts that say so, also of each of its traces', async () => {
    const spans = Array.from({ length: 10_001 }, (_, id) => givenSpan({ trace: `t${id}`, id, sessionId: 'endless' }))
    const events = [givenEvent('spans.received', 1, { spans })]
    const store = newStore()
    const logs = [
      givenLog({ trace: 't0', message: 'of the trace' }),
      givenLog({ ordinal: 1, sessionId: 'endless', message: 'of one that may have named another' }),
    ]
    await foldIntoStore(store, tracesProjection, [])
    await foldIntoStore(store, logsProjection, [givenEvent('logs.received', 2, { logs })])
    await foldIntoStore(store, correlationProjection, events)
    const truncated = async (kind: CorrelationId['kind'], value: string) => {
      const answer = await correlate(store.reader, acme, { id: { kind, value } })
      return [
        messages(answer).length,
        ...[answer, answer.traces, answer.logs, answer.rum_events].map((part) => part?.truncated),
      ]
    }
    expect(await truncated('session_id', 'endless')).to.deep.equal([2, true, true, true, true])
    expect(await truncated('trace_id', traceIdOf('t0'))).to.deep.equal([1, true, false, true, true])
  })
})

describeOnEveryStore('correlation: records of a session that is linked to a trace', (newStore) => {
  const named = { mine: 'main', other: 'other', third: 'third', nobody: undefined } as const
  /** By turns, in pairs of one time. */
  const logs = Array.from({ length: 16 }, (_, ordinal) => {
    const whose = (['nobody', 'other', 'mine', 'third'] as const)[ordinal % 4] ?? 'nobody'
    const trace = named[whose]
    const sessionId = whose === 'mine' ? {} : { sessionId: 'visit' }
    const timeNs = at(Math.floor(ordinal / 2))
    return {
      whose,
      log: givenLog({ ordinal, message: `${whose} ${ordinal}`, timeNs, ...sessionId, ...(trace && { trace }) }),
    }
  })
  const expected = logs.flatMap(({ whose, log }) => (whose === 'mine' || whose === 'nobody' ? [log.message] : []))
  let reader: IndexReader

  before(async () => {
    const spans = [givenSpan({ trace: 'main', id: 'main', sessionId: 'visit' })]
    const events = [
      givenEvent('spans.received', 1, { spans }),
      givenEvent('logs.received', 2, { logs: logs.map(({ log }) => log) }),
    ]
    reader = await foldCorrelated(newStore(), events)
  })

  for (const limit of [1, 2, 3, 8, 11, 12, 50]) {
    it(`are those that name no other trace, in pages of ${limit}`, async () => {
      const found: string[] = []
      let after: CorrelationRequest['after'] = {}
      for (;;) {
        const id = { kind: 'trace_id', value: traceIdOf('main') } as const
        const page = await correlate(reader, acme, { id, limits: { logs: limit }, after })
        found.push(...messages(page))
        expect(messages(page).length).to.be.at.most(limit)
        const next = page.logs?.next ?? null
        if (next === null) break
        after = { logs: next }
      }
      expect(found).to.deep.equal(expected)
    })
  }
})
