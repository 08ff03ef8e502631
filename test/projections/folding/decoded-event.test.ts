import { expect } from 'chai'
import { encode } from '@msgpack/msgpack'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { limits } from '#src/config.ts'
import { openPayload, sealEvent, type EventFields } from '#src/events/codec.ts'
import { noCounts, type RecordedEvent, type TelemetryEventType } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { emptySpan, encodeJson, encodeProtobuf, requestOf } from '#test/support/otlp.ts'

const receivedAt = 1_795_240_001_079

function eventOf(type: TelemetryEventType, contentType: string, payload: Uint8Array): RecordedEvent {
  const fields: EventFields = {
    id: 'acme.in.0123',
    type,
    schemaVersion: 1,
    workspaceId: workspaceIdOf('acme'),
    keyId: null,
    receivedAt,
    retentionClass: 'pro',
    identified: false,
    counts: { ...noCounts, bytes: payload.length },
    contentType,
  }
  return { ...sealEvent(fields, payload), position: 4096 }
}

const spans = Array.from({ length: 400 }, (_, index) => ({
  ...emptySpan,
  spanId: (index + 1).toString(16).padStart(16, '0'),
  name: `prüft ${index}`,
  attributes: [
    ['text', { string: `value ${index}` }],
    ['raw', { bytes: Buffer.from(`bytes ${index}`) }],
  ] as const,
}))
const records = Array.from({ length: 2_000 }, (_, index) => ({
  message: `paid ${index}`,
  level: 'info',
  amount: index,
}))
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const lines = (of: readonly unknown[]): Buffer => Buffer.from(of.map((one) => JSON.stringify(one)).join('\n'))
const events = records.map((record) => ({ type: 'click', timestamp: receivedAt, ...record }))

const given: readonly (readonly [string, RecordedEvent])[] = [
  ['traces in Protobuf', eventOf('spans.received', 'application/x-protobuf', encodeProtobuf(requestOf(spans)))],
  ['traces in JSON', eventOf('spans.received', 'application/json', Buffer.from(encodeJson(requestOf(spans))))],
  ['logs in JSON', eventOf('logs.received', 'application/json', json(records))],
  ['logs as lines', eventOf('logs.received', 'application/x-ndjson', lines(records))],
  ['logs in MessagePack', eventOf('logs.received', 'application/msgpack', encode(records))],
  ['logs as text', eventOf('logs.received', 'text/plain', Buffer.from('a line of some words\n'.repeat(2_000)))],
  ['browser events', eventOf('rum.received', 'application/json', json({ session_id: 'visit', events }))],
]
const contentOf = (event: DecodedEvent) => [event.spans(), event.logs(), event.rumEvents(), event.refusedSpans()]

describe('a decoded event', () => {
  for (const [name, event] of given) {
    it(`holds nothing of the bytes that it was unpacked into: ${name}`, () => {
      const opened: Uint8Array[] = []
      const decoders = createDecoders(limits)
      const open = (of: RecordedEvent): Uint8Array => {
        const payload = openPayload(of)
        opened.push(payload)
        return payload
      }
      const content = contentOf(createDecoder({ ...decoders, open })(event))
      expect(opened.map(({ length }) => length)).to.deep.equal([0])
      // Copies that nobody frees.
      const copied = createDecoder({ ...decoders, open: (of) => new Uint8Array(openPayload(of)).subarray(0) })(event)
      expect(content).to.deep.equal(contentOf(copied))
      expect(content.flat().length).to.be.above(0)
    })
  }

  it('leaves the bytes of an event that is not packed to it', () => {
    const payload = json(records)
    const event = { ...eventOf('logs.received', 'application/json', payload), encoding: '', payload } as const
    const decode = createDecoder({ ...createDecoders(limits), open: (of) => of.payload })
    expect(decode(event).logs().length).to.equal(records.length)
    expect(payload.length).to.be.above(0)
    expect(decode(event).logs().length).to.equal(records.length)
  })
})
