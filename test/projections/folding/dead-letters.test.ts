import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import type { Decoders } from '#projections/folding/decoded-event.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import {
  deadLettersAfter,
  deadLettersSubject,
  decodeDeadLetterEvent,
  isDeadLetterDecision,
} from '#src/events/dead-letter.ts'
import { positionStep, type RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeJetStreamLog, newPrefix } from '#test/streams/jetstream-log.ts'
import { makeLogFolder } from '#test/support/log-folder.ts'
import { readAll } from '#test/support/read-all.ts'
import { memoryContext, sqliteContext } from '#test/support/build-context.ts'
import { removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import { createRandom } from '#test/support/random.ts'
import { counting, failingOn, lineDecoders, lineEvent, mirror } from '#test/support/line-projections.ts'
import { append, atHead, start, totals, untilAtRest } from '#test/support/projector-run.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

const index = 'counting-v1-001'

/** The mended program has `lineDecoders`. */
const failing = failingOn('poison')

const decisions = async (stream: Stream): Promise<readonly RecordedEvent[]> =>
  (await readAll(stream)).filter(isDeadLetterDecision)
const lettersOf = async (stream: Stream, name = 'counting') =>
  deadLettersAfter(await stream.last(deadLettersSubject({ name, version: 1 })), stream.epoch)
const deadLetters = (stream: Stream) => createDeadLetters({ stream, clock: () => 5 })

const places = {
  memory: async () => {
    const store = createMemoryIndexStore()
    return {
      stream: createMemoryStream({ partition: '0' }),
      context: (given: Parameters<typeof memoryContext>[0]): BuildContext => memoryContext(given, store),
      writer: () => store.writer,
      reader: () => store.reader,
      remove: async () => {},
    }
  },
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-dead-letters-'))
    const log = await makeLogFolder()
    const stream: Stream = await log.open()
    return {
      stream,
      context: (given: Parameters<typeof sqliteContext>[0]): BuildContext => sqliteContext(given, folder),
      writer: () => createSqliteIndexWriter({ folder, limits }),
      reader: () => createSqliteIndexReader({ folder, limits }),
      remove: async () => {
        await stream.close()
        await log.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
  jetstream: async () => {
    const store = createMemoryIndexStore()
    const log = await makeJetStreamLog()
    const stream: Stream = await log.open()
    return {
      stream,
      context: (given: Parameters<typeof memoryContext>[0]): BuildContext => memoryContext(given, store),
      writer: () => store.writer,
      reader: () => store.reader,
      remove: async () => {
        await stream.close()
        await log.remove()
      },
    }
  },
}

for (const [name, create] of Object.entries(places)) {
  describe(`dead letters, ${name}`, () => {
    let place: Awaited<ReturnType<typeof create>>
    let stream: Stream
    beforeEach(async () => {
      place = await create()
      ;({ stream } = place)
    })
    afterEach(() => place.remove())

    /** A projector with these decoders follows the log to where it rests, with what it decides itself. */
    const foldAll = async (
      decoders: Decoders,
      failures: ProjectionFailure[] = [],
    ): Promise<Readonly<Record<string, number>>> => {
      const writer = place.writer()
      const run = start({ stream, writer, decoders, failures })
      await untilAtRest(stream, run)
      await run.stop()
      await writer.close()
      const reader = place.reader()
      const found = await totals(reader)
      await reader.close()
      return found
    }
    const verifyNow = async (decoders: Decoders) => {
      const context = place.context({ stream, decoders, projections: [counting] })
      return verify(context, await liveBuilds(context, ['counting']))
    }
    const rebuildNow = (decoders: Decoders) =>
      rebuild(place.context({ stream, decoders, projections: [counting] }), [counting])
    const totalsNow = async () => {
      const reader = place.reader()
      const found = await totals(reader)
      await reader.close()
      return found
    }

    it('are left out, while the rest is folded, by a decision in the log that says why', async () => {
      await append(stream, [['a'], ['b', 'poison'], ['c'], ['b'], ['d']])
      const failures: ProjectionFailure[] = []
      expect(await foldAll(failing, failures)).to.deep.equal({ a: 1, b: 1, c: 1, d: 1 })
      expect(failures).to.deep.equal([])
      const [put, ...more] = await decisions(stream)
      expect(more).to.deep.equal([])
      expect(put).to.deep.include({ type: 'deadletter.put', workspaceId: 'acme', subject: 'deadletters.counting.v1' })
      expect(put && decodeDeadLetterEvent(put)).to.deep.include({
        projection: 'counting',
        version: 1,
        position: 2 * 4096,
      })
      const why = (await readAll(stream)).find(({ type }) => type === 'deadletter.explained')
      expect(why).to.deep.include({ workspaceId: 'acme' }).and.not.have.property('subject')
      expect(await lettersOf(stream)).to.deep.equal([{ position: 8192, state: 'open', put: why?.position }])
      const [letter] = await deadLetters(stream).letters(counting)
      expect(letter && (await deadLetters(stream).reason(letter))).to.equal(
        'decode logs.received at 8192: cannot read poison',
      )
      expect((await deadLetters(stream).event(8192))?.payload).to.deep.equal(lineEvent(2, ['b', 'poison']).payload)
    })

    it('are left out by rebuild and verify, also of a program that can fold them', async () => {
      await append(stream, [['a'], ['poison'], ['b']])
      await foldAll(failing)
      for (const decoders of [failing, lineDecoders]) {
        expect((await verifyNow(decoders)).map(({ equal }) => equal)).to.deep.equal([true])
        const [rebuilt] = await rebuildNow(decoders)
        expect(rebuilt).to.deep.include({ outcome: 'moved' })
        expect(await totalsNow()).to.deep.equal({ a: 1, b: 1 })
      }
      expect(await decisions(stream)).to.have.length(1)
    })

    it('are decided by a rebuild that meets them first, and found so by the projector', async () => {
      await append(stream, [['a'], ['poison'], ['b']])
      await rebuildNow(failing)
      expect(await lettersOf(stream)).to.have.length(1)
      expect(await totalsNow()).to.deep.equal({ a: 1, b: 1 })
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1, b: 1 })
      expect((await verifyNow(lineDecoders))[0]).to.include({ equal: true })
    })

    it('are never decided by verify', async () => {
      await append(stream, [['a'], ['poison'], ['b']])
      await foldAll(lineDecoders)
      const head = await stream.head()
      const failure: unknown = await verifyNow(failing).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(PermanentError)
      expect(String(failure)).to.match(/fold counting at 8192: .*cannot read poison \(nobody has decided/)
      expect(await stream.head()).to.equal(head)
    })

    it('are folded where a retry stands, by the projector as by rebuild and verify', async () => {
      await append(stream, [['a'], ['poison', 'a'], ['b']])
      await foldAll(failing)
      expect(await deadLetters(stream).settle(counting, 8192, 'retried')).to.equal('open')
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 2, b: 1, poison: 1 })
      expect((await lettersOf(stream)).map(({ state }) => state)).to.deep.equal(['retried'])
      expect((await verifyNow(lineDecoders))[0]).to.include({ equal: true })
      const [rebuilt] = await rebuildNow(lineDecoders)
      expect(rebuilt).to.deep.include({ outcome: 'moved' })
      expect(await totalsNow()).to.deep.equal({ a: 2, b: 1, poison: 1 })
    })

    it('are told again where a retry fails, which may be retried likewise', async () => {
      await append(stream, [['a'], ['poison']])
      await foldAll(failing)
      await deadLetters(stream).settle(counting, 8192, 'retried')
      const retriedAt = await stream.head()
      await foldAll(failing)
      const letters = await lettersOf(stream)
      expect(letters.map(({ position, state }) => [position, state])).to.deep.equal([
        [8192, 'retried'],
        [retriedAt, 'open'],
      ])
      expect((await deadLetters(stream).event(retriedAt))?.position).to.equal(8192)
      await deadLetters(stream).settle(counting, retriedAt, 'retried')
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1, poison: 1 })
      expect((await verifyNow(lineDecoders))[0]).to.include({ equal: true })
    })

    it('that came again meanwhile, and were folded then, count once', async () => {
      const event = lineEvent(2, ['poison'])
      await stream.append([lineEvent(1, ['a']), event])
      await foldAll(failing)
      // Two hours later: the log takes it, folds know it for a day.
      await stream.append([{ ...event, receivedAt: event.receivedAt + 7_200_000 }])
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1, poison: 1 })
      await deadLetters(stream).settle(counting, 8192, 'retried')
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1, poison: 1 })
      expect((await verifyNow(lineDecoders))[0]).to.include({ equal: true })
    })

    it('stay out when they are dropped, and may come back after all, once', async () => {
      await append(stream, [['a'], ['poison']])
      await foldAll(failing)
      const letters = deadLetters(stream)
      expect(await letters.settle(counting, 8192, 'dropped')).to.equal('open')
      expect(await letters.settle(counting, 8192, 'dropped')).to.equal('dropped')
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1 })
      expect(await letters.settle(counting, 8192, 'retried')).to.equal('dropped')
      expect(await letters.settle(counting, 8192, 'retried')).to.equal('retried')
      expect(await letters.settle(counting, 8192, 'dropped')).to.equal('retried')
      expect(await letters.settle(counting, 4096, 'retried')).to.equal(undefined)
      expect((await decisions(stream)).map(({ type }) => type)).to.deep.equal([
        'deadletter.put',
        'deadletter.dropped',
        'deadletter.retried',
      ])
      expect(await foldAll(lineDecoders)).to.deep.equal({ a: 1, poison: 1 })
    })

    it('are decided once by all owners at once', async () => {
      await append(stream, [['poison'], ['a'], ['poison', 'b'], ['c'], ['poison']])
      const writers = Array.from({ length: 3 }, () => place.writer())
      const runs = writers.map((writer) => start({ stream, writer, decoders: failing }))
      const wanted = await atHead(stream)
      await Promise.all(runs.map((run) => run.until(wanted)))
      await Promise.all(runs.map((run) => run.stop()))
      await Promise.all(writers.map((writer) => writer.close()))
      expect((await lettersOf(stream)).map(({ position }) => position / 4096)).to.deep.equal([1, 3, 5])
      expect(await decisions(stream)).to.have.length(3)
      expect(await foldAll(failing)).to.deep.equal({ a: 1, c: 1 })
      expect((await verifyNow(failing))[0]).to.include({ equal: true })
    })

    it('of one projection are no other’s', async () => {
      await append(stream, [['a'], ['poison']])
      const strict = {
        ...mirror,
        fold: (...[event, documents]: Parameters<typeof mirror.fold>) => {
          if (event.logs().some(({ message }) => message === 'poison')) {
            throw new PermanentError({ operation: 'fold', subject: 'poison' })
          }
          mirror.fold(event, documents)
        },
      }
      const writer = place.writer()
      const run = start({ stream, writer, projections: [strict, counting] })
      await run.until((heartbeat, of) => of.startsWith('counting') && heartbeat.position >= 3 * 4096)
      await run.stop()
      await writer.close()
      expect(await lettersOf(stream)).to.deep.equal([])
      expect(await lettersOf(stream, 'mirror')).to.have.length(1)
      const reader = place.reader()
      expect(await totals(reader)).to.deep.equal({ a: 1, poison: 1 })
      expect(await totals(reader, 'mirror')).to.deep.equal({ a: 1 })
      await reader.close()
    })
  })
}

