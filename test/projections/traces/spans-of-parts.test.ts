import { expect } from 'chai'
import { holderIn, togetherIn } from '#projections/traces/spans-of-parts.ts'
import { addSpans, emptyPart, rowsOf, type TracePart } from '#projections/traces/trace-part.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { givenSpan, spanIdOf, traceIdOf } from './given.ts'

const partsMax = 4
const idsMax = 40

/** The parts of a trace after each of many events: spans that are new, or come again under another parent. */
function statesOf(random: Random, trace: string): readonly (readonly TracePart[])[] {
  const placeOf = new Map<number, number>()
  let parts = Array.from({ length: partsMax }, (_, number) => emptyPart(traceIdOf(trace), number))
  return Array.from({ length: 60 }, (_, position) => {
    const id = random.below(idsMax)
    const place = placeOf.get(id) ?? random.below(partsMax)
    placeOf.set(id, place)
    const parent = random.below(4) === 0 ? null : random.below(idsMax)
    const span = givenSpan({ trace, id, parent })
    parts = parts.map((part, number) => (number === place ? addSpans(part, [{ span, copies: 1 }], position) : part))
    return parts
  })
}

function plainly(parts: readonly TracePart[]) {
  const rows = parts.flatMap((part) => [...rowsOf(part)].map((row) => ({ ...row, part: part.number })))
  const holders = new Map(rows.map(({ spanId, part }) => [spanId, part]))
  const parents = new Set(rows.flatMap(({ parentSpanId }) => parentSpanId ?? []))
  return { missing: [...parents].filter((parent) => !holders.has(parent)).length, holders }
}

describe('traces: what several parts of one hold together', () => {
  for (const seed of [1, 2]) {
    it(`is what a plain count finds, whatever was looked at before (seed ${seed})`, () => {
      const random = createRandom(seed)
      const ids = Array.from({ length: idsMax }, (_, id) => spanIdOf(id))
      // Of one id: two workspaces may have traces of the same id, and builds of one are at different positions.
      const traces = [statesOf(random, 'same'), statesOf(random, 'same')]
      for (let step = 0; step < 120; step++) {
        const states = traces[random.below(traces.length)] ?? []
        const state = states[Math.min(states.length - 1, Math.floor(step / 2) + random.below(10))] ?? []
        const parts = state.filter(({ rows }) => rows !== '')
        const { missing, holders } = plainly(parts)
        const partOf = holderIn(parts)
        expect(ids.map(partOf)).to.deep.equal(ids.map((id) => holders.get(id)))
        if (parts.length > 1) expect(togetherIn(parts).missing).to.equal(missing)
      }
    })
  }

  it('is nothing of a part that another build has, and this one not yet', () => {
    const parts = ['a', 'b', 'c'].map((id, number) => {
      const span = givenSpan({ trace: 'ahead', id, parent: 'c' })
      return addSpans(emptyPart(traceIdOf('ahead'), number), [{ span, copies: 1 }], 1)
    })
    expect(togetherIn(parts).missing).to.equal(0)
    const behind = togetherIn(parts.slice(0, 2))
    expect([behind.missing, behind.partOf(spanIdOf('c'))]).to.deep.equal([1, undefined])
  })
})

describe('a part of a trace', () => {
  it('holds spans that come again with ever other sessions, of one service', () => {
    const spans = (n: number) =>
      Array.from({ length: 100 }, (_, id) => ({ span: givenSpan({ id, sessionId: `visit ${n} of ${id}` }), copies: 1 }))
    let part = emptyPart(traceIdOf('t'), 0)
    for (let n = 0; n < 45; n++) part = addSpans(part, spans(n), n + 1)
    expect([...rowsOf(part)].map(({ sessionId }) => sessionId)).to.deep.equal(
      Array.from({ length: 100 }, (_, id) => `visit 44 of ${id}`),
    )
  })
})
