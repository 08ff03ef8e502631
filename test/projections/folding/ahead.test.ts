import { expect } from 'chai'
import { createLookAhead, type LookAhead } from '#projections/folding/ahead.ts'
import { isCaughtUp, reachedFor, type Ahead, type IndexReader, type IndexWriter } from '#projections/index-store.ts'
import { withOwnProgress } from '#projections/retention/first-days.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import type { Projection } from '#projections/projection.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { present } from '#src/lib/assert.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { positionStep, type RecordedEvent } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { everything } from '#test/support/index-fixture.ts'
import { counting, lineEvent, mirror } from '#test/support/line-projections.ts'
import { atHead, start } from '#test/support/projector-run.ts'

const [acme, small, third] = ['acme', 'small', 'third'].map(workspaceIdOf) as [WorkspaceId, WorkspaceId, WorkspaceId]
const limits = { projectorBatchRecordsMax: 10, projectorBatchBytesMax: 1_000_000 }

const event = (position: number, workspaceId: WorkspaceId, logs: number, type = 'logs.received'): RecordedEvent =>
  ({
    ...lineEvent(position, Array.from({ length: logs }, String), workspaceId),
    type,
    position,
    receivedAt: position,
  }) as RecordedEvent

const positionsOf = (step: ReturnType<LookAhead['step']>) => step?.light.map(({ position }) => position)

describe('looking ahead in a backlog', () => {
  it('takes what others sent than who has sent more than a batch, and more than a quarter of all', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 8)])
    const step = lookAhead.step({ position: 1 }, [event(2, acme, 8), event(3, small, 2), event(4, acme, 1)], 1_000)
    expect(positionsOf(step)).to.deep.equal([3])
    expect(step?.ahead).to.deep.equal({ position: 4, caughtUpAt: 4, behind: new Map([[acme, 1]]) })
  })

  it('takes whom few, but large, records have made heavy for heavy', () => {
    const lookAhead = createLookAhead(limits)
    const large = { ...event(1, acme, 1), counts: { ...event(1, acme, 1).counts, bytes: 1_500_000 } }
    lookAhead.passed([large])
    const step = lookAhead.step({ position: 1 }, [event(2, acme, 1), event(3, small, 1)], 1_000)
    expect([positionsOf(step), step?.ahead.behind]).to.deep.equal([[3], new Map([[acme, 1]])])
  })

  it('leaves all in turn while nobody has sent more than a batch', () => {
    const lookAhead = createLookAhead(limits)
    expect(lookAhead.step({ position: 1 }, [event(2, acme, 10), event(3, small, 5)], 1_000)).to.equal(undefined)
    lookAhead.rest()
    lookAhead.passed([event(1, acme, 9)])
    lookAhead.rest()
    expect(lookAhead.step({ position: 1 }, [event(2, acme, 5)], 1_000), 'after a rest').to.equal(undefined)
  })

  it('leaves all in turn where many have sent alike', () => {
    const lookAhead = createLookAhead(limits)
    const many = Array.from({ length: 4 }, (_, n) => event(n + 1, workspaceIdOf(`w${n}`), 20))
    expect(lookAhead.step({ position: 0 }, many, 1_000)).to.equal(undefined)
  })

  it('has who becomes heavy wait from where it was, and goes on with the others, a batch at a time', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 20)])
    const first = present(lookAhead.step({ position: 1 }, [event(2, small, 6), event(3, third, 6)], 1_000), 'a step')
    expect(positionsOf(first)).to.deep.equal([2])
    expect(first.ahead.position, 'no further than the batch').to.equal(2)
    const next = lookAhead.step({ position: 1, ahead: first.ahead }, [event(3, third, 6), event(4, small, 60)], 1_000)
    expect(positionsOf(next)).to.deep.equal([3])
    expect(next?.ahead.behind).to.deep.equal(
      new Map([
        [acme, 1],
        [small, 2],
      ]),
    )
  })

  it('counts all that it has taken, the last one too', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 20)])
    const first = present(lookAhead.step({ position: 1 }, [event(2, small, 6)], 1_000), 'a step')
    const next = lookAhead.step({ position: 1, ahead: first.ahead }, [event(3, small, 6), event(4, third, 1)], 1_000)
    expect([positionsOf(next), next?.ahead.behind.get(small)]).to.deep.equal([[4], 2])
  })

  it('counts once what it is given again, since there was no room for it', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 20)])
    const first = present(lookAhead.step({ position: 1 }, [event(2, small, 6), event(3, third, 6)], 1_000), 'a step')
    const next = lookAhead.step({ position: 1, ahead: first.ahead }, [event(3, third, 6)], 1_000)
    expect([positionsOf(next), next?.ahead.behind]).to.deep.equal([[3], new Map([[acme, 1]])])
  })

  it('leaves all in turn while very many wait, which each heartbeat would have to name', () => {
    const waiting = (count: number) => new Map(Array.from({ length: count }, (_, n) => [workspaceIdOf(`w${n}`), 1]))
    const lookAhead = createLookAhead(limits)
    const stepBehind = (count: number) =>
      lookAhead.step(
        { position: 1, ahead: { position: 1, caughtUpAt: 1, behind: waiting(count) } },
        [event(2, small, 1)],
        1_000,
      )
    expect([stepBehind(257), positionsOf(stepBehind(256))]).to.deep.equal([undefined, [2]])
  })

  it('never says that less is there than it said before, where a clock was set back', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 20)])
    const reached = { position: 1, ahead: { position: 2, caughtUpAt: 500, behind: new Map([[acme, 1]]) } }
    expect(lookAhead.step(reached, [event(3, small, 1)], 1_000)?.ahead.caughtUpAt).to.equal(500)
    const toCome = lookAhead.step(reached, [event(2_000, small, 1)], 1_000)
    expect(toCome?.ahead.caughtUpAt, 'of a time to come').to.equal(1_000)
  })

  it('does not pass an event that may be about any workspace', () => {
    const lookAhead = createLookAhead(limits)
    lookAhead.passed([event(1, acme, 20)])
    const events = [event(2, small, 1), event(3, small, 0, 'deadletter.retried'), event(4, small, 1)]
    const step = lookAhead.step({ position: 1 }, events, 1_000)
    expect([positionsOf(step), step?.ahead.position]).to.deep.equal([[2], 2])
    expect(lookAhead.step({ position: 1, ahead: present(step, 'a step').ahead }, events.slice(1), 1_000)).to.equal(
      undefined,
    )
  })
})

