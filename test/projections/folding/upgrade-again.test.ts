import { expect } from 'chai'
import type { IndexName, IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { changeRoster, giveUp, keepOn, keptMs, lose, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting } from '#test/support/line-projections.ts'
import { append, atHead, start, totals } from '#test/support/projector-run.ts'

const first = 'counting-v1-001'
const left = 'counting-v2-001'
const raised: Projection = { ...counting, version: 2 }
const farAwayMs = 1e12
/** How often a start may ask which builds there are: none that ends asks so often. */
const asksMax = 1_000

describe('an upgrade after a way back', () => {
  let stream: Stream
  let store: MemoryIndexStore

  const lines = (count: number): string[][] => Array.from({ length: count }, (_, n) => [`line ${n % 7}`])
  const moveReaders = async (index: IndexName, from: IndexName): Promise<void> => {
    await changeRoster(store.writer, 'counting', nominate(index))
    await changeRoster(store.writer, 'counting', promoteTo(index, from, farAwayMs))
  }
  const foldAll = async (projection: Projection): Promise<void> => {
    const run = start({ stream, writer: store.writer, projections: [projection] })
    await run.until(await atHead(stream))
    await run.stop()
  }
  /** The writer, which fails where a program chooses a build over and over: nothing there waits, so that no timeout would be seen. */
  function patient(): IndexWriter {
    let asks = 0
    const roster: IndexWriter['roster'] = async (projection) => {
      if (++asks > asksMax) throw new Error('the roster is read over and over')
      return store.writer.roster(projection)
    }
    return { ...store.writer, roster }
  }
  /** Starts the newer program; the builds that it wrote to until readers had moved, and its clock. */
  async function upgrade(): Promise<Readonly<{ written: ReadonlySet<IndexName>; now: number }>> {
    const moved = Promise.withResolvers<void>()
    const written = new Set<IndexName>()
    const writer: IndexWriter = {
      ...patient(),
      async write(index, ...more) {
        written.add(index)
        await store.writer.write(index, ...more)
      },
      async changeRoster(projection, roster) {
        const changed = await store.writer.changeRoster(projection, roster)
        if (changed && roster.live?.startsWith('counting-v2-') === true) moved.resolve()
        return changed
      },
    }
    const run = start({ stream, writer, projections: [raised] })
    await Promise.race([moved.promise, run.ended])
    await run.stop()
    return { written, now: run.clock() }
  }

  beforeEach(async () => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
    await append(stream, lines(12))
    await foldAll(counting)
    await upgrade()
    await moveReaders(first, left)
  })

  it('goes on with the build that readers left', async () => {
    await append(stream, lines(9), 100)
    await foldAll(counting)
    const { written, now } = await upgrade()
    expect([...written]).to.deep.equal([left])
    const { live, followed } = await store.writer.roster('counting')
    expect(live).to.equal(left)
    expect(followed).to.deep.equal([{ index: first, as: 'kept', untilMs: now + keptMs }])
    expect(Object.values(await totals(store.reader)).reduce((sum, count) => sum + count, 0)).to.equal(21)
    expect(store.dump(left)).to.deep.equal(store.dump(first))
  })

  it('goes on with the one that readers left last, where several are kept', async () => {
    const later = 'counting-v2-002'
    await store.writer.open(later, withSeenEvents(raised), stream.epoch)
    await changeRoster(store.writer, 'counting', keepOn(left))
    await moveReaders(later, first)
    await moveReaders(first, later)
    expect([...(await upgrade()).written]).to.deep.equal([later])
  })

  it('folds anew where that one is to be removed, or has seen what the log has lost', async () => {
    await changeRoster(store.writer, 'counting', keepOn(left))
    await changeRoster(store.writer, 'counting', lose(left))
    const { written } = await upgrade()
    expect([...written]).to.deep.equal(['counting-v2-002'])
    await moveReaders(first, 'counting-v2-002')
    await changeRoster(store.writer, 'counting', giveUp('counting-v2-002'))
    expect([...(await upgrade()).written]).to.deep.equal(['counting-v2-003'])
  })

  it('folds anew where that one is of another log', async () => {
    stream = createMemoryStream({ partition: '0' })
    await append(stream, lines(5))
    expect([...(await upgrade()).written]).to.deep.equal(['counting-v2-002'])
    const { live, followed } = await store.writer.roster('counting')
    expect(live).to.equal('counting-v2-002')
    expect(followed.find(({ index }) => index === left)?.as).to.not.equal('candidate')
    expect(await totals(store.reader)).to.deep.equal({
      'line 0': 1,
      'line 1': 1,
      'line 2': 1,
      'line 3': 1,
      'line 4': 1,
    })
  })

  it('leaves readers where they are who have left a build for another of its version while it was opened', async () => {
    const second = 'counting-v1-002'
    const taken = { at: false }
    const writer: IndexWriter = {
      ...patient(),
      async open(index, ...more) {
        await store.writer.open(index, ...more)
        if (taken.at) return
        taken.at = true
        // A rebuild of an index that nobody folds.
        await store.writer.open(second, ...more)
        await moveReaders(second, first)
      },
    }
    const run = start({ stream, writer, projections: [counting] })
    await Promise.race([run.until(({ position }, index) => index === second && position > 0), run.ended])
    await run.stop()
    const { live, followed } = await store.writer.roster('counting')
    expect(live).to.equal(second)
    expect(followed.find(({ index }) => index === first)?.as).to.equal('kept')
  })
})
