import { expect } from 'chai'
import { type Bag, emptySpan, requestOf } from '#test/support/otlp.ts'
import { encodings } from './decode-scanned.ts'

const otherSpan = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }

for (const { name, decode } of encodings) {
  describe(`decodeSpans ${name}: what is too large`, () => {
    it('cuts the texts and lists of a record that is too large, never within a character', () => {
      const bag: Bag = [
        ['small', { string: 'kept' }],
        ['large', { string: '\u{1f600}'.repeat(800) }],
        ['behind', { list: [{ string: 'gone' }] }],
      ]
      const [span, other] = decode(requestOf([{ ...emptySpan, attributes: bag }, emptySpan]), { recordBytesMax: 1_001 })
      expect(span?.attributes['large']).to.match(/^(?:\u{1f600})+$/u)
      expect(String(span?.attributes['large']).length).to.be.within(200, 1_001)
      expect(Object.keys(span?.attributes ?? {})).to.deep.equal(['small', 'large'])
      expect(span?.droppedAttributesCount).to.equal(1)
      expect(span?.cuts[0]).to.equal('attribute large cut, the record is larger than 1001 bytes')
      expect([span?.traceId, other?.cuts]).to.deep.equal([emptySpan.traceId, []])
    })

    it('keeps the whole name of what it cuts, and counts what lists cost beside their texts', () => {
      const long = 'name of an attribute '.repeat(5)
      const bag: Bag = [
        ['most', { string: 'x'.repeat(950) }],
        [long, { string: 'y'.repeat(100) }],
      ]
      const [span] = decode(requestOf([{ ...emptySpan, name: '', attributes: bag }]), { recordBytesMax: 1_001 })
      expect(Object.keys(span?.attributes ?? {})).to.deep.equal(['most', long])
      const many: Bag = [['list', { list: Array.from({ length: 500 }, () => ({ string: 'z' })) }]]
      const [listing] = decode(requestOf([{ ...emptySpan, attributes: many }]), { recordBytesMax: 1_001 })
      expect(listing?.attributes['list']).to.have.length.within(50, 120)
    })

    it('cuts bytes, and marks them, where the record has no more room', () => {
      const bag: Bag = [
        ['most', { string: 'x'.repeat(900) }],
        ['blob', { bytes: new Uint8Array(500).fill(7) }],
      ]
      const [span] = decode(requestOf([{ ...emptySpan, attributes: bag }]), { recordBytesMax: 1_001 })
      expect(span?.cuts).to.include('attribute blob cut, the record is larger than 1001 bytes')
      const kept = Buffer.from(String(span?.attributes['blob']), 'base64')
      expect(kept.length).to.be.within(1, 101)
      expect(kept.every((byte) => byte === 7)).to.equal(true)
    })

    it('marks no empty text as cut where the record has no more room', () => {
      const [most, name] = ['x'.repeat(970), 'a name longer than the room that is left']
      for (const value of [{ string: '' }, { bytes: new Uint8Array() }]) {
        const attributes: Bag = [
          ['most', { string: most }],
          [name, value],
        ]
        const [span] = decode(requestOf([{ ...emptySpan, name: '', attributes }]), { recordBytesMax: 1_001 })
        expect(span?.attributes).to.deep.include({ most, [name]: '' })
        expect(span?.cuts).to.deep.equal([])
      }
    })

    it('keeps the name, the state and the status of a span that is too large, wherever they stand in it', () => {
      const said = { name: 'chat', traceState: 'vendor=1', statusCode: 2, statusMessage: 'timed out' }
      const attributes: Bag = [['prompt', { string: 'x'.repeat(2_000) }]]
      const [span] = decode(requestOf([{ ...emptySpan, ...said, attributes }]), { recordBytesMax: 1_001 })
      expect(span).to.deep.include({
        name: 'chat',
        traceState: 'vendor=1',
        status: { code: 'error', message: 'timed out' },
        cuts: ['attribute prompt cut, the record is larger than 1001 bytes'],
      })
    })

    it('keeps the name and the state of a span whose status alone is too large', () => {
      const said = { name: 'chat', traceState: 'vendor=1', statusCode: 2, statusMessage: 'x'.repeat(2_000) }
      const [span] = decode(requestOf([{ ...emptySpan, ...said }]), { recordBytesMax: 1_001 })
      expect(span).to.deep.include({ name: 'chat', traceState: 'vendor=1' })
      expect(span?.status.message).to.have.length.within(900, 1_001)
      expect(span?.cuts).to.deep.equal(['status message cut, the record is larger than 1001 bytes'])
    })

    it('keeps the attributes of a span before its events, and these before its links', () => {
      const large: Bag = [['large', { string: 'x'.repeat(600) }]]
      const event = { timeNs: 5n, name: 'exception', attributes: large, dropped: 0 }
      const link = { ...otherSpan, traceState: '', attributes: large, flags: 0 }
      const attributes: Bag = [['session.id', { string: 'a session' }]]
      const of = { ...emptySpan, attributes, events: [event, event], links: [link] }
      const [span] = decode(requestOf([of]), { recordBytesMax: 1_001 })
      expect(span?.sessionId).to.equal('a session')
      expect(span?.spanEvents.map((one) => String(one.attributes['large']).length > 300)).to.deep.equal([true, true])
      expect(span?.links).to.deep.include.members([
        { ...otherSpan, traceState: '', attributes: {}, droppedAttributesCount: 1, flags: 0 },
      ])
    })

    it('keeps the name and the version of a scope whose attributes are too large', () => {
      const attributes: Bag = [['large', { string: 'x'.repeat(2_000) }]]
      const request = requestOf([emptySpan]).map((of) => ({
        ...of,
        scopes: of.scopes.map((scope) => ({ ...scope, name: 'library', version: '1.2', attributes })),
      }))
      const [span] = decode(request, { recordBytesMax: 1_001 })
      expect(span?.scope).to.deep.include({ name: 'library', version: '1.2' })
      expect(span?.cuts).to.deep.equal(['scope attribute large cut, the record is larger than 1001 bytes'])
    })

    it('keeps the name of a span event before its attributes, in a span that is too large', () => {
      const attributes: Bag = [['exception.stacktrace', { string: 'x'.repeat(2_000) }]]
      const event = { timeNs: 5n, name: 'exception', attributes, dropped: 0 }
      const [span] = decode(requestOf([{ ...emptySpan, events: [event] }]), { recordBytesMax: 1_001 })
      expect(span?.spanEvents[0]).to.deep.include({ timeNs: 5n, name: 'exception' })
      expect(span?.spanEvents[0]?.attributes['exception.stacktrace']).to.have.length.within(900, 1_001)
    })

    it('names what was cut of a scope', () => {
      const request = requestOf([emptySpan]).map((of) => ({
        ...of,
        scopes: of.scopes.map((scope) => ({ ...scope, name: 'n'.repeat(2_000), version: '' })),
      }))
      const [span] = decode(request, { recordBytesMax: 1_001 })
      expect(span?.cuts).to.deep.equal(['scope name cut, the record is larger than 1001 bytes'])
    })
  })
}
