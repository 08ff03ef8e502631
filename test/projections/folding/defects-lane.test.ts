import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDecoder, type Decoders } from '#projections/folding/decoded-event.ts'
import { openLane } from '#projections/folding/lane.ts'
import { createWriteBehind } from '#projections/folding/write-behind.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import type { Collection, Key, Projection } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { beforeAll, positionStep } from '#src/events/envelope.ts'
import { readCurrent } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting, defective, failingOn, lineDecoders } from '#test/support/line-projections.ts'
import { append } from '#test/support/projector-run.ts'

const index = 'counting-v1-001'

type Given = Readonly<{
  lines: readonly string[]
  projection?: Projection
  decoders?: Decoders
  writing?: (writer: IndexWriter) => IndexWriter
}>

/** A lane over a log of these lines, an event each. */
async function start({ lines, projection = counting, decoders = lineDecoders, writing = (writer) => writer }: Given) {
  const stream = createMemoryStream({ partition: '0' })
  const { writer: own, dump } = createMemoryIndexStore()
  const writer = writing(own)
  await append(
    stream,
    lines.map((line) => [line]),
  )
  const decode = createDecoder(decoders)
  const deadLetters = createDeadLetters({ stream, clock: () => 0 })
  const limits = { cachedDocumentsMax: 10, cachedBytesMax: 1e6 }
  const lane = await openLane(projection, index, {
    writer,
    epoch: stream.epoch,
    clock: () => 0,
    limits,
    decode,
    deadLetters,
  })
  const events = (await readCurrent(stream, beforeAll, lines.length)).map(decode)
  return {
    writer,
    fold: (from: number, to: number) => lane.fold(events.slice(from, to), to * positionStep),
    left: async () => (await deadLetters.letters(counting)).map(({ position }) => position / positionStep),
    checkpoint: async () => (await own.checkpoint(index)).position / positionStep,
    found: () => dump(index).flatMap(({ entry }) => (entry.collection === 'counters' ? [entry.id] : [])),
  }
}

describe('a lane of a program with a defect', () => {
  it('does not go on where what failed was the write of the batch before, whatever is in this one', async () => {
    const projection = defective('poison').index
    const lane = await start({ lines: ['a', 'poison', 'b', 'poison'], projection, writing: createWriteBehind })
    await lane.fold(0, 2)
    const failure = await lane.fold(2, 4).catch((error: unknown) => error)
    expect(String(failure)).to.match(/counting-v1-001.*undefined is not a word/)
    await lane.writer.close()
    expect(await lane.checkpoint()).to.equal(0)
    expect(await lane.left()).to.deep.equal([])
  })

  it('leaves no event out beside one that cannot be decoded that fails only without what is stored', async () => {
    const first: Key = { collection: counting.collections['counters'] as Collection, id: 'a' }
    const projection: Projection = {
      ...counting,
      needs: (event, loaded) => [...counting.needs(event, loaded), first],
      fold(event, documents) {
        const isSecond = event.logs().some(({ message }) => message === 'b')
        if (isSecond && documents.get(first) === undefined) throw new TypeError('b comes after a')
        counting.fold(event, documents)
      },
    }
    const lines = ['a', 'b', 'poison']
    const lane = await start({ lines, projection, decoders: failingOn('poison') })
    await lane.fold(0, 3)
    expect(await lane.left()).to.deep.equal([3])
    expect(lane.found()).to.deep.equal(['a', 'b'])
  })

  const broken = { decode: [counting, failingOn('poison')], index: [defective('poison').index, lineDecoders] } as const
  for (const [part, [program, decoders]] of Object.entries(broken)) {
    it(`folds a batch of which each event fails (${part}) no more often than one of which one does`, async () => {
      let asked = 0
      const projection: Projection = {
        ...program,
        needs(event, loaded) {
          asked++
          return program.needs(event, loaded)
        },
      }
      // Those that fail last, or what is before them would be asked for in vain.
      const lines = Array.from({ length: 40 }, (_, n) => (n < 20 ? 'a' : 'poison'))
      const lane = await start({ lines, projection, decoders })
      await lane.fold(0, lines.length)
      expect(await lane.left()).to.have.length(20)
      expect(lane.found()).to.deep.equal(['a'])
      expect(asked).to.be.at.most(10 * lines.length)
    })
  }
})
