import { expect } from 'chai'
import { parseJson, stringifyJson } from '#src/lib/json.ts'

describe('parsing JSON', () => {
  const whole = 12_345_678_901_234_567n
  const cases: readonly (readonly [string, unknown])[] = [
    ['12345678901234567', whole],
    ['-12345678901234567', -whole],
    [' 12345678901234567', whole],
    ['[12345678901234567]', [whole]],
    ['[1, -12345678901234567]', [1, -whole]],
    ['[1,\n12345678901234567]', [1, whole]],
    ['{"a":12345678901234567}', { a: whole }],
    ['{"a": 9007199254740992}', { a: 9_007_199_254_740_992n }],
    ['{"a":9007199254740991}', { a: 9_007_199_254_740_991 }],
    ['1e400', '1e400'],
    ['[0,-1.5E+400]', [0, '-1.5E+400']],
    ['{"a":\t1e0400}', { a: '1e0400' }],
    ['{"a":1.5e308,"b":1e-400}', { a: 1.5e308, b: 0 }],
    ['["12345678901234567","1e400",":1e400"]', ['12345678901234567', '1e400', ':1e400']],
    ['{"12345678901234567":1}', { '12345678901234567': 1 }],
  ]
  for (const [text, value] of cases) {
    it(`keeps what ${JSON.stringify(text)} says`, () => {
      expect(parseJson(text)).to.deep.equal(value)
    })
  }

  it('tells the digits of fractions that a double may not hold', () => {
    const told: string[] = []
    const text = '{"a":0.1,"b":[1.2345678901234567],"c":1795240001.079262377,"d":"1.2345678901234567"}'
    parseJson(text, (_holder, key, source) => told.push(`${key} ${source}`))
    expect(told).to.deep.equal(['0 1.2345678901234567', 'c 1795240001.079262377'])
  })

  it('writes a big integer with its digits', () => {
    expect(stringifyJson({ a: [whole] })).to.equal('{"a":[12345678901234567]}')
  })
})