describe('what is told of an index that is folded ahead', () => {
  const ahead: Ahead = { position: 9, caughtUpAt: 900, behind: new Map([[acme, 6]]) }
  const told = { position: 5, head: 9, at: 1_000, caughtUpAt: 500, ahead }

  it('is for each workspace how far it is itself', () => {
    expect([acme, small].map((of) => reachedFor(told, of))).to.deep.equal([6, 9])
    expect(reachedFor({ position: 7, ahead }, acme), 'when its turn has passed that').to.equal(7)
    expect(reachedFor({ position: 5 }, small)).to.equal(5)
  })

  it('is complete for who need not wait, and says since when the other waits', async () => {
    const inner = { progress: async () => ({ index: 'logs-v1-001', after: 0, ...told }) } as unknown as IndexReader
    const of = async (workspaceId: WorkspaceId) =>
      present(await withOwnProgress(inner, workspaceId, () => '').progress('logs'), 'it is there')
    const [heavy, light] = [await of(acme), await of(small)]
    expect(heavy).to.deep.equal({ index: 'logs-v1-001', after: 0, position: 6, head: 9, at: 1_000, caughtUpAt: 500 })
    expect(light).to.deep.equal({ index: 'logs-v1-001', after: 0, position: 9, head: 9, at: 1_000, caughtUpAt: 900 })
    expect([isCaughtUp(heavy, 1_000), isCaughtUp(light, 1_000)]).to.deep.equal([false, true])
    const since = {
      ...inner,
      progress: async (_name: string) => ({ index: 'logs-v1-001', after: 0, ...told, caughtUpAt: 950 }),
    }
    expect((await withOwnProgress(since, small, () => '').progress('logs'))?.caughtUpAt).to.equal(950)
  })
})

