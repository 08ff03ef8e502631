import { expect } from 'chai'
import {
  fieldToken,
  foldCase,
  numberToken,
  opaqueId,
  placedWords,
  withoutColours,
  sentinel,
  sortableAbove,
  sortableBelow,
  sortableNumber,
  valueTokens,
  wholeToken,
  words,
} from '#src/events/tokens.ts'

/** Whether the words of the query stand in the text, adjacent and in order. */
function meets(text: string, query: string, prefix = false): boolean {
  const [there, asked] = [words(text), words(query)]
  return there.some((_, start) =>
    asked.every((word, index) => {
      const found = there[start + index]
      return prefix && index === asked.length - 1 ? found?.startsWith(word) === true : found === word
    }),
  )
}

describe('events/tokens', () => {
  it('meets the table of the contract', () => {
    const table: readonly (readonly [string, string, boolean, boolean?])[] = [
      ['connection_timeout_ms=500 exceeded', 'timeout', true],
      ['GET /api/v1/orders?id=7 500', 'orders', true],
      ['GET /api/v1/orders?id=7 500', '/api/v1/orders', true],
      ['GET /api/v1/orders?id=7 500', 'v1 orders', true],
      ['java.lang.NullPointerException at com.acme.Foo', 'NullPointerException', true],
      ['java.lang.NullPointerException at com.acme.Foo', 'nullpointer', true, true],
      ['java.lang.NullPointerException at com.acme.Foo', 'com.acme.foo', true],
      ['peer 10.0.0.7:5432 refused', '10.0.0.7', true],
      ['peer 10.0.0.7:5432 refused', '5432', true],
      ['peer 10.0.0.7:5432 refused', '10.0.0.7:5432', true],
      ['order 9f1c2d3e-0000-4000-8000-aabbccddeeff paid', '9f1c2d3e-0000-4000-8000-aabbccddeeff', true],
      ['order 9f1c2d3e-0000-4000-8000-aabbccddeeff paid', '9f1c2d3e', true],
      ['Zahlung für Müller fehlgeschlagen', 'müller', true],
      ['Zahlung für Müller fehlgeschlagen', 'FÜR', true],
      ['Zahlung für Müller fehlgeschlagen', 'muller', false],
      ['支付失败 order=12', '支付', true],
      ['user logged in', 'log', false],
      ['user logged in', 'log', true, true],
    ]
    for (const [text, query, expected, prefix] of table) {
      expect(meets(text, query, prefix === true), `${query} in ${text}`).to.equal(expected)
    }
  })

  it('cuts at everything that is no letter, mark or digit, and folds case', () => {
    expect(words('')).to.deep.equal([])
    expect(words('--- …')).to.deep.equal([])
    expect(words('a_b-c.D/e:F=7')).to.deep.equal(['a', 'b', 'c', 'd', 'e', 'f', '7'])
    expect(words('ÀÉ x²')).to.deep.equal(['àé', 'x²'])
    expect(words('e\u0301t')).to.deep.equal(['ét'])
    expect(words('İstanbul')).to.deep.equal(words('i\u0307stanbul'))
    expect(words('ΟΔΟΣ')).to.deep.equal(words('οδος'))
    expect(words('ΟΔΟΣΑ')[0]?.startsWith(words('ΟΔΟΣ')[0] ?? '?')).to.equal(true)
    expect(words('サーバー error支付')).to.deep.equal(['サ', 'ー', 'バ', 'ー', 'error', '支', '付'])
    expect(words('한국')).to.deep.equal(['한', '국'])
    expect(words('\ud800x')).to.deep.equal(['x'])
  })

  it('cuts long words at 64 characters, never within one', () => {
    expect(words('x'.repeat(70))).to.deep.equal(['x'.repeat(64)])
    expect(words(`${'x'.repeat(63)}𝒳y`)).to.deep.equal(['x'.repeat(63)])
  })

  it('places the same words in the text as it was', () => {
    for (const text of ['GET /api/v1/Orders 500', 'für Müller 支付', 'İx ΟΔΟΣ', 'e\u0301t x']) {
      const placed = placedWords(text)
      expect(placed.map(({ word }) => word)).to.deep.equal(words(text))
      for (const { word, start, end } of placed) expect(words(text.slice(start, end))).to.deep.equal([word])
    }
  })

  it('reads a text that was coloured for a terminal, in its words and in their places', () => {
    const text = '\u001b[1;31mRed\u001b[0m\u001b[38;5;12malert\u001b[m 5\u001b[3'
    expect(words(text)).to.deep.equal(['red', 'alert', '5', '3'])
    expect(placedWords(text).map(({ start, end }) => text.slice(start, end))).to.deep.equal(['Red', 'alert', '5', '3'])
    expect(withoutColours('\u001b[31merror\u001b[39m: \u001bX')).to.equal('error: \u001bX')
  })

  // Sorted by each other they would take a minute, in which nothing else is folded, read or shown.
  it('reads a text of half a million marks in a row', () => {
    const text = `Paid e${'\u0316\u0301'.repeat(250_000)} e\u0301t`
    expect(words(text).map((word) => word.slice(0, 2))).to.deep.equal(['pa', 'é\u0316', 'ét'])
    expect(placedWords(text).map(({ start }) => start)).to.deep.equal([0, 5, text.length - 3])
    expect(wholeToken('f', text)).to.have.length(3 + 64 + 17)
  })

  it('makes tokens of values that no blank, NUL or sentinel can break', () => {
    for (const value of [
      'a b',
      'a\tb',
      'a\u0000b',
      'a\u2028b',
      'a\u001fb',
      'a\u3000b',
      `a${sentinel}b`,
      'a\ud800b',
      'a\u0085b',
    ]) {
      for (const token of valueTokens('f', value)) {
        expect(token, JSON.stringify(value)).to.match(/^f=/)
        // oxlint-disable-next-line no-control-regex
        expect(token.replaceAll('\u00a0', ''), JSON.stringify(value)).not.to.match(/[\s\u0000-\u001f\u0085·]/u)
        expect(token.isWellFormed()).to.equal(true)
      }
    }
    expect(fieldToken('a b=c#d\u0000e')).to.equal('a_b_c_d_e')
    expect(fieldToken('@Level')).to.equal('level')
    expect(fieldToken('@')).to.equal('@')
    expect(fieldToken('x'.repeat(500))).to.have.length(128)
  })

  it('gives a value its whole token first, and its words where they are more', () => {
    expect(valueTokens('f', 'Paid')).to.deep.equal(['f==paid'])
    expect(valueTokens('f', 'not paid')).to.deep.equal(['f==not\u00a0paid', 'f=not', 'f=paid'])
    expect(valueTokens('f', '(paid)')).to.deep.equal(['f==(paid)', 'f=paid'])
    expect(valueTokens('f', '')).to.deep.equal(['f=='])
  })

  it('leaves out the blanks around a whole value', () => {
    expect(wholeToken('f', ' Not paid ')).to.equal('f==not\u00a0paid')
    expect(wholeToken('f', ' Größe 5\t')).to.equal('f==größe\u00a05')
  })

  it('tells long values apart', () => {
    const [a, b] = [`${'x'.repeat(200)}a`, `${'x'.repeat(200)}b`]
    expect(wholeToken('f', a)).not.to.equal(wholeToken('f', b))
    expect(wholeToken('f', a)).to.equal(wholeToken('f', a.toUpperCase()))
    expect(wholeToken('f'.repeat(200), a).length).to.be.lessThan(255)
    expect(wholeToken('f', 'x'.repeat(96))).to.equal(`f==${'x'.repeat(96)}`)
    // As indexes hold it that are there already.
    expect(wholeToken('f', 'x'.repeat(97))).to.equal(`f==${'x'.repeat(64)}\u00a0fba61b0722606ccc`)
  })

  it('tells ids of others apart that differ in case alone, or in blanks', () => {
    const ids = ['S-1', 's-1', 's-1 ', 's 1', 's\u00a01']
    expect(new Set(ids.map((id) => wholeToken('f', opaqueId(id)))).size).to.equal(ids.length)
    expect(opaqueId('s-1')).to.equal('s-1')
  })

  it('orders numbers by their text', () => {
    const numbers: (number | bigint)[] = [
      -Infinity,
      -1e300,
      -(2n ** 63n),
      -(2n ** 63n) + 1n,
      -9_007_199_254_740_993n,
      Number.MIN_SAFE_INTEGER,
      -400.5,
      -1,
      -0.1,
      0,
      5e-324,
      0.1,
      1,
      1.5,
      399,
      400,
      401,
      Number.MAX_SAFE_INTEGER,
      9_007_199_254_740_992n,
      9_007_199_254_740_993n,
      9_007_199_254_740_995n,
      2n ** 63n - 1n,
      2n ** 64n - 1n,
      1e300,
      Infinity,
    ]
    const texts = numbers.map(sortableNumber)
    expect([...texts].sort()).to.deep.equal(texts)
    expect(new Set(texts).size).to.equal(texts.length)
    for (const [index, text] of texts.entries()) {
      const number = numbers[index] ?? 0
      expect(sortableAbove(number) > text, `above ${number}`).to.equal(true)
      expect(sortableBelow(number) < text, `below ${number}`).to.equal(true)
      const [before, after] = [texts[index - 1], texts[index + 1]]
      if (after !== undefined) expect(sortableAbove(number) <= after, `above ${number}, up to the next`).to.equal(true)
      if (before !== undefined)
        expect(sortableBelow(number) >= before, `below ${number}, from the one before`).to.equal(true)
    }
    expect(sortableNumber(-0)).to.equal(sortableNumber(0))
    expect(sortableNumber(10n ** 400n)).to.equal(sortableNumber(Infinity))
    expect(numberToken('A b', 1)).to.match(/^a_b#[0-9a-f]{16}$/)
  })

  it('folds case the same way twice', () => {
    for (const text of ['ΑΣ', 'İ', 'ẞ', 'ﬁ', 'Ǆ', 'Å', 'K']) expect(foldCase(foldCase(text))).to.equal(foldCase(text))
  })
})