/** A log in JetStream, written and read by others, and lines without identity: they share messages. */
async function inSharedMessages(writer: IndexWriter, reader: IndexReader): Promise<void> {
  const log = await makeJetStreamLog()
  const [writing, stream] = [await log.open(), await log.open()]
  const anonymous = (n: number, line: string) => ({ ...lineEvent(n, [line]), identified: false })
  try {
    const lines = ['a', 'poison', 'b', 'a', 'poison', 'c']
    const appended = await Promise.all(lines.map((line, n) => writing.append([anonymous(n, line)])))
    const messages = new Set(appended.map(({ last }) => Math.ceil(last / positionStep)))
    expect(messages.size).to.be.below(lines.length)
    const before = start({ stream, writer, decoders: failing })
    await before.until(({ position }) => position >= (appended.at(-1)?.last ?? 0))
    await before.stop()
    expect(await totals(reader)).to.deep.equal({ a: 2, b: 1, c: 1 })
    const positions = [1, 4].map((n) => appended[n]?.last)
    expect((await lettersOf(stream)).map(({ position }) => position)).to.deep.equal(positions)
    const [, second = 0] = positions
    expect((await deadLetters(stream).event(second))?.id).to.equal(anonymous(4, 'poison').id)
    await deadLetters(stream).settle(counting, second, 'retried')
    const after = start({ stream, writer })
    await after.until(await atHead(stream))
    await after.stop()
    expect(await totals(reader)).to.deep.equal({ a: 2, b: 1, c: 1, poison: 1 })
  } finally {
    await Promise.all([writing.close(), stream.close()])
    await log.remove()
  }
}

