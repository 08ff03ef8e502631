import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createBuildFacts } from '#projections/folding/build-facts.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting } from '#test/support/line-projections.ts'

const [live, kept] = ['counting-v1-002', 'counting-v1-001']

// A projector asks for them each second.
describe('what a projector reads of builds beside their roster', () => {
  const open = async () => {
    const stream = createMemoryStream({ partition: '0' })
    const { writer } = createMemoryIndexStore()
    for (const index of [live, kept]) await writer.open(index, counting, stream.epoch)
    const asked: string[] = []
    const facts = createBuildFacts({
      stream: { ...stream, head: () => (asked.push('head'), stream.head()) },
      writer: {
        ...writer,
        checkpoint: (index) => (asked.push(index), writer.checkpoint(index)),
        builds: (projection) => (asked.push('builds'), writer.builds(projection)),
      },
      clock: () => 0,
    })
    return { facts, asked }
  }

  it('is nothing where none is folded beside the live one', async () => {
    const { facts, asked } = await open()
    const { ofThisLog, lost } = await facts.of('counting', { revision: 1, live, followed: [] })
    expect([ofThisLog.size, lost.size, asked]).to.deep.equal([0, 0, []])
  })

  it('is whether the log has lost what a build has seen, but only when that is first met', async () => {
    const { facts, asked } = await open()
    const roster = { revision: 1, live, followed: [{ index: kept, as: 'kept' }] } as const
    const first = await facts.of('counting', roster)
    expect(asked.splice(0)).to.deep.equal([live, kept, 'builds', 'head'])
    expect(await facts.of('counting', roster)).to.deep.equal(first)
    expect(asked).to.deep.equal([live, kept])
    expect([...first.lost]).to.deep.equal([[kept, false]])
  })
})
