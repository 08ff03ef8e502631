import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { sealDeadLetterEvent } from '#src/events/dead-letter.ts'
import { directoryWorkspaceId } from '#src/events/directory.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, failingOn } from '#test/support/line-projections.ts'
import { append, start, totals, untilAtRest } from '#test/support/projector-run.ts'

const failing = failingOn('poison')
const deadLetters = (stream: Stream) => createDeadLetters({ stream, clock: () => 5 })

describe('very many dead letters', () => {
  it('beyond a thousand stop the projection: then it is the program that is broken', async () => {
    const stream = createMemoryStream({ partition: '0' })
    await append(
      stream,
      Array.from({ length: 1_001 }, () => ['poison']),
    )
    const failure: unknown = await start({
      stream,
      writer: createMemoryIndexStore().writer,
      decoders: failing,
    }).ended.catch((error: unknown) => error)
    expect(String(failure)).to.match(/fold counting at 4100096: .*cannot read poison \(1000 events before it/)
    expect(await deadLetters(stream).letters(counting)).to.have.length(1_000)
  })

  /** A log with so many letters, of events that are not there, and one event more, which cannot be folded. */
  const withLetters = async (count: number, stateOf: (n: number) => 'open' | 'retried') => {
    const stream = createMemoryStream({ partition: '0' })
    await append(stream, [['poison']])
    const standing = Array.from({ length: count }, (_, n) => ({ position: 1e9 + n, state: stateOf(n), put: 0 }))
    const said = { projection: 'counting', version: 1, epoch: stream.epoch, position: 1e9, letters: standing }
    const place = { workspaceId: directoryWorkspaceId, at: 5, before: 0 }
    await stream.append([sealDeadLetterEvent('deadletter.put', said, place)])
    return stream
  }

  it('are told again where a retry fails, though there are a thousand', async () => {
    const stream = await withLetters(999, () => 'open')
    const store = createMemoryIndexStore()
    for (const round of [1, 2, 3]) {
      const run = start({ stream, writer: store.writer, decoders: failing })
      await Promise.race([untilAtRest(stream, run), run.ended])
      await run.stop()
      const [newest] = (await deadLetters(stream).letters(counting)).filter(
        ({ position, state }) => position < 1e9 && state === 'open',
      )
      expect(await deadLetters(stream).letters(counting)).to.have.length(999 + round)
      await deadLetters(stream).settle(counting, newest?.position ?? 0, 'retried')
    }
    const mended = start({ stream, writer: store.writer })
    await untilAtRest(stream, mended)
    await mended.stop()
    expect(await totals(store.reader)).to.deep.equal({ poison: 1 })
  })

  it('end at four thousand with those that were retried', async () => {
    const stream = await withLetters(4_000, () => 'retried')
    const { ended } = start({ stream, writer: createMemoryIndexStore().writer, decoders: failing })
    const failure: unknown = await ended.catch((error: unknown) => error)
    expect(String(failure)).to.match(
      /fold counting at 4096: .*cannot read poison \(with those that were retried 4000 events before it/,
    )
  })

  it('are not said to be those that were retried where there are a thousand others', async () => {
    const stream = await withLetters(1_500, (n) => (n < 500 ? 'retried' : 'open'))
    const { ended } = start({ stream, writer: createMemoryIndexStore().writer, decoders: failing })
    const failure: unknown = await ended.catch((error: unknown) => error)
    expect(String(failure)).to.match(/fold counting at 4096: .*cannot read poison \(1000 events before it/)
  })
})
