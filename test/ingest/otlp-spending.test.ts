import { expect } from 'chai'
import { sealClosing } from '#src/events/allowance.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { createMonthLedger } from '#src/ingest/ledger.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { TransientError } from '#src/lib/failure.ts'
import { startIngest, usedSpansOf, type TestIngest } from '#test/support/ingest.ts'
import { encodeJson, encodeProtobuf, requestOf } from '#test/support/otlp.ts'
import { partialOf, path, spansWithIds as spans } from './otlp-answers.ts'

describe('POST /api/traces/v1/otlp, by an allowance that others spend too', () => {
  let ingest: TestIngest
  afterEach(() => ingest.server.close())

  it('keeps the spans of an append whose outcome is unknown, and counts its retry once', async () => {
    let fail: 'before' | 'after' | undefined
    ingest = await startIngest({
      plan: { spansPerMonth: 10 },
      through: (stream) => ({
        ...stream,
        append: async (events, expected) => {
          const mode = events[0]?.type === 'spans.received' ? fail : undefined
          if (mode !== undefined) fail = undefined
          const lost = new TransientError({ operation: 'append to', subject: 'the log' })
          if (mode === 'before') throw lost
          const appended = await stream.append(events, expected)
          if (mode === 'after') throw lost
          return appended
        },
      }),
    })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const send = (count: number, first: number) =>
      ingest.post(path, encodeJson(requestOf(spans(count, first))), headers)
    fail = 'before'
    const lost = await send(6, 0)
    expect(lost.status).to.equal(503)
    // RetryInfo of the body and the header are of one wait.
    const { details } = lost.json as Readonly<{ details: readonly Readonly<{ retryDelay?: string }>[] }>
    expect(details.map(({ retryDelay }) => retryDelay)).to.include(`${lost.headers.get('retry-after')}s`)
    expect(partialOf(await send(5, 100)), 'the log has told that nothing was stored').to.equal(undefined)
    fail = 'after'
    expect((await send(2, 200)).status).to.equal(503)
    expect(partialOf(await send(2, 200))).to.equal(undefined)
    expect(partialOf(await send(4, 300))?.rejected).to.equal(1)
    expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(10)
    expect(ingest.server.failures).to.have.length(2)
  })

  it('stores under another reservation what comes too late for its own, which somebody else has closed', async () => {
    let closed = ''
    ingest = await startIngest({
      plan: { spansPerMonth: 10 },
      through: (stream) => ({
        ...stream,
        append: async (events, expected) => {
          const [{ reservation, workspaceId } = { reservation: undefined }] = events
          if (reservation !== undefined && closed === '') {
            closed = reservation
            await stream.append([sealClosing(reservation, { workspaceId, at: 0 })])
          }
          return stream.append(events, expected)
        },
      }),
    })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const answer = await ingest.post(path, encodeJson(requestOf(spans(6))), headers)
    expect(partialOf(answer)).to.equal(undefined)
    const [event, ...others] = await ingest.events()
    expect([event?.counts.spans, others]).to.deep.equal([6, []])
    expect(event?.reservation).to.be.a('string').that.does.not.equal(closed)
    expect(partialOf(await ingest.post(path, encodeJson(requestOf(spans(5, 6))), headers))?.rejected).to.equal(1)
  })

  it('has a sender come again in a second while another process holds the rest, and rejects nothing', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 10 }, limits: { heldSpansPollMs: 1, heldSpansPollsMax: 1 } })
    const { stream, workspace: workspaceId, now } = ingest
    const ledger = createMonthLedger(
      { stream, clock: () => now.ms, holder: 'another', newId: () => 'x', timers: systemTimers },
      workspaceId,
      '2026-11',
    )
    const held = { id: 'theirs', spans: 8, holder: 'another', until: now.ms + 10_000, since: null }
    await ledger.append('allowance.reserved', { ended: [], spent: 0, open: [held] }, beforeAll)
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const answer = await ingest.post(path, encodeJson(requestOf(spans(6))), headers)
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1'])
    expect(await ingest.events()).to.deep.equal([])
  })

  for (const [how, counted] of [
    ['fails', () => Promise.reject(new Error('the index is away'))],
    ['does not answer', () => new Promise<undefined>(() => undefined)],
  ] as const) {
    it(`rejects what is over the limit for good, also where the index that may know better ${how}`, async () => {
      const limits = { heldSpansPollMs: 1, heldSpansPollsMax: 3 }
      ingest = await startIngest({ plan: { spansPerMonth: 10 }, limits, counted })
      const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
      for (const rejected of [2, 12]) {
        const answer = await ingest.post(path, encodeJson(requestOf(spans(12, 100 * rejected))), headers)
        expect([answer.status, partialOf(answer)?.rejected]).to.deep.equal([200, rejected])
      }
    })
  }

  it('answers a retry as its first copy, also while another process holds the rest', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 10 }, limits: { heldSpansPollMs: 1, heldSpansPollsMax: 1 } })
    const { stream, workspace: workspaceId, now } = ingest
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const send = () => ingest.post(path, encodeJson(requestOf(spans(6))), headers)
    expect(partialOf(await send())).to.equal(undefined)
    const options = { stream, clock: () => now.ms, holder: 'another', newId: () => 'x', timers: systemTimers }
    const ledger = createMonthLedger(options, workspaceId, '2026-11')
    let standing = await ledger.read()
    // What the first copy was granted is told to the ledger behind its answer.
    for (; standing.open.length > 0; standing = await ledger.read())
      await stream.changed(standing.position, new AbortController().signal)
    const held = { id: 'theirs', spans: 4, holder: 'another', until: now.ms + 10_000, since: null }
    await ledger.append('allowance.reserved', { ended: [], spent: 6, open: [held] }, standing.position)
    const retry = await send()
    expect([retry.status, partialOf(retry)]).to.deep.equal([200, undefined])
    expect((await ingest.events()).map(({ counts }) => counts.spans)).to.deep.equal([6])
  })

  it('gives back the rest that a request was granted where the log could not be asked for its first copy', async () => {
    let asksLeft = Infinity
    ingest = await startIngest({
      plan: { spansPerMonth: 10 },
      limits: { heldSpansPollMs: 1, heldSpansPollsMax: 1 },
      through: (stream) => ({
        ...stream,
        find: async (ids, now) => {
          if (--asksLeft === 0) throw new TransientError({ operation: 'search', subject: 'the log' })
          return stream.find(ids, now)
        },
      }),
    })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/json' }
    const send = (count: number, first: number) =>
      ingest.post(path, encodeJson(requestOf(spans(count, first))), headers)
    expect(partialOf(await send(6, 0))).to.equal(undefined)
    // It is asked before spans are taken, and again before any of them is refused.
    asksLeft = 2
    expect((await send(6, 100)).status).to.equal(503)
    expect(partialOf(await send(6, 100))?.rejected).to.equal(2)
    expect(partialOf(await send(1, 200))?.rejected).to.equal(1)
    expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(10)
  })

  it('holds the allowance to the span at its edge', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 50_000 } })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/x-protobuf' }
    const send = async (count: number, first: number): Promise<number> =>
      partialOf(await ingest.post(path, encodeProtobuf(requestOf(spans(count, first))), headers))?.rejected ?? 0
    for (let first = 0; first < 40_000; first += 10_000) expect(await send(10_000, first)).to.equal(0)
    expect(await send(9_999, 40_000)).to.equal(0)
    expect(await send(1, 49_999)).to.equal(0)
    expect(await send(1, 50_000)).to.equal(1)
    expect(await usedSpansOf(ingest.stream, ingest.workspace, '2026-11')).to.equal(50_000)
  })
})

