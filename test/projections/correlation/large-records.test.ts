import { expect } from 'chai'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { correlate, type CorrelationRequest } from '#projections/correlation/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { measuredReader } from '#test/support/measured-reader.ts'
import { describeOnEveryStore, foldIntoStore } from '../traces/every-store.ts'
import { givenLog, givenSpan, msNs, noonNs, spanIdOf, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
const text = 'large '.repeat(150_000)

describeOnEveryStore('correlation: records of a megabyte', (newStore) => {
  const named = { mine: 'main', other: 'other', nobody: undefined } as const
  /** Of the trace asked for, of the session linked to it, and of another trace in that session, by turns. */
  const logs = Array.from({ length: 30 }, (_, ordinal) => {
    const whose = (['nobody', 'other', 'mine'] as const)[ordinal % 3] ?? 'nobody'
    const trace = named[whose]
    const sessionId = whose === 'mine' ? {} : { sessionId: 'visit' }
    const timeNs = noonNs + BigInt(ordinal) * msNs
    return {
      whose,
      log: givenLog({ ordinal, message: `${ordinal} ${text}`, timeNs, ...sessionId, ...(trace && { trace }) }),
    }
  })
  let reader: IndexReader

  before(async () => {
    const store = newStore()
    const events = [
      givenEvent('spans.received', 1, { spans: [givenSpan({ trace: 'main', id: 'main', sessionId: 'visit' })] }),
      givenEvent('logs.received', 2, { logs: logs.map(({ log }) => log) }),
    ]
    for (const projection of [tracesProjection, logsProjection, correlationProjection]) {
      await foldIntoStore(store, projection, events)
    }
    reader = store.reader
  })

  it('come in pages of some megabytes, all that belong to it, once and in order', async () => {
    const found: number[] = []
    let after: CorrelationRequest['after'] = {}
    for (;;) {
      const id = { kind: 'trace_id', value: traceIdOf('main') } as const
      const { logs: part } = await correlate(reader, acme, { id, after })
      expect(part?.items).to.have.length.within(1, 10)
      found.push(...(part?.items ?? []).map(({ message }) => Number.parseInt(message, 10)))
      const next = part?.next ?? null
      if (next === null) break
      after = { logs: next }
    }
    expect(found).to.deep.equal(logs.flatMap(({ whose, log }) => (whose === 'other' ? [] : [log.ordinal])))
  })
})

describeOnEveryStore('correlation: what names a span, of a megabyte each', (newStore) => {
  const count = 16
  const names = (of: string): readonly string[] => Array.from({ length: count }, (_, n) => `${of} ${n}`)

  it('is looked through some at a time, and all of its traces are found', async () => {
    const store = newStore()
    const spans = names('span').map((trace, n) =>
      givenSpan({ trace, id: n, parent: 'asked', attributes: { sql: text } }),
    )
    const logs = names('log').map((trace, ordinal) =>
      givenLog({ ordinal, trace, spanId: spanIdOf('asked'), message: text }),
    )
    const events = [
      givenEvent('spans.received', 1, { spans: spans.slice(0, count / 2) }),
      givenEvent('spans.received', 2, { spans: spans.slice(count / 2) }),
      givenEvent('logs.received', 3, { logs }),
    ]
    for (const projection of [tracesProjection, logsProjection, correlationProjection]) {
      await foldIntoStore(store, projection, events)
    }
    const { reader, most } = measuredReader(store.reader)
    const { ids } = await correlate(reader, acme, { id: { kind: 'span_id', value: spanIdOf('asked') } })
    expect([...ids.trace_ids].sort()).to.deep.equal([...names('span'), ...names('log')].map(traceIdOf).sort())
    expect(most.characters).to.be.below(9 * 1024 * 1024)
  })
})

describeOnEveryStore('correlation: the traces of a session', (newStore) => {
  it('are looked through a hundred at a time, and shown newest first, each once', async () => {
    const count = 250
    const spans = Array.from({ length: count }, (_, n) =>
      givenSpan({ trace: `t${n}`, id: n, atMs: (n * 7) % count, sessionId: 'long' }),
    )
    const store = newStore()
    const events = [givenEvent('spans.received', 1, { spans })]
    for (const projection of [tracesProjection, logsProjection, correlationProjection]) {
      await foldIntoStore(store, projection, events)
    }
    const { reader, most } = measuredReader(store.reader)
    const found: (string | null)[] = []
    let after: CorrelationRequest['after'] = {}
    for (;;) {
      const id = { kind: 'session_id', value: 'long' } as const
      const { traces, trace } = await correlate(reader, acme, { id, after })
      expect(trace?.summary.start).to.equal('2026-11-21T12:00:00.249000000Z')
      found.push(...(traces?.items ?? []).map(({ start }) => start))
      const next = traces?.next ?? null
      if (next === null) break
      after = { traces: next }
    }
    expect(found)
      .to.deep.equal([...new Set(found)].sort((a, b) => String(b).localeCompare(String(a))))
      .and.have.length(count)
    expect(most.documents.get('traces')).to.be.at.most(100)
  })
})
