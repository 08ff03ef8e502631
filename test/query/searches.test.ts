import { expect } from 'chai'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { limits } from '#src/config.ts'
import type { QueryContext } from '#src/query/context.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createSearches } from '#src/query/searches.ts'
import { foldCorrelated } from '#test/projections/traces/every-store.ts'
import { givenLog, givenSpan, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { createFakeDirectory } from '#test/support/fake-directory.ts'
import { givenEvent } from '#test/support/fold-harness.ts'

describe('what the pages ask beside the API', () => {
  it('is asked by the plan: of traces nothing without tracing', async () => {
    const directory = createFakeDirectory()
    const plan = { name: 'none', features: [], spansPerMonth: 0, retentionDays: 1 }
    const workspace = directory.addWorkspace('acme', plan)
    // Nothing is read.
    const searches = createSearches({ directory: directory.view, limits } as unknown as QueryContext)
    const [traceId, spanId] = ['1'.repeat(32), '2'.repeat(16)]
    const found = await Promise.all([
      searches.spanCursors(workspace, `trace_id=${traceId}`, { traceId, spanId }),
      searches.nearestError(workspace, traceId, { spanId, direction: 'asc' }),
      searches.spansFound(workspace, traceId, 'a'),
    ])
    expect(found.map((each) => each.ok || each.error.feature)).to.deep.equal(['tracing', 'tracing', 'tracing'])
  })
})

describe('searches of what a store has', () => {
  const store = createMemoryIndexStore()
  const directory = createFakeDirectory()
  const acme = directory.addWorkspace('acme')
  const context = { readerOf: () => store.reader, cursors: createCursors('secret'), clock: Date.now, limits }
  const searches = createSearches({ directory: directory.view, ...context })
  before(async () => {
    const refusedSpans = Array.from({ length: 1_001 }, (_, n) => ({
      traceId: traceIdOf('refused'),
      spanId: spanIdOf(n),
      reason: 'rejected_allowance' as const,
    }))
    const spans = Array.from({ length: 4_001 }, (_, id) => givenSpan({ trace: 'long', id, atMs: id }))
    const events = [
      givenEvent('spans.refused', 1, { refusedSpans }),
      givenEvent('spans.received', 2, { spans }),
      givenEvent('logs.received', 3, { logs: [givenLog()] }),
    ]
    await foldCorrelated(store, events)
  })

  it('tell that there are more missing spans, of which there is no further page', async () => {
    const answer = await searches.correlation(acme, `trace_id=${traceIdOf('refused')}`)
    const { trace } = answer.ok ? answer.value : {}
    expect([trace?.missing.length, trace?.truncated, trace?.next_cursor]).to.deep.equal([1_000, true, null])
  })

  it('tell that more spans of a trace are found', async () => {
    const found = await searches.spansFound(acme, traceIdOf('long'), 'service:checkout')
    const { spans, isCut } = found.ok ? found.value : {}
    expect([spans?.length, isCut]).to.deep.equal([4_000, true])
  })

  it('are followed from the neighbours of a record also while nothing comes', async () => {
    const first = await searches.logs(acme, 'from=2026-11-21')
    const around = `around=${(first.ok && first.value.logs[0]?.id) || ''}`
    const page = await searches.logs(acme, around)
    const cursor = (page.ok && page.value.prev_cursor) || ''
    const followed = await searches.logs(acme, `${around}&cursor=${cursor}`)
    expect([page, followed].map((each) => each.ok && each.value.logs.length)).to.deep.equal([1, 0])
  })
})
