import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import { begin, changeRoster, forget, giveUp } from '#projections/rosters/roster.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'

const [first, second] = ['counting-v1-001', 'counting-v1-002']
const lines = [['one'], ['two'], ['three']]

describe('builds whose names are taken while they are opened', () => {
  let stream: Stream
  let store: MemoryIndexStore
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
  })

  /** The writer, which calls `take` once with the first build that is opened. */
  function takenAtOpening(take: (index: string) => Promise<void>): IndexWriter {
    let taken = false
    return {
      ...store.writer,
      async open(index, ...more) {
        await store.writer.open(index, ...more)
        if (taken) return
        taken = true
        await take(index)
      },
    }
  }

  it('are not folded by a projector that begins while a rebuild takes the name it has chosen', async () => {
    await append(stream, lines)
    const writer = takenAtOpening(async (index) => {
      await changeRoster(store.writer, 'counting', begin(index))
    })
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    expect(await store.writer.roster('counting')).to.deep.include({
      live: second,
      followed: [{ index: first, as: 'building' }],
    })
    await run.stop()
  })

  for (const [when, isRemoved] of [
    ['and removed it', true],
    ['and removed it before', false],
  ] as const) {
    it(`take another name where a rebuild had taken theirs meanwhile, and has given it up, ${when}`, async () => {
      await append(stream, lines)
      const writer = takenAtOpening(async (index) => {
        for (const change of [begin, giveUp]) await changeRoster(store.writer, 'counting', change(index))
        // Whoever removes it may have done so before it was opened here.
        if (isRemoved) await store.writer.drop(index)
        await changeRoster(store.writer, 'counting', forget(index))
      })
      const run = start({ stream, writer })
      await run.until(await atHead(stream))
      const followed = [{ index: first, as: 'gone' }]
      expect(await store.writer.roster('counting')).to.deep.include({ live: second, followed })
      expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal([second])
      await run.stop()
    })
  }

  it('are chosen no further once the projector is stopped, though each name is taken while it is opened', async () => {
    const stopped = Promise.withResolvers<void>()
    let names = 0
    const writer: IndexWriter = {
      ...store.writer,
      async open(index, ...more) {
        await store.writer.open(index, ...more)
        // A bound, so that a projector that does not stop fails.
        if (++names > 20) return
        await changeRoster(store.writer, 'counting', begin(index))
        if (names === 3) run.stop().then(stopped.resolve, stopped.reject)
      },
    }
    const run = start({ stream, writer })
    await stopped.promise
    expect(names).to.equal(3)
  })
})
