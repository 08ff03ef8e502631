import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { QueryTree } from '#src/events/query-tree.ts'
import type { Level } from '#src/events/telemetry.ts'
import { parseQuery, type ParsedQuery } from '#src/query/language/parse-query.ts'
import { createRandom } from '#test/support/random.ts'

const text = (value: string): QueryTree => ({ kind: 'text', text: value })
const match = (field: string, value: string): QueryTree => ({ kind: 'match', field, text: value })
const equals = (field: string, value: string): QueryTree => ({ kind: 'equals', field, value })
const exists = (field: string): QueryTree => ({ kind: 'exists', field })
const not = (of: QueryTree): QueryTree => ({ kind: 'not', of })
const and = (...of: QueryTree[]): QueryTree => ({ kind: 'and', of })
const or = (...of: QueryTree[]): QueryTree => ({ kind: 'or', of })
const wildcard = (pattern: string, field: string | null = null): QueryTree => ({
  kind: 'pattern',
  field,
  syntax: 'wildcard',
  pattern,
})
const regex = (pattern: string, field: string | null = null): QueryTree => ({
  kind: 'pattern',
  field,
  syntax: 'regex',
  pattern,
})
const ofLevels = (...levels: Level[]): QueryTree => ({ kind: 'levels', levels })
const all: QueryTree = { kind: 'all' }

/** `>400`, `<=499` or both. */
function range(field: string, ...bounds: string[]): QueryTree {
  const edges = bounds.map((bound) => {
    const [, sign = '', equal = '', value = ''] = /^([<>])(=?)(.*)$/.exec(bound) ?? []
    return [sign === '>' ? 'from' : 'to', { value, inclusive: equal === '=' }] as const
  })
  return { kind: 'range', field, ...Object.fromEntries(edges) }
}

function parsed(query: string): ParsedQuery {
  const result = parseQuery(query, limits)
  if (!result.ok) throw new Error(`${query}: ${result.error.detail}`)
  return result.value
}

