import { expect } from 'chai'
import { begin, changeRoster, giveUp, nominate, promoteTo } from '#projections/rosters/roster.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { beforeAll, positionStep } from '#src/events/envelope.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append, atHead, start } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

const [first, second, third] = ['counting-v1-001', 'counting-v1-002', 'counting-v1-003']
const lines = (count: number): readonly (readonly string[])[] => Array.from({ length: count }, () => ['line'])

describe('the lanes of a projector', () => {
  const open = () => ({ stream: createMemoryStream({ partition: '0' }), store: createMemoryIndexStore() })

  it('fold what is new for the furthest first, whichever projection comes before', async () => {
    const { stream, store } = open()
    await append(stream, lines(40))
    const before = start({ stream, writer: store.writer, projections: [mirror] })
    await before.until(await atHead(stream))
    await before.stop()
    await append(stream, lines(3), 100)
    const run = start({ stream, writer: store.writer, projections: [counting, mirror] })
    const isThere = await atHead(stream)
    await run.until((heartbeat, index) => index.startsWith('mirror') && isThere(heartbeat))
    expect((await store.writer.checkpoint(first)).position).to.be.below(40 * positionStep)
    await run.stop()
  })

  it('take readers from a build of another log, however far that log went', async () => {
    const { stream, store } = open()
    const other = createMemoryStream({ partition: '0' })
    await append(other, lines(9))
    const before = start({ stream: other, writer: store.writer })
    await before.until(await atHead(other))
    await before.stop()
    await append(stream, lines(2))
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    run.tick()
    await run.until(({ at }) => at >= 1_001_000)
    expect(await liveOf(store.writer, 'counting')).to.equal(second)
    await run.stop()
  })

  /** A store that a projector of another log folds, with these builds of the log opened too. */
  const openBeside = async (...ofThisLog: readonly string[]) => {
    const { stream, store } = open()
    const other = createMemoryStream({ partition: '0' })
    for (const each of [other, stream]) await append(each, lines(2))
    const former = start({ stream: other, writer: store.writer })
    await former.until(await atHead(other))
    for (const index of ofThisLog) await store.writer.open(index, withSeenEvents(counting), stream.epoch)
    const change = (next: Parameters<typeof changeRoster>[2]) => changeRoster(store.writer, 'counting', next)
    const names = async () => (await store.writer.builds('counting')).map(({ index }) => index)
    return { stream, store, other, former, change, names }
  }

  it('leave no candidate of another log behind once readers are in a later build of this one', async () => {
    const { stream, store, other, former, change, names } = await openBeside()
    await store.writer.open(second, withSeenEvents(counting), other.epoch)
    await change(nominate(second))
    await former.stop()
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    for (const at of [1_001_000, 1_002_000]) {
      run.tick()
      await run.until((heartbeat, index) => index === third && heartbeat.at >= at)
    }
    expect([await liveOf(store.writer, 'counting'), await names()]).to.deep.equal([third, [third]])
    await run.stop()
  })

  it('take away no candidate of a later log, nor one that readers of that log go back to', async () => {
    const { former, change, names } = await openBeside(second, third)
    await change(nominate(third))
    former.tick()
    await former.until(({ at }) => at >= 1_001_000)
    await change(promoteTo(third, first, Infinity))
    await change(nominate(second))
    former.tick()
    await former.until(({ at }) => at >= 1_002_000)
    expect(await names()).to.deep.equal([first, second, third])
    await former.stop()
  })

  it('are not folded any more once their build is let go of, also by who has just read for them', async () => {
    const { stream, store } = open()
    let meanwhile: (() => Promise<void>) | undefined
    const reading: Stream = {
      ...stream,
      async read(after, max) {
        const events = await stream.read(after, max)
        // From the beginning: that of the second build.
        if (after === beforeAll) await meanwhile?.()
        return events
      },
    }
    await append(stream, lines(2))
    const failures: ProjectionFailure[] = []
    const run = start({ stream: reading, writer: store.writer, failures })
    await run.until(await atHead(stream))
    await store.writer.open(second, withSeenEvents(counting), stream.epoch)
    await changeRoster(store.writer, 'counting', begin(second))
    await changeRoster(store.writer, 'counting', nominate(second))
    meanwhile = async () => {
      meanwhile = undefined
      await changeRoster(store.writer, 'counting', giveUp(second))
      run.tick()
      await run.until(({ at }) => at >= 1_002_000)
    }
    run.tick()
    await run.until(({ at }) => at >= 1_002_000)
    await append(stream, lines(2), 50)
    await run.until(await atHead(stream))
    expect(meanwhile).to.equal(undefined)
    expect([failures, (await store.writer.builds('counting')).map(({ index }) => index)]).to.deep.equal([[], [first]])
    await run.stop()
  })
})
