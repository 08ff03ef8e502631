import { expect } from 'chai'
import { correlate } from '#projections/correlation/query.ts'
import { isCaughtUp, type IndexReader, type Progress } from '#projections/index-store.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldCorrelated } from '../traces/every-store.ts'
import { givenLog, givenRumEvent, givenSpan, spanIdOf, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')

describeOnEveryStore('correlation: what an answer says of itself', (newStore) => {
  it('is complete only if each index is', async () => {
    const isComplete = async (faults: Readonly<Record<string, Partial<Progress>>>): Promise<boolean> => {
      const progress: IndexReader['progress'] = async (name) => {
        return { index: name, after: 0, position: 3, head: 3, at: 100_000, caughtUpAt: 100_000, ...faults[name] }
      }
      const id = { kind: 'session_id', value: 'visit' } as const
      const found = await correlate({ ...newStore().reader, progress }, acme, { id })
      return found.progress !== undefined && isCaughtUp(found.progress, 100_000)
    }
    expect(await isComplete({})).to.equal(true)
    for (const name of ['traces', 'logs', 'correlation']) {
      for (const fault of [
        { position: 2 },
        { at: 1 },
        { isOfAnotherVersion: true },
        { lostDays: [{ workspaceId: acme, day: '2026-11-20' }] },
        { lacking: [acme] },
      ])
        expect(await isComplete({ [name]: fault }), `${name} ${Object.keys(fault).join()}`).to.equal(false)
    }
  })

  it('knows an id by whatever alone has named it', async () => {
    const sessions = Array.from({ length: 101 }, (_, id) => givenSpan({ trace: 'crowd', id, sessionId: `visit ${id}` }))
    const bare = await foldCorrelated(newStore(), [
      givenEvent('spans.received', 1, { spans: [givenSpan({ trace: 'bare', id: 'bare' }), ...sessions] }),
      givenEvent('logs.received', 2, { logs: [givenLog({ sessionId: 'by a log' })] }),
      givenEvent('rum.received', 3, { rumEvents: [givenRumEvent({ sessionId: 'by an event' })] }),
    ])
    // Of so many sessions of one trace the last is only among its links.
    for (const value of [traceIdOf('bare'), traceIdOf('crowd'), 'by a log', 'by an event', 'visit 0', 'visit 100'])
      expect((await correlate(bare, acme, { id: { kind: 'id', value } })).found, value).to.equal(true)
  })

  it('says that it is cut also where joins are not named', async () => {
    const traces = Array.from({ length: 45 }, (_, n) => `t${n}`)
    const shared = { sessionId: 'visit' }
    const reader = await foldCorrelated(newStore(), [
      givenEvent('spans.received', 1, { spans: traces.map((trace) => givenSpan({ trace, id: trace, ...shared })) }),
      givenEvent('logs.received', 2, {
        logs: traces.map((trace, ordinal) => givenLog({ ordinal, trace, ...shared })),
      }),
      givenEvent('rum.received', 3, {
        rumEvents: traces.map((trace, ordinal) => givenRumEvent({ ordinal, trace, ...shared })),
      }),
    ])
    const answer = await correlate(reader, acme, { id: { kind: 'session_id', value: 'visit' } })
    const { traces: page, logs, rum_events: events, how, truncated } = answer
    expect([page, logs, events].map((part) => part?.truncated)).to.deep.equal([false, false, false])
    expect([how.length, truncated]).to.deep.equal([200, true])
  })

  it('has no place in its timeline for a trace of which no span has come, since nobody knows when it was', async () => {
    const shared = { sessionId: 'visit' }
    const reader = await foldCorrelated(newStore(), [
      givenEvent('spans.received', 1, { spans: [givenSpan({ trace: 'seen', id: 'seen', ...shared })] }),
      givenEvent('logs.received', 2, { logs: [givenLog({ trace: 'named', ...shared })] }),
    ])
    const answer = await correlate(reader, acme, { id: { kind: 'session_id', value: 'visit' } })
    expect(answer.traces?.items.map(({ trace_id, start }) => [trace_id, start === null])).to.have.deep.members([
      [traceIdOf('seen'), false],
      [traceIdOf('named'), true],
    ])
    expect(answer.timeline.map(({ kind }) => kind)).to.have.members(['span', 'log'])
  })

  it('says that it is cut also where sessions are not named', async () => {
    const spans = Array.from({ length: 1_001 }, (_, id) => givenSpan({ trace: 't', id, sessionId: `visit ${id}` }))
    const reader = await foldCorrelated(newStore(), [givenEvent('spans.received', 1, { spans })])
    const limits = { spans: 2_000 }
    const answer = await correlate(reader, acme, { id: { kind: 'trace_id', value: traceIdOf('t') }, limits })
    expect(answer.trace?.spans_next).to.equal(null)
    expect([answer.sessions.length, answer.ids.session_ids.length, answer.truncated]).to.deep.equal([
      1_000,
      1_000,
      true,
    ])
  })

  it('says that it is cut also where missing spans are not named', async () => {
    const refusedSpans = Array.from({ length: 1_001 }, (_, n) => ({
      traceId: traceIdOf('t'),
      spanId: spanIdOf(n),
      reason: 'rejected_allowance' as const,
    }))
    const reader = await foldCorrelated(newStore(), [givenEvent('spans.refused', 1, { refusedSpans })])
    const answer = await correlate(reader, acme, { id: { kind: 'trace_id', value: traceIdOf('t') } })
    expect([answer.trace?.missing.length, answer.trace?.missing_truncated, answer.truncated]).to.deep.equal([
      1_000,
      true,
      true,
    ])
  })
})
