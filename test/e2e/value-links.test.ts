import { expect } from 'chai'
import { cookieOf, post, untilIndexed, withCookie, type Reader } from '../support/client.ts'
import { valueLinksOf, type ValueLink } from '../support/page-links.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

const json = { 'content-type': 'application/json' }
const attack = '<img src=x onerror="alert(1)">\'</a>&amp;'

/** JSON texts of the fields of a log record or the attributes of a span, each odd in its way, and each to be found by its links. */
const findable: readonly string[] = [
  ...[
    { 'odd name': 'odd value' },
    { 'a"b': 'c"d', '"': '"', '\\': '\\' },
    { 'back\\slash\\': 'c:\\dir\\', 'end\\"': 'end\\"' },
    { 'colon:name': 'http://host:80/path?x=1&y=2#z', 'a=b#c': 'd=e#f' },
    { '100%': '100% + 5%25 %zz', 'a&b': 'c&d;e' },
    { 名前: '支付失败 order=12', ключ: 'Значение', ßÄ: 'STRASSE Straße ÄÖ', ΟΔΟΣ: 'οδος ς', İ: 'İstanbul' },
    { emoji: '😀 👍🏽', '😀': '!', combining: 'e\u0301 \u00e9', joined: 'a\u200db' },
    { zero: 0, minus: -5, fraction: 1.5, small: 1e-9, large: 1e21, yes: true, no: false },
    { text: '42', 'minus as text': '-5', size: '10kb', time: '1.5s', hex: '0x1F' },
    { nested: { deep: { name: 'v w', 'with.dot': 7 } }, 'nested.flat': 'x', 'a.': 'b', '.a': 'b', 'a..b': 'c' },
    { 'empty value': '', 'blank value': '   ', 'blank ends': ' x ', 'no-break': '\u00a0x\u00a0y' },
    { lines: 'a\nb\r\nc\n', tab: 'a\tb', nul: 'a\0b', ends: '\u0001x\u0002', dot: 'a·b', 'line\nname': 'x' },
    { group: 'a) OR (b', open: '(', quote: '"', pipe: 'a | stats count', both: 'a && b || c', 'a OR b': 'x OR y' },
    { AND: 'OR', not: 'and', TO: 'NOT', _exists_: 'x', or: 'AND f=x AND g' },
    { '-minus': '-x', '!bang': '!x', '+plus': '+x', '@at': '@x', '@@': '@@', $: '$x', '(': ')' },
    { star: '*', wild: 'a*b?c', 'st*r': 'x', regex: '/a.*/', range: '[1 TO 5]', compared: '>400', 'span.x': 'y' },
    { attack, [attack]: 'x', 'it\'s "it"': "it's" },
    { long: 'x'.repeat(500), longer: 'some words '.repeat(60), ['n'.repeat(300)]: 'long name', cjk: '失'.repeat(200) },
    { list: ['a b', 'c', 3, true, ''], one: ['x'] },
    { constructor: 'x', toString: 'y', hasOwnProperty: 'z', length: 3 },
    { q: 'x', cursor: 'y', service_name: 'z', include: 'a', 'event.x': 'b', 'resource.y': 'c', name: 'd' },
  ].map((fields) => JSON.stringify(fields)),
  '{"big":12345678901234567890,"precise":9007199254740993,"lone":"\\ud800x","__proto__":"x","exact":1.0}',
]

/** Names under which a search looks at more than the fields that bear them. */
const taken = JSON.stringify({
  ...{ service: ' padded ', source: 'a topic: x', operation: 'op of its own', Status: 'of its own', KIND: 'odd' },
  'service.name': 'of its own',
})

/** Values that no search finds by, or not exactly: they have no links. */
const unfindable: readonly object[] = [
  { '': 'empty name' },
  { ' ': 'blank name', '@ ': 'blank behind a sign' },
  { nothing: null, list: [], object: {} },
  { 'too long': 'y'.repeat(20_000) },
  { objects: [{ k: 'v' }], many: Array.from({ length: 30 }, (_, n) => n), mixed: [1, null] },
]

/** How many scalars a value holds, and so how many pairs of links there are beside it. */
function scalarsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + scalarsIn(each), 0)
}

/** OTLP has 64 bits for an integer. */
const withoutHugeNumbers = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !(Number(value) > Number.MAX_SAFE_INTEGER)))

