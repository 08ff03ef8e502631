import { expect } from 'chai'
import { originsOf } from '#src/app/trace/span-origins.ts'
import { createLinkRoom } from '#src/app/trace/span-links.ts'
import { shownRange } from '#src/app/trace/shown-range.ts'
import { spanTree, type ShownSpan } from '#src/app/trace/span-tree.ts'
import { waterfall } from '#src/app/trace/waterfall.ts'
import type { CorrelationAnswer } from '#src/query/searches.ts'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { turnsOf } from '#test/support/turns.ts'

describe('the waterfall of a trace', () => {
  it('is drawn with turns for others between its rows, however much the spans of a page have', async () => {
    const attributes = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`field_${n}`, 'x'.repeat(90)]))
    const start = '2026-11-30T03:00:00.000000000Z'
    const common = { trace_id: traceIdOf('t'), service: 'checkout', name: 'pay', kind: 'server', start }
    const none = { parent_span_id: null, session_id: null, events: [], links: [], cuts: [], repeated: 0 }
    const dropped = { dropped_attributes_count: 0, dropped_events_count: 0, dropped_links_count: 0 }
    const shared = { name: '', version: '', attributes: {}, dropped_attributes_count: 0 }
    const status = { code: 'unset', message: '' }
    const spans = Array.from({ length: 1_000 }, (_, n) => {
      const span = { ...common, ...none, ...dropped, status, attributes, duration_ns: '1000', span_id: spanIdOf(n) }
      return { ...span, resource: shared, scope: shared } as unknown as ShownSpan
    })
    const summary = { start, duration_ns: '1000', missing_parent_count: 0 }
    const trace = { spans, missing: [], summary, next_cursor: null } as unknown as NonNullable<
      CorrelationAnswer['trace']
    >
    const nowhere = { asked: undefined, kept: {}, logged: new Set<string>(), found: new Set<string>() }
    const room = createLinkRoom(0, undefined)
    const range = shownRange(summary, '')
    const looks = {
      ...nowhere,
      range,
      colourOf: () => 's1' as const,
      origins: await originsOf(spans),
      room,
      path: new Map(),
    }
    const turns = await turnsOf(() => waterfall(trace, spanTree(trace), looks))
    expect(turns).to.be.at.least(3)
  })
})
