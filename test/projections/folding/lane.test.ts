import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { openLane } from '#projections/folding/lane.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { lagMs, type IndexWriter, type Progress } from '#projections/index-store.ts'
import { beforeAll, noCounts, positionStep, type NewEvent, type Position } from '#src/events/envelope.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { readCurrent } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting, lineDecoders, lineEvent } from '#test/support/line-projections.ts'
import { append } from '#test/support/projector-run.ts'
import { promote } from '#test/support/promote.ts'

const index = 'counting-v1-001'

describe('a lane', () => {
  it('writes of a batch first what is of those who have sent least, whoever came first', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const { writer } = createMemoryIndexStore()
    const given = [
      ['much', 500],
      ['little', 1],
      ['much', 500],
      ['some', 20],
    ] as const
    await stream.append(
      given.map(([workspace, bytes], n) => ({
        ...lineEvent(n, ['line'], workspace),
        counts: { ...noCounts, logs: 1, bytes },
      })),
    )
    const written: string[] = []
    const watched: IndexWriter = {
      ...writer,
      write: async (index, entries, checkpoint) => {
        written.push(...entries.map(({ workspaceId }) => workspaceId))
        await writer.write(index, entries, checkpoint)
      },
    }
    const decode = createDecoder(lineDecoders)
    const lane = await openLane(counting, index, {
      writer: watched,
      epoch: stream.epoch,
      clock: () => 0,
      limits: { cachedDocumentsMax: 10, cachedBytesMax: 1e6 },
      decode,
      deadLetters: createDeadLetters({ stream, clock: () => 0 }),
    })
    const events = await readCurrent(stream, beforeAll, 10)
    await lane.fold(events.map(decode), events.at(-1)?.position ?? 0)
    expect(written).to.deep.equal(['little', 'some', 'much'])
  })
})

