import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { QueryContext } from '#src/query/context.ts'
import { createSearches } from '#src/query/searches.ts'
import { createFakeDirectory } from '#test/support/fake-directory.ts'

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
