import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import {
  checkHeader,
  crcOf,
  formatHeader,
  openPayload,
  parseHeader,
  sealEvent,
  sealGzip,
  sealLargeEvent,
  type EventFields,
} from '#src/events/codec.ts'
import { noCounts, type EventHeader } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'

const fields: EventFields = {
  id: 'acme.traces.0123',
  type: 'spans.received',
  schemaVersion: 1,
  workspaceId: workspaceIdOf('acme'),
  keyId: 'key-1',
  receivedAt: 1_795_240_001_079,
  retentionClass: 'pro',
  identified: true,
  counts: { ...noCounts, spans: 2 },
  contentType: 'application/x-protobuf',
}
const long = Buffer.from('the same words over and over, '.repeat(100))

describe('the event codec', () => {
  it('leaves out of the text what says nothing, and gives back the whole header', () => {
    const header = { ...fields, keyId: null, encoding: '', crc: 7 } as const
    expect(formatHeader(header)).to.equal(
      '{"id":"acme.traces.0123","type":"spans.received","schemaVersion":1,"workspaceId":"acme",' +
        '"receivedAt":1795240001079,"retentionClass":"pro","identified":true,"counts":{"spans":2},' +
        '"contentType":"application/x-protobuf","crc":7}',
    )
    expect(parseHeader(formatHeader(header))).to.deep.equal(header)
  })

  it('gives back an event that names no content type', () => {
    const header = { ...fields, contentType: '', encoding: '', crc: 7 } as const
    expect(parseHeader(formatHeader(header))).to.deep.equal(header)
  })

  it('writes the header alone, whatever else the object carries', () => {
    const event = { ...sealEvent(fields, long), position: 4096 }
    expect(JSON.parse(formatHeader(event))).not.to.have.any.keys('payload', 'position')
  })

  it('refuses garbage with PermanentError', () => {
    const good = JSON.parse(formatHeader({ ...fields, encoding: '', crc: 7 })) as Record<string, unknown>
    parseHeader(JSON.stringify({ ...good, unknown: 'is dropped' }))
    const bad: readonly Record<string, unknown>[] = [
      { id: '' },
      { id: 5 },
      { type: 'spans.invented' },
      { type: 'directory.' },
      { schemaVersion: 0 },
      { schemaVersion: 1.5 },
      { workspaceId: '' },
      { workspaceId: 'ACME/../x' },
      { keyId: 3 },
      { receivedAt: -1 },
      { receivedAt: '2026' },
      { retentionClass: '' },
      { identified: 'yes' },
      { subject: 1 },
      { reservation: {} },
      { counts: [] },
      { counts: { spans: -1 } },
      { counts: { bytes: '5' } },
      { answer: 1 },
      { contentType: undefined },
      { encoding: 'br' },
      { crc: 2 ** 32 },
      { crc: undefined },
    ]
    for (const change of bad) {
      const text = JSON.stringify({ ...good, ...change })
      expect(() => parseHeader(text), JSON.stringify(change)).to.throw(PermanentError)
      const header = { ...fields, encoding: '', crc: 7, ...change } as unknown as EventHeader
      expect(() => checkHeader(header), JSON.stringify(change)).to.throw(PermanentError)
    }
    for (const text of ['', '{', 'null', '[]', '"text"']) expect(() => parseHeader(text)).to.throw(PermanentError)
    checkHeader({ ...fields, keyId: null, encoding: '', crc: 7 })
  })

  it('packs a payload that gets smaller by it, and leaves a small or random one as it is', async () => {
    const random = Buffer.concat(Array.from({ length: 100 }, (_, index) => hash('sha256', `${index}`, 'buffer')))
    for (const seal of [sealEvent, sealLargeEvent]) {
      const packed = await seal(fields, long)
      expect(packed.encoding).to.equal('zstd')
      expect(packed.payload.length).to.be.below(200)
      expect(packed.crc).to.equal(crcOf(packed.payload))
      expect(Buffer.from(openPayload(packed)).equals(long)).to.equal(true)
      const left = await seal(fields, random)
      expect([left.encoding, Buffer.from(openPayload(left)).equals(random)]).to.deep.equal(['', true])
    }
    const small = sealEvent(fields, Buffer.from('small '.repeat(10)))
    expect([small.encoding, Buffer.from(openPayload(small)).toString()]).to.deep.equal(['', 'small '.repeat(10)])
  })

  it('is unpacked into one buffer of its size', () => {
    const payload = Buffer.from('some words over and over, '.repeat(400_000))
    const counted = { ...fields, counts: { ...fields.counts, bytes: payload.length } }
    for (const event of [sealEvent(counted, payload), sealGzip(counted, gzipSync(payload))]) {
      const before = process.memoryUsage().arrayBuffers
      const opened = openPayload(event)
      expect((process.memoryUsage().arrayBuffers - before) / payload.length).to.be.below(1.5)
      expect(Buffer.compare(opened, payload)).to.equal(0)
    }
  })

  it('keeps what its sender has packed as it came', () => {
    const gzip = Buffer.concat([gzipSync(long), gzipSync('and a second member')])
    const event = sealGzip(fields, gzip)
    expect([event.encoding, event.crc]).to.deep.equal(['gzip', crcOf(gzip)])
    expect(event.payload).to.equal(gzip)
    expect(parseHeader(formatHeader(event)).encoding).to.equal('gzip')
    // Whatever the header says of its size: it is a hint.
    for (const bytes of [0, 5, long.length, 1_000_000_000]) {
      const opened = openPayload({ ...event, counts: { ...noCounts, bytes } })
      expect(Buffer.from(opened).toString()).to.equal(`${long.toString()}and a second member`)
    }
  })

  for (const seal of [sealEvent, (of: EventFields, bytes: Buffer) => sealGzip(of, gzipSync(bytes))]) {
    const event = seal(fields, long)
    it(`does not open a payload that is damaged, no ${event.encoding}, or larger than the bound`, () => {
      const flipped = Buffer.from(event.payload)
      flipped.writeUInt8(flipped.readUInt8(20) ^ 1, 20)
      expect(() => openPayload({ ...event, payload: flipped })).to.throw(PermanentError, 'checksum')
      expect(() => openPayload({ ...event, payload: long, crc: crcOf(long) })).to.throw(PermanentError)
      const cut = event.payload.subarray(0, 20)
      expect(() => openPayload({ ...event, payload: cut, crc: crcOf(cut) })).to.throw(PermanentError)
      expect(() => openPayload(event, long.length - 1)).to.throw(PermanentError)
      expect(openPayload(event, long.length)).to.have.length(long.length)
    })
  }
})