describe('a lane that folds what it has had, or cannot take', () => {
  /** A lane over a log of these lines, an event each, and how often the index has each. */
  async function start(
    lines: readonly string[],
    projection = counting,
    more: readonly NewEvent[] = [],
    spoilt: (writer: IndexWriter) => Partial<IndexWriter> = () => ({}),
  ) {
    const stream = createMemoryStream({ partition: '0' })
    const { writer: own, dump } = createMemoryIndexStore()
    const writer: IndexWriter = { ...own, ...spoilt(own) }
    await append(
      stream,
      lines.map((line) => [line]),
    )
    if (more.length > 0) await stream.append(more)
    const decode = createDecoder(lineDecoders)
    const deadLetters = createDeadLetters({ stream, clock: () => 0 })
    const limits = { cachedDocumentsMax: 10, cachedBytesMax: 1e6 }
    const options = { writer, epoch: stream.epoch, clock: () => 0, limits, decode, deadLetters }
    const lane = await openLane(projection, index, options)
    const events = (await readCurrent(stream, beforeAll, 10)).map(decode)
    const counted = () =>
      Object.fromEntries(
        dump(index)
          .filter(({ entry }) => entry.collection === 'counters')
          .map(({ entry }) => [entry.id, (entry.document as { lines: number }).lines]),
      )
    const fold = (count: number) => lane.fold(events.slice(0, count), events[count - 1]?.event.position ?? 0)
    const foldAhead = (one: number) =>
      lane.foldAhead(events.slice(one, one + 1), {
        position: events[one]?.event.position ?? 0,
        caughtUpAt: 0,
        behind: new Map(),
      })
    const reopen = () => openLane(projection, index, options)
    const told = async (by = lane, head = events.at(-1)?.event.position ?? 0) => {
      await by.heartbeat(head)
      return (await writer.builds('counting'))[0]?.heartbeat
    }
    return { lane, writer, dump, fold, foldAhead, counted, told, reopen }
  }

  it('does not go back, and counts nothing twice', async () => {
    const { lane, fold, counted } = await start(['a', 'a', 'b'])
    await fold(3)
    const position = lane.position()
    await fold(1)
    expect(lane.position()).to.equal(position)
    await fold(3)
    expect(counted()).to.deep.equal({ a: 2, b: 1 })
  })

  it('takes of a batch what it has not had: others may have less', async () => {
    let asked = new Set<Position>()
    const watched: typeof counting = {
      ...counting,
      needs(event, loaded) {
        asked.add(event.event.position)
        return counting.needs(event, loaded)
      },
    }
    const { fold, foldAhead, counted } = await start(['a', 'a', 'b', 'b'], watched)
    await fold(2)
    asked = new Set()
    await fold(3)
    expect([...asked]).to.deep.equal([3 * positionStep])
    expect(counted()).to.deep.equal({ a: 2, b: 1 })
    await foldAhead(3)
    asked = new Set()
    await fold(4)
    expect([...asked], 'what was folded ahead of its turn').to.deep.equal([])
    expect(counted()).to.deep.equal({ a: 2, b: 2 })
  })

  it('folds what was received a day before as if it knew nothing of the day after: a start in between would not', async () => {
    const { fold, dump } = await start(
      [],
      counting,
      [40, 1, 41].map((n) => lineEvent(n, ['a'])),
    )
    await fold(3)
    const counters = dump(index).filter(({ entry }) => entry.collection === 'counters')
    expect(counters.map(({ entry: { day, document } }) => [day, document])).to.have.deep.members([
      ['2026-11-21', { name: 'a', lines: 1 }],
      ['2026-11-22', { name: 'a', lines: 2 }],
    ])
  })

  it('tells of the furthest event that it has had, also where it goes on behind it', async () => {
    const { fold, foldAhead, told } = await start(['a', 'b', 'c'])
    await foldAhead(2)
    await fold(1)
    expect((await told())?.last?.position).to.equal(3 * positionStep)
  })

  it('tells of it still when it is opened again, before it has folded anything', async () => {
    const { fold, told, reopen } = await start(['a'])
    await fold(1)
    const last = (await told())?.last
    expect(last?.position).to.equal(positionStep)
    expect((await told(await reopen()))?.last).to.deep.equal(last)
  })

  it('is never beyond the head, where the copy of the log that answers is behind', async () => {
    const { lane, fold, told } = await start(['a', 'b'])
    await fold(2)
    expect(await told(lane, positionStep)).to.include({ position: 2 * positionStep, head: 2 * positionStep })
  })

  it('carries out each erasure of a batch, before what comes behind it', async () => {
    const erased = (name: string) => sealErasure(workspaceIdOf(name), { at: 5, unique: name.padEnd(32, '0') })
    const more = [lineEvent(9, ['b'], 'other'), erased('acme'), erased('other'), lineEvent(10, ['c'])]
    const { fold, counted } = await start(['a'], counting, more)
    await fold(5)
    expect(counted()).to.deep.equal({ c: 1 })
  })

  it('has not had an erasure that was broken off: whoever goes on carries it out', async () => {
    const erasure = sealErasure(workspaceIdOf('acme'), { at: 5, unique: '0'.repeat(32) })
    const away = new TransientError({ operation: 'erase', subject: 'an index that is away' })
    const eraseWorkspace = (): Promise<void> => Promise.reject(away)
    const { writer, fold } = await start(['a'], counting, [erasure], () => ({ eraseWorkspace }))
    expect(await fold(2).catch((error: unknown) => error)).to.equal(away)
    expect((await writer.checkpoint(index)).position).to.be.within(positionStep, 2 * positionStep - 1)
  })

  it('keeps nothing of the half that was folded of an event which is left out', async () => {
    const halfway: typeof counting = {
      ...counting,
      fold(event, documents) {
        counting.fold(event, documents)
        const isBad = event.event.position === 2 * positionStep
        if (isBad) throw new PermanentError({ operation: 'fold', subject: 'the second event' })
      },
    }
    const { fold, counted } = await start(['a', 'a', 'a'], halfway)
    await fold(3)
    expect(counted()).to.deep.equal({ a: 2 })
  })
})