describe('dead letters among several events of a message', () => {
  it('are left out and tried again alone', async () => {
    const { writer, reader } = createMemoryIndexStore()
    await inSharedMessages(writer, reader)
  })

  it('are so on Elasticsearch too', async function () {
    this.timeout(enginesTimeoutMs)
    const url = await elasticsearchEngine()
    const connection = { url, prefix: newPrefix(), partition: 0 }
    const writer = createElasticsearchIndexWriter({ ...connection, refreshEveryMs: 0 })
    const reader = createElasticsearchIndexReader({ ...connection, limits })
    try {
      await inSharedMessages(writer, reader)
    } finally {
      await Promise.all([writer.close(), reader.close()])
      await removeIndices(url, connection.prefix)
    }
  })
})

describe('dead letters', () => {
  it('are told in the order of the log, though a later one was met first', async () => {
    const stream = createMemoryStream({ partition: '0' })
    await append(stream, [['poison'], ['poison']])
    const reason = new PermanentError({ operation: 'read', subject: 'an event' })
    for (const event of (await readAll(stream)).toReversed())
      await deadLetters(stream).put(counting, new PoisonError(event, reason))
    expect((await lettersOf(stream)).map(({ position }) => position / 4096)).to.deep.equal([1, 2])
  })

  it('of a log that this one was moved from are decided anew', async () => {
    const old = createMemoryStream({ partition: '0', epoch: 'old' })
    await append(old, [['a'], ['poison'], ['b']])
    const store = createMemoryIndexStore()
    const before = start({ stream: old, writer: store.writer, decoders: failing })
    await before.until(({ position }) => position >= 4 * 4096)
    await before.stop()
    await deadLetters(old).settle(counting, 8192, 'retried')
    const moved = createMemoryStream({ partition: '0', epoch: 'new' })
    await append(moved, [['first']], 50)
    for (const { position: _, ...event } of await readAll(old)) await moved.append([event])
    const after = start({ stream: moved, writer: store.writer, decoders: failing })
    await after.until(({ position }, name) => name !== index && position >= 9 * 4096)
    await after.stop()
    expect((await lettersOf(moved)).map(({ position, state }) => [position / 4096, state])).to.deep.equal([[3, 'open']])
    expect(await totals(store.reader)).to.deep.equal({ first: 1, a: 1, b: 1 })
  })

  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`and retries leave every index equal to the fold of the log (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const stream = createMemoryStream({ partition: '0' })
      const store = createMemoryIndexStore()
      // Programs differ in what they can read; this one reads everything, and must leave out all the same what they left out.
      const context = memoryContext({ stream, projections: [counting] }, store)
      for (let round = 0; round < 6; round++) {
        const words = ['a', 'b', 'c', 'poison', 'venom']
        for (let n = 0; n < 12; n++) {
          const lines = Array.from({ length: 1 + random.below(2) }, () => random.pick(words))
          await append(stream, [lines], round * 100 + n)
        }
        const decoders = random.pick([failing, failingOn('venom'), failingOn('poison', 'venom'), lineDecoders])
        const run = start({ stream, writer: store.writer, decoders })
        await run.until(await atHead(stream))
        await run.stop()
        for (const { position, state } of await lettersOf(stream)) {
          if (state === 'open' && random.chance(0.4)) {
            await deadLetters(stream).settle(counting, position, random.chance(0.7) ? 'retried' : 'dropped')
          }
        }
        const again = start({ stream, writer: store.writer, decoders })
        await again.until(await atHead(stream))
        await again.stop()
        const [verdict] = await verify(context, await liveBuilds(context, ['counting']))
        expect(verdict?.differences).to.deep.equal([])
        expect(verdict?.equal).to.equal(true)
      }
      expect((await lettersOf(stream)).length).to.be.above(3)
    })
  }
})
