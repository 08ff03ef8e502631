import { expect } from 'chai'
import { createDecoders } from '#projections/folding/decoders.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { dayMs } from '#src/lib/day.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { foldLive } from '#test/support/random-log.ts'
import { hex, otlpJson } from '#test/support/telemetry.ts'

const acme = workspaceIdOf('acme')
const cutAt = Date.parse('2026-11-10T10:00:00Z')
const span = (name: string, atMs: number) => ({
  traceId: hex(32, 'long'),
  spanId: hex(16, name),
  startNs: BigInt(atMs) * 1_000_000n,
})

/** So many days after the cut. `again`: also the span that comes with every such event. */
function eventOn(days: number, again: boolean): NewEvent {
  const receivedAt = cutAt + days * dayMs
  const spans = [span(`day ${days}`, receivedAt), ...(again ? [span('again', cutAt)] : [])]
  return sealEvent(
    {
      id: `${acme}.test.day-${days}`,
      type: 'spans.received',
      schemaVersion: 1,
      workspaceId: acme,
      keyId: 'key',
      receivedAt,
      retentionClass: '30d',
      identified: true,
      counts: { ...noCounts, spans: spans.length },
      contentType: 'application/json',
    },
    Buffer.from(otlpJson(spans)),
  )
}

describe('verify of a trace that goes on for weeks, of which the log has lost the first days', () => {
  it('is equal where a span comes again in one document of the fold, and in two of the index', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const context = memoryContext({ stream, projections: [tracesProjection], decoders: createDecoders(limits) }, store)
    // The index begins the trace anew every eight days from two days before the cut on, and the fold of what is left from the cut on.
    for (let days = -2; days <= 20; days++) await stream.append([eventOn(days, days === 13 || days === 14)])
    await foldLive(context)
    const [, before] = await stream.read(0, 2)
    await stream.cut(before?.position ?? 0)
    const [verdict] = await verify(context, await liveBuilds(context, ['traces']))
    expect(verdict?.comparedFrom).to.include({ spans: '2026-11-18' })
    expect([verdict?.equal, verdict?.differences]).to.deep.equal([true, []])
  })
})
