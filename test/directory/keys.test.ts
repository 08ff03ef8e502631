import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import {
  createKeySecret,
  hashKey,
  isWellFormedKey,
  keyKindOf,
  keyKinds,
  keyPrefixes,
  randomBase62,
} from '#src/directory/keys.ts'

describe('key secrets', () => {
  for (const kind of keyKinds) {
    it(`of kind ${kind} have their prefix, 30 random and 6 checksum characters`, () => {
      const secret = createKeySecret(kind, randomBytes)
      expect(secret).to.match(new RegExp(`^${keyPrefixes[kind]}[0-9A-Za-z]{36}$`))
      expect(isWellFormedKey(secret)).to.equal(true)
      expect(keyKindOf(secret)).to.equal(kind)
    })
  }

  it('are unchanged in form: a secret of old still passes', () => {
    expect(createKeySecret('logs', (bytes) => new Uint8Array(bytes))).to.equal(
      'lt_0000000000000000000000000000002ttfSq',
    )
  })

  it('with any one character changed, added or taken away are known to be wrong', () => {
    const secret = createKeySecret('tracing', randomBytes)
    for (let place = 0; place < secret.length; place++) {
      const other = secret[place] === 'x' ? 'y' : 'x'
      expect(isWellFormedKey(secret.slice(0, place) + other + secret.slice(place + 1)), `at ${place}`).to.equal(false)
      expect(isWellFormedKey(secret.slice(0, place) + secret.slice(place + 1)), `without ${place}`).to.equal(false)
    }
    expect(isWellFormedKey(`${secret}x`)).to.equal(false)
    expect(isWellFormedKey(` ${secret}`)).to.equal(false)
  })

  it('belong to the prefix they were made with', () => {
    const secret = createKeySecret('logs', randomBytes)
    expect(isWellFormedKey(secret.replace(/^lt_/, 'tt_'))).to.equal(false)
  })

  it('of 10,000 random guesses none has a right checksum', () => {
    let passed = 0
    for (let guess = 0; guess < 10_000; guess++) {
      if (isWellFormedKey(keyPrefixes.tracing + randomBase62(randomBytes, 36))) passed++
    }
    expect(passed).to.equal(0)
  })

  it('use every character as often: bytes that would favour some are thrown away', () => {
    const bytes = (count: number): Uint8Array =>
      Uint8Array.from({ length: count }, (_, at) => (at % 2 === 0 ? 255 : 61))
    expect(randomBase62(bytes, 5)).to.equal('zzzzz')
    const each = new Map<string, number>()
    let next = 0
    const all = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => next++ % 256)
    for (const character of randomBase62(all, 248)) each.set(character, (each.get(character) ?? 0) + 1)
    expect([...new Set(each.values())]).to.deep.equal([4])
    expect(each.size).to.equal(62)
  })

  it('hash differently under another pepper', () => {
    expect(hashKey('one pepper', 'tt_x')).to.match(/^[0-9a-f]{64}$/)
    expect(hashKey('one pepper', 'tt_x')).to.not.equal(hashKey('another pepper', 'tt_x'))
  })
})
