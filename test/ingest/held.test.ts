import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import { createRecorder } from '#src/ingest/record.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { makeEvent, noon } from '#test/support/make-event.ts'
import { startIngest, usedSpansOf, type TestIngest } from '#test/support/ingest.ts'
import { encodeJson, requestOf } from '#test/support/otlp.ts'
import { partialOf, path, spansWithIds as spans } from './otlp-answers.ts'

const minuteMs = 60_000

describe('a request that is held between its receipt and the log, as by a process that is suspended', () => {
  let ingest: TestIngest | undefined
  afterEach(() => ingest?.server.close())

  it('is not stored beside the one that its sender sends again, and takes nothing from the allowance', async () => {
    let heldMs = 13 * 60 * minuteMs
    const started = await startIngest({
      plan: { spansPerMonth: 10 },
      through: (stream) => ({
        ...stream,
        last: async (subject) => {
          started.now.ms += heldMs
          heldMs = 0
          return stream.last(subject)
        },
      }),
    })
    ingest = started
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const send = (count: number, first: number) =>
      started.post(path, encodeJson(requestOf(spans(count, first))), headers)
    const held = await send(3, 0)
    expect(held.status).to.equal(503)
    expect(Number(held.headers.get('retry-after'))).to.be.above(0)
    expect((await send(3, 0)).status).to.equal(200)
    expect(await ingest.events()).to.have.length(1)
    expect(partialOf(await send(8, 100))?.rejected).to.equal(1)
    expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(10)
  })

  it('is stored within a quarter of an hour, and refused as a passing failure after that', async () => {
    let now = noon
    const stream = createMemoryStream({ partition: '0' })
    const nothing = () => expect.fail('takes no spans')
    const gate = { take: nothing, reserve: nothing, settle: nothing, release: nothing, doubt: nothing }
    const recorder = createRecorder({ stream, gate, renew: nothing, clock: () => now })
    const recordAfter = (heldMs: number, name: string) =>
      recorder.record(async () => {
        const event = makeEvent(name, { receivedAt: now })
        now += heldMs
        return event
      })
    await recordAfter(15 * minuteMs, 'in time')
    const refused = await recordAfter(15 * minuteMs + 1, 'late').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(TransientError)
    expect((await stream.read(0, 10)).map(({ id }) => id)).to.have.length(1)
  })
})
