import { expect } from 'chai'
import { verdictJson, verdictText, type PlacedVerdict } from '#src/cli/show-verdict.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const verdictAt = (...places: readonly number[]): PlacedVerdict => ({
  projection: 'logs',
  partition: '2',
  isOneOfMany: false,
  index: 'logs-v1-001',
  position: 900,
  equal: true,
  workspaces: places.map((position, n) => ({
    workspaceId: workspaceIdOf(`w${n}`),
    entries: 2,
    different: 0,
    position,
  })),
  differences: [],
})

describe('a verdict says up to where was compared', () => {
  it('in one word where all workspaces are at one place, and where there are none', () => {
    expect(verdictText(verdictAt(500, 500))).to.equal(
      'logs-v1-001 is what the log says, at position 500: 2 workspaces, 4 entries.',
    )
    expect(verdictText(verdictAt())).to.include(', at position 900: 0 workspaces')
  })

  it('from whoever is furthest behind to whoever is ahead', () => {
    expect(verdictText(verdictAt(900, 70, 500))).to.include(', at positions 70 to 900: 3 workspaces')
    expect(verdictText({ ...verdictAt(900, 70), equal: false })).to.include(', at positions 70 to 900: 2 workspaces')
  })

  it('and of what searches go by: which entry is found wrongly, or what misleads them without one', () => {
    const part = { workspaceId: workspaceIdOf('w0'), day: '2026-11-21', collection: 'spans', kind: 'search' } as const
    const text = verdictText({
      ...verdictAt(900),
      equal: false,
      differences: [
        { ...part, id: 'a', item: 'term paid', expected: { 'term paid': 't_name:0' } },
        { ...part, id: '', item: 'damage of r_spans', indexed: { 'damage of r_spans': 'row 7 missing from index' } },
      ],
    })
    expect(text.split('\n').slice(1)).to.deep.equal([
      '  w0 2026-11-21 spans a: is found wrongly by "term paid"',
      '    term paid',
      '      in the index  (nothing)',
      '      by the log    t_name:0',
      '  w0 2026-11-21 spans: searches are misled by "damage of r_spans"',
      '    damage of r_spans',
      '      in the index  row 7 missing from index',
      '      by the log    (nothing)',
    ])
  })

  it('and of an entry what differs, as far as a line bears it, and how many others there are', () => {
    const part = {
      workspaceId: workspaceIdOf('w0'),
      day: '2026-11-21',
      collection: 'logs',
      kind: 'entry',
      id: 'a',
    } as const
    const sides = { indexed: { row: '1', text: 'x'.repeat(401) }, expected: { row: '2', text: 'x'.repeat(400) } }
    const [workspace] = verdictAt(900).workspaces
    const of = (different: number) =>
      verdictText({
        ...verdictAt(900),
        equal: false,
        workspaces: [{ ...workspace!, different }],
        differences: [{ ...part, ...sides }],
      }).split('\n')
    expect(of(1).slice(1)).to.deep.equal([
      '  w0 2026-11-21 logs a: is not what the log says',
      '    text',
      `      in the index  ${'x'.repeat(400)}…`,
      `      by the log    ${'x'.repeat(400)}`,
    ])
    expect(of(3).at(-1)).to.equal('  … and 2 more')
  })

  it('and of an entry that only one side has, that it is missing or should not be there, without its content', () => {
    const part = { workspaceId: workspaceIdOf('w0'), day: '2026-11-21', collection: 'logs', kind: 'entry' } as const
    const text = verdictText({
      ...verdictAt(900),
      equal: false,
      differences: [
        { ...part, id: 'a', expected: { text: 'x' } },
        { ...part, id: 'b', indexed: { text: 'x' } },
      ],
    })
    expect(text.split('\n').slice(1)).to.deep.equal([
      '  w0 2026-11-21 logs a: is missing',
      '  w0 2026-11-21 logs b: should not be there',
    ])
  })

  it('from the day on from which the log is whole, and of what reaches further back from a later one', () => {
    const comparedFrom = { summaries: '2026-11-02', logs: '2026-11-01', spans: '2026-11-01' }
    const told = ' Compared from 2026-11-01, summaries from 2026-11-02 on: the log was cut before.'
    for (const equal of [true, false])
      expect(verdictText({ ...verdictAt(900), equal, comparedFrom }), String(equal)).to.include(told)
    expect(verdictText(verdictAt(900))).to.not.include('Compared from')
  })

  it('of each workspace, as JSON', () => {
    expect(verdictJson(verdictAt(900, 70)).workspaces).to.deep.equal([
      { workspace: 'w0', entries: 2, different: 0, position: 900 },
      { workspace: 'w1', entries: 2, different: 0, position: 70 },
    ])
  })
})
