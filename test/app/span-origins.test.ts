import { expect } from 'chai'
import { createLinkRoom } from '#src/app/trace/span-links.ts'
import { originsOf, originsPart } from '#src/app/trace/span-origins.ts'
import type { ShownSpan } from '#src/app/trace/span-tree.ts'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { turnsOf } from '#test/support/turns.ts'

describe('what the spans of a page come from', () => {
  it('is compared and shown with turns for others, also where each span has a resource of its own', async () => {
    const start = '2026-11-30T03:00:00.000000000Z'
    const common = {
      trace_id: traceIdOf('t'),
      service: 'checkout',
      name: 'pay',
      kind: 'server',
      status: { code: 'unset', message: '' },
      start,
      scope: { name: '', version: '', attributes: {} },
    }
    const spans = Array.from({ length: 1_000 }, (_, n) => {
      const fields = Array.from({ length: 100 }, (_each, at) => [`field_${at}`, `${n} ${'x'.repeat(90)}`] as const)
      return { ...common, span_id: spanIdOf(n), resource: { attributes: Object.fromEntries(fields) } }
    }) as unknown as readonly ShownSpan[]
    const origins = await originsOf(spans)
    expect(origins.resources.size).to.equal(1_000)
    expect(await turnsOf(async () => originsOf(spans)), 'compared').to.be.at.least(2)
    expect(await turnsOf(async () => originsPart(origins, createLinkRoom(0, undefined))), 'shown').to.be.at.least(3)
  })
})
