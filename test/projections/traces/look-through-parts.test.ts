import { expect } from 'chai'
import { lookThroughParts, type PartPages } from '#projections/traces/look-through-parts.ts'
import { addSpans, emptyPart, type TracePart } from '#projections/traces/trace-part.ts'
import { givenSpan, spanIdOf, traceIdOf } from './given.ts'

type Named = readonly [id: string, parent: string | null]

const partOf = (spans: readonly Named[]): TracePart =>
  addSpans(
    emptyPart(traceIdOf('t'), 0),
    spans.map(([id, parent]) => ({ span: givenSpan({ id, parent }), copies: 1 })),
    1,
  )
/** Each page of one part. */
const pagesOf = (...pages: readonly (readonly Named[])[]): PartPages =>
  async function* read() {
    for (const spans of pages) yield [partOf(spans)]
  }
const missingOf = async (pages: PartPages, openMax: number, missingCount = 4) => {
  const bounds = { openMax, missingMax: 10, referencesMax: 2 }
  const { missing, isCut } = await lookThroughParts(pages, { spanIds: new Set(), missingCount }, bounds)
  return { missing: missing.map(({ spanId, referencedBy }) => [spanId, referencedBy.length]), isCut }
}

describe('traces: a look through the parts of one', () => {
  it('finds what is missing, whether a page before or behind holds the others', async () => {
    const pages = pagesOf(
      [
        ['a', null],
        ['b', 'z'],
      ],
      [
        ['c', 'lost'],
        ['d', 'a'],
        ['e', 'lost'],
        ['f', 'lost'],
      ],
      [['z', 'b']],
    )
    expect(await missingOf(pages, 10)).to.deep.equal({ missing: [[spanIdOf('lost'), 2]], isCut: false })
  })

  it('holds so many at once of which it cannot tell yet, and says that there may be more', async () => {
    const children = (of: string): readonly Named[] => [
      [`${of} 1`, `parent of ${of} 1`],
      [`${of} 2`, `parent of ${of} 2`],
    ]
    const pages = pagesOf(children('a'), children('b'))
    expect(await missingOf(pages, 3)).to.deep.equal({
      missing: ['a 1', 'a 2', 'b 1'].map((child) => [spanIdOf(`parent of ${child}`), 1]),
      isCut: true,
    })
    expect((await missingOf(pages, 4)).isCut).to.equal(false)
    // All that are missing have been found.
    expect((await missingOf(pages, 3, 3)).isCut).to.equal(false)
  })

  it('takes back what a span named before it came again under another parent', async () => {
    const pages = pagesOf(
      [
        ['moved', 'before'],
        ['stayed', 'lost'],
      ],
      [['moved', 'lost']],
    )
    const { missing } = await lookThroughParts(pages, { spanIds: new Set(), missingCount: 1 })
    expect(missing).to.deep.equal([{ spanId: spanIdOf('lost'), referencedBy: ['stayed', 'moved'].map(spanIdOf) }])
  })
})
