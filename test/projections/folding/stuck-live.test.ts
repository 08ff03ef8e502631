import { expect } from 'chai'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting } from '#test/support/line-projections.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'

const [first, second] = ['counting-v1-001', 'counting-v1-002']

describe('a live build whose index takes nothing', () => {
  it('loses its readers to one that has come further, which is folded on', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const { writer: index } = createMemoryIndexStore()
    await append(stream, [['one'], ['two']])
    const before = start({ stream, writer: index })
    await before.until(await atHead(stream))
    await before.stop()
    await index.open(second, withSeenEvents(counting), stream.epoch)
    await changeRoster(index, 'counting', nominate(second))
    await append(stream, [['three']], 50)
    const moved = Promise.withResolvers<void>()
    const writer: IndexWriter = {
      ...index,
      async write(name, ...more) {
        if (name === first) throw new TransientError({ operation: 'write to', subject: first })
        await index.write(name, ...more)
      },
      async changeRoster(projection, roster) {
        const changed = await index.changeRoster(projection, roster)
        if (changed && roster.live === second) moved.resolve()
        return changed
      },
    }
    const run = start({ stream, writer })
    await moved.promise
    const head = await stream.head()
    expect((await index.checkpoint(first)).position).to.be.below(head)
    expect((await index.checkpoint(second)).position).to.equal(head)
    await append(stream, [['four']], 90)
    await run.until(await atHead(stream))
    await run.stop()
  })
})
