import { expect } from 'chai'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting } from '#test/support/line-projections.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'

const [live, candidate] = ['counting-v1-001', 'counting-v1-002']
const lines = (...texts: readonly string[]) => texts.map((text) => [text])

describe('a live build that another projector has folded further', () => {
  it('is not left for one that is older, until that has caught up', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, lines('one', 'two'))
    const shown = await stream.head()
    // This projector sees no more of the log for a while.
    let isHeld = false
    const held: Stream = {
      ...stream,
      head: async () => (isHeld ? shown : stream.head()),
      changed: async (after, signal) => stream.changed(isHeld ? await stream.head() : after, signal),
      read: async (after, max) =>
        (await stream.read(after, max)).filter(({ position }) => !isHeld || position <= shown),
    }
    let further = 0
    let moves = 0
    const writer: IndexWriter = {
      ...store.writer,
      // What is told of the live build is told by who has folded it further.
      heartbeat: (index, { position, ...progress }) =>
        store.writer.heartbeat(index, {
          ...progress,
          position: index === live ? Math.max(position, further) : position,
        }),
      async changeRoster(projection, roster) {
        if (roster.live === candidate) moves++
        return store.writer.changeRoster(projection, roster)
      },
    }
    const run = start({ stream: held, writer })
    const told = (index: string) => {
      const heard = run.until((_heartbeat, of) => of === index)
      run.tick()
      return heard
    }
    await run.until(await atHead(stream))
    isHeld = true
    await append(stream, lines('three', 'four'), 3)
    further = await stream.head()
    await told(live)
    await store.writer.open(candidate, withSeenEvents(counting), stream.epoch)
    await changeRoster(store.writer, 'counting', nominate(candidate))
    for (let reached = 0; reached < shown;) reached = (await told(candidate)).position
    await told(candidate)
    expect(moves, 'readers would see what is two events older').to.equal(0)
    isHeld = false
    await append(stream, lines('five'), 5)
    const moved = run.until(() => moves > 0)
    for (let beats = 0; beats < 3; beats++) run.tick()
    await moved
    await run.stop()
  })
})
