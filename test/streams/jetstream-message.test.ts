import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { PermanentError } from '#src/lib/failure.ts'
import { parseNatsUrl } from '#streams/jetstream/address.ts'
import { decodeMessage, encodeMessage, packEvent, positionIn, sequenceAfter } from '#streams/jetstream/message.ts'
import { escapeSubject, logName } from '#streams/jetstream/subjects.ts'
import { makeEvent } from '../support/make-event.ts'
import { withoutPosition } from '../support/read-all.ts'

const events = [
  makeEvent('first', { identified: false, type: 'logs.received', contentType: 'text/plain' }),
  makeEvent('empty', { identified: false, type: 'logs.received', payload: Buffer.alloc(0) }),
]

/** Two events in a message of version 1, written once. What is stored must be readable for ever. */
const golden = readFileSync(new URL('../golden/streams/message.v1.bin', import.meta.url))

describe('a message of a JetStream log', () => {
  it('is written, and read, as it was in version 1', () => {
    expect(encodeMessage(events.map(packEvent)).toString('hex')).to.equal(golden.toString('hex'))
    expect(decodeMessage(golden, 1, 'LOG').map(({ id }) => id)).to.deep.equal(events.map(({ id }) => id))
  })

  it('gives back its events, the last of them at the sequence', () => {
    const read = decodeMessage(encodeMessage(events.map(packEvent)), 7, 'LOG')
    expect(read.map(withoutPosition)).to.deep.equal(
      events.map((event) => ({ ...event, payload: Buffer.from(event.payload) })),
    )
    expect(read.map(({ position }) => position)).to.deep.equal([7 * 4096 - 1, 7 * 4096])
  })

  it('stands in positions that grow from message to message, however many events there are', () => {
    const positions = [4096, 1, 4096, 3].flatMap((count, message) =>
      Array.from({ length: count }, (_, index) => positionIn(message + 1, index, count)),
    )
    for (const [index, position] of positions.entries()) {
      expect(position).to.be.greaterThan(positions[index - 1] ?? 0)
    }
    expect(positions[0]).to.equal(1)
    expect([0, 1, 4095, 4096, 4097].map(sequenceAfter)).to.deep.equal([1, 1, 1, 2, 2])
  })

  it('is refused with any of its bytes changed, cut anywhere, or with more behind it', () => {
    const message = encodeMessage(events.map(packEvent))
    expect(() => decodeMessage(Buffer.concat([message, Buffer.alloc(1)]), 1, 'LOG')).to.throw(PermanentError)
    for (let at = 0; at < message.length; at++) {
      const spoilt = Buffer.from(message)
      spoilt[at] = (spoilt[at] ?? 0) ^ 0x10
      expect(() => decodeMessage(spoilt, 1, 'LOG'), `byte ${at} changed`).to.throw(PermanentError)
      expect(() => decodeMessage(message.subarray(0, at), 1, 'LOG'), `cut at ${at}`).to.throw(PermanentError)
    }
  })
})

describe('NATS_URL', () => {
  const plain = { user: undefined, password: undefined, token: undefined, tls: false }
  const cases = {
    'nats://127.0.0.1': { ...plain, servers: ['127.0.0.1:4222'] },
    'a:1,b:2': { ...plain, servers: ['a:1', 'b:2'] },
    'nats://u:p%40%3A@a:1': { ...plain, servers: ['a:1'], user: 'u', password: 'p@:' },
    'nats://u:p@a:1,nats://u:p@b, nats://c:3': {
      ...plain,
      servers: ['a:1', 'b:4222', 'c:3'],
      user: 'u',
      password: 'p',
    },
    'tls://token@a:1': { ...plain, servers: ['a:1'], token: 'token', tls: true },
    'nats://[::1]:5': { ...plain, servers: ['[::1]:5'] },
  }
  for (const [url, address] of Object.entries(cases)) {
    it(`takes ${url}`, () => expect(parseNatsUrl(url)).to.deep.equal(address))
  }

  for (const url of [
    '',
    'http://a:1',
    'nats://',
    'nats://u:p@a,nats://u:q@b',
    'nats://a,tls://b',
    'nats://a:port',
    'nats://%zz@a',
  ]) {
    it(`refuses ${JSON.stringify(url)} in one line that holds no credentials`, () => {
      expect(() => parseNatsUrl(url)).to.throw(PermanentError, /^read NATS_URL \(.*\)$/)
    })
  }
})

describe('subjects on NATS', () => {
  it('keep what NATS takes, escape the rest, and hash what is too long', () => {
    expect(escapeSubject('allowance.acme.2026-11')).to.equal('allowance.acme.2026-11')
    expect(escapeSubject('a b.*.>.$.%.ü..')).to.equal('a%20b.%2A.%3E.%24.%25.%C3%BC.%.%')
    expect(escapeSubject('x'.repeat(513))).to.match(/^%long\.[0-9a-f]{64}$/)
  })

  it('differ where the texts do, and are whole tokens', () => {
    const texts = [
      '',
      '.',
      '..',
      'a',
      'A',
      'a.',
      '.a',
      'a.b',
      'a..b',
      'a%2E',
      'a%',
      '*',
      '>',
      'long',
      '%long',
      ' ',
      '\r\n',
      '\u0000',
    ]
    const escaped = texts.map(escapeSubject)
    expect(new Set(escaped).size).to.equal(texts.length)
    for (const subject of escaped) expect(subject).to.match(/^[^\s.*>]+(\.[^\s.*>]+)*$/)
  })

  it('belong to a partition, or to the directory, and to one installation', () => {
    expect(logName('3')).to.deep.equal({ stream: 'TELEMETRY_3', root: 'telemetry.3', partition: '3' })
    expect(logName('directory', 'two')).to.include({ stream: 'two-DIRECTORY', root: 'two-directory' })
    expect(() => logName('0', 'a.b')).to.throw(/letters/)
  })
})
