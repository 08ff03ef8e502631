import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'
import { filterOf } from '#projections/reading/field-query.ts'
import type { FieldSchema } from '#projections/reading/field-schema.ts'
import { join, negate } from '#projections/reading/filters.ts'
import { createHighlighter } from '#projections/reading/highlight.ts'
import { TooBroadError, type Filter } from '#projections/index-store.ts'
import { fieldTokens, namesOfMessage } from '#projections/reading/record-tokens.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { bareName, numberToken, sameAsMessageToken, sentinel } from '#src/events/tokens.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { messageNames } from '#src/wire/logs/aliases.ts'
import { createRandom } from '#test/support/random.ts'
import { found, readerOf, treeOf } from './given.ts'

const schema: FieldSchema = { text: ['text'], fields: ['fields'], numbers: { duration: 'durationNs' } }
const filter = (query: string): Filter => filterOf(treeOf(query), schema)
const all: Filter = { kind: 'all' }
const none: Filter = { kind: 'none' }
const word: Filter = { kind: 'phrase', fields: ['text'], tokens: ['a'] }

describe('projections/reading/field-query', () => {
  it('asks number fields for integers within inclusive bounds', () => {
    const cases: readonly (readonly [string, object])[] = [
      ['duration:>200ms', { from: 200_000_001 }],
      ['duration:>=200ms', { from: 200_000_000 }],
      ['duration:<1.5ns', { to: 1 }],
      ['duration:>1.5ns', { from: 2 }],
      ['duration:<=9007199254740993', { to: 9_007_199_254_740_993n }],
      ['duration:<9007199254740994', { to: 9_007_199_254_740_993n }],
      ['duration:[1s TO 2s}', { from: 1_000_000_000, to: 1_999_999_999 }],
      ['duration:200ms', { from: 200_000_000, to: 200_000_000 }],
      ['duration=5', { from: 5, to: 5 }],
      ['@Duration:*', {}],
    ]
    for (const [query, bounds] of cases) {
      expect(filter(query), query).to.deep.equal({ kind: 'number', field: 'durationNs', ...bounds })
    }
    expect(filter('duration:slow')).to.deep.equal(none)
    expect(filter('duration:1.5')).to.deep.equal(none)
  })

  it('finds levels without a keyword of theirs among the fields', () => {
    expect(filter('level>error')).to.deep.equal({ kind: 'phrase', fields: ['fields'], tokens: ['level==fatal'] })
    expect(filter('level>fatal')).to.deep.equal(none)
    const ofKeyword = { ...schema, keywords: { level: { field: 'severity' } } }
    expect(filterOf(treeOf('level>fatal'), ofKeyword)).to.deep.equal(none)
    const fatal = { kind: 'keyword', field: 'severity', values: ['fatal'] }
    expect(filterOf(treeOf('level>error'), ofKeyword)).to.deep.equal(fatal)
  })

  it('compares a value without a word whole, that of the message too', () => {
    const ofMessage = { ...schema, message: { name: 'message', field: 'text' } }
    for (const field of ['message', 'path']) {
      const [matched, equal] = [':', '='].map((sign) => filterOf(treeOf(`${field}${sign}"---"`), ofMessage))
      expect(matched, field).to.deep.equal(equal)
    }
  })

  it('does not find a number by the beginning of its negative, and asks for nothing twice', async () => {
    const reader = await readerOf(
      createMemoryIndexStore,
      [57, -57, '5ms'].map((took) => ({ fields: { took } })),
    )
    expect(await found(reader, 'took:-5*')).to.deep.equal([1])
    expect(await found(reader, 'took:"-57"')).to.deep.equal([1])
    // With a unit it is no number, so its word is looked for.
    expect(await found(reader, 'took:"-5ms"')).to.deep.equal([2])
    const ofWord = filter('took:slow')
    expect(ofWord.kind === 'or' ? ofWord.of : []).to.deep.equal(
      ['took==slow', 'took=slow'].map((token) => ({ kind: 'phrase', fields: ['fields'], tokens: [token] })),
    )
  })

  it('gives patterns the longest beginning, so that few words are looked at', () => {
    expect(filter('/ab(c|d).*/')).to.deep.equal({
      kind: 'pattern',
      fields: ['text'],
      prefix: 'ab',
      regex: '(?:ab(?:c|d).*)',
      ofWords: true,
    })
    const inField = filter('F.x:/4\\d\\d/')
    expect(inField).to.deep.equal({
      kind: 'or',
      of: [
        { kind: 'pattern', fields: ['fields'], prefix: 'f.x=4', regex: 'f\\.x=(?:4\\d\\d)', ofField: true },
        { kind: 'pattern', fields: ['fields'], prefix: 'f.x==4', regex: 'f\\.x==(?:4\\d\\d)' },
      ],
    })
  })

  it('joins and negates without parts that change nothing', () => {
    expect(join('and', [all, word])).to.deep.equal(word)
    expect(join('and', [none, word])).to.deep.equal(none)
    expect(join('or', [all, word])).to.deep.equal(all)
    expect(join('or', [none, word])).to.deep.equal(word)
    expect([join('and', []), join('or', [])]).to.deep.equal([all, none])
    expect([negate(all), negate(none), negate(negate(word))]).to.deep.equal([none, all, word])
  })

  it('answers any query that parses, or says that it is too broad', async () => {
    const reader = await readerOf(createMemoryIndexStore, [
      { message: 'a ab 15 b', fields: { a: 'b 1', ab: [1, 5], 'a.b': { a: 0 } } },
    ])
    const random = createRandom(5)
    let asked = 0
    const alphabet = Array.from('aab  :=!<>()[]"\\/|&*?-.~TOAND15')
    for (let round = 0; round < 3_000; round++) {
      const query = Array.from({ length: round % 24 }, () => random.pick(alphabet)).join('')
      if (!parseQuery(query, limits).ok) continue
      asked++
      const places = await found(reader, query).catch((error: unknown) => error)
      if (!(places instanceof TooBroadError)) expect(places, query).to.be.an('array')
    }
    expect(asked).to.be.greaterThan(500)
  })
})

