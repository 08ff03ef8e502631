import { expect } from 'chai'
import { toNfc } from '#src/lib/to-nfc.ts'
import { randomNumbers } from '#test/support/random.ts'

describe('a text in NFC', () => {
  it('is NFC, however long it is and wherever it is cut', () => {
    const random = randomNumbers(20_261_130)
    const parts = [
      'a',
      'é',
      'e\u0301',
      '\u0316',
      '\u0301',
      'ς',
      '\u1100\u1161\u11a8',
      '가\u11a8',
      '支',
      '𝅗𝅥',
      '\ud800',
      '\udc00',
    ]
    parts.push('\u0bc6\u0bbe', '\ud834\udd65', '\ud804\udd31\ud804\udd27', '\ufb1d', 'ﬁ', '\u212b', '\u{2f800}', ' ')
    for (let round = 0; round < 300; round++) {
      const own = parts.filter(() => random() < 0.3)
      let text = ''
      while (text.length < 3_000) text += own[Math.floor(random() * own.length)] ?? 'x'
      // No more marks in a row than are sorted together.
      const read = text.replaceAll(/(?:\p{M}{30})/gu, '$&.')
      expect(toNfc(read) === read.normalize('NFC'), JSON.stringify(own)).to.equal(true)
    }
  })

  it('is NFC where it is cut before any character that is composed with others', () => {
    const characters = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code))
    const parted = characters.filter((character) => character.normalize('NFD') !== character)
    /** What may stand before a part of a character. */
    const before = new Map<string, string>()
    for (const [first = '', ...rest] of parted.map((character) => character.normalize('NFD')))
      for (const part of rest) before.set(part, first)
    const wrong = [...parted, ...before.keys()].filter((character) => {
      const [begins = ''] = character.normalize('NFD')
      const head = (before.get(begins) ?? '').padStart(256, 'x')
      return toNfc(head + character) !== (head + character).normalize('NFC')
    })
    expect(wrong).to.deep.equal([])
  })

  it('keeps every mark where there are more in a row than anybody reads', () => {
    const marks = '\u0301\u0316'.repeat(10_000)
    const made = toNfc(`e${marks} e\u0301`)
    expect(made).to.have.length(20_002)
    expect(made.endsWith(' é')).to.equal(true)
    expect(made.slice(0, 3)).to.equal('é\u0316\u0316')
  })
})
