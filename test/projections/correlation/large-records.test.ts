import { expect } from 'chai'
import { correlationProjection } from '#projections/correlation/fold.ts'
import { correlate, type CorrelationRequest } from '#projections/correlation/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { describeOnEveryStore, foldIntoStore } from '../traces/every-store.ts'
import { givenLog, givenSpan, msNs, noonNs, traceIdOf } from '../traces/given.ts'

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