describe('projections/reading/record-tokens', () => {
  it('flattens objects by dots and lists item by item, each value by itself', () => {
    const { values, fields } = fieldTokens({
      a: { b: 'x y', c: ['p', { d: 'q' }, 7] },
      n: 9_007_199_254_740_993n,
      t: true,
    })
    expect(values).to.equal(`x y ${sentinel} p ${sentinel} q`)
    expect(fields.split(' ')).to.deep.equal([
      'a.b==x\u00a0y',
      'a.b=x',
      'a.b=y',
      'a.c==p',
      'a.c.d==q',
      'a.c==7',
      numberToken('a.c', 7),
      'n==9007199254740993',
      numberToken('n', 9_007_199_254_740_993n),
      't==true',
    ])
  })

  it('leaves out what says nothing, and numbers that are none', () => {
    expect(fieldTokens({ a: null, b: [], c: {}, d: '' })).to.deep.equal({ values: '', fields: 'd==' })
    expect(fieldTokens({ a: Number.NaN, b: Number.POSITIVE_INFINITY }).fields).to.equal('a==nan b==infinity')
  })

  it('puts a prefix before names, and the message by reference', () => {
    const { values, fields } = fieldTokens(
      { msg: 'hello you', other: 'hello you' },
      { message: 'hello you', prefix: 'p.' },
    )
    expect(values).to.equal('hello you')
    expect(fields).to.equal('p.msg=~ p.other==hello\u00a0you p.other=hello p.other=you')
  })

  it('has the message by reference under every name that it may stand under by itself', () => {
    for (const name of messageNames.filter((each) => !each.includes('.'))) {
      const { values, fields } = fieldTokens({ [name]: 'hello you' }, { message: 'hello you' })
      expect([values, fields], name).to.deep.equal(['', sameAsMessageToken(name)])
      expect(namesOfMessage('hello you', { [name]: 'hello you' }), name).to.include(bareName(name))
    }
  })

  it('is bounded in depth and number of values', () => {
    const deep = (objects: number): string =>
      fieldTokens(Array.from({ length: objects }).reduce<JsonObject>((inner) => ({ d: inner }), { end: 'x' })).fields
    expect([deep(31), deep(32)]).to.deep.equal([`${'d.'.repeat(31)}end==x`, ''])
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, true]))
    expect(fieldTokens(many).fields.split(' ')).to.have.length(4_096)
    expect(fieldTokens({ long: 'ab '.repeat(500_000) }).values.length).to.be.at.most(1024 * 1024)
  })
})