describe('POST /api/traces/v1/otlp, the same request at once', () => {
  it('refuses no span of a copy that waited for the first, when less than all of it is left', async () => {
    const [underWay, goOn, lookedFor] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ]
    let looks = 0
    const ingest = await startIngest({
      plan: { spansPerMonth: 100 },
      through: (stream) => ({
        ...stream,
        async append(events, expected) {
          if (events.some(({ type }) => type === 'spans.received')) {
            underWay.resolve()
            await goOn.promise
          }
          return stream.append(events, expected)
        },
        async find(ids, receivedAt) {
          const found = await stream.find(ids, receivedAt)
          if (++looks === 2) lookedFor.resolve()
          return found
        },
      }),
    })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/x-protobuf' }
    const body = encodeProtobuf(requestOf(spans(60)))
    const first = ingest.post(path, body, headers)
    await underWay.promise
    const copy = ingest.post(path, body, headers)
    await lookedFor.promise
    goOn.resolve()
    expect([partialOf(await first), partialOf(await copy)]).to.deep.equal([undefined, undefined])
    expect((await ingest.events()).map(({ type, counts }) => [type, counts.spans])).to.deep.equal([
      ['spans.received', 60],
    ])
    await ingest.server.close()
  })

  it('records no span as refused that a copy has stored meanwhile, in the month that has begun', async () => {
    const [underWay, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ingest = await startIngest({
      plan: { spansPerMonth: 100 },
      through: (stream) => ({
        ...stream,
        async append(events, expected) {
          if (events.some(({ type }) => type === 'spans.refused')) {
            underWay.resolve()
            await goOn.promise
          }
          return stream.append(events, expected)
        },
      }),
    })
    const headers = { authorization: `Bearer ${ingest.keys.tracing}`, 'content-type': 'application/x-protobuf' }
    const send = (count: number, first: number) =>
      ingest.post(path, encodeProtobuf(requestOf(spans(count, first))), headers)
    ingest.now.ms = Date.UTC(2026, 11, 1) - 1
    await send(97, 0)
    const late = send(5, 100)
    await underWay.promise
    ingest.now.ms += 1
    expect(partialOf(await send(5, 100))).to.equal(undefined)
    goOn.resolve()
    expect(partialOf(await late)).to.equal(undefined)
    expect((await ingest.events()).map(({ type, counts }) => [type, counts.spans])).to.deep.equal([
      ['spans.received', 97],
      ['spans.received', 5],
    ])
    await ingest.server.close()
  })
})
