import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'
import { createRandom } from '#test/support/random.ts'

/** Query, place, and one of what is expected there. */
const table: readonly (readonly [query: string, position: number, expected: string])[] = [
  ['(', 1, 'a word'],
  [')', 0, 'a word'],
  ['()', 1, 'a word'],
  ['( )', 2, 'a word'],
  ['(a', 2, ')'],
  ['((a)', 4, ')'],
  ['a)', 1, 'AND'],
  ['a b)', 3, 'OR'],
  ['(a))', 3, 'the end of the search'],
  ['a (', 3, 'a word'],
  ['a ()', 3, '('],
  ['AND', 0, 'a word'],
  ['or', 0, 'a word'],
  ['&&', 0, 'a word'],
  ['||', 0, 'a word'],
  ['AND a', 0, 'a word'],
  ['OR a', 0, 'NOT'],
  ['a AND', 5, 'a word'],
  ['a OR', 4, '"a phrase"'],
  ['a && ', 5, 'a word'],
  ['a ||', 4, 'a word'],
  ['a AND AND b', 6, 'a word'],
  ['a AND OR b', 6, 'field:value'],
  ['a OR OR b', 5, 'a word'],
  ['a OR AND b', 5, 'a word'],
  ['a || | b', 5, 'OR'],
  ['(a OR)', 5, 'a word'],
  ['(AND a)', 1, 'a word'],
  ['NOT', 3, 'a word'],
  ['not ', 4, 'a word'],
  ['a NOT', 5, 'a word'],
  ['NOT NOT', 7, 'a word'],
  ['NOT AND a', 4, 'a word'],
  ['NOT )', 4, 'a word'],
  ['-(', 2, 'a word'],
  ['a -()', 4, 'a word'],
  ['"', 1, '"'],
  ['"abc', 4, '"'],
  ['a "b c', 6, '"'],
  ['"abc\\"', 6, '"'],
  ['"abc\\', 5, '"'],
  ['f:"abc', 6, '"'],
  ['f="', 3, '"'],
  ['"":x', 0, 'a field name'],
  ['" ":x', 0, 'a field name'],
  ['f:', 2, 'a value'],
  ['f: ', 3, 'a value'],
  ['f:)', 2, 'a value'],
  ['(f:)', 3, 'a value'],
  ['f=', 2, 'a value'],
  ['f!=', 3, 'a value'],
  ['f!= )', 4, 'a value'],
  ['f:|', 2, 'a value'],
  ['"a b":', 6, 'a value'],
  ['f:(', 3, 'a word'],
  ['f:()', 3, 'a word'],
  ['f:(a', 4, ')'],
  ['f:(a OR)', 7, 'a word'],
  ['f:(g:x)', 3, 'a value'],
  ['f:(a g=x)', 5, '"a phrase"'],
  ['f:(a AND g>5)', 9, ')'],
  ['f:("g":x)', 3, 'a value'],
  ['f:>', 3, 'a number'],
  ['f:>=', 4, 'a number'],
  ['f>', 2, 'a number'],
  ['f:> )', 4, 'a number'],
  ['f:>abc', 3, 'a number'],
  ['f<x', 2, 'a number'],
  ['f >= x', 5, 'a duration such as 200ms'],
  ['f:>5q', 3, 'a size such as 10kb'],
  ['f:>1e999', 3, 'a number'],
  ['f:>0x10', 3, 'a number'],
  ['f:>1,5', 3, 'a number'],
  ['f:>""', 3, 'a number'],
  ['f:>*', 3, 'a number'],
  ['f:>1_000', 3, 'a number'],
  ['f:>5M', 3, 'a number'],
  ['f:>1s5', 3, 'a number'],
  [`f:>${'9'.repeat(50)}`, 3, 'a number'],
  ['a<b>', 2, 'a number'],
  ['f:[', 3, 'a number'],
  ['f:[]', 3, 'a number'],
  ['f:[1', 4, 'TO'],
  ['f:[1 ', 5, 'TO'],
  ['f:[1]', 4, 'TO'],
  ['f:[1 2]', 5, 'TO'],
  ['f:[1 TO', 5, 'TO'],
  ['f:[1 TO ', 8, 'a number'],
  ['f:[1 TO 2', 9, ']'],
  ['f:[1 TO 2)', 9, '}'],
  ['f:[1 TO 2 3]', 10, ']'],
  ['f:[a TO b]', 3, 'a number'],
  ['f:[1 TO b]', 8, 'a number'],
  ['f:{1 TO}', 5, 'TO'],
  ['f:[1,2]', 3, 'a number'],
  ['f:[error]', 3, 'a number'],
  ['level>=loud', 7, 'warn'],
  ['level:[warn TO 5]', 15, 'fatal'],
  ['level:[1 TO warn]', 7, 'error'],
  ['level:[loud TO *]', 7, 'trace'],
  ['|', 0, 'OR'],
  ['a | b', 2, 'OR'],
  ['a|b', 1, '"|"'],
  ['error | stats count() by service', 6, '"|"'],
  ['(a | b)', 3, '||'],
  ['f:a|b', 3, 'OR'],
  ['f=~"x"', 1, ':'],
  ['f!~x', 1, '!='],
  ['f =~ x', 2, ':'],
  ['f !~ "x"', 2, ':'],
  ['f =~/x/', 2, ':'],
  ['"a b"=~"x"', 5, ':'],
  ['f:~"x"', 1, ':'],
  ['f:!~x', 1, ':'],
  ['f:=~x', 1, ':'],
  ['f:<>', 3, 'a number'],
  ['f<>', 3, 'a value'],
  ['f!==', 4, 'a value'],
  ['http.*:500', 0, 'a field name without *'],
  ['_exists_:', 9, 'a field name'],
  ['_exists_:)', 9, 'a field name'],
  ['_exists_:" "', 9, 'a field name'],
  ['/a(/', 3, 'letters'],
  ['/(?=a)/', 1, 'letters'],
  ['x /(a)\\1/', 6, '( )'],
  ['f:/a**+/', 6, '*'],
  ['f:/[z-a]/', 4, '[…]'],
  ['/a{100}/', 2, '{n,m}'],
  ['/((a{50}){50})/', 1, '+'],
  ['/a\\b/', 2, '.'],
  [`/${'a'.repeat(600)}/`, 513, '/'],
]

