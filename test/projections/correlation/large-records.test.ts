import { expect } from 'chai'
import { correlate, type CorrelationRequest } from '#projections/correlation/query.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { pageCharactersMax } from '#projections/reading/page-size.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { measuredReader } from '#test/support/measured-reader.ts'
import { describeOnEveryStore, foldCorrelated } from '../traces/every-store.ts'
import { givenLog, givenRumEvent, givenSpan, msNs, noonNs, spanIdOf, traceIdOf } from '../traces/given.ts'

const acme = workspaceIdOf('acme')
/** Without a word in it: what it takes is its size, not what is found by it. */
const text = '.'.repeat(900_000)

/** The numbers that the logs of the trace `main` begin with, page by page. */
async function walk(reader: IndexReader): Promise<readonly number[]> {
  const found: number[] = []
  let after: CorrelationRequest['after'] = {}
  for (;;) {
    const id = { kind: 'trace_id', value: traceIdOf('main') } as const
    const { logs: part } = await correlate(reader, acme, { id, after })
    expect(part?.items).to.have.length.within(1, 10)
    found.push(...(part?.items ?? []).map(({ message }) => Number.parseInt(message, 10)))
    const next = part?.next ?? null
    if (next === null) return found
    after = { logs: next }
  }
}

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
    const events = [
      givenEvent('spans.received', 1, { spans: [givenSpan({ trace: 'main', id: 'main', sessionId: 'visit' })] }),
      givenEvent('logs.received', 2, { logs: logs.map(({ log }) => log) }),
    ]
    reader = await foldCorrelated(newStore(), events)
  })

  it('come in pages of some megabytes, all that belong to it, once and in order', async () => {
    const found = await walk(reader)
    expect(found).to.deep.equal(logs.flatMap(({ whose, log }) => (whose === 'other' ? [] : [log.ordinal])))
  })

  it('are not passed over for a short one of the session behind them', async () => {
    const at = (ordinal: number) => ({ ordinal, timeNs: noonNs + BigInt(ordinal) * msNs })
    const large = [0, 1, 2, 3].map((n) => givenLog({ ...at(n), message: `${n} ${text}`, trace: 'main' }))
    const short = givenLog({ ...at(4), message: '4', sessionId: 'visit' })
    const events = [
      givenEvent('spans.received', 1, { spans: [givenSpan({ trace: 'main', id: 'main', sessionId: 'visit' })] }),
      givenEvent('logs.received', 2, { logs: [...large, short] }),
    ]
    expect(await walk(await foldCorrelated(newStore(), events))).to.deep.equal([0, 1, 2, 3, 4])
  })
})

describeOnEveryStore('correlation: what names a span, of a megabyte each', (newStore) => {
  const count = 16
  const names = (of: string): readonly string[] => Array.from({ length: count }, (_, n) => `${of} ${n}`)

  it('is looked through some at a time, and all of its traces are found', async () => {
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
    const { reader, most } = measuredReader(await foldCorrelated(newStore(), events))
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
    const events = [givenEvent('spans.received', 1, { spans })]
    const { reader, most } = measuredReader(await foldCorrelated(newStore(), events))
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

describeOnEveryStore('correlation: an answer of which all parts are full', (newStore) => {
  it('has no more than one page of any other, each part cut and to be gone on from', async () => {
    const large = '.'.repeat(150_000)
    const count = 60
    const ordinals = Array.from({ length: count }, (_, ordinal) => ordinal)
    const sessionId = (n: number): string => `${n} `.padEnd(128, '.')
    const services = ordinals.slice(0, 30).flatMap((trace) =>
      Array.from({ length: 60 }, (_, n) => ({
        trace: `t${trace}`,
        id: `${trace} ${n}`,
        service: `${n} `.padEnd(500, '.'),
      })),
    )
    const spans = [
      ...ordinals.map((id) => ({ trace: 't0', id, atMs: id, attributes: { large }, resource: { large, id } })),
      ...services.map((span) => ({ ...span, atMs: 1, sessionId: 'visit' })),
      ...Array.from({ length: 1_100 }, (_, n) => ({ trace: 't0', id: `s${n}`, atMs: 1_000, sessionId: sessionId(n) })),
    ]
    const logs = ordinals.map((ordinal) => givenLog({ ordinal, trace: 't0', message: large }))
    const rumEvents = ordinals.map((ordinal) => givenRumEvent({ ordinal, trace: 't0', fields: { large } }))
    const events = [
      givenEvent('spans.received', 1, { spans: spans.map(givenSpan) }),
      givenEvent('logs.received', 2, { logs }),
      givenEvent('rum.received', 3, { rumEvents }),
    ]
    const reader = await foldCorrelated(newStore(), events)
    const ask = (kind: 'trace_id' | 'session_id', value: string) => correlate(reader, acme, { id: { kind, value } })
    const ofTrace = await ask('trace_id', traceIdOf('t0'))
    const ofSession = await ask('session_id', 'visit')
    for (const answer of [ofTrace, ofSession]) {
      expect(stringifyJson({ ...answer, progress: null }).length).to.be.below(pageCharactersMax)
    }
    expect(ofTrace.trace?.spans_next).to.be.an('object')
    expect([ofTrace.logs, ofTrace.rum_events].map((part) => part?.next)).to.not.include(null)
    expect(ofTrace.sessions).to.have.length(1_000)
    expect(ofTrace.truncated).to.equal(true)
    expect(ofSession.traces?.items.length).to.be.within(1, 29)
    expect(ofSession.traces?.next).to.be.an('object')
  })
})