describe('a lane of an index that never comes to the head of its log', () => {
  /** Folds the first of three events and beats; `clockMs` tells the time by when that event came. */
  async function heartbeatAfterOne(clockMs: (receivedAt: number) => number): Promise<number[]> {
    const stream = createMemoryStream({ partition: '0' })
    const { writer, reader } = createMemoryIndexStore()
    await append(stream, [['a'], ['b'], ['c']])
    const [first] = await readCurrent(stream, beforeAll, 1)
    const receivedAt = first?.receivedAt ?? 0
    let now = receivedAt - 60_000
    const clock = (): number => now
    const deadLetters = createDeadLetters({ stream, clock })
    const limits = { cachedDocumentsMax: 10, cachedBytesMax: 1e6 }
    const decode = createDecoder(lineDecoders)
    const lane = await openLane(counting, index, { writer, epoch: stream.epoch, clock, limits, decode, deadLetters })
    await promote(writer, 'counting', index)
    now = clockMs(receivedAt)
    await lane.fold([first!].map(decode), first?.position ?? 0)
    await lane.heartbeat(await stream.head())
    const { at = 0, caughtUpAt = 0 } = (await reader.progress('counting')) ?? {}
    return [at - receivedAt, caughtUpAt - receivedAt]
  }

  it('tells how old the last is that it has folded, not since when it is behind', async () => {
    expect(await heartbeatAfterOne((receivedAt) => receivedAt + 7_000)).to.deep.equal([7_000, 0])
  })

  it('does not forget that it had all, by an event that was received before', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const { writer } = createMemoryIndexStore()
    await append(stream, [['a'], ['b']])
    const events = await readCurrent(stream, beforeAll, 1)
    const caughtUpAt = (events[0]?.receivedAt ?? 0) + 1_000
    const clock = (): number => caughtUpAt
    const limits = { cachedDocumentsMax: 10, cachedBytesMax: 1e6 }
    const decode = createDecoder(lineDecoders)
    const options = { writer, epoch: stream.epoch, clock, limits, decode }
    const lane = await openLane(counting, index, { ...options, deadLetters: createDeadLetters({ stream, clock }) })
    await lane.heartbeat(beforeAll)
    await lane.fold(events.map(decode), events[0]?.position ?? 0)
    await lane.heartbeat(await stream.head())
    expect((await writer.builds('counting'))[0]?.heartbeat.caughtUpAt).to.equal(caughtUpAt)
  })

  it('tells how long more has waited by the clock as it is, where that was set back since it had all', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const { writer, reader } = createMemoryIndexStore()
    await append(stream, [['a'], ['b']])
    const [first] = await readCurrent(stream, beforeAll, 1)
    const { position = 0, receivedAt = 0 } = first ?? {}
    let now = receivedAt + 3 * 3_600_000
    const clock = (): number => now
    const limits = { cachedDocumentsMax: 10, cachedBytesMax: 1e6 }
    const decode = createDecoder(lineDecoders)
    const options = { writer, epoch: stream.epoch, clock, limits, decode }
    const lane = await openLane(counting, index, { ...options, deadLetters: createDeadLetters({ stream, clock }) })
    await promote(writer, 'counting', index)
    await lane.fold([first!].map(decode), position)
    await lane.heartbeat(position)
    await lane.foldAhead([], { position: 2 * position, caughtUpAt: now, behind: new Map() })
    const head = await stream.head()
    now = receivedAt
    await lane.heartbeat(head)
    now += 90_000
    await lane.heartbeat(head)
    const { caughtUpAt = 0, ahead, ...told } = (await reader.progress('counting')) ?? {}
    expect(lagMs({ ...told, caughtUpAt } as Progress, now)).to.equal(90_000)
    expect(ahead?.caughtUpAt).to.equal(receivedAt)
  })

  it('knows nothing of times to come, where a clock was set back', async () => {
    expect(await heartbeatAfterOne((receivedAt) => receivedAt - 30_000)).to.deep.equal([-30_000, -30_000])
  })
})