/** Query, tree, and the canonical text where it is of interest. */
const table: readonly (readonly [query: string, tree: QueryTree, normalized?: string])[] = [
  ['', all, ''],
  ['   ', all, ''],
  ['*', all, ''],
  ['*:*', all, ''],
  ['* AND a', text('a'), 'a'],
  ['* OR a', or(all, text('a')), '* OR a'],
  ['timeout', text('timeout'), 'timeout'],
  ['  timeout\t', text('timeout')],
  ['a b', and(text('a'), text('b')), 'a AND b'],
  ['a >(b)', and(text('a'), text('b'))],
  ['a *.', text('a')],
  ['htt*://x', wildcard('htt*://x')],
  ['a AND b and c && d', and(text('a'), text('b'), text('c'), text('d')), 'a AND b AND c AND d'],
  ['a&&b', and(text('a'), text('b'))],
  ['a OR b or c || d', or(text('a'), text('b'), text('c'), text('d')), 'a OR b OR c OR d'],
  ['a||b', or(text('a'), text('b'))],
  ['a OR b c', or(text('a'), and(text('b'), text('c'))), 'a OR (b AND c)'],
  ['a b OR c', or(and(text('a'), text('b')), text('c')), '(a AND b) OR c'],
  ['(a OR b) c', and(or(text('a'), text('b')), text('c')), '(a OR b) AND c'],
  ['((a))', text('a'), 'a'],
  ['a (b (c))', and(text('a'), text('b'), text('c'))],
  ['NOT a OR b', or(not(text('a')), text('b')), 'NOT a OR b'],
  ['NOT a b', and(not(text('a')), text('b')), 'NOT a AND b'],
  ['not (a or b) and c', and(not(or(text('a'), text('b'))), text('c')), 'NOT (a OR b) AND c'],
  ['-a', not(text('a')), 'NOT a'],
  ['!a', not(text('a'))],
  ['! a', not(text('a'))],
  ['NOT NOT a', text('a')],
  ['NOT -a', text('a')],
  ['-(a b)', not(and(text('a'), text('b')))],
  ['NOT(a)', not(text('a'))],
  ['a -b !c NOT d', and(text('a'), not(text('b')), not(text('c')), not(text('d')))],
  ['+a +b', and(text('a'), text('b'))],
  ['And Or Not', and(text('And'), text('Or'), text('Not'))],
  ['android order nothing', and(text('android'), text('order'), text('nothing'))],
  ['TO', text('TO')],
  ['"a phrase"', text('a phrase'), '"a phrase"'],
  ['C:\\inetpub\\app', text('C:\\inetpub\\app'), '"C:\\\\inetpub\\\\app"'],
  ['path:C:\\Temp', match('path', 'C:\\Temp')],
  ['user=CORP\\ann', equals('user', 'CORP\\ann')],
  ['CORP\\ann*', wildcard('CORP\\\\ann*')],
  ['f:\\*x\\:\\\\y', match('f', '*x:\\y')],
  ['"say \\"hi\\" \\\\ there"', text('say "hi" \\ there')],
  ['"and"', text('and'), '"and"'],
  ['"a*"', text('a*'), '"a*"'],
  ['“a phrase”', text('a phrase'), '"a phrase"'],
  ['„a phrase“ -“b c”', and(text('a phrase'), not(text('b c')))],
  ['service:“order service”', match('service', 'order service'), 'service:"order service"'],
  ['service = “order service”', equals('service', 'order service'), 'service="order service"'],
  ['service:(“a b” OR c)', or(match('service', 'a b'), match('service', 'c'))],
  ['“a b', and(text('“a'), text('b'))],
  ['"say “hi”"', text('say “hi”')],
  ['foo"bar baz"', and(text('foo'), text('bar baz'))],
  ['a-b', text('a-b'), 'a-b'],
  ['--verbose', text('--verbose'), '"--verbose"'],
  ['-5', not(text('5'))],
  ['x->y', text('x->y')],
  ['->y', text('->y'), '"->y"'],
  ['x=>y', text('x=>y')],
  ['Müller', text('Müller'), 'Müller'],
  ['支付', text('支付'), '支付'],
  ['/api/v1/orders', text('/api/v1/orders'), '"/api/v1/orders"'],
  ['GET /health OR status/', or(and(text('GET'), text('/health')), text('status/'))],
  ['/api/v1/', text('/api/v1/')],
  ['/orders?id=7', text('/orders?id=7')],
  ['http://example.com/a?b=1&c=2', text('http://example.com/a?b=1&c=2')],
  ['10.0.0.7:5432', text('10.0.0.7:5432'), '"10.0.0.7:5432"'],
  ['12:30:45', text('12:30:45')],
  ['std::vec::Vec', text('std::vec::Vec')],
  ['a\\:b', text('a:b'), '"a:b"'],
  ['a\\ b', text('a b')],
  ['a\\*', text('a*'), '"a*"'],
  ['9f1c2d3e-0000-4000-8000-aabbccddeeff', text('9f1c2d3e-0000-4000-8000-aabbccddeeff')],
  ['[error] done', and(text('[error]'), text('done'))],
  ['a,b;c', text('a,b;c')],
  ['a & b', and(text('a'), text('b'))],
  ['wow!', text('wow!')],

  ['f:v', match('f', 'v'), 'f:v'],
  ['f: v', match('f', 'v'), 'f:v'],
  ['f : v', match('f', 'v'), 'f:v'],
  ['f:"a b"', match('f', 'a b'), 'f:"a b"'],
  ['f:500', match('f', '500'), 'f:500'],
  ['f:"500"', match('f', '500'), 'f:500'],
  ['f:-5', match('f', '-5'), 'f:"-5"'],
  ['f:and', match('f', 'and'), 'f:and'],
  ['or:x', match('or', 'x'), '"or":x'],
  ['f:/api/v1', match('f', '/api/v1'), 'f:"/api/v1"'],
  ['f:a:b', match('f', 'a:b'), 'f:"a:b"'],
  ['f:http://x/y', match('f', 'http://x/y')],
  ['@level:warn', match('level', 'warn'), 'level:warn'],
  ['@@x:1', match('x', '1')],
  ['http.status_code:500', match('http.status_code', '500'), 'http.status_code:500'],
  ['k8s.pod/name:x', match('k8s.pod/name', 'x')],
  ['"a b":c', match('a b', 'c'), '"a b":c'],
  ['"a\\"b":c', match('a"b', 'c')],
  ['"@x":c', match('x', 'c'), 'x:c'],
  ['"error": 500', match('error', '500')],
  ['größe:5', match('größe', '5'), 'größe:5'],
  ['*:foo', text('foo')],
  ['-f:x', not(match('f', 'x')), 'NOT f:x'],
  ['f:!x', not(match('f', 'x'))],
  ['f:!=x', not(equals('f', 'x'))],
  ['f=v', equals('f', 'v'), 'f=v'],
  ['f==v', equals('f', 'v'), 'f=v'],
  ['f:=v', equals('f', 'v'), 'f=v'],
  ['f = v', equals('f', 'v')],
  ['f="a b"', equals('f', 'a b'), 'f="a b"'],
  ['f=""', equals('f', '')],
  ['f=/api/v1/', equals('f', '/api/v1/')],
  ['f=(>5 OR [b)', or(equals('f', '>5'), equals('f', '[b'))],
  ['f=a*b', equals('f', 'a*b'), 'f="a*b"'],
  ['connection_timeout_ms=500', equals('connection_timeout_ms', '500')],
  ['f!=v', not(equals('f', 'v')), 'f!=v'],
  ['f != v', not(equals('f', 'v')), 'f!=v'],
  ['NOT f!=v', equals('f', 'v')],
  ['f===v', equals('f', 'v'), 'f=v'],
  ['f === v', equals('f', 'v')],
  ['f:==v', equals('f', 'v')],
  ['f := v', equals('f', 'v')],
  ['f =/a/b', equals('f', '/a/b')],
  ['f =(a OR b)', or(equals('f', 'a'), equals('f', 'b'))],
  ['f !==v', not(equals('f', 'v')), 'f!=v'],
  ['f!==v', not(equals('f', 'v')), 'f!=v'],
  ['f!== v', not(equals('f', 'v'))],
  ['f !== v', not(equals('f', 'v'))],
  ['f:!==v', not(equals('f', 'v'))],
  ['f<>v', not(equals('f', 'v')), 'f!=v'],
  ['f <> v', not(equals('f', 'v'))],
  ['f:<>v', not(equals('f', 'v'))],
  ['"a b"<>v', not(equals('a b', 'v'))],
  ['f !=/a/b', not(equals('f', '/a/b'))],
  ['f !=(a OR b)', not(or(equals('f', 'a'), equals('f', 'b')))],
  ['f != (a OR b)', not(or(equals('f', 'a'), equals('f', 'b')))],
  ['f !=*', not(exists('f'))],
  ['f :> 4', range('f', '>4')],
  ['f :>=4', range('f', '>=4')],
  ['on :8080', and(text('on'), text(':8080'))],
  ['=======', all],
  ['(a =)', text('a')],
  ['f:*', exists('f'), 'f:*'],
  ['f=*', exists('f')],
  ['f!=*', not(exists('f')), 'NOT f:*'],
  ['_exists_:f', exists('f')],
  ['_exists_:@f', exists('f')],
  ['-_exists_:"a b"', not(exists('a b')), 'NOT "a b":*'],
  ['"_exists_":f', match('_exists_', 'f'), '"_exists_":f'],
  ['_exists_>=5', range('_exists_', '>=5'), '"_exists_":>=5'],
  ['_exists_=*', exists('_exists_'), '"_exists_":*'],
  ['f:(a OR b)', or(match('f', 'a'), match('f', 'b')), 'f:a OR f:b'],
  ['f:(a b)', and(match('f', 'a'), match('f', 'b'))],
  ['f:(a NOT (b OR "c d"))', and(match('f', 'a'), not(or(match('f', 'b'), match('f', 'c d'))))],
  ['f:(x* OR /y.*/)', or(wildcard('x*', 'f'), regex('y.*', 'f'))],
  ['f:(>400 <500)', and(range('f', '>400'), range('f', '<500'))],
  ['f:([1 TO 2] OR 7)', or(range('f', '>=1', '<=2'), match('f', '7'))],
  ['f=(a OR b)', or(equals('f', 'a'), equals('f', 'b')), 'f=a OR f=b'],
  ['f!=(a OR b)', not(or(equals('f', 'a'), equals('f', 'b')))],
  ['f:(10.0.0.7:80)', match('f', '10.0.0.7:80')],

  ['nullpointer*', wildcard('nullpointer*'), 'nullpointer*'],
  ['a***b', wildcard('a*b'), 'a*b'],
  ['a?c', wildcard('a?c'), 'a?c'],
  ['a\\*b*', wildcard('a\\*b*'), 'a\\*b*'],
  ['com.acme.*', wildcard('com.acme.*'), 'com.acme.*'],
  ['-tmp*', not(wildcard('tmp*')), 'NOT tmp*'],
  ['f:check*', wildcard('check*', 'f'), 'f:check*'],
  ['f:/api/*/orders', wildcard('/api/*/orders', 'f')],
  ['f:a\\ b*', wildcard('a b*', 'f'), 'f:a\\ b*'],
  ['/err.*/', regex('err.*'), '/err.*/'],
  ['/(error|warn)/', regex('(error|warn)')],
  ['/[^ a]+/', regex('[^ a]+')],
  ['a /b/ c', and(text('a'), regex('b'), text('c'))],
  ['(/b/)', regex('b')],
  ['f:/4\\d\\d/', regex('4\\d\\d', 'f'), 'f:/4\\d\\d/'],
  ['path:/\\/api\\/.*/', regex('\\/api\\/.*', 'path')],

  ['f:>400', range('f', '>400'), 'f:>400'],
  ['f>400', range('f', '>400'), 'f:>400'],
  ['f >= 400', range('f', '>=400'), 'f:>=400'],
  ['f:<1.50', range('f', '<1.5'), 'f:<1.5'],
  ['f:<=-3', range('f', '<=-3')],
  ['f:>"400"', range('f', '>400')],
  ['f:>1e3', range('f', '>1000')],
  ['f:>9007199254740993', range('f', '>9007199254740993')],
  ['f:>18446744073709551616', range('f', '>18446744073709551616')],
  ['f:[400 TO 499]', range('f', '>=400', '<=499'), 'f:[400 TO 499]'],
  ['f:{400 TO 499}', range('f', '>400', '<499'), 'f:{400 TO 499}'],
  ['f:[400 TO 499}', range('f', '>=400', '<499'), 'f:[400 TO 499}'],
  ['f:{400 to 499]', range('f', '>400', '<=499'), 'f:{400 TO 499]'],
  ['f:[ -1  TO  1 ]', range('f', '>=-1', '<=1')],
  ['f:[* TO 5]', range('f', '<=5'), 'f:<=5'],
  ['f:{5 TO *}', range('f', '>5'), 'f:>5'],
  ['f:[* TO *]', range('f'), 'f:[* TO *]'],
  ['duration:>200ms', range('duration', '>200000000'), 'duration:>200000000'],
  ['duration:>=1.5s', range('duration', '>=1500000000')],
  ['duration:<2h', range('duration', '<7200000000000')],
  ['duration:<1h30m', range('duration', '<5400000000000')],
  ['duration:<5us', range('duration', '<5000')],
  ['duration:<5µs', range('duration', '<5000')],
  ['duration:[1ms TO 1s]', range('duration', '>=1000000', '<=1000000000')],
  ['size:>10kb', range('size', '>10000')],
  ['size:>1MiB', range('size', '>1048576')],
  ['size:>0.5GB', range('size', '>500000000')],

  ['level>=warn', ofLevels('warn', 'error', 'fatal'), 'level>=warn'],
  ['level:>=WARNING', ofLevels('warn', 'error', 'fatal'), 'level>=warn'],
  ['SeverityText>=warn', ofLevels('warn', 'error', 'fatal'), 'level>=warn'],
  ['level>error', ofLevels('fatal'), 'level>=fatal'],
  ['level<=info', ofLevels('trace', 'debug', 'info'), 'level<=info'],
  ['level<trace', ofLevels(), 'level>fatal'],
  ['level:[warn TO fatal]', ofLevels('warn', 'error', 'fatal')],
  ['level:{debug TO error}', ofLevels('info', 'warn'), 'level:[info TO warn]'],
  ['level:[* TO debug]', ofLevels('trace', 'debug')],
  ['level:[warn TO *]', ofLevels('warn', 'error', 'fatal'), 'level>=warn'],
  ['level:[error TO info]', ofLevels()],
  ['severity>=err', ofLevels('error', 'fatal')],
  ['level:>=30', range('level', '>=30')],
  ['level:warn', match('level', 'warn')],
]

