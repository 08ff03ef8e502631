import { expect } from 'chai'
import type { Decoders } from '#projections/folding/decoded-event.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { present } from '#src/lib/assert.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, failingTwice, lineDecoders, mirror } from '#test/support/line-projections.ts'
import { createRandom } from '#test/support/random.ts'
import { append, atHead, start, totals } from '#test/support/projector-run.ts'
import { positionStep } from '#src/events/envelope.ts'
import { liveOf } from '#test/support/promote.ts'

describe('the projector', () => {
  it('folds a log into a new index that readers can use at once, and follows it', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, [['a', 'b'], ['a']])
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    expect(await liveOf(store.writer, 'counting')).to.equal('counting-v1-001')
    expect(await totals(store.reader)).to.deep.equal({ a: 2, b: 1 })
    await append(stream, [['b']], 3)
    await run.until(await atHead(stream))
    expect(await totals(store.reader)).to.deep.equal({ a: 2, b: 2 })
    await run.stop()
  })

  it('hears that it is to stop while there is ever more to fold', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, [['a']])
    let reads = 0
    const endless: Stream = {
      ...stream,
      read: async (...given) => {
        if (++reads === 2_000) throw new PermanentError({ operation: 'stop', subject: 'a projector that is not told' })
        await append(stream, [['a']], reads + 1)
        return stream.read(...given)
      },
    }
    const run = start({ stream: endless, writer: store.writer, turn: systemTimers.turn })
    await run.until(({ position }) => position > positionStep)
    await new Promise((resolve) => setImmediate(resolve))
    await run.stop()
    expect(reads).to.be.below(2_000)
  })

  it('decodes each event once for all projections', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    let decoded = 0
    const decoders: Decoders = { ...lineDecoders, logs: (...given) => (decoded++, lineDecoders.logs(...given)) }
    await append(stream, [['a'], ['b'], ['c'], ['d'], ['e']])
    const run = start({ stream, writer: store.writer, projections: [counting, mirror], decoders })
    const wanted = await atHead(stream)
    await run.until((heartbeat, index) => wanted(heartbeat) && index.startsWith('mirror'))
    expect(await totals(store.reader, 'mirror')).to.deep.equal({ a: 1, b: 1, c: 1, d: 1, e: 1 })
    expect(decoded).to.equal(5)
    await run.stop()
  })

  it('tells readers that it is alive while nothing comes, and since when it stood at the head', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const run = start({ stream, writer: store.writer })
    await run.until(() => true)
    run.tick()
    const first = await run.until(() => true)
    run.tick()
    const second = await run.until(({ at }) => at > first.at)
    expect(second).to.deep.equal({ position: 0, head: 0, at: first.at + 1_000, caughtUpAt: first.at + 1_000 })
    expect(await store.reader.progress('counting')).to.deep.equal({ index: 'counting-v1-001', after: 0, ...second })
    await run.stop()
  })

  it('tells readers that it is behind before it folds what came while it stood at the head', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    let progress: unknown
    const writer: IndexWriter = {
      ...store.writer,
      write: async (...given) => {
        progress = await store.reader.progress('counting')
        return store.writer.write(...given)
      },
    }
    const run = start({ stream, writer })
    await run.until(() => true)
    await append(stream, [['a']])
    const head = await stream.head()
    await run.until(await atHead(stream))
    expect(progress).to.deep.include({ position: 0, head })
    await run.stop()
  })

  it('tells since when it is behind, across a start; an index that never stood at the head, from then on', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const behind: number[] = []
    const writer: IndexWriter = {
      ...store.writer,
      heartbeat: async (index, heartbeat) => {
        if (heartbeat.position < heartbeat.head) behind.push(heartbeat.caughtUpAt)
        return store.writer.heartbeat(index, heartbeat)
      },
    }
    await append(stream, [['a']])
    const first = start({ stream, writer })
    const begun = first.clock()
    await first.until(await atHead(stream))
    expect(behind.splice(0)).to.deep.equal([begun])
    first.tick()
    const { at } = await first.until((heartbeat) => heartbeat.at > begun)
    await first.stop()
    await append(stream, [['b']], 2)
    const second = start({ stream, writer, time: first })
    await second.until(await atHead(stream))
    expect(behind).to.deep.equal([at])
    await second.stop()
  })

  it('writes no more records at once than a batch may hold, but whole events', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const lines = (count: number): readonly string[] => Array.from({ length: count }, () => 'a')
    await append(stream, [lines(2), lines(3), lines(9), lines(1)])
    const checkpoints: number[] = []
    const writer: IndexWriter = {
      ...store.writer,
      write: async (name, entries, checkpoint) => {
        checkpoints.push(checkpoint.position / positionStep)
        return store.writer.write(name, entries, checkpoint)
      },
    }
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    expect(checkpoints).to.deep.equal([2, 3, 4])
    expect(await totals(store.reader)).to.deep.equal({ a: 15 })
    await run.stop()
  })

  it('goes on after its checkpoint when it starts again', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, [['a']])
    const before = start({ stream, writer: store.writer })
    await before.until(await atHead(stream))
    await before.stop()
    await append(stream, [['a', 'b']], 2)
    const decoded: number[] = []
    const decoders: Decoders = {
      ...lineDecoders,
      open: (event) => (decoded.push(event.position), lineDecoders.open(event)),
    }
    const after = start({ stream, writer: store.writer, decoders })
    await after.until(await atHead(stream))
    expect(await totals(store.reader)).to.deep.equal({ a: 2, b: 1 })
    expect(decoded).to.deep.equal([await stream.head()])
    await after.stop()
  })

  it('starts a new build for another log, and moves readers to it only when it has caught up', async () => {
    const store = createMemoryIndexStore()
    const first = createMemoryStream({ partition: '0', epoch: 'first' })
    await append(first, [['old']])
    const before = start({ stream: first, writer: store.writer })
    await before.until(await atHead(first))
    await before.stop()
    const second = createMemoryStream({ partition: '0', epoch: 'second' })
    await append(second, [['a'], ['b'], ['c'], ['d'], ['e'], ['f']])
    const lives: (string | undefined)[] = []
    const promoted = Promise.withResolvers<void>()
    const writer: IndexWriter = {
      ...store.writer,
      async changeRoster(projection, roster) {
        const changed = await store.writer.changeRoster(projection, roster)
        if (roster.live === 'counting-v1-002') promoted.resolve()
        return changed
      },
      async write(...given) {
        lives.push(await liveOf(store.writer, 'counting'))
        await store.writer.write(...given)
      },
    }
    const after = start({ stream: second, writer })
    await promoted.promise
    expect(await liveOf(store.writer, 'counting')).to.equal('counting-v1-002')
    expect(lives).to.deep.equal(['counting-v1-001', 'counting-v1-001'])
    expect(await totals(store.reader)).to.deep.equal({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })
    await after.stop()
  })

  it('gives up what readers have left of another log at once, and keeps that of its own', async () => {
    const store = createMemoryIndexStore()
    const untilMs = Number.MAX_SAFE_INTEGER
    const [own, other] = ['counting-v1-003', 'counting-v1-002']
    const stream = createMemoryStream({ partition: '0', epoch: 'this' })
    for (const [index, epoch] of [
      ['counting-v1-001', 'this'],
      [other, 'another'],
      [own, 'this'],
    ] as const) {
      await store.writer.open(index, withSeenEvents(counting), epoch)
    }
    const followed = [other, own].map((index) => ({ index, as: 'kept', untilMs }) as const)
    const { revision } = await store.writer.roster('counting')
    await store.writer.changeRoster('counting', { revision, live: 'counting-v1-001', followed })
    await append(stream, [['a']])
    const run = start({ stream, writer: store.writer })
    await run.until(await atHead(stream))
    await run.stop()
    expect((await store.writer.builds('counting')).map(({ index }) => index)).to.deep.equal(['counting-v1-001', own])
    const left = [
      { index: own, as: 'kept', untilMs },
      { index: other, as: 'gone' },
    ]
    expect((await store.writer.roster('counting')).followed).to.deep.equal(left)
  })

  it('stops the projection that fails beside what is stored, alone and visibly, and skips nothing', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const failures: ProjectionFailure[] = []
    const strict: Projection = { ...failingTwice, name: 'mirror' }
    await append(stream, [['a'], ['b'], ['c'], ['d'], ['twice'], ['e'], ['twice']])
    const run = start({ stream, writer: store.writer, projections: [strict, counting], failures })
    await run.until(await atHead(stream))
    run.tick()
    await run.until(({ at }) => at > 1_000_000)
    expect(await totals(store.reader)).to.include({ twice: 2, e: 1 })
    const [failure] = failures
    expect(failure).to.include({ projection: 'mirror', retried: false })
    expect(String(failure?.error)).to.equal('TypeError: undefined is not a word')
    expect(await totals(store.reader, 'mirror')).to.deep.equal({ a: 1, b: 1, c: 1, d: 1 })
    const progress = await store.reader.progress('mirror')
    expect(progress).to.include({ at: 1_000_000 })
    expect(progress?.position).to.be.below(progress?.head ?? 0)
    await run.stop()
  })

  it('ends with the failure when no projection is left', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, [['a'], ['a']])
    const failure: unknown = await start({ stream, writer: store.writer, projections: [failingTwice] }).ended.catch(
      (error: unknown) => error,
    )
    expect(String(failure)).to.equal('TypeError: undefined is not a word')
    expect(await store.writer.checkpoint('counting-v1-001')).to.include({ position: 0 })
  })

  it('ends when the log cannot be read', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const broken: Stream = {
      ...stream,
      read: () => Promise.reject(new PermanentError({ operation: 'read', subject: 'x' })),
    }
    const { writer } = createMemoryIndexStore()
    const failure: unknown = await start({ stream: broken, writer }).ended.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(PermanentError)
  })

  it('tries again what passes by itself, with each heartbeat', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const failures: ProjectionFailure[] = []
    let left = 3
    const writer: IndexWriter = {
      ...store.writer,
      write: async (...given) => {
        if (left-- <= 0) return store.writer.write(...given)
        setImmediate(() => run.tick())
        throw new TransientError({ operation: 'write', subject: 'disk full' })
      },
    }
    await append(stream, [['a'], ['a', 'b']])
    const run = start({ stream, writer, failures })
    await run.until(await atHead(stream))
    expect(failures.map(({ retried }) => retried)).to.deep.equal([true, true, true])
    expect(await totals(store.reader)).to.deep.equal({ a: 2, b: 1 })
    await run.stop()
  })

  it('folds on into the indexes that answer while another does not, which then misses nothing', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const failures: ProjectionFailure[] = []
    let isAway = false
    const writer: IndexWriter = {
      ...store.writer,
      write: async (index, ...given) => {
        if (isAway && index.startsWith('mirror'))
          throw new TransientError({ operation: 'write', subject: 'a red index' })
        await store.writer.write(index, ...given)
      },
    }
    await append(stream, [['a'], ['b']])
    const run = start({ stream, writer, projections: [mirror, counting], failures })
    await run.until(await atHead(stream))
    isAway = true
    const lines = Array.from({ length: 12 }, (_, n) => [`line ${n}`])
    await append(stream, lines, 10)
    const head = await stream.head()
    await run.until(({ position }, index) => index.startsWith('counting') && position >= head)
    run.tick()
    await run.until(({ at }, index) => index.startsWith('counting') && at > 1_000_000)
    expect((await store.reader.progress('mirror'))?.position).to.be.below(head)
    expect(Object.keys(await totals(store.reader))).to.have.length(14)
    isAway = false
    run.tick()
    await run.until(({ position }, index) => index.startsWith('mirror') && position >= head)
    expect(await totals(store.reader, 'mirror')).to.deep.equal(await totals(store.reader))
    expect(failures.every(({ projection, retried }) => projection === 'mirror' && retried)).to.equal(true)
    expect(failures).to.not.be.empty
    await run.stop()
  })

  for (const seed of [11, 12, 13, 14]) {
    it(`gives the same index through crashes at any step (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const stream = createMemoryStream({ partition: '0', epoch: 'epoch' })
      for (let n = 1; n <= 40; n++) {
        const lines = Array.from({ length: 1 + random.below(3) }, () => random.pick(['a', 'b', 'c', 'd']))
        await append(stream, [lines], n)
      }
      const store = createMemoryIndexStore()
      /** A crash after part of a batch was written: entries one by one, then the checkpoint. */
      const crashing: IndexWriter = {
        ...store.writer,
        async write(index, entries, checkpoint) {
          const all = entries.flatMap(({ workspaceId, entries }) => entries.map((entry) => ({ workspaceId, entry })))
          for (const { workspaceId, entry } of all) {
            if (random.chance(0.1)) throw new PermanentError({ operation: 'write', subject: 'a crash' })
            await store.writer.write(index, [{ workspaceId, entries: [entry] }], { ...checkpoint, position: 0 })
          }
          if (random.chance(0.1)) throw new PermanentError({ operation: 'write', subject: 'a crash' })
          await store.writer.write(index, [], checkpoint)
        },
      }
      const head = await stream.head()
      let crashes = 0
      while ((await store.writer.checkpoint('counting-v1-001')).position < head) {
        const run = start({ stream, writer: crashing })
        await Promise.race([run.until(({ position }) => position >= head), run.ended.catch(() => crashes++)])
        await run.stop().catch(() => {})
      }
      const plain: MemoryIndexStore = createMemoryIndexStore()
      const run = start({ stream, writer: plain.writer })
      await run.until(({ position }) => position >= head)
      await run.stop()
      expect(crashes).to.be.above(0)
      expect(store.dump('counting-v1-001')).to.deep.equal(plain.dump('counting-v1-001'))
      expect(present(plain.dump('counting-v1-001')[0], 'entries')).to.have.property('workspaceId', 'acme')
    })
  }
})
