import { expect } from 'chai'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createExpectedFold, createQueue } from '#projections/builds/expected-fold.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import type { Lane } from '#projections/folding/lane.ts'
import { positionStep } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { lineDecoders, lineEvent } from '#test/support/line-projections.ts'
import { behind } from '#test/support/behind.ts'
import { rejection } from '#test/support/read-all.ts'

const [acme, other] = [workspaceIdOf('acme'), workspaceIdOf('other')]

describe('the queue of what is still to be compared', () => {
  it('lets a workspace be folded up to the next of its own, of very many', () => {
    const items = Array.from({ length: 200_000 }, (_, n) => ({
      workspaceId: n % 1_000 === 0 ? other : acme,
      position: n + 1,
    }))
    const queue = createQueue(items)
    const limit = queue.beside(() => 0)
    const inTurn = items.every((one) => {
      const isNext = limit(one.workspaceId) === one.position
      queue.take(one)
      return isNext
    })
    expect(inTurn).to.equal(true)
    expect([limit(acme), limit(other)]).to.deep.equal([0, 0])
  })

  it('lets it be folded as far as the index is anyhow, and to its end for what has no position', () => {
    const items = [{ workspaceId: acme, position: 3 }, { workspaceId: acme, position: 7 }, { workspaceId: acme }]
    const queue = createQueue(items)
    const limit = queue.beside(
      () => 5,
      () => 9,
    )
    const limits = items.map((one) => {
      const now = limit(acme)
      queue.take(one)
      return now
    })
    expect(limits).to.deep.equal([5, 7, 9])
    expect([limit(acme), limit(other)]).to.deep.equal([5, 5])
  })
})

describe('the fold that an index is compared with', () => {
  const stepsOf = (events: readonly DecodedEvent[]) => events.map(({ event }) => event.position / positionStep)

  /** Over a log of six events. `folded` are the places of those that were folded. */
  async function sixEvents(readerOf: (stream: Stream) => Stream = (stream) => stream) {
    const stream = createMemoryStream({ partition: '0' })
    const from = ['acme', 'other', 'other', 'acme', 'other', 'acme']
    await stream.append(from.map((workspace, n) => lineEvent(n, ['a'], workspace)))
    const folded: number[] = []
    const lane: Lane = {
      projection: 'counting',
      index: 'counting-v1-001',
      position: () => 0,
      storedBefore: undefined,
      caughtUpAt: () => 0,
      fold: async () => undefined,
      ahead: () => undefined,
      foldAhead: async (events) => void folded.push(...stepsOf(events)),
      heartbeat: async () => undefined,
    }
    const limits = { projectorBatchEventsMax: 2, projectorBatchRecordsMax: 9, projectorBatchBytesMax: 9_999 }
    const cache = { cachedDocumentsMax: 9, cachedBytesMax: 9_999 }
    const context = { stream: readerOf(stream), decode: createDecoder(lineDecoders), limits: { ...limits, ...cache } }
    return { folded, expected: createExpectedFold(context, lane, () => true) }
  }
  const none = (): number => 0

  it('folds each event of a workspace that waits once, in order, when it is its turn, and then goes on with the others', async () => {
    const { folded, expected } = await sixEvents()
    await expected.foldTo(acme, 4 * positionStep, none)
    expect([folded, expected.positionOf(other)]).to.deep.equal([[1, 4], 0])
    for (const at of [2, 4]) await expected.foldTo(other, at * positionStep, none)
    expect([folded, expected.positionOf(other)]).to.deep.equal([[1, 4, 2, 3], 4 * positionStep])
    await expected.foldTo(acme, 6 * positionStep, (workspaceId) => (workspaceId === other ? 5 * positionStep : 0))
    expect([folded, expected.positionOf(other)]).to.deep.equal([[1, 4, 2, 3, 5, 6], 6 * positionStep])
  })

  it('does not take a server that is behind for a log that has lost its tail', async () => {
    let left = 1
    const { folded, expected } = await sixEvents((stream) =>
      behind(stream, (after) => after < 4 * positionStep && left-- > 0),
    )
    await expected.foldTo(acme, 4 * positionStep, none)
    expect(folded).to.deep.equal([1, 4])
    const ahead = await rejection(expected.foldTo(acme, 7 * positionStep, none))
    expect(ahead).to.be.instanceOf(PermanentError)
    expect(ahead.message).to.contain('the index is ahead of the log')
  })

  it('leaves out no event of a workspace that waits where a server that is behind answers none', async () => {
    let left = 0
    const { folded, expected } = await sixEvents((stream) =>
      behind(stream, (after) => after < 4 * positionStep && left-- > 0),
    )
    await expected.foldTo(acme, 4 * positionStep, none)
    left = 1
    await expected.foldTo(other, 2 * positionStep, none)
    expect([folded, expected.positionOf(other)]).to.deep.equal([[1, 4, 2], 2 * positionStep])
    left = 2
    expect(await rejection(expected.foldTo(other, 4 * positionStep, none))).to.be.instanceOf(TransientError)
    expect([folded, expected.positionOf(other)]).to.deep.equal([[1, 4, 2], 2 * positionStep])
  })
})