describe('query/language', () => {
  for (const [query, tree, normalized] of table) {
    it(query === '' ? 'an empty query' : query, () => {
      const found = parsed(query)
      expect(found.tree).to.deep.equal(tree)
      if (normalized !== undefined) expect(found.normalized).to.equal(normalized)
      const again = parsed(found.normalized)
      expect(again.tree).to.deep.equal(found.tree)
      expect(again.normalized).to.equal(found.normalized)
    })
  }

  it('warns of what it leaves out or takes otherwise than it looks', () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['a -- b', /"--" has no letter or digit/],
      ['a "..." b', /left out/],
      ['foo*bar.baz', /separate words/],
      ['支*败', /separate words/],
      ['f=a*', /literally/],
      ['took_ms:>2s', /took_ms holds plain numbers.*2000000000 \(ns\)/],
      ['size_kb:>2kb', /2000 \(bytes\)/],
      ['f:[5 TO 1]', /matches nothing/],
      ['f:(3 OR -7)', /leaves out 7/],
      ['took>21.5 ms', /compared with 21.5, and ms is looked for as a word; write 21.5ms/],
      ['(took:>=3 MiB) a', /write 3MiB/],
      ['level:error,warn', /the comma in level:error,warn is no OR; write level:\(error OR warn\) for either/],
      ['NOT level=error,warn', /write level=\(error OR warn\)/],
      ['level:(error warn)', /^level:\(error warn\) asks for both; write level:\(error OR warn\) for either$/],
      ['-level=(error "a b" warn)', /asks for all; write level=\(error OR "a b" OR warn\) for either$/],
      ['level:(error, warn)', /write level:\(error OR …\)/],
      ['level:error, warn', /write level:\(error OR …\)/],
      ["level = 'error'", /^' is no quotation mark here; write level="error"$/],
      ["NOT f:'a b'", /write f:"a b"$/],
      ["f != 'a'", /write f!="a"$/],
      ["f<>'a'", /write f!="a"$/],
      ['level:-error', /level:-error looks for error; write -level:error to leave it out/],
      ['f:-7,or,api*,', /write f:\("-7" OR "or" OR api\* OR …\)/],
      ['f:(-5.5 OR 3)', /leaves out 5.5; write "-5.5" for the number/],
    ]
    for (const [query, warning] of cases) {
      expect(parsed(query).warnings, query).to.have.length(1)
      expect(parsed(query).warnings[0], query).to.match(warning)
    }
    expect(parsed('f:~/a f:a~b ~/a a ~b').warnings).to.deep.equal([])
    expect(parsed('a b f:x *支付* duration:>2s f:-5 -5 f:("-5" OR -b) f:(500 -502)').warnings).to.deep.equal([])
    expect(parsed('took>21.5ms n>3 sales n>3 or n<2 n>2 AND ms size>3 "kb"').warnings).to.deep.equal([])
    expect(parsed('-a:b a:(b -c) a:"-b" a=-b a:--b a:-1').warnings).to.deep.equal([])
    expect(parsed('a,b a, f:"a,b" f:, f:,a f="a,b" /a,b/').warnings).to.deep.equal([])
    expect(parsed('f:(a AND b) f:(a b AND c) f:(a AND b c) f:(a OR b) f:(a -b) f:(a b*) (a b)').warnings).to.deep.equal(
      [],
    )
    expect(parsed("f:it's f:'a f:\"'a'\" 'a b' f:'a'b f:a'").warnings).to.deep.equal([])
    expect(parsed('" " f:[9 TO 10] duration_ms:>5 (-5 OR a)').warnings).to.deep.equal([])
    expect(parsed('-- OR a').tree).to.deep.equal(text('a'))
    expect(parsed('NOT --').tree).to.deep.equal(all)
    expect(parsed('("--")').tree).to.deep.equal(all)
  })

  it('prints any tree that it makes so that it parses to the same', () => {
    const { below: random, pick: one } = createRandom(42)
    const words = [
      'a',
      'Foo',
      'and',
      '"or"',
      'x*',
      '?y',
      '/re+/',
      '"a \\"b\\" c"',
      '支付',
      'a\\:b',
      '10.0.0.7',
      '-5',
      '--',
      '/p/q',
      'cafe\u0301*',
      '/cafe\u0301/',
    ]
    const fields = ['f', '@g', 'a.b', '"my field"', 'level', '"or"', '_x', 'größe']
    const values = [
      'v',
      '"a b"',
      '*',
      'p*',
      '/r[0-9]*/',
      '>5',
      '<=1.5s',
      '[1 TO *}',
      '(a OR -b)',
      '-3',
      'x:y',
      '!z',
      '=q',
      '!=q',
    ]
    const clause = (): string => (random(2) === 0 ? one(words) : `${one(fields)}:${one(values)}`)
    const query = (depth: number): string => {
      const kind = random(depth > 0 ? 6 : 1)
      if (kind < 2) return clause()
      if (kind === 2) return `NOT ${query(depth - 1)}`
      if (kind === 3) return `(${query(depth - 1)} OR ${query(depth - 1)})`
      return `${query(depth - 1)} ${one(['AND', 'or', '', '&&'])} ${query(depth - 1)}`
    }
    let made = 0
    for (let round = 0; round < 3_000; round++) {
      const typed = query(4)
      const result = parseQuery(typed, limits)
      if (!result.ok) continue
      made++
      const { tree, normalized } = result.value
      const again = parseQuery(normalized, limits)
      expect(again.ok, `${typed} -> ${normalized}`).to.equal(true)
      if (again.ok) expect(again.value.tree, `${typed} -> ${normalized}`).to.deep.equal(tree)
    }
    expect(made).to.be.greaterThan(2_000)
  })
})
