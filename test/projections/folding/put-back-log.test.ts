import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Heartbeat, IndexWriter } from '#projections/index-store.ts'
import { dropBuild } from '#projections/builds/drop-build.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { planRebuild, rebuild, type RebuildOptions } from '#projections/builds/rebuild.ts'
import { changeRoster, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { beforeAll, positionStep, type NewEvent, type Position } from '#src/events/envelope.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { readCurrent } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { start } from '#test/support/projector-run.ts'
import { events, expectLost, expectOther, failureOf, foldAhead } from '#test/support/put-back-log.ts'
import { liveOf } from '#test/support/promote.ts'

const index = 'counting-v1-001'
const second = 'counting-v1-002'
const epoch = 'put-back'

const logOf = async (given: readonly NewEvent[]): Promise<Stream> => {
  const stream = createMemoryStream({ partition: '0', epoch })
  await stream.append(given)
  return stream
}

/** The log as it was when its head was there. */
const putBack = async (stream: Stream, head: Position): Promise<Stream> =>
  logOf((await readCurrent(stream, beforeAll, 1_000)).filter(({ position }) => position <= head))

const told = async ({ writer }: MemoryIndexStore): Promise<Heartbeat> =>
  present((await writer.builds('counting'))[0], 'a build').heartbeat

const names = async ({ writer }: MemoryIndexStore): Promise<readonly string[]> =>
  (await writer.builds('counting')).map((build) => build.index)

const heardOf = (head: Position): Heartbeat => ({ position: 0, head, at: 0, caughtUpAt: 0 })

/** A log put back to where the build stands that readers use, which has seen more of it. */
async function putBackUnder({ writer }: MemoryIndexStore): Promise<Stream> {
  const whole = await logOf(events)
  return putBack(whole, await foldAhead(whole, writer))
}

describe('the projector, on a log of which an older state was put back while none ran', () => {
  it('refuses it where it ends before what was folded ahead, though not before where the build stands', async () => {
    const whole = await logOf(events)
    const store = createMemoryIndexStore()
    const checkpoint = await foldAhead(whole, store.writer)
    expect(checkpoint).to.be.below((await whole.head()) - positionStep)
    const [former, last] = [store.dump(index), await told(store)]
    expect(last.head).to.equal(await whole.head())
    const restored = await putBack(whole, checkpoint)
    await restored.append([lineEvent(200, ['y'], 'small')])
    for (const attempt of ['at first', 'started again']) {
      expectLost(await failureOf(restored, store.writer), checkpoint + positionStep)
      expect(store.dump(index), attempt).to.deep.equal(former)
      expect(await told(store), attempt).to.deep.equal(last)
    }
  })

  it('refuses it where it ends before what was only heard of', async () => {
    const whole = await logOf(events.slice(0, 4))
    const store = createMemoryIndexStore()
    const run = start({ stream: whole, writer: store.writer })
    await run.until(({ position }) => position === 4 * positionStep)
    await run.stop()
    const last = { position: 4 * positionStep, head: 7 * positionStep, at: 0, caughtUpAt: 0 }
    await store.writer.heartbeat(index, last)
    expectLost(await failureOf(whole, store.writer), 4 * positionStep)
    expect(await told(store)).to.deep.equal(last)
  })

  it('refuses it where it ends before where the build stands', async () => {
    const whole = await logOf(events.slice(0, 4))
    const store = createMemoryIndexStore()
    const run = start({ stream: whole, writer: store.writer })
    await run.until(({ position }) => position === 4 * positionStep)
    await run.stop()
    expectLost(await failureOf(await putBack(whole, 2 * positionStep), store.writer), 2 * positionStep)
  })

  it('folds on where only the head that it was told was an old one', async () => {
    const whole = await logOf(events)
    const store = createMemoryIndexStore()
    const checkpoint = await foldAhead(whole, store.writer)
    const head = await whole.head()
    let asked = 0
    const late: Stream = { ...whole, head: async () => (asked++ === 0 ? checkpoint : whole.head()) }
    const run = start({ stream: late, writer: store.writer })
    await run.until(({ position }) => position >= head)
    await run.stop()
    expect(asked).to.be.above(1)
  })
})

const later = Array.from({ length: 60 }, (_, n) => lineEvent(300 + n, ['z']))

describe('the projector, on a log that was put back and has grown beyond what its builds had seen', () => {
  it('refuses it where another event stands than was folded ahead, though where the build stands it is the same', async () => {
    const whole = await logOf(events)
    const store = createMemoryIndexStore()
    const checkpoint = await foldAhead(whole, store.writer)
    const [former, last] = [store.dump(index), await told(store)]
    const restored = await putBack(whole, checkpoint)
    await restored.append(later)
    expect(await restored.head()).to.be.above(last.head)
    for (const attempt of ['at first', 'started again']) {
      const failure = await failureOf(restored, store.writer)
      expectOther(failure, await whole.head())
      expect(store.dump(index), attempt).to.deep.equal(former)
      expect(await told(store), attempt).to.deep.equal(last)
    }
  })

  it('refuses it where its senders have sent the same again, later', async () => {
    const whole = await logOf(events)
    const store = createMemoryIndexStore()
    expect(await failureOf(whole, store.writer)).to.equal(undefined)
    const restored = await putBack(whole, 2 * positionStep)
    await restored.append(events.slice(2).map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })))
    expectOther(await failureOf(restored, store.writer), await whole.head())
  })

  it('folds on where the event was erased, or cut, that it would know the log by', async () => {
    for (const loses of ['cut', 'erase'] as const) {
      const [stream, store] = [await logOf(events), createMemoryIndexStore()]
      expect(await failureOf(stream, store.writer)).to.equal(undefined)
      const head = await stream.head()
      await stream.append([sealErasure(workspaceIdOf('small'), { at: 1, unique: '0'.repeat(32) }), ...later])
      if (loses === 'erase') await stream.erase(workspaceIdOf('small'), head)
      else await stream.cut(head)
      expect(await failureOf(stream, store.writer), loses).to.equal(undefined)
      expect(await store.writer.checkpoint(index)).to.include({ position: await stream.head() })
    }
  })

  it('does not go on with a rebuild that was left on the log before', async () => {
    const whole = await logOf(events)
    const store = createMemoryIndexStore()
    const context = memoryContext({ stream: whole, projections: [counting] }, store)
    const stopped = new Error('stopped here')
    const failure = await rebuild(context, [counting], {
      onProgress: ({ phase }) => {
        if (phase === 'verify') throw stopped
      },
    }).catch((error: unknown) => error)
    expect(failure).to.equal(stopped)
    const restored = await putBack(whole, 2 * positionStep)
    await restored.append(later)
    const [done] = await rebuild(memoryContext({ stream: restored, projections: [counting] }, store), [counting])
    expect(done).to.include({ index: second, resumed: false, outcome: 'moved' })
  })
})