describe('query/language refusals', () => {
  for (const [query, position, expected] of table) {
    it(query.length > 60 ? `${query.slice(0, 60)}…` : query, () => {
      const result = parseQuery(query, limits)
      expect(result.ok, JSON.stringify(result)).to.equal(false)
      if (result.ok) return
      expect(result.error.code).to.equal('query_syntax')
      expect(result.error.position).to.equal(position)
      expect(result.error.expected).to.include(expected)
      expect(result.error.detail).to.match(/^\S.{5,}/)
    })
  }

  it('names what is left open by what follows it, not by a number', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['a (b (c)', 'the parenthesis before `b (c)` is not closed'],
      ['f:( x', 'the parenthesis before `x` is not closed'],
      [`(${'long '.repeat(9)}`, 'the parenthesis before `long long long long …` is not closed'],
      ['(1234567890123456789🚀', 'the parenthesis before `1234567890123456789\ufffd…` is not closed'],
      ['a "b c', 'the quotation mark before `b c` is not closed'],
      ['a " ', 'the quotation mark is not closed'],
    ]
    for (const [query, detail] of cases) {
      const result = parseQuery(query, limits)
      expect(result.ok ? '' : result.error.detail, query).to.equal(detail)
    }
  })

  it('says what a comparison takes: a level where there are levels, and where times are given', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['level>=wrn', 'level is compared with a level or a number'],
      ['a>b', 'a is compared with a number; quote the sign to search for it as text'],
      ['timestamp:>2026-11-26', 'timestamp is compared with a number; the times of a search are its from and to'],
      ['time>=now-1h', 'time is compared with a number; the times of a search are its from and to'],
    ]
    for (const [query, detail] of cases) {
      const result = parseQuery(query, limits)
      expect(result.ok ? '' : result.error.detail, query).to.equal(detail)
    }
  })

  it('refuses what is over a limit, where it is over', () => {
    const small = { ...limits, queryCharactersMax: 100, queryTermsMax: 3, queryDepthMax: 4, regexCharactersMax: 9 }
    const cases: readonly (readonly [string, number])[] = [
      ['a'.repeat(101), 100],
      ['a b c d', 6],
      ['f:(a b c d)', 9],
      ['(((((a)))))', 4],
      ['-(-(-(a)))', 4],
      ['NOT NOT NOT NOT NOT a', 16],
      ['f:(((((a)))))', 6],
      ['/abcdefghij/', 10],
    ]
    for (const [query, position] of cases) {
      const result = parseQuery(query, small)
      expect(result.ok, query).to.equal(false)
      if (!result.ok) expect(result.error.position, query).to.equal(position)
    }
    expect(parseQuery('a'.repeat(100), small).ok).to.equal(true)
    expect(parseQuery('a b c', small).ok).to.equal(true)
    expect(parseQuery('((((a))))', small).ok).to.equal(true)
    expect(parseQuery('/abcdefghi/', small).ok).to.equal(true)
  })

  it('counts the words of every text that were said before, for each is looked for', () => {
    const kinds: readonly (readonly [string, number])[] = [
      ['"a b"', 0],
      ['a-b', 0],
      ['a-b*', 0],
      ['NOT "a b"', 4],
      ['f:"a b"', 2],
      ['f:a-b', 2],
      ['f:(a-b)', 3],
      ['f:a-b*', 2],
    ]
    for (const [kind, position] of kinds) {
      const refusedAt = (query: string): number | undefined => {
        const result = parseQuery(query, { ...limits, queryRepeatsMax: 2 })
        return result.ok ? undefined : result.error.position
      }
      const found = [refusedAt(`a b ${kind}`), refusedAt(`c a ${kind}`), refusedAt(`a a b ${kind}`)]
      expect(found, kind).to.deep.equal([undefined, undefined, 6 + position])
    }
    const ideographs = String.fromCharCode(...Array.from({ length: 4_096 }, (_, n) => 0x4e00 + n))
    expect(parseQuery(ideographs, limits).ok, 'a text of many words').to.equal(true)
    expect(parseQuery('支'.repeat(4_096), limits).ok, 'one of many times the same').to.equal(false)
    const ids = Array.from(
      { length: limits.queryTermsMax },
      (_, n) => `9f1c2d3e-4a5b-4${n + 100}-8000-aabbccdd${n + 1_000}`,
    )
    expect(parseQuery(`f:(${ids.join(' ')})`, limits).ok, 'a list of ids').to.equal(true)
  })

  it('counts conditions of every kind', () => {
    const kinds = [
      'a',
      '"a b"',
      'a*',
      '/a/',
      'f:a',
      'f:a*',
      'f:*',
      'f=a',
      'f=*',
      '_exists_:f',
      'f:/a/',
      'f>5',
      'f:>5',
      'f:[1 TO 2]',
    ]
    for (const kind of kinds) {
      const ok = (query: string): boolean => parseQuery(query, { ...limits, queryTermsMax: 2 }).ok
      expect([ok(`b ${kind}`), ok(`b c ${kind}`)], kind).to.deep.equal([true, false])
    }
  })

  it('gives the first warnings only', () => {
    const result = parseQuery('a=x* b=x* c=x*', { ...limits, queryWarningsMax: 2 })
    expect(result.ok && result.value.warnings).to.have.length(2)
  })

  it('answers anything within its limits: hostile text never throws and has its place in the query', () => {
    const length = limits.queryCharactersMax
    const repeated = [
      '(',
      ')',
      '"',
      '\\',
      '-',
      '!',
      '*',
      '?',
      ':',
      '::',
      'a:',
      'a:(',
      '[',
      '/',
      '/a',
      '|',
      '&',
      '>',
      '=',
      '@',
      '支',
      '😀',
      '\ud800',
      '\u0000',
      'NOT ',
      'a OR ',
      '* ',
      'a.b:',
      '"a":',
      'f:/[',
      '(?=',
      'a*b-',
      '\\*',
      'f:[1 TO ',
    ]
    for (const piece of repeated) {
      const query = piece.repeat(length).slice(0, length)
      const result = parseQuery(query, limits)
      if (!result.ok) {
        expect(result.error.position, piece).to.be.within(0, length)
        expect(result.error.expected.length, piece).to.be.greaterThan(0)
      }
    }
    const random = createRandom(11)
    const alphabet = Array.from('ab :=!<>()[]{}"\\/|&*?-+@.~TOANDR015ms支\u0000')
    for (let round = 0; round < 5_000; round++) {
      const query = Array.from({ length: round % 40 }, () => random.pick(alphabet)).join('')
      const result = parseQuery(query, limits)
      if (!result.ok) {
        expect(result.error.position, query).to.be.within(0, query.length)
        continue
      }
      const again = parseQuery(result.value.normalized, limits)
      expect(again.ok ? again.value.tree : again.error, `${query} -> ${result.value.normalized}`).to.deep.equal(
        result.value.tree,
      )
    }
  })
})
