import { expect } from 'chai'
import { correlate } from '#projections/correlation/query.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldCorrelated } from '../traces/every-store.ts'
import { givenLog, givenSpan, msNs, noonNs, spanIdOf, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
const at = (ms: number): bigint => noonNs + BigInt(ms) * msNs

describeOnEveryStore('correlation: a span id that very many name', (newStore) => {
  const logsOf = (traces: readonly string[]) =>
    traces.map((trace, ordinal) =>
      givenLog({ ordinal, trace, spanId: spanIdOf('shared'), timeNs: at(ordinal), message: trace }),
    )
  const truncated = async (events: readonly DecodedEvent[]) => {
    const reader = await foldCorrelated(newStore(), events)
    const id = { kind: 'span_id', value: spanIdOf('shared') } as const
    const answer = await correlate(reader, acme, { id, limits: { traces: 200 } })
    return {
      traces: answer.ids.trace_ids.length,
      truncated: [answer, answer.traces, answer.logs, answer.rum_events].map((part) => part?.truncated),
    }
  }

  it('gives all that belongs to it where that is of few traces', async () => {
    const children = Array.from({ length: 600 }, (_, id) => givenSpan({ trace: 'first', id, parent: 'shared' }))
    const of = (count: number, trace: string) => Array.from({ length: count }, () => trace)
    const logs = logsOf(['second', ...of(300, 'first'), 'third', ...of(300, 'first')])
    expect(
      await truncated([
        givenEvent('spans.received', 1, {
          spans: [givenSpan({ trace: 'fourth', id: 'shared', atMs: -1 }), ...children],
        }),
        givenEvent('logs.received', 2, { logs }),
      ]),
    ).to.deep.equal({ traces: 4, truncated: [true, false, true, false] })
  })

  it('finds the trace also behind many records that name none', async () => {
    const log = { spanId: spanIdOf('shared'), message: 'a line' }
    const bare = Array.from({ length: 150 }, (_, n) => givenLog({ ordinal: n + 1, timeNs: at(n), ...log }))
    const logs = [givenLog({ trace: 'first', timeNs: at(-1), ...log }), ...bare]
    expect((await truncated([givenEvent('logs.received', 1, { logs })])).traces).to.equal(1)
  })

  it('says in each part that there is more where that is of more traces than are looked up', async () => {
    const names = Array.from({ length: 101 }, (_, n) => `t${n}`)
    const cut = { traces: 100, truncated: [true, true, true, true] }
    const spans = names.map((trace) => givenSpan({ trace, id: 'shared' }))
    expect(await truncated([givenEvent('spans.received', 1, { spans })])).to.deep.equal(cut)
    expect(await truncated([givenEvent('logs.received', 1, { logs: logsOf(names) })])).to.deep.equal(cut)
    const refusedSpans = names.map((name) => ({
      traceId: traceIdOf(name),
      spanId: spanIdOf('shared'),
      reason: 'rejected_allowance' as const,
    }))
    expect(await truncated([givenEvent('spans.refused', 1, { refusedSpans })])).to.deep.equal(cut)
  })
})
