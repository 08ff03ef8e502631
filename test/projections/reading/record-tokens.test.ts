import { expect } from 'chai'
import { fieldTokens } from '#projections/reading/record-tokens.ts'
import { words } from '#src/events/tokens.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { keywordTerm } from '#projections/stores/row.ts'
import { createRandom } from '../../support/random.ts'

const pieces = [
  ...[
    'a',
    'Zz',
    '7',
    ' ',
    '  ',
    '\t',
    '\n',
    '\u0000',
    '\u001f',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u00b7',
    '=',
    '#',
    '@',
    '~',
  ],
  ...[
    'é',
    'e\u0301',
    'İ',
    'ς',
    '支付',
    'ไทย',
    '\u200d',
    '\u2028',
    '\u3000',
    '\ud83d\ude00',
    '\ud800',
    '\udc00',
    '-',
    '/',
    '"',
  ],
]

/** What stores rely on: they keep such a text as it is, and engines split it at its blanks. */
function expectTidy(text: string, of: string): void {
  expect(text.isWellFormed(), of).to.equal(true)
  expect(text, of).to.match(/^\P{Cc}*$/u)
  expect(text, of).not.to.match(/^ | $| {2}/)
}

describe('the tokens of a record', () => {
  it('takes values as deep as a record may be nested, and none below', () => {
    const nested = (depth: number): JsonObject =>
      Array.from({ length: depth - 1 }).reduce<JsonObject>((inner) => ({ d: inner }), { end: 'x' })
    expect([32, 33].map((depth) => fieldTokens(nested(depth)).values)).to.deep.equal(['x', ''])
  })

  it('takes as many values as can be searched, and no more', () => {
    const { values } = fieldTokens({ d: Array.from({ length: 4_097 }, (_, at) => `v${at}`) })
    expect(values.split(' ').at(-1)).to.equal('v4095')
  })

  it('are a text with single blanks between, without a control character or half a character, whatever the record holds', () => {
    const random = createRandom(7)
    const made = (): string => Array.from({ length: random.below(8) }, () => random.pick(pieces)).join('')
    for (let round = 0; round < 5_000; round++) {
      const [name, value, long] = [made(), made(), made().repeat(40)]
      const record = { [name]: value, message: long, nested: { [value]: [value, long, 1.5, true, null] } }
      const { values, fields } = fieldTokens(record, { message: long })
      for (const text of [values, fields, words(long).join(' '), keywordTerm('service', value)])
        expectTidy(text, JSON.stringify(record))
    }
  })

  it('cost what their bytes cost where thousands of values are nested under one long name, which tells by its beginning', () => {
    const values = Object.fromEntries(Array.from({ length: 4_096 }, (_none, index) => [`k${index}`, index]))
    for (const letter of ['x', 'é', 'e\u0301']) {
      const name = letter.repeat(300_000)
      // It was minutes, and gigabytes of joined names that were kept.
      const { fields } = fieldTokens({ [name]: values, [`${name}y`]: [values] })
      const beginning = letter.normalize('NFC').repeat(128)
      expect(new Set(fields.split(' ').map((token) => token.split(/[=#]/)[0]))).to.deep.equal(new Set([beginning]))
    }
  }).timeout(60_000)

  it('come to eight megabytes at most where short words stand behind a long name, what is beyond among the values alone', () => {
    const mebi = 1024 * 1024
    const name = 'n'.repeat(128)
    const long = fieldTokens({ [name]: 'a b '.repeat(mebi / 4), later: 'x' })
    expect(long.fields).to.have.length.within(7.9 * mebi, 8.1 * mebi)
    expect(long.values.length).to.be.within(mebi - 1, mebi + 100)
    const many = fieldTokens({ [name]: Array.from({ length: 4_096 }, () => 'a b '.repeat(50)) })
    expect(many.fields).to.have.length.within(7.9 * mebi, 8.1 * mebi)
    // What a value gives does not depend on what was in the record before it.
    expect(fieldTokens({ [name]: 'a b '.repeat(50) }).fields.split(' ')).to.have.length(101)
  })
})
