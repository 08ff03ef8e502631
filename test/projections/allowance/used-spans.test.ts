import { expect } from 'chai'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { createUsedSpans } from '#projections/allowance/used-spans.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { beforeAll, noCounts, type RecordedEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { foldInto } from '#test/support/fold-harness.ts'
import { makeEvent } from '#test/streams/make-event.ts'

const acme = workspaceIdOf('acme')
const other = workspaceIdOf('other')
const month = '2026-11'
const index = 'allowance-v2-001'

/** By headers alone, which is all that usage is counted from. */
const decoded = (event: RecordedEvent): DecodedEvent => ({
  event,
  spans: () => [],
  logs: () => [],
  rumEvents: () => [],
  refusedSpans: () => [],
})

describe('spans used', () => {
  async function createLog() {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    let names = 0
    return {
      stream,
      reader: store.reader,
      append: async (spans: number, fields: Parameters<typeof makeEvent>[1] = {}): Promise<void> => {
        await stream.append([makeEvent(`e${++names}`, { counts: { ...noCounts, spans }, ...fields })])
      },
      /** Folds all that the log holds, as the projector does, and says so to readers. */
      fold: async (): Promise<void> => {
        const events = await stream.read(beforeAll, 1_000)
        await foldInto(store.writer, index, allowanceProjection, [events.map(decoded)])
        await store.writer.promote('allowance', index)
        const position = await stream.head()
        await store.writer.heartbeat(index, { position, head: position, at: 0, caughtUpAt: 0 })
      },
    }
  }

  it('are those of the log, with no index, with one behind it, and with one at its head', async () => {
    const log = await createLog()
    const used = async (): Promise<number> => (await createUsedSpans(log.reader, log.stream)).spans(acme, month)
    expect(await used()).to.equal(0)
    await log.append(3)
    await log.append(4)
    expect(await used()).to.equal(7)
    await log.fold()
    expect(await used()).to.equal(7)
    await log.append(5)
    expect(await used()).to.equal(12)
    await log.fold()
    expect(await used()).to.equal(12)
  })

  it('are counted once, however far the projector goes on after they were read', async () => {
    const log = await createLog()
    await log.append(3)
    await log.fold()
    await log.append(4)
    const { spans } = await createUsedSpans(log.reader, log.stream)
    expect(await spans(acme, month)).to.equal(7)
    await log.fold()
    expect(await spans(acme, month)).to.equal(7)
  })

  it('grow with the log only when they are caught up', async () => {
    const log = await createLog()
    await log.append(3)
    const { spans, catchUp } = await createUsedSpans(log.reader, log.stream)
    await log.append(4)
    expect(await spans(acme, month)).to.equal(3)
    await catchUp()
    expect(await spans(acme, month)).to.equal(7)
    await log.fold()
    await log.append(5)
    await catchUp()
    await catchUp()
    expect(await spans(acme, month)).to.equal(12)
  })

  it('are those of one workspace and one month', async () => {
    const log = await createLog()
    await log.append(1)
    await log.append(2, { workspaceId: other })
    await log.append(4, { receivedAt: Date.UTC(2026, 10, 30, 23, 59, 59, 999) })
    await log.append(8, { receivedAt: Date.UTC(2026, 11, 1) })
    const { spans } = await createUsedSpans(log.reader, log.stream)
    const found = [await spans(acme, month), await spans(other, month), await spans(acme, '2026-12')]
    expect(found).to.deep.equal([5, 2, 8])
  })
})
