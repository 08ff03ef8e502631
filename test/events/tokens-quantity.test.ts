import { expect } from 'chai'
import { numberOf, parseQuantity } from '#src/events/quantity.ts'
import { wildcardShapes } from '#src/events/wildcard.ts'

describe('events/quantity', () => {
  it('reads numbers, durations and sizes exactly', () => {
    const cases: readonly (readonly [string, string, string])[] = [
      ['400', '400', 'none'],
      ['+5', '5', 'none'],
      ['-0', '0', 'none'],
      ['007', '7', 'none'],
      ['1.50', '1.5', 'none'],
      ['.5', '0.5', 'none'],
      ['1e3', '1000', 'none'],
      ['-2.5e-3', '-0.0025', 'none'],
      ['9007199254740993', '9007199254740993', 'none'],
      ['1ns', '1', 'duration'],
      ['200ms', '200000000', 'duration'],
      ['1.5s', '1500000000', 'duration'],
      ['0.1us', '100', 'duration'],
      ['1.5ns', '1.5', 'duration'],
      ['2h', '7200000000000', 'duration'],
      ['1h30m', '5400000000000', 'duration'],
      ['-5S', '-5000000000', 'duration'],
      ['9007199254740993ns', '9007199254740993', 'duration'],
      // The micro sign, and the Greek letter.
      ['3\u00b5s', '3000', 'duration'],
      ['3\u03bcs', '3000', 'duration'],
      ['2m', '120000000000', 'duration'],
      ['2min', '120000000000', 'duration'],
      ['2d', '172800000000000', 'duration'],
      ['2w', '1209600000000000', 'duration'],
      ['10kb', '10000', 'size'],
      ['1MiB', '1048576', 'size'],
      ['0.5KiB', '512', 'size'],
      ['3B', '3', 'size'],
      ['-1.5kb', '-1500', 'size'],
      // Equal numbers have equal text, also where a double is what holds them.
      ['0.10000000000000000001ns', '0.1', 'duration'],
      ['2MB', '2000000', 'size'],
      ['2GB', '2000000000', 'size'],
      ['2TB', '2000000000000', 'size'],
      ['2GiB', '2147483648', 'size'],
      ['2TiB', '2199023255552', 'size'],
    ]
    for (const [text, value, unit] of cases) expect(parseQuantity(text), text).to.deep.equal({ value, unit })
    for (const text of [
      '',
      'x',
      '5q',
      '5M',
      '1e999',
      '1_000',
      '1,5',
      '--5',
      '5ms5',
      '1h5kb',
      '5constructor',
      '5toString',
      '1kb2kb',
      'ms',
      '1 s',
      'Infinity',
      '1.2.3s',
      '9'.repeat(41),
    ]) {
      expect(parseQuantity(text), text).to.equal(undefined)
    }
    expect(numberOf('9007199254740993')).to.equal(9_007_199_254_740_993n)
    expect(numberOf('-1.5')).to.equal(-1.5)
  })
})

describe('events/wildcard', () => {
  it('asks for a phrase where wildcards stand at the ends, else for words', () => {
    const phrase = (words: string[], prefix: boolean) => ({ kind: 'phrase', words, prefix })
    const word = (regex: string, prefix: string) => ({ kind: 'word', regex, prefix })
    const letters = '[\\p{L}\\p{N}\\p{M}]'
    const cases: readonly (readonly [string, readonly object[]])[] = [
      ['Null*', [phrase(['null'], true)]],
      ['com.Acme.fo*', [phrase(['com', 'acme', 'fo'], true)]],
      ['com.acme.*', [phrase(['com', 'acme'], false)]],
      ['*.acme.com', [phrase(['acme', 'com'], false)]],
      ['支付*', [phrase(['支', '付'], true)]],
      ['a*c', [word(`a${letters}*c`, 'a')]],
      ['A?c', [word(`a${letters}c`, 'a')]],
      ['*x', [word(`${letters}*x`, '')]],
      ['??', [word(`${letters}${letters}`, '')]],
      ['a*-b', [phrase(['a'], true), phrase(['b'], false)]],
      ['x-a*c-y', [phrase(['x'], false), word(`a${letters}*c`, 'a'), phrase(['y'], false)]],
      ['a\\*b', [phrase(['a', 'b'], false)]],
      ['a-*-b', [phrase(['a'], false), phrase(['b'], false)]],
      ['*-*', []],
      ['-', []],
    ]
    for (const [pattern, shapes] of cases) expect(wildcardShapes(pattern), pattern).to.deep.equal(shapes)
  })

  it('cuts at each character of a script without blanks, since it is a word', () => {
    const phrase = (words: string, prefix: boolean) => ({ kind: 'phrase', words: words.split(' '), prefix })
    const letters = '[\\p{L}\\p{N}\\p{M}]'
    const word = (regex: string, prefix = '') => ({ kind: 'word', regex: regex.replaceAll('*', `${letters}*`), prefix })
    const cases: readonly (readonly [string, readonly object[]])[] = [
      ['*支付*', [phrase('支 付', true)]],
      ['*支付', [phrase('支 付', false)]],
      ['??支付?', [phrase('支 付', true)]],
      ['支*败', [phrase('支', true), phrase('败', false)]],
      ['支?*?败*', [phrase('支', true), phrase('败', true)]],
      ['ABC支*', [phrase('abc 支', true)]],
      ['*付Abc*', [phrase('付 abc', true)]],
      ['*abc支', [word('*abc'), phrase('支', false)]],
      ['支*abc', [phrase('支', true), word('*abc')]],
      ['a?支', [phrase('a', true), phrase('支', false)]],
      ['支?a', [phrase('支', true), word('*a')]],
      ['支a*c付', [phrase('支', false), word('a*c', 'a'), phrase('付', false)]],
      ['x-*支付*-y', [phrase('x', false), phrase('支 付', true), phrase('y', false)]],
      // Marks are of the character before them: one typed by itself is the end of a word.
      ['*กั*', [phrase('กั', true)]],
      ['ก*ั', [phrase('ก', true), word('*ั')]],
      ['*คั่ง*', [phrase('คั่ ง', true)]],
      ['한*', [phrase('한', true)]],
      ['*ー*', [phrase('ー', true)]],
      ['*支\\*付*', [phrase('支 付', true)]],
    ]
    for (const [pattern, shapes] of cases) expect(wildcardShapes(pattern), pattern).to.deep.equal(shapes)
  })
})
