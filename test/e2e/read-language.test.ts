import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { answerOf, at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'

const messages = {
  timeout: 'connection_timeout_ms=500 exceeded',
  orders: 'GET /api/v1/orders?id=7 500',
  java: 'java.lang.NullPointerException at com.acme.Foo',
  peer: 'peer 10.0.0.7:5432 refused',
  uuid: 'order 9f1c2d3e-0000-4000-8000-aabbccddeeff paid',
  german: 'Zahlung für Müller fehlgeschlagen',
  chinese: '支付失败 order=12',
  login: 'user logged in',
} as const
type Name = keyof typeof messages
const names = Object.keys(messages) as readonly Name[]

const fields: Readonly<Record<Name, JsonObject>> = {
  timeout: { level: 'error', status: 500, took: 1_500_000_000, env: 'staging' },
  orders: { level: 'warn', status: '500', path: '/api/v1/orders', size: 10_240 },
  java: { level: 'fatal', status: 404, codes: [1, 2] },
  peer: { level: 'info', status: 499, codes: [2, 3], 'http.route': '/db' },
  uuid: { level: 'info', user: 'Ann Lee', 'odd name': 'x' },
  german: { level: 'debug', user: 'ann', share: 0.25, drift: -50 },
  chinese: { note: '用户支付失败', share: '0.25', drift: '-50', empty: '', done: false, absent: null, none: [] },
  login: { level: 'trace', user: 'bob', share: 25, drift: 50 },
}

/** The forms of the search language (src/query/language/README.md), and what each finds. */
const table: readonly (readonly [query: string, found: readonly Name[]])[] = [
  ['timeout', ['timeout']],
  ['orders', ['orders']],
  ['/api/v1/orders', ['orders']],
  ['"v1 orders"', ['orders']],
  ['NullPointerException', ['java']],
  ['nullpointer*', ['java']],
  ['com.acme.foo', ['java']],
  ['10.0.0.7', ['peer']],
  ['5432', ['peer']],
  ['"10.0.0.7:5432"', ['peer']],
  ['9f1c2d3e-0000-4000-8000-aabbccddeeff', ['uuid']],
  ['9f1c2d3e', ['uuid']],
  ['müller', ['german']],
  ['FÜR', ['german']],
  ['支付', ['chinese']],
  ['log', []],
  ['log*', ['login']],
  // Words, phrases, and where they are looked for.
  ['order paid', ['uuid']],
  ['PAID Order', ['uuid']],
  ['"order paid"', []],
  ['"logged in"', ['login']],
  ['staging', ['timeout']],
  ['"order x"', []],
  // Fields.
  ['user:ann', ['uuid', 'german']],
  ['user:"ann lee"', ['uuid']],
  ['user=ann', ['german']],
  ['user=ANN', ['german']],
  ['user!=ann', ['timeout', 'orders', 'java', 'peer', 'uuid', 'chinese', 'login']],
  ['user!==ann user:*', ['uuid', 'login']],
  ['user !== ann user:*', ['uuid', 'login']],
  ['user <> ann user:*', ['uuid', 'login']],
  ['user === ann', ['german']],
  ['path !=/absent path:*', ['orders']],
  ['user:(ann OR bob)', ['uuid', 'german', 'login']],
  ['user=(ann OR bob)', ['german', 'login']],
  ['user:*', ['uuid', 'german', 'login']],
  // A field that is there, whatever its value is: of one word, of many or none, a list, a number, or fields of its own.
  ['codes:*', ['java', 'peer']],
  ['path:*', ['orders']],
  ['http:*', ['peer']],
  ['odd:*', []],
  ['empty:*', ['chinese']],
  ['done:*', ['chinese']],
  ['note:*', ['chinese']],
  ['absent:* OR none:*', []],
  ['us:* OR use:* OR users:*', []],
  ['@user:bob', ['login']],
  ['http.route:/db', ['peer']],
  ['"odd name":x', ['uuid']],
  ['user:b?b', ['login']],
  ['user:an*', ['uuid', 'german']],
  ['path:/api/*/orders', ['orders']],
  ['status:500', ['timeout', 'orders']],
  ['status:"500"', ['timeout', 'orders']],
  // Negation also means that the field may be missing, and that none of several values matches.
  ['-user:ann user:*', ['login']],
  ['!timeout status:500', ['orders']],
  ['NOT codes:2', ['timeout', 'orders', 'uuid', 'german', 'chinese', 'login']],
  ['-codes:1', ['timeout', 'orders', 'peer', 'uuid', 'german', 'chinese', 'login']],
  ['codes!=3 codes:*', ['java']],
  // NOT binds over AND over OR; operators in every spelling.
  ['timeout OR müller AND nothing', ['timeout']],
  ['(timeout OR müller) AND fehlgeschlagen', ['german']],
  ['timeout or müller', ['timeout', 'german']],
  ['timeout || müller', ['timeout', 'german']],
  ['order and paid', ['uuid']],
  ['order && paid', ['uuid']],
  ['order not paid', ['chinese']],
  ['order AND NOT paid OR log*', ['chinese', 'login']],
  // Numbers compare as numbers, and only numbers.
  ['status:>400', ['timeout', 'java', 'peer']],
  ['status:>=499', ['timeout', 'peer']],
  ['status:<499', ['java']],
  ['status:<=499', ['java', 'peer']],
  ['status>499', ['timeout']],
  ['status:[400 TO 499]', ['java', 'peer']],
  ['status:{404 TO 500}', ['peer']],
  ['status:[404 TO *]', ['timeout', 'java', 'peer']],
  ['took:>=1.5s', ['timeout']],
  ['took:>1500ms', []],
  ['size:>=10KiB', ['orders']],
  ['size:>10kb', ['orders']],
  ['size:<10kb', []],
  // Levels in their order.
  ['level>=warn', ['timeout', 'orders', 'java']],
  ['level:<info', ['german', 'login']],
  ['level:[info TO error]', ['timeout', 'orders', 'peer', 'uuid']],
  ['level:error', ['timeout']],
  ['level:WARNING', ['orders']],
  // Patterns.
  ['/time.*/', ['timeout']],
  ['/null[a-z]+exception/', ['java']],
  ['user:/b.b/', ['login']],
  // A number as its text: with its sign, and what is behind the point.
  ['share:0.2*', ['german', 'chinese']],
  ['share:0.*', ['german', 'chinese']],
  ['share:0*', ['german', 'chinese']],
  ['share:2*', ['chinese', 'login']],
  ['drift:-5*', ['german', 'chinese']],
  ['drift:-50*', ['german', 'chinese']],
  ['drift:-*', ['german', 'chinese']],
  ['status:/4\\d\\d/', ['java', 'peer']],
  ['*xception', ['java']],
  ['null*exception', ['java']],
  ['t?meout', ['timeout']],
  // In scripts without blanks each character is a word, and what stands between wildcards a phrase.
  ['*付失*', ['chinese']],
  ['*失败', ['chinese']],
  ['支付*', ['chinese']],
  ['支*败', ['chinese']],
  ['*付支*', []],
  ['note:*付失*', ['chinese']],
]

describe('the search language over HTTP', () => {
  let server: LentServer
  let reader: Reader
  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const send = sendingTo(server, server.firstRun.keys)
    const timestamp = new Date().toISOString()
    await send.logs(
      names.map((name) => {
        const said: JsonObject = name === 'peer' ? { msg: messages[name], timestamp } : { message: messages[name] }
        return { ...said, service: name, ...fields[name] }
      }),
    )
    await send.spans(
      names.map((name) => ({
        traceId: hex(32, name),
        spanId: hex(16, name),
        name: messages[name],
        service: name,
        attributes: fields[name],
      })),
    )
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const search = (path: string, q: string) => answerOf(reader, `${path}?q=${encodeURIComponent(q)}&limit=100`)
  const foundIn = async (q: string): Promise<unknown[]> =>
    listOf(await search('/api/app/logs/search', q), 'logs').map(({ service }) => service)

  for (const [query, found] of table) {
    it(`${query} finds ${found.join(' ') || 'nothing'}, and so does what it is understood as`, async () => {
      expect(await foundIn(query)).to.have.members(found)
      const normalized = String(at(await search('/api/app/logs/search', query), 'query', 'normalized'))
      expect(await foundIn(normalized), normalized).to.have.members(found)
    })
  }

  it('finds what has a message or tells its time, by whichever name', async () => {
    expect(await foundIn('message:*')).to.have.members(names)
    expect(await foundIn('NOT message:*')).to.deep.equal([])
    expect(await foundIn('timestamp:*')).to.deep.equal(['peer'])
    expect(await foundIn('msg:*')).to.deep.equal(['peer'])
  })

  it('finds spans by the same words', async () => {
    for (const [query, found] of table) {
      // Levels are of logs.
      if (query.startsWith('level')) continue
      const traces = listOf(await search('/api/app/traces/search', query), 'traces')
      expect(
        traces.map((trace) => at(trace, 'root', 'service')),
        query,
      ).to.have.members(found)
    }
  })

  it('says what it left out or takes otherwise than it may look', async () => {
    for (const query of ['timeout --- x', 'user=a*', 'foo-*-bar', 'user IN (ann, bob)', 'status => 400']) {
      const warnings = at(await search('/api/app/logs/search', query), 'query', 'warnings')
      expect(warnings, query).to.be.an('array').that.is.not.empty
    }
    expect(at(await search('/api/app/logs/search', 'timeout'), 'query', 'warnings')).to.deep.equal([])
  })

  const mistakes: readonly (readonly [query: string, position: number])[] = [
    ['error | stats count()', 6],
    ['(a', 2],
    ['a )', 2],
    ['user:', 5],
    ['status:>abc', 8],
    ['status:[1 TO', 10],
    ['"open', 5],
    ['a AND', 5],
    ['user=~b.*', 4],
    ['user !~ b.*', 5],
    ['/(?=a)/', 1],
    ['fo*:bar', 0],
  ]
  for (const [query, position] of mistakes) {
    it(`${query} is a mistake at ${position}`, async () => {
      const { status, body } = await reader.get(`/api/app/logs/search?q=${encodeURIComponent(query)}`)
      expect([status, body['code']]).to.deep.equal([400, 'query_syntax'])
      expect(body['expected']).to.be.an('array')
      expect(body['position']).to.equal(position)
    })
  }

  it('takes as many characters as a search may have, in any script', async () => {
    const ideographs = String.fromCharCode(...Array.from({ length: 4_096 }, (_, n) => 0x4e00 + n))
    for (const q of ['a'.repeat(4_096), ideographs, '𝄞'.repeat(2_048)]) {
      const { status } = await reader.get(`/api/app/logs/search?q=${encodeURIComponent(q)}`)
      expect(status, q.slice(0, 2)).to.equal(200)
    }
  })

  it('finds nothing by a wildcard with more characters than a word has', async () => {
    const patterns = [`?${'a'.repeat(4_000)}`, `*${'ß'.repeat(2_000)}`, `user:*${'a'.repeat(4_000)}`]
    for (const path of ['/api/app/logs/search', '/api/app/traces/search']) {
      for (const pattern of patterns) {
        const answer = await search(path, pattern)
        expect(listOf(answer, path.includes('logs') ? 'logs' : 'traces'), pattern.slice(0, 9)).to.deep.equal([])
      }
    }
  })

  it('compares services as long as they are stored', async () => {
    for (const path of ['/api/app/logs/search', '/api/app/traces/search']) {
      const statuses = [1_024, 1_025].map(
        async (length) => (await reader.get(`${path}?service=${'s'.repeat(length)}`)).status,
      )
      expect(await Promise.all(statuses), path).to.deep.equal([200, 400])
    }
  })
})
