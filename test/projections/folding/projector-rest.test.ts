import { expect } from 'chai'
import { changeRoster, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append, start } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

const [first, second] = ['counting-v1-001', 'counting-v1-002']

describe('a projector that waits for the next event', () => {
  /** One that has folded all there is; `rests` waits until it waits again. */
  async function startResting() {
    const log = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    let resting = Promise.withResolvers<void>()
    let asked = 0
    const stream: Stream = {
      ...log,
      head: () => (asked++, log.head()),
      changed(after, signal) {
        resting.resolve()
        return log.changed(after, signal)
      },
    }
    await append(log, [['a'], ['b']])
    const run = start({ stream, writer: store.writer, projections: [counting, mirror] })
    await resting.promise
    const rests = () => ((resting = Promise.withResolvers<void>()), resting.promise)
    return { ...store, log, run, rests, asked: () => asked }
  }

  it('folds a build that is added, and takes readers to it and back, though no event comes', async () => {
    const { writer, log, run, rests } = await startResting()
    await writer.open(second, withSeenEvents(counting), log.epoch)
    await changeRoster(writer, 'counting', nominate(second))
    const rested = rests()
    run.tick()
    await rested
    expect(await liveOf(writer, 'counting')).to.equal(second)
    await changeRoster(writer, 'counting', nominate(first))
    run.tick()
    await run.until(({ at }) => at >= 1_002_000)
    expect(await liveOf(writer, 'counting')).to.equal(first)
    await run.stop()
  })

  it('folds a build to which another process has taken readers, beside those that it folds already', async () => {
    const { writer, log, run, rests } = await startResting()
    await writer.open(second, withSeenEvents(counting), log.epoch)
    await changeRoster(writer, 'counting', promoteTo(second, first, 2_000_000))
    const rested = rests()
    run.tick()
    await rested
    expect((await writer.checkpoint(second)).position).to.equal(await log.head())
    await run.stop()
  })

  it('asks and tells nothing more once it was stopped', async () => {
    const { writer, run, asked } = await startResting()
    await run.stop()
    const before = [asked(), await writer.builds('counting')]
    run.tick()
    await new Promise(setImmediate)
    expect([asked(), await writer.builds('counting')]).to.deep.equal(before)
  })
})
