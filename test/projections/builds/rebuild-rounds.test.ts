import { expect } from 'chai'
import { describe, it } from 'mocha'
import { rebuild, type RebuildProgress } from '#projections/builds/rebuild.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { append } from '#test/support/projector-run.ts'

const roundMs = 7_000

describe('the rounds in which a rebuild comes up to the head of a log that grows', () => {
  /** Each round takes long, and while it lasts so many events come: of the first, of the next, and so on. How many each round folds. */
  async function roundsOf(arrivals: readonly number[]): Promise<readonly number[]> {
    const inner = createMemoryStream({ partition: '0' })
    await append(
      inner,
      Array.from({ length: 100 }, () => ['a']),
    )
    let [now, number, ended] = [1_000_000, 1_000, 0]
    const left = [...arrivals]
    const stream: Stream = {
      ...inner,
      async head() {
        now += roundMs
        // Who asks within a round, or before the first, finds nothing new.
        for (; ended > 0; ended--) {
          const arrived = left.shift() ?? 0
          for (let n = 0; n < arrived; n++) await inner.append([lineEvent(number++, ['b'])])
        }
        return inner.head()
      },
    }
    const rounds: number[] = []
    let last = 0
    const onProgress = ({ phase, from, until }: RebuildProgress): void => {
      if (phase !== 'fold' || until === last) return
      rounds.push((until - from) / 4_096)
      last = until
      ended = 1
    }
    const store = createMemoryIndexStore()
    const context = memoryContext({ stream, projections: [counting], clock: () => (now += roundMs) }, store)
    const [done] = await rebuild(context, [counting], { onProgress })
    expect(done).to.include({ outcome: 'moved' })
    return rounds
  }

  it('end when what comes meanwhile does not become less, however long each takes', async () => {
    const rounds = await roundsOf([40, ...Array.from({ length: 18 }, () => 20)])
    expect(rounds.slice(0, 4)).to.deep.equal([100, 40, 20, 20])
    expect(rounds.length).to.be.below(8)
  })

  it('go on as long as it becomes less', async () => {
    const rounds = await roundsOf([40, 30, 20, 10, 5, 2, 1])
    expect(rounds).to.deep.equal([100, 40, 30, 20, 10, 5, 2, 1])
  })
})

describe('the pace of a rebuild', () => {
  /** How long one of 100 events takes, in seconds, if nothing takes time but to wait. It reads them twice: to fold, and to verify. */
  async function secondsOf(eventsPerSecondMax?: number): Promise<number> {
    const stream = createMemoryStream({ partition: '0' })
    await append(
      stream,
      Array.from({ length: 100 }, () => ['a']),
    )
    let waitedMs = 0
    const timers = { ...systemTimers, pause: async (ms: number) => void (waitedMs += ms) }
    const given = { stream, projections: [counting], workers: 1, timers, clock: () => 1_000_000 + waitedMs }
    const options = eventsPerSecondMax === undefined ? {} : { eventsPerSecondMax }
    const [done] = await rebuild(memoryContext(given, createMemoryIndexStore()), [counting], options)
    expect(done).to.include({ outcome: 'moved' })
    return waitedMs / 1_000
  }

  it('is so many events a second as it is told, also while it verifies', async () => {
    expect([await secondsOf(10), await secondsOf(50), await secondsOf()]).to.deep.equal([20, 4, 0])
  })
})