describe('the projector, in a backlog of one workspace', () => {
  const index = 'counting-v1-001'
  const linesOf = async (reader: IndexReader, workspaceId: WorkspaceId): Promise<Readonly<Record<string, number>>> => {
    const scope = { workspaceId, projection: 'counting', collection: 'counters' }
    const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 1_000 } as const
    const hits = await reader.search<{ lines: number }>(scope, query)
    return Object.fromEntries(hits.map(({ id, document }) => [id, document.lines]))
  }
  const backlog = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => lineEvent(from + n, ['a', 'b', 'c']))

  /** What readers of both are told and find when the one behind it is found first. */
  async function whenFound(behind: readonly ReturnType<typeof lineEvent>[]) {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await stream.append([...backlog(1, 40), ...behind])
    const head = await stream.head()
    const seen = Promise.withResolvers<Readonly<Record<string, unknown>>>()
    const writer: IndexWriter = {
      ...store.writer,
      async heartbeat(name, heartbeat) {
        await store.writer.heartbeat(name, heartbeat)
        if (reachedFor(heartbeat, small) < head || heartbeat.position >= head) return
        seen.resolve({
          waiting: (await linesOf(store.reader, acme))['a'],
          found: await linesOf(store.reader, small),
          checkpoint: (await store.writer.checkpoint(index)).position < head,
          behind: reachedFor(heartbeat, acme) < head,
        })
      },
    }
    const run = start({ stream, writer })
    const ended = run.until(await atHead(stream))
    const found = await Promise.race([seen.promise, ended.then(() => undefined)])
    await ended
    const inTheEnd = { acme: await linesOf(store.reader, acme), small: await linesOf(store.reader, small) }
    await run.stop()
    return { found, inTheEnd, store, head }
  }

  it('folds what another has sent behind it, long before it has folded all that stands before that', async () => {
    const { found, inTheEnd, store, head } = await whenFound([lineEvent(100, ['x'], 'small')])
    expect(found).to.deep.include({ found: { x: 1 }, checkpoint: true, behind: true })
    expect(Number(found?.['waiting'])).to.be.below(40)
    expect(inTheEnd).to.deep.equal({ acme: { a: 40, b: 40, c: 40 }, small: { x: 1 } })
    expect(await store.writer.checkpoint(index)).to.include({ position: head })
    expect((await store.reader.progress('counting'))?.ahead, 'in the end nothing is ahead').to.equal(undefined)
  })

  it('ends with the same as where each event was folded as it came', async () => {
    const behind = [lineEvent(100, ['x', 'y'], 'small'), ...backlog(200, 3)]
    const { store } = await whenFound(behind)
    const stream = createMemoryStream({ partition: '0' })
    const inTurn = createMemoryIndexStore()
    const run = start({ stream, writer: inTurn.writer })
    for (const one of [...backlog(1, 40), ...behind]) {
      await stream.append([one])
      await run.until(await atHead(stream))
    }
    await run.stop()
    expect(store.dump(index)).to.deep.equal(inTurn.dump(index))
  })

  it('is stopped while another is ahead, and the next one folds what is left, once', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await stream.append([...backlog(1, 40), lineEvent(100, ['x'], 'small')])
    const head = await stream.head()
    const first = start({ stream, writer: store.writer })
    await first.until((heartbeat) => reachedFor(heartbeat, small) >= head && heartbeat.position < head)
    await first.stop()
    expect(await linesOf(store.reader, small)).to.deep.equal({ x: 1 })
    const second = start({ stream, writer: store.writer })
    await second.until(({ position }) => position >= head)
    await second.stop()
    expect(await linesOf(store.reader, small)).to.deep.equal({ x: 1 })
    expect(await linesOf(store.reader, acme)).to.deep.equal({ a: 40, b: 40, c: 40 })
  })

  it('leaves out what cannot be folded when it looks ahead, and folds the rest', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const strict: Projection = {
      ...counting,
      fold(one, documents) {
        if (one.logs().some(({ message }) => message === 'poison'))
          throw new PermanentError({ operation: 'fold', subject: 'poison' })
        counting.fold(one, documents)
      },
    }
    await stream.append([
      ...backlog(1, 40),
      lineEvent(100, ['poison'], 'small'),
      ...backlog(200, 3),
      lineEvent(300, ['x'], 'small'),
    ])
    const head = await stream.head()
    const run = start({ stream, writer: store.writer, projections: [strict] })
    const early = await run.until((heartbeat) => reachedFor(heartbeat, small) >= head)
    expect(early.position, 'ahead of its turn').to.be.below(head)
    expect(await linesOf(store.reader, small)).to.deep.equal({ x: 1 })
    await run.until(({ position }) => position > head)
    await run.stop()
    expect(await linesOf(store.reader, acme)).to.deep.equal({ a: 43, b: 43, c: 43 })
    expect(await linesOf(store.reader, small)).to.deep.equal({ x: 1 })
    const letters = await createDeadLetters({ stream, clock: () => 0 }).letters(strict)
    expect(letters.map(({ state }) => state)).to.deep.equal(['open'])
  })

  it('folds all that stands before what cannot be read, and ends there as without looking ahead', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await stream.append([...backlog(1, 40), lineEvent(100, ['x'], 'small')])
    const whole = await stream.head()
    await stream.append([lineEvent(101, ['damaged'], 'small')])
    const broken: Stream = {
      ...stream,
      read: async (after, max) => {
        if (after >= whole) throw new PermanentError({ operation: 'read', subject: 'a damaged event' })
        return (await stream.read(after, max)).filter(({ position }) => position <= whole)
      },
    }
    const run = start({ stream: broken, writer: store.writer })
    const failure: unknown = await run.ended.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(PermanentError)
    expect(await linesOf(store.reader, acme)).to.deep.equal({ a: 40, b: 40, c: 40 })
    expect(await store.writer.checkpoint(index)).to.include({ position: whole })
  })

  it('looks no further in a log that ends before what it has read', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await stream.append([...backlog(1, 40), lineEvent(100, ['x'], 'small')])
    const head = await stream.head()
    let isLost = false
    const lost: Stream = {
      ...stream,
      head: async () => (isLost ? positionStep * 20 : stream.head()),
      read: async (after, max) => {
        if (isLost && after > positionStep * 20) throw new PermanentError({ operation: 'read', subject: 'a lost tail' })
        return stream.read(after, max)
      },
    }
    const writer: IndexWriter = {
      ...store.writer,
      write: async (name, entries, checkpoint) => {
        await store.writer.write(name, entries, checkpoint)
        isLost ||= checkpoint.isAhead === true && checkpoint.position >= head
      },
    }
    const failure: unknown = await start({ stream: lost, writer }).ended.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(PermanentError)
    expect((await store.writer.checkpoint(index)).position).to.be.below(positionStep * 20)
  })

  it('goes by the backlog that there is, not by one that was', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const run = start({ stream, writer: store.writer })
    await stream.append(backlog(1, 200))
    await run.until(await atHead(stream))
    const burst = Array.from({ length: 40 }, (_, n) => lineEvent(1_000 + n, ['a', 'b', 'c'], 'small'))
    await stream.append([...burst, lineEvent(2_000, ['x'], 'third')])
    const head = await stream.head()
    const early = await run.until((told) => reachedFor(told, third) >= head)
    expect(early.position).to.be.below(head)
    expect(reachedFor(early, small), 'the burst waits').to.be.below(head)
    await run.until(({ position }) => position >= head)
    await run.stop()
    expect(await linesOf(store.reader, third)).to.deep.equal({ x: 1 })
  })

  it('goes on looking ahead for the others when one of its projections has failed in that', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const late = (n: number) => lineEvent(100 + n, [`x${n}`], 'small')
    await stream.append([...backlog(1, 60), late(1), ...backlog(200, 30), late(2)])
    const head = await stream.head()
    let failures = 1
    const writer: IndexWriter = {
      ...store.writer,
      write: async (name, entries, checkpoint) => {
        if (name.startsWith('counting') && checkpoint.isAhead === true && failures-- > 0) {
          run.tick()
          throw new TransientError({ operation: 'write', subject: 'an index that is away' })
        }
        await store.writer.write(name, entries, checkpoint)
      },
    }
    const run = start({ stream, writer, projections: [counting, mirror] })
    const early = await run.until((told, name) => name.startsWith('mirror') && reachedFor(told, small) >= head)
    expect(early.position, 'ahead of its turn').to.be.below(head)
    await run.until(({ position }, name) => name.startsWith('counting') && position >= head)
    await run.stop()
    expect(await linesOf(store.reader, small)).to.deep.equal({ x1: 1, x2: 1 })
    expect(await linesOf(store.reader, acme)).to.deep.equal({ a: 90, b: 90, c: 90 })
  })

  it('erases a workspace when it looks ahead, and keeps what that has sent since', async () => {
    const erasure = sealErasure(small, { at: Date.UTC(2026, 10, 22, 3), unique: '0'.repeat(32) })
    const { found, inTheEnd } = await whenFound([
      lineEvent(100, ['gone'], 'small'),
      erasure,
      lineEvent(120, ['new'], 'small'),
    ])
    expect(found).to.deep.include({ found: { new: 1 }, behind: true })
    expect(inTheEnd.small).to.deep.equal({ new: 1 })
  })
})
