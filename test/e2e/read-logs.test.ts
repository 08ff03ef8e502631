import { expect } from 'chai'
import { parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { at, completeAnswerOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, secondNs, sendingTo, type Sending } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const atS = (seconds: number): bigint => t0 + BigInt(seconds) * secondNs
const traceId = hex(32, 'a trace')
const dashed = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

const record = (seconds: number, message: string, more: Readonly<Record<string, Json>> = {}) => ({
  timestamp: formatTimeNs(atS(seconds)),
  message,
  ...more,
})

const records = [
  record(1, 'one starts', {
    level: 'info',
    service: 'api',
    user: { id: 7, plan: 'pro' },
    tags: ['a', 'b'],
    rows: [{ n: 1 }, { n: [2] }, {}, [{ n: 3 }]],
  }),
  record(2, 'two waits', { level: 'warn', service: 'api', trace_id: traceId, span_id: hex(16, 's') }),
  record(3, 'three fails', { level: 'error', service: 'worker', session_id: 's-1', 'http.status': 502 }),
  record(4, 'four fails hard', { level: 'fatal', service: 'worker', big: 9007199254740993n, ratio: 0.1 }),
  { timestamp: formatTimeNs(atS(5)), msg: 'five is silent', level: 'debug', session_id: 's-2' },
  record(6, 'six is traced', { level: 'trace', __proto__x: 1 }),
  record(7, 'seven has no level'),
  { ...record(0, 'old one'), timestamp: formatTimeNs(minutesAgoNs(3 * 24 * 60)), session_id: 's-old' },
]
type Name = 'one' | 'two' | 'three' | 'four' | 'five' | 'six' | 'seven' | 'old'

describe('GET /api/app/logs/search', () => {
  let server: LentServer
  let reader: Reader
  let send: Sending
  const search = (query: string): Promise<JsonObject> => completeAnswerOf(reader, `/api/app/logs/search?${query}`)
  const namesIn = (body: JsonObject): string[] =>
    listOf(body, 'logs').map(({ message }) => String(message).split(' ')[0] ?? '')
  const found = async (query: string): Promise<string[]> => namesIn(await search(query))
  const idOf = async (query: string): Promise<string> => String(listOf(await search(query), 'logs')[0]?.['id'])

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    send = sendingTo(server, server.firstRun.keys)
    await send.logs(records)
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const ofToday: Name[] = ['seven', 'six', 'five', 'four', 'three', 'two', 'one']
  const filters: readonly (readonly [query: string, logs: readonly Name[]])[] = [
    ['', ofToday],
    ['order=desc', ofToday],
    ['order=asc', [...ofToday].reverse()],
    ['q=fails', ['four', 'three']],
    ['q=http.status:>=500', ['three']],
    ['q=user.id:7', ['one']],
    ['q=big=9007199254740993', ['four']],
    ['q=big=9007199254740992', []],
    ['q=level>=warn', ['four', 'three', 'two']],
    ['q=level:[debug TO info]', ['five', 'one']],
    ['q=trace_id:' + dashed.toUpperCase(), ['two']],
    ['level=warn', ['two']],
    ['level=warn&level=error', ['three', 'two']],
    ['level=warn,fatal', ['four', 'two']],
    ['level=trace,debug,info,warn,error,fatal', ['six', 'five', 'four', 'three', 'two', 'one']],
    ['service=worker', ['four', 'three']],
    ['service=Worker&level=error', ['three']],
    ['service=work', []],
    [`trace_id=${traceId}`, ['two']],
    [`trace_id=${dashed.toUpperCase()}`, ['two']],
    ['session_id=s-1', ['three']],
    // Look-ups by id cover all time.
    ['session_id=s-old', ['old']],
    ['session_id=s-old&from=1d', []],
    [`session_id=${'s'.repeat(128)}`, []],
    ['from=4d', [...ofToday, 'old']],
    [`from=${formatTimeNs(atS(5))}`, ['seven', 'six', 'five']],
    [`to=${formatTimeNs(atS(3))}`, ['two', 'one']],
    [`from=${formatTimeNs(atS(2))}&to=${formatTimeNs(atS(4))}`, ['three', 'two']],
    ['limit=2', ['seven', 'six']],
    ['limit=2&order=asc', ['one', 'two']],
    ['limit=1000', ofToday],
  ]
  for (const [query, logs] of filters) {
    it(`${query === '' ? 'everything of the last day' : query} → ${logs.join(' ') || 'nothing'}`, async () => {
      expect(await found(query.replaceAll('>', '%3E'))).to.deep.equal(logs)
    })
  }

  it('answers a record as it was sent, and what was understood of it', async () => {
    const body = await search('q=two')
    const [log] = listOf(body, 'logs')
    expect(log).to.deep.equal({
      id: log?.['id'],
      timestamp: formatTimeNs(atS(2)),
      level: 'warn',
      message: 'two waits',
      service: 'api',
      trace_id: traceId,
      span_id: hex(16, 's'),
      session_id: null,
      fields: records[1],
      highlights: [{ start: 0, end: 3 }],
    })
    const [bare] = listOf(await search('q=seven'), 'logs')
    expect(bare).to.include({ level: null, service: null, trace_id: null, span_id: null, session_id: null })
  })

  it('keeps 64-bit integers to the digit in the text of the answer', async () => {
    const text = await (await reader.raw('/api/app/logs/search?q=four')).text()
    expect(text).to.include('"big":9007199254740993,').and.to.include('"ratio":0.1')
  })

  it('marks every place of the message that met the search', async () => {
    const [log] = listOf(await search('q=fail* hard -nothing'), 'logs')
    expect(log?.['highlights']).to.deep.equal([
      { start: 5, end: 10 },
      { start: 11, end: 15 },
    ])
    expect(listOf(await search('q=service:api'), 'logs')[0]?.['highlights']).to.deep.equal([])
    const [five] = listOf(await search('q=msg:silent'), 'logs')
    expect(five?.['highlights']).to.deep.equal([{ start: 8, end: 14 }])
  })

  it('answers only the fields that are asked for, by dotted names', async () => {
    const [log] = listOf(await search('q=one&fields=user.id,tags,nothing'), 'logs')
    expect(log?.['fields']).to.deep.equal({ 'user.id': 7, tags: ['a', 'b'] })
    expect(log?.['message']).to.equal('one starts')
    const [listed] = listOf(await search('q=rows.n:2&fields=rows.n,rows.m'), 'logs')
    expect(listed?.['fields']).to.deep.equal({ 'rows.n': [1, [2], [3]] })
    const [other] = listOf(await search('q=three&fields=http.status&fields=constructor'), 'logs')
    expect(other?.['fields']).to.deep.equal({ 'http.status': 502 })
  })

  it('counts when asked: over time by level, by value, and all matches', async () => {
    const plain = await search('q=fails')
    expect(plain).not.to.have.any.keys('histogram', 'facets', 'count')
    const range = `from=${formatTimeNs(t0)}&to=${formatTimeNs(atS(10))}`
    const counted = await search(`${range}&limit=1&include=histogram,facets&include=count&order=asc`)
    expect(namesIn(counted)).to.deep.equal(['one'])
    expect(counted['count']).to.equal(7)
    const levels = ['info', 'warn', 'error', 'fatal', 'debug', 'trace', undefined]
    expect(counted['histogram']).to.deep.equal({
      step_ms: 100,
      buckets: levels.map((level, index) => ({
        time: formatTimeNs(atS(index + 1)),
        total: 1,
        by_level: level === undefined ? {} : { [level]: 1 },
      })),
    })
    const facet = (name: string): unknown => listOf(counted, 'facets').find(({ field }) => field === name)?.['values']
    expect(facet('service')).to.have.deep.members([
      { value: 'api', count: 2 },
      { value: 'worker', count: 2 },
    ])
    expect(facet('level')).to.have.length(6)
    expect(facet('source')).to.deep.equal([{ value: 'logs', count: 7 }])
    const filtered = await search(`${range}&q=fails&include=count,histogram,facets`)
    expect([filtered['count'], listOf(filtered['histogram'] as JsonObject, 'buckets').length]).to.deep.equal([2, 2])
  })

  describe('around', () => {
    const around = async (query: string): Promise<string[]> =>
      found(`around=${encodeURIComponent(await idOf('q=four'))}&${query}`)

    it('shows a record among its neighbours, in the order asked for', async () => {
      expect(await around('before=2&after=1')).to.deep.equal(['five', 'four', 'three', 'two'])
      expect(await around('before=2&after=1&order=asc')).to.deep.equal(['two', 'three', 'four', 'five'])
      expect(await around('before=0&after=0')).to.deep.equal(['four'])
      expect(await around('before=0')).to.deep.equal(['seven', 'six', 'five', 'four'])
      expect(await around('')).to.deep.equal([...ofToday, 'old'])
    })

    it('shows of the neighbours those that the filters let through, and the record itself', async () => {
      expect(await around('level=info,warn')).to.deep.equal(['four', 'two', 'one'])
      expect(await around(`from=${formatTimeNs(atS(2))}`)).to.deep.equal([
        'seven',
        'six',
        'five',
        'four',
        'three',
        'two',
      ])
    })

    it('goes on from there', async () => {
      const query = `around=${encodeURIComponent(await idOf('q=four'))}&before=1&after=1&limit=2`
      const first = await search(query)
      expect(namesIn(first)).to.deep.equal(['five', 'four', 'three'])
      const second = await search(`${query}&cursor=${String(first['next_cursor'])}`)
      expect(namesIn(second)).to.deep.equal(['two', 'one'])
      const third = await search(`${query}&cursor=${String(second['next_cursor'])}`)
      expect([namesIn(third), third['next_cursor']]).to.deep.equal([['old'], null])
      const since = await search(`${query}&cursor=${String(first['prev_cursor'])}`)
      expect(namesIn(since), 'nothing has come since').to.deep.equal([])
    })

    it('knows no record of another shape, and none that was never there', async () => {
      const [log] = listOf(await search('q=four'), 'logs')
      const unknown = String(log?.['id']).replace(/-\d+$/, '-4711')
      for (const id of [unknown, 'x', '0', '../etc', "' OR 1=1 --"]) {
        const { status, body } = await reader.get(`/api/app/logs/search?around=${encodeURIComponent(id)}`)
        expect([status, body['code']], id).to.deep.equal([404, 'not_found'])
      }
    })
  })

  describe('following', () => {
    it('gives what has come since, late records too, each once', async () => {
      const query = 'q=follow&order=asc'
      let page = await search(query)
      expect(namesIn(page)).to.deep.equal([])
      const seen: string[] = []
      const follow = async (): Promise<void> => {
        page = await search(`${query}&cursor=${String(page['prev_cursor'])}`)
        seen.push(...listOf(page, 'logs').map(({ message }) => String(message)))
        expect(page['next_cursor']).to.equal(null)
      }
      await follow()
      expect(seen).to.deep.equal([])
      await send.logs([record(20, 'follow 1'), record(21, 'follow 2'), record(22, 'other')])
      await untilIndexed(server)
      await follow()
      await send.logs([record(10, 'follow 3, late')])
      await untilIndexed(server)
      await follow()
      await follow()
      expect(seen).to.deep.equal(['follow 1', 'follow 2', 'follow 3, late'])
    })

    it('pages through more than fits in one answer', async () => {
      const query = 'q=burst&limit=2'
      let page = await search(query)
      await send.logs(Array.from({ length: 5 }, (_, index) => record(30 + index, `burst ${index}`)))
      await untilIndexed(server)
      const seen: string[][] = []
      for (let step = 0; step < 4; step++) {
        page = await search(`${query}&cursor=${String(page['prev_cursor'])}`)
        seen.push(listOf(page, 'logs').map(({ message }) => String(message)))
      }
      expect(seen.map(({ length }) => length)).to.deep.equal([2, 2, 1, 0])
      expect(new Set(seen.flat()).size).to.equal(5)
    })
  })

  it('says how it understood the search, the range it covered and how far its index was', async () => {
    const body = await search(`q=Foo AND NOT bar:1&from=${formatTimeNs(t0)}&to=${formatTimeNs(atS(10))}`)
    expect(body).to.deep.include({
      logs: [],
      next_cursor: null,
      query: { normalized: 'Foo AND NOT bar:1', warnings: [] },
      range: { from: formatTimeNs(t0), to: formatTimeNs(atS(10)) },
    })
    expect(body['index']).to.include({ complete: true, lag_ms: 0 })
    const normalized = String(at(await search('q=a  b or -c'), 'query', 'normalized'))
    expect(at(await search(`q=${encodeURIComponent(normalized)}`), 'query', 'normalized')).to.equal(normalized)
  })

  const refusals: readonly (readonly [query: string, code: string, path: string | undefined])[] = [
    ['levl=info', 'unknown_parameter', 'levl'],
    ['operation=x', 'unknown_parameter', 'operation'],
    ['format=csv', 'unknown_parameter', 'format'],
    ['level=loud', 'invalid_parameter', 'level.0'],
    ['order=newest', 'invalid_parameter', 'order'],
    ['limit=1001', 'invalid_parameter', 'limit'],
    ['limit=0', 'invalid_parameter', 'limit'],
    ['limit=-1', 'invalid_parameter', 'limit'],
    ['before=1001&around=x', 'invalid_parameter', 'before'],
    ['after=x&around=x', 'invalid_parameter', 'after'],
    ['before=1', 'invalid_parameter', 'before'],
    ['after=1', 'invalid_parameter', 'after'],
    ['include=everything', 'invalid_parameter', 'include.0'],
    ['trace_id=123', 'invalid_parameter', 'trace_id'],
    [`session_id=${'s'.repeat(129)}`, 'invalid_parameter', 'session_id'],
    ['from=yesterday', 'invalid_parameter', 'from'],
    ['from=2026-02-30T00:00:00Z', 'invalid_parameter', 'from'],
    ['from=now-999999999w', 'invalid_parameter', 'from'],
    ['to=99999-01-01', 'invalid_parameter', 'to'],
    ['q=a | stats count()', 'query_syntax', undefined],
    [`q=${'a '.repeat(101)}`, 'query_syntax', undefined],
    [`q=${'a'.repeat(4_097)}`, 'query_syntax', undefined],
    ['cursor=abc.def', 'invalid_cursor', undefined],
  ]
  for (const [query, code, path] of refusals) {
    it(`${query.slice(0, 60)} is refused: ${code}`, async () => {
      const { status, body } = await reader.get(`/api/app/logs/search?${query}`)
      expect([status, body['code'], listOf(body, 'errors')[0]?.['path']]).to.deep.equal([400, code, path])
    })
  }

  it('says where a search cannot be understood', async () => {
    const { body } = await reader.get(`/api/app/logs/search?q=${encodeURIComponent('error | stats count()')}`)
    expect(body).to.include({ code: 'query_syntax', position: 6 })
    expect(body['expected']).to.be.an('array').that.is.not.empty
  })

  it('takes times in every form, and times that no record has', async () => {
    const seconds = atS(5) / secondNs
    for (const from of [
      String(seconds),
      `${seconds}.000`,
      String(seconds * 1_000n),
      String(seconds * 1_000_000n),
      String(seconds * secondNs),
      formatTimeNs(atS(5)),
      formatTimeNs(atS(5)).replace('.000000000Z', '%2B00:00'),
      formatTimeNs(atS(5)).replace('.000000000Z', '+00:00'),
    ]) {
      const body = await search(`from=${from}&to=${formatTimeNs(atS(10))}`)
      expect(namesIn(body), from).to.deep.equal(['seven', 'six', 'five'])
      expect(at(body, 'range', 'from'), from).to.equal(formatTimeNs(atS(5)))
    }
    for (const query of [
      'from=1960-01-01',
      'from=0001-01-01',
      'from=-62135596800',
      'to=9999-12-31&from=4d',
      'from=0',
    ]) {
      expect(await found(`q=old&${query}`), query).to.deep.equal(['old'])
    }
    for (const query of ['from=2262-05-01', 'from=9999-12-31', 'to=1960-01-01', 'to=0001-01-01', 'from=%2B1h']) {
      const body = await search(query)
      expect(namesIn(body), query).to.deep.equal([])
      expect(at(body, 'range', 'from')).to.match(/^\d{4}-\d\d-\d\dT/)
    }
  })

  it('is asked in one workspace only, whatever the client says', async () => {
    const body = await search(`q=two&workspace=other&workspace_id=other&workspaceId=other`)
    expect(namesIn(body)).to.deep.equal(['two'])
    expect(parseJson(JSON.stringify(body))).to.have.nested.property('query.normalized', 'two')
  })

  // Behind the others, which look at neighbours.
  describe('of any time', () => {
    it('shows records dated in the future, and counts them', async () => {
      const future = '2262-04-11T23:47:16.000000001Z'
      await send.logs([
        { message: 'later than any', timestamp: future },
        { message: 'earliest later', timestamp: '1970-01-01T00:00:00Z' },
      ])
      await untilIndexed(server)
      const body = await search('q=later&include=histogram,count')
      expect(listOf(body, 'logs').map(({ timestamp }) => timestamp)).to.deep.equal([future])
      expect(body['count']).to.equal(1)
      const all = await search('q=later&from=0&include=histogram')
      expect(listOf(all, 'logs').map(({ timestamp }) => timestamp)).to.deep.equal([
        future,
        '1970-01-01T00:00:00.000000000Z',
      ])
      const buckets = listOf(all['histogram'] as JsonObject, 'buckets')
      expect(buckets.reduce((sum, { total }) => sum + Number(total), 0)).to.equal(2)
    })
  })
})