/** An AnyValue of OTLP/JSON. */
function anyValue(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  if (typeof value === 'string') return { stringValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return { kvlistValue: { values: attributesOf(value as object) } }
}
const attributesOf = (fields: object): readonly object[] =>
  Object.entries(fields).map(([key, value]) => ({ key, value: anyValue(value) }))

describe('the links beside the values of a record', function () {
  this.timeout(600_000)
  let server: LentServer
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = withCookie(server.baseUrl, await cookieOf(server.baseUrl, server.firstRun.sign_in))
  })
  after(async () => {
    await server.giveBack()
  })

  async function send(path: string, key: string, body: string): Promise<void> {
    const answer = await post(server, path, key, body, json)
    expect(answer.status, await answer.text()).to.equal(200)
  }
  async function page(path: string): Promise<string> {
    const answer = await reader.raw(path, { headers: { accept: 'text/html' } })
    const text = await answer.text()
    expect(answer.status, `${path}\n${text}`).to.equal(200)
    return text
  }

  const rest = (fields: string): string => (fields === '{}' ? '}' : `,${fields.slice(1)}`)
  const logOf = (fields: string, mark: string): string => `{"message":"${mark}","mark":"${mark}"${rest(fields)}`

  /** Follows the links of a page of one record that none before it had: `only` finds it, `not` does not. Gives the words of all. */
  async function followAll(
    text: string,
    isFound: (text: string) => boolean,
    seen: Set<string>,
  ): Promise<readonly string[]> {
    const links = valueLinksOf(text)
    const unseen = links.filter(({ address }) => !seen.has(address) && seen.add(address))
    const follow = async ({ verb, words, address }: ValueLink): Promise<void> => {
      expect(isFound(await page(address)), `${verb} ${words}\n${address}`).to.equal(verb === 'only')
    }
    for (let at = 0; at < unseen.length; at += 4) await Promise.all(unseen.slice(at, at + 4).map(follow))
    return links.filter(({ verb }) => verb === 'only').map(({ words }) => words)
  }

  it('of a log find it and leave it out, whatever it holds', async () => {
    const sent = [...findable, taken]
    const logs = sent.map((fields, index) => logOf(fields, `marked${index}`))
    await send('/api/logs/v1/ingest', server.firstRun.keys.logs, `[${logs.join(',')}]`)
    await untilIndexed(server)
    const seen = new Set<string>()
    for (const [index, fields] of sent.entries()) {
      const text = await page(`/app/logs?q=mark%3Dmarked${index}`)
      const words = await followAll(text, (found) => found.includes('<strong>1 record</strong>'), seen)
      expect(words.length, `${fields}\n${words.join('\n')}`).to.equal(scalarsIn(JSON.parse(fields)) + 2)
    }
  })

  it('of a span find its trace and leave it out, whatever its attributes, events or resource hold', async () => {
    const nowNs = BigInt(Date.now()) * 1_000_000n
    const traceOf = (index: number): string => `${index + 1}`.padStart(32, 'a')
    const owners = ['span', 'event', 'resource'] as const
    const given = [
      ...findable.map((fields, index) => ({ fields, owner: owners[index % owners.length] })),
      ...owners.map((owner) => ({ fields: taken, owner })),
    ].map(({ fields, owner }) => ({ owner, fields: withoutHugeNumbers(JSON.parse(fields) as object) }))
    const resourceSpans = given.map(({ fields, owner }, index) => {
      const attributes = (of: string): readonly object[] => (of === owner ? attributesOf(fields) : [])
      const service = { key: 'service.namespace', value: { stringValue: 'of spans' } }
      const span = {
        traceId: traceOf(index),
        spanId: `${index + 1}`.padStart(16, 'b'),
        name: `operation ${index}`,
        kind: 2,
        startTimeUnixNano: `${nowNs}`,
        endTimeUnixNano: `${nowNs + 1_000n}`,
        status: { code: 2, message: 'failed' },
        attributes: attributes('span'),
        events: [{ timeUnixNano: `${nowNs}`, name: 'an event', attributes: attributes('event') }],
      }
      return { resource: { attributes: [service, ...attributes('resource')] }, scopeSpans: [{ spans: [span] }] }
    })
    await send('/api/traces/v1/otlp', server.firstRun.keys.tracing, JSON.stringify({ resourceSpans }))
    await untilIndexed(server)
    const seen = new Set<string>()
    for (const [index, { fields, owner }] of given.entries()) {
      const text = await page(`/app/trace/${traceOf(index)}`)
      const isFound = (found: string): boolean => found.includes(`href="/app/trace/${traceOf(index)}"`)
      const words = await followAll(text, isFound, seen)
      expect(words).to.include.members([`operation: operation ${index}`, 'kind: server', 'status: error'])
      expect(words.length, `${owner}\n${words.join('\n')}`).to.equal(5 + scalarsIn(fields))
    }
  })

  it('are not there where nothing would find it', async () => {
    const logs = unfindable.map((fields, index) => logOf(JSON.stringify(fields), `unlinked${index}`))
    await send('/api/logs/v1/ingest', server.firstRun.keys.logs, `[${logs.join(',')}]`)
    await untilIndexed(server)
    for (const index of unfindable.keys()) {
      const words = valueLinksOf(await page(`/app/logs?q=mark%3Dunlinked${index}`)).map((link) => link.words)
      expect(words, JSON.stringify(unfindable[index]).slice(0, 100)).to.deep.equal(
        ['message', 'mark'].flatMap((name) => Array.from({ length: 2 }, () => `${name}: unlinked${index}`)),
      )
    }
  })
})