describe('a build of what a log has lost, once it was rebuilt', () => {
  async function rebuilt(options?: RebuildOptions) {
    const store = createMemoryIndexStore()
    const restored = await putBackUnder(store)
    const context = memoryContext({ stream: restored, projections: [counting] }, store)
    const [done] = await rebuild(context, [counting], options)
    expect(done).to.include({ former: index, index: second, outcome: 'moved' })
    return { restored, store, context }
  }

  it('goes, and the new one is folded on', async () => {
    const { restored, store } = await rebuilt()
    await restored.append([lineEvent(200, ['y'], 'small')])
    expect(await failureOf(restored, store.writer)).to.equal(undefined)
    expect(await names(store)).to.deep.equal([second])
    expect(await store.writer.checkpoint(second)).to.include({ position: await restored.head() })
  })

  it('stays where somebody keeps it, and is neither folded on nor gone back to, also when the log has grown again', async () => {
    const { restored, store, context } = await rebuilt({ keep: true })
    const former = store.dump(index)
    for (const next of [[lineEvent(200, ['y'], 'small')], events.map((_, n) => lineEvent(300 + n, ['z']))]) {
      await restored.append(next)
      expect(await failureOf(restored, store.writer)).to.equal(undefined)
      expect(await store.writer.checkpoint(second)).to.include({ position: await restored.head() })
      expect(store.dump(index)).to.deep.equal(former)
      const { followed } = await store.writer.roster('counting')
      expect(followed).to.deep.equal([{ index, as: 'kept', lost: true }])
    }
    const failure = await rollBack(context, counting).catch((error: unknown) => error)
    expect(String(failure)).to.contain(`${index} has seen what the log has lost`)
    expect(await liveOf(store.writer, 'counting')).to.equal(second)
    await dropBuild(context, counting, index)
    expect(await names(store)).to.deep.equal([second])
  })

  it('is not gone back to', async () => {
    const { restored, store, context } = await rebuilt()
    expectLost(await rollBack(context, counting).catch((error: unknown) => error), await restored.head())
    expect(await liveOf(store.writer, 'counting')).to.equal(second)
  })
})