describe('projections/reading/highlight', () => {
  const marked = (text: string, query: string): string[] =>
    createHighlighter(treeOf(query))(text, ['message', 'msg']).map(({ start, end }) => text.slice(start, end))

  it('marks what was found by the same tokens, in the text as it is', () => {
    const cases: readonly (readonly [string, string, readonly string[]])[] = [
      ['GET /api/v1/Orders?id=7', 'orders', ['Orders']],
      ['GET /api/v1/Orders?id=7', '/api/v1', ['api/v1']],
      ['für Müller', 'MÜLLER OR für', ['für', 'Müller']],
      ['card declined', 'msg:declined', ['declined']],
      ['card declined', '@Msg:declined', ['declined']],
      ['card declined', '@MSG:decl*', ['declined']],
      ['card declined', 'body:declined', []],
      [
        '결제 실패 für 😀 결제'.normalize('NFD'),
        '결제 OR für',
        ['결제', 'für', '결제'].map((word) => word.normalize('NFD')),
      ],
      ['ab 결제실패 c'.normalize('NFD'), '제실 OR c', ['제실'.normalize('NFD'), 'c']],
      ['支付失败', '支付', ['支付']],
      ['支付失败', '支 OR 付', ['支', '付']],
      ['a b c', 'a OR "a b c" OR "a b"', ['a b c']],
      ['用户支付失败 支付', '*支付*', ['支付', '支付']],
      ['用户支付失败', '用*付失*', ['用', '付失']],
      ['订单abc确认', '*单ab*', ['单abc']],
      ['a b a b', '"a b"', ['a b', 'a b']],
      ['a b c', '"a b" "b c"', ['a b c']],
      ['NullPointer nullable', 'null*', ['NullPointer', 'nullable']],
      ['NullPointer nullable', '/null.*r/', ['NullPointer']],
      ['NullPointer nullable', '/NULL.*R/', ['NullPointer']],
      ['x y', 'NOT x y', ['y']],
      ['x y', 'message:x other:y', ['x']],
      ['x y', 'message:/[y]/', ['y']],
      ['x y', 'level>=warn f:*', []],
    ]
    for (const [text, query, expected] of cases)
      expect(marked(text, query), `${query} in ${text}`).to.deep.equal(expected)
  })

  it('looks at the beginning of a very long text alone', () => {
    const text = `first ${'word '.repeat(100_000)}last`
    expect(marked(text, 'first OR last')).to.deep.equal(['first'])
  })

  it('finds phrases that repeat themselves, wherever they overlap', () => {
    const random = createRandom(3)
    const some = (count: number): string[] => Array.from({ length: count }, () => random.pick(['a', 'b']))
    for (let round = 0; round < 300; round++) {
      const text = some(30)
      const tokens = some(1 + random.below(6))
      const met = text.map((_word, at) => tokens.every((token, index) => text[at + index] === token))
      const isMarked = (at: number): boolean => met.slice(Math.max(0, at - tokens.length + 1), at + 1).includes(true)
      const expected = text.filter((_word, at) => isMarked(at)).join(' ')
      for (const query of [tokens.join(' '), `${tokens.slice(0, -1).join('.')}.${tokens.at(-1)}*`]) {
        const written = query.endsWith('*') ? query : `"${query}"`
        expect(marked(text.join(' '), written).join(' '), `${written} in ${text.join(' ')}`).to.equal(expected)
      }
    }
  })

  it('spends on expressions only so much, over all its texts, and goes on with words', () => {
    const random = createRandom(7)
    const words = Array.from({ length: 1_000 }, () =>
      Array.from({ length: 40 }, () => random.pick(['a', 'b'])).join(''),
    )
    const query = 'word OR /(.*a.{30}x|last)/'
    expect(marked('word last', query)).to.deep.equal(['word', 'last'])
    expect(marked(`word ${words.join(' ')} last word`, query)).to.deep.equal(['word', 'word'])
  })

  it('is bounded', () => expect(marked('x '.repeat(5_000), 'x')).to.have.length(1_000))
})
