import { expect } from 'chai'
import type { Verdict } from '#projections/verify.ts'
import { verdictJson, verdictText } from '#src/cli/show-verdict.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const verdictAt = (...places: readonly number[]): Verdict => ({
  projection: 'logs',
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

  it('of each workspace, as JSON', () => {
    expect(verdictJson(verdictAt(900, 70)).workspaces).to.deep.equal([
      { workspace: 'w0', entries: 2, different: 0, position: 900 },
      { workspace: 'w1', entries: 2, different: 0, position: 70 },
    ])
  })
})