describe('a build that readers were to move to, of what a log has lost', () => {
  const candidate = async ({ writer }: MemoryIndexStore, name: string, stream: Stream): Promise<void> => {
    await writer.open(name, withSeenEvents(counting), epoch)
    await writer.heartbeat(name, heardOf((await stream.head()) + positionStep))
    await changeRoster(writer, 'counting', nominate(name))
  }

  it('goes, where the one that they use is folded', async () => {
    const [stream, store] = [await logOf(events), createMemoryIndexStore()]
    expect(await failureOf(stream, store.writer)).to.equal(undefined)
    await candidate(store, second, stream)
    expect(await failureOf(stream, store.writer)).to.equal(undefined)
    expect(await names(store)).to.deep.equal([index])
  })

  it('stays with the one that they use, where that has seen it too', async () => {
    const store = createMemoryIndexStore()
    const restored = await putBackUnder(store)
    await candidate(store, second, restored)
    expectLost(await failureOf(restored, store.writer), await restored.head())
    expect(await names(store)).to.deep.equal([index, second])
  })

  it('goes, and another is made, where the one that they use is of an earlier version', async () => {
    const [stream, store] = [await logOf(events), createMemoryIndexStore()]
    const earlier = 'counting-v0-001'
    await store.writer.open(earlier, withSeenEvents(counting), epoch)
    await changeRoster(store.writer, 'counting', nominate(earlier))
    await candidate(store, index, stream)
    expect(await failureOf(stream, store.writer)).to.equal(undefined)
    expect(await names(store)).to.deep.equal([earlier, second])
  })
})

describe('a rebuild of one workspace, on a log that ends before what readers have', () => {
  it('does not copy the others from that, and a whole one is done', async () => {
    const store = createMemoryIndexStore()
    const restored = await putBackUnder(store)
    const context = memoryContext({ stream: restored, projections: [counting] }, store)
    for (const attempt of [rebuild, planRebuild]) {
      const failure = await attempt(context, [counting], { workspaceId: workspaceIdOf('acme') }).catch(
        (error: unknown) => error,
      )
      expect(failure).to.be.instanceOf(PermanentError)
      expect(String(failure)).to.contain(`${index}, which has seen what the log has lost: rebuild all of counting`)
      expect(await names(store)).to.deep.equal([index])
    }
    const [done] = await rebuild(context, [counting])
    expect(done).to.include({ index: second, outcome: 'moved' })
  })
})

describe('a build that readers have left, on a log that has all of it', () => {
  async function left() {
    const [stream, store] = [await logOf(events), createMemoryIndexStore()]
    expect(await failureOf(stream, store.writer)).to.equal(undefined)
    await store.writer.open(second, withSeenEvents(counting), epoch)
    await changeRoster(store.writer, 'counting', promoteTo(second, index, 1e12))
    return { stream, store }
  }

  it('stays where who folds it tells of more while it is looked at', async () => {
    const { stream, store } = await left()
    let n = 200
    const writer: IndexWriter = {
      ...store.writer,
      async builds(projection) {
        await stream.append([lineEvent(n++, ['y'], 'small')])
        await store.writer.heartbeat(index, heardOf(await stream.head()))
        return store.writer.builds(projection)
      },
    }
    expect(await failureOf(stream, writer)).to.equal(undefined)
    expect(n).to.be.above(200)
    expect(await names(store)).to.deep.equal([index, second])
  })

  it('stays where the copy of the log that answers is behind', async () => {
    const { stream, store } = await left()
    let isBehind = true
    const late: Stream = {
      ...stream,
      head: async () => (isBehind ? positionStep : stream.head()),
      async read(...given) {
        isBehind = false
        return stream.read(...given)
      },
    }
    expect(await failureOf(late, store.writer)).to.equal(undefined)
    expect(isBehind).to.equal(false)
    expect(await names(store)).to.deep.equal([index, second])
  })

  it('stays where the log cannot be asked for a moment', async () => {
    const { stream, store } = await left()
    let failures = 1
    const failing: Stream = {
      ...stream,
      async first() {
        if (failures-- > 0) throw new TransientError({ operation: 'ask', subject: 'a log that is away' })
        return stream.first()
      },
    }
    expect(await failureOf(failing, store.writer)).to.equal(undefined)
    expect(failures).to.be.below(1)
    expect(await names(store)).to.deep.equal([index, second])
  })
})
