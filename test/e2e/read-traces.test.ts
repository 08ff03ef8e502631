import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { at, completeAnswerOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const atS = (seconds: number): bigint => t0 + BigInt(seconds) * secondNs
const names = ['login', 'cart', 'batch', 'orphan', 'logged', 'browsed', 'old', 'only-log'] as const
type Name = (typeof names)[number]
const traceOf = (name: Name): string => hex(32, 'trace', name)
const nameOf = new Map(names.map((name) => [traceOf(name), name]))
const span = (name: Name, id: number | string) => ({ traceId: traceOf(name), spanId: hex(16, name, id) })
const child = (name: Name, id: number, parent: number | string = 0) => ({
  ...span(name, id),
  parentSpanId: hex(16, name, parent),
})

async function sendAll(server: LentServer): Promise<void> {
  const send = sendingTo(server, server.firstRun.keys)
  await send.spans([
    {
      ...span('login', 0),
      name: 'POST /login',
      service: 'web',
      startNs: atS(1),
      durationNs: 300n * msNs,
      attributes: { 'http.status_code': 200, 'user.id': 'u1', big: 9007199254740993n, 'session.id': 's-1' },
    },
    { ...child('login', 1), name: 'verify', service: 'auth', kind: 3, startNs: atS(1) + msNs, durationNs: 100n * msNs },
    {
      ...span('cart', 0),
      name: 'GET /cart',
      service: 'web',
      startNs: atS(2),
      durationNs: 50n * msNs,
      attributes: { 'http.status_code': 502 },
    },
    {
      ...child('cart', 1),
      name: 'SELECT',
      service: 'db',
      kind: 3,
      startNs: atS(2) + msNs,
      durationNs: 20n * msNs,
      status: 'error',
      statusMessage: 'gave up',
      attributes: { 'db.system': 'postgresql' },
      events: [{ name: 'exception', attributes: { 'exception.type': 'Deadlock' } }],
    },
  ])
  await send.spans([
    {
      ...span('batch', 0),
      name: 'process',
      service: 'worker',
      kind: 5,
      startNs: atS(3),
      durationNs: 5n * secondNs,
      scope: { name: 'io.acme.batch', version: '2.1.0' },
    },
    ...[1, 2, 3, 4].map((id) => ({
      ...child('batch', id),
      name: 'step',
      service: 'worker',
      kind: 1,
      startNs: atS(3) + BigInt(id) * msNs,
      durationNs: BigInt(id) * 10n * msNs,
    })),
    {
      ...child('orphan', 0, 'never sent'),
      name: 'POST /pay',
      service: 'pay',
      startNs: atS(4),
      durationNs: 700n * msNs,
      status: 'ok',
      resource: { region: 'eu-1' },
    },
  ])
  await send.spans([
    { ...span('logged', 0), name: 'GET /health', service: 'web', startNs: atS(5), kind: 4 },
    { ...span('browsed', 0), name: 'GET /home', service: 'web', startNs: atS(6), durationNs: 10n * msNs, kind: 0 },
    {
      ...span('old', 0),
      name: 'GET /old',
      service: 'web',
      startNs: minutesAgoNs(3 * 24 * 60),
      attributes: { 'session.id': 's-old' },
    },
  ])
  await send.logs([
    { message: 'healthy', trace_id: traceOf('logged') },
    { message: 'of a trace that sent no span', trace_id: traceOf('only-log') },
  ])
  await send.rum({
    meta: { app: { name: 'shop' }, session: { id: 's-2' } },
    events: [
      {
        name: 'view',
        timestamp: new Date().toISOString(),
        trace: { trace_id: traceOf('browsed'), span_id: hex(16, 'x') },
      },
    ],
  })
}

describe('GET /api/app/traces/search', () => {
  let server: LentServer
  let reader: Reader
  const search = (query: string): Promise<JsonObject> => completeAnswerOf(reader, `/api/app/traces/search?${query}`)
  const found = async (query: string): Promise<(Name | undefined)[]> =>
    listOf(await search(query), 'traces').map((trace) => nameOf.get(String(trace['trace_id'])))
  const traceIn = async (query: string): Promise<JsonObject> => listOf(await search(query), 'traces')[0] ?? {}

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    await sendAll(server)
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const ofToday: Name[] = ['browsed', 'logged', 'orphan', 'batch', 'cart', 'login']
  const filters: readonly (readonly [query: string, traces: readonly Name[]])[] = [
    ['', ofToday],
    ['service=web', ['browsed', 'logged', 'cart', 'login']],
    ['service=WEB', ['browsed', 'logged', 'cart', 'login']],
    ['service=we', []],
    ['operation=step', ['batch']],
    ['operation=POST%20/pay', ['orphan']],
    ['status=error', ['cart']],
    ['status=ok', ['orphan']],
    ['status=unset', ['browsed', 'logged', 'batch', 'cart', 'login']],
    ['kind=client', ['cart', 'login']],
    ['kind=consumer', ['batch']],
    ['kind=internal', ['batch']],
    ['kind=producer', ['logged']],
    ['kind=server', ['orphan', 'cart', 'login']],
    ['kind=SERVER', ['orphan', 'cart', 'login']],
    ['kind=unspecified', ['browsed']],
    // Of the trace where no other condition is on a span, of the span that meets them where one is.
    ['min_duration=300ms', ['orphan', 'batch', 'login']],
    ['min_duration=0.3000001s', ['orphan', 'batch']],
    ['max_duration=50000us', ['browsed', 'logged', 'cart']],
    ['min_duration=50ms&max_duration=300000000ns', ['cart', 'login']],
    ['min_duration=300ms&max_duration=300ms', ['login']],
    ['service=worker&max_duration=1s', ['batch']],
    ['service=worker&min_duration=35ms&max_duration=1s', ['batch']],
    ['service=worker&min_duration=45ms&max_duration=1s', []],
    ['service=web&operation=SELECT', []],
    ['service=db&operation=SELECT&status=error&kind=client', ['cart']],
    [`trace_id=${traceOf('cart')}`, ['cart']],
    [`trace_id=${traceOf('cart').toUpperCase()}`, ['cart']],
    [`trace_id=${traceOf('cart').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`, ['cart']],
    [`trace_id=${traceOf('old')}`, ['old']],
    [`trace_id=${traceOf('only-log')}`, []],
    [`trace_id=${hex(32, 'unknown')}`, []],
    ['session_id=s-1', ['login']],
    ['session_id=s-2', ['browsed']],
    ['session_id=s-3', []],
    // Look-ups by id cover all time.
    ['session_id=s-old', ['old']],
    ['session_id=s-old&from=1d', []],
    [`session_id=${'s'.repeat(128)}`, []],
    ['has=error', ['cart']],
    ['has=missing_spans', ['orphan']],
    ['has=logs', ['logged']],
    ['has=rum', ['browsed']],
    ['has=rum,error', []],
    ['has=error&service=web', ['cart']],
    ['has=rum&has=error', []],
    ['from=4d', [...ofToday, 'old']],
    [`from=${formatTimeNs(atS(3))}`, ['browsed', 'logged', 'orphan', 'batch']],
    [`to=${formatTimeNs(atS(3))}`, ['cart', 'login']],
    [`from=${formatTimeNs(atS(2))}&to=${formatTimeNs(atS(3))}`, ['cart']],
    // In the attributes of the span, its resource, its scope and its events; names that narrow it to one of them.
    ['q=postgresql', ['cart']],
    ['q=db.system:postgresql', ['cart']],
    ['q=span.db.system:postgresql', ['cart']],
    ['q=event.db.system:postgresql', []],
    ['q=exception.type:deadlock', ['cart']],
    ['q=event.exception.type=Deadlock', ['cart']],
    ['q=resource.region:eu-1', ['orphan']],
    ['q=region:eu-1', ['orphan']],
    ['q=scope.region:eu-1', []],
    ['q=scope.name:io.acme.batch', ['batch']],
    ['q=scope.version:2.1.0', ['batch']],
    ['q="gave up"', ['cart']],
    ['q=http.status_code:>=500', ['cart']],
    ['q=http.status_code:<500', ['login']],
    ['q=http.status_code:200', ['login']],
    ['q=http.status_code:[200 TO 502]', ['cart', 'login']],
    ['q=http.status_code:<6', []],
    ['q=big=9007199254740993', ['login']],
    ['q=big=9007199254740992', []],
    ['q=duration:>=5s', ['batch']],
    ['q=name:step', ['batch']],
    ['q=status:error', ['cart']],
    ['q=user.id:*', ['login']],
    ['q=kind:client AND NOT service:db', ['login']],
    // Conditions on one span hold on the same span.
    ['q=http.status_code:502&service=db', []],
    ['q=http.status_code:502 AND db.system:postgresql', []],
    ['q=db.system:postgresql&service=db', ['cart']],
  ]
  for (const [query, traces] of filters) {
    it(`${query === '' ? 'everything of the last day' : query} → ${traces.join(' ') || 'nothing'}`, async () => {
      expect(await found(query.replaceAll('"', '%22').replaceAll('>', '%3E'))).to.deep.equal(traces)
    })
  }

  const orders: readonly (readonly [query: string, traces: readonly Name[]])[] = [
    ['order=newest', ofToday],
    ['order=oldest', [...ofToday].reverse()],
    ['order=longest', ['batch', 'orphan', 'login', 'cart', 'browsed', 'logged']],
    ['order=newest&q=service:web', ['browsed', 'logged', 'cart', 'login']],
    ['order=oldest&q=service:web', ['login', 'cart', 'logged', 'browsed']],
    ['order=longest&q=service:web', ['login', 'cart', 'browsed', 'logged']],
  ]
  for (const [query, traces] of orders) {
    it(`${query}: ${traces.join(' ')}`, async () => expect(await found(query)).to.deep.equal(traces))
  }

  it('orders by the number of spans and of errors', async () => {
    expect((await found('order=most_spans'))[0]).to.equal('batch')
    expect((await found('order=most_spans')).slice(1, 3)).to.have.members(['cart', 'login'])
    expect((await found('order=errors'))[0]).to.equal('cart')
    expect(await found('order=errors&limit=1')).to.deep.equal(['cart'])
  })

  it('shows twenty when no limit is given, and as many as a limit says', async () => {
    expect(await found('limit=2')).to.deep.equal(['browsed', 'logged'])
    expect(await found('limit=200')).to.deep.equal(ofToday)
  })

  it('says of a trace what is known of it, and makes nothing up', async () => {
    expect(await traceIn(`trace_id=${traceOf('cart')}`)).to.deep.equal({
      trace_id: traceOf('cart'),
      root: { span_id: hex(16, 'cart', 0), service: 'web', operation: 'GET /cart' },
      root_observed: true,
      start: formatTimeNs(atS(2)),
      end: formatTimeNs(atS(2) + 50n * msNs),
      duration_ns: '50000000',
      span_count: 2,
      repeated_count: 0,
      error_count: 1,
      missing_parent_count: 0,
      rejected_span_count: 0,
      services: [
        { name: 'db', span_count: 1, error_count: 1 },
        { name: 'web', span_count: 1, error_count: 0 },
      ],
      matched_spans: [],
      has_logs: false,
      has_rum: false,
      session_ids: [],
    })
    const orphan = await traceIn(`trace_id=${traceOf('orphan')}`)
    expect([orphan['root'], orphan['root_observed'], orphan['missing_parent_count']]).to.deep.equal([null, false, 1])
    expect((await traceIn('has=logs'))['has_logs']).to.equal(true)
    const browsed = await traceIn('has=rum')
    expect([browsed['has_rum'], browsed['session_ids']]).to.deep.equal([true, ['s-2']])
    expect((await traceIn('session_id=s-1'))['session_ids']).to.deep.equal(['s-1'])
  })

  it('shows up to three spans that met the conditions', async () => {
    const trace = await traceIn('operation=step')
    expect(listOf(trace, 'matched_spans').map(({ span_id: id }) => id)).to.deep.equal(
      [4, 3, 2].map((id) => hex(16, 'batch', id)),
    )
    expect(listOf(await traceIn('service=db'), 'matched_spans')).to.deep.equal([
      {
        span_id: hex(16, 'cart', 1),
        service: 'db',
        operation: 'SELECT',
        kind: 'client',
        status: 'error',
        start: formatTimeNs(atS(2) + msNs),
        duration_ns: '20000000',
        failure: 'gave up',
      },
    ])
  })

  it('counts traces over time and by value when asked, and spans where conditions are on spans', async () => {
    const range = `from=${formatTimeNs(t0)}&to=${formatTimeNs(atS(10))}`
    const plain = await search(range)
    expect(plain).not.to.have.any.keys('histogram', 'facets')
    const counted = await search(`${range}&include=histogram,facets&limit=1`)
    expect(counted['histogram']).to.deep.equal({
      of: 'traces',
      step_ms: 100,
      buckets: [1, 2, 3, 4, 5, 6].map((s) => ({ time: formatTimeNs(atS(s)), total: 1, errors: s === 2 ? 1 : 0 })),
    })
    const facet = (body: JsonObject, name: string): unknown =>
      listOf(body, 'facets').find(({ field }) => field === name)?.['values']
    expect(facet(counted, 'service')).to.deep.include({ value: 'web', count: 4 })
    expect(facet(counted, 'operation')).to.have.length(5)
    expect(facet(counted, 'has')).to.have.deep.members(
      ['error', 'logs', 'missing_spans', 'rum'].map((value) => ({ value, count: 1 })),
    )
    const ofSpans = await search(`${range}&kind=client&include=histogram&include=facets`)
    expect(at(ofSpans, 'histogram', 'of')).to.equal('spans')
    expect(at(ofSpans, 'histogram', 'buckets')).to.deep.equal([
      { time: formatTimeNs(atS(1)), total: 1, errors: 0 },
      { time: formatTimeNs(atS(2)), total: 1, errors: 1 },
    ])
    expect(facet(ofSpans, 'status')).to.have.deep.members([
      { value: 'error', count: 1 },
      { value: 'unset', count: 1 },
    ])
    expect(facet(ofSpans, 'kind')).to.deep.equal([{ value: 'client', count: 2 }])
    const open = await search('include=histogram&service=web')
    expect(at(open, 'histogram', 'buckets')).to.be.an('array').that.is.not.empty
    const nothing = await search('include=histogram,facets&service=nobody')
    expect(at(nothing, 'histogram', 'buckets')).to.deep.equal([])
  })

  it('says how it understood the search, the range it covered and how far its index was', async () => {
    const body = await search(`q=Foo AND (bar:1 OR -baz)&from=${formatTimeNs(t0)}&to=${formatTimeNs(atS(10))}`)
    expect(body['traces']).to.deep.equal([])
    expect(body['next_cursor']).to.equal(null)
    expect(body['query']).to.deep.equal({ normalized: 'Foo AND (bar:1 OR NOT baz)', warnings: [] })
    expect(body['range']).to.deep.equal({ from: formatTimeNs(t0), to: formatTimeNs(atS(10)) })
    expect(at(await search('q=... a'), 'query', 'warnings')).to.have.length(1)
    const notes = async (q: string) => at(await search(`q=${encodeURIComponent(q)}`), 'query', 'warnings')
    for (const q of ['trace_id:*e1*', '-span.session_id:/s.*/', 'trace_id:*e1 OR trace_id:*e2']) {
      expect(await notes(q), q)
        .to.have.length(1)
        .and.satisfy(([note]: string[]) => /found whole or by how they begin/.test(note ?? ''))
    }
    for (const q of ['trace_id:5b*', 'kind:*er', 'event.trace_id:*e1*']) expect(await notes(q), q).to.deep.equal([])
    const open = await search('')
    expect(open['query']).to.deep.equal({ normalized: '', warnings: [] })
    expect(at(open, 'range', 'to')).to.equal(null)
    expect(at(await search(`trace_id=${traceOf('old')}`), 'range')).to.deep.equal({ from: null, to: null })
    const index = open['index'] as JsonObject
    expect(index).to.include({ complete: true, lag_ms: 0 })
    expect(index['position']).to.equal(index['head'])
  })

  const refusals: readonly (readonly [query: string, code: string, path: string | undefined])[] = [
    ['serivce=web', 'unknown_parameter', 'serivce'],
    ['include=count', 'invalid_parameter', 'include.0'],
    ['fields=a', 'unknown_parameter', 'fields'],
    ['status=warn', 'invalid_parameter', 'status'],
    ['kind=SERVERS', 'invalid_parameter', 'kind'],
    ['has=spans', 'invalid_parameter', 'has.0'],
    ['order=asc', 'invalid_parameter', 'order'],
    ['limit=201', 'invalid_parameter', 'limit'],
    ['limit=0', 'invalid_parameter', 'limit'],
    ['min_duration=200', 'invalid_parameter', 'min_duration'],
    ['max_duration=fast', 'invalid_parameter', 'max_duration'],
    ['min_duration=2s&max_duration=1s', 'invalid_parameter', 'min_duration'],
    ['trace_id=xyz', 'invalid_parameter', 'trace_id'],
    [`trace_id=${'0'.repeat(32)}`, 'invalid_parameter', 'trace_id'],
    [`session_id=${'s'.repeat(129)}`, 'invalid_parameter', 'session_id'],
    [`service=${'s'.repeat(1_025)}`, 'invalid_parameter', 'service'],
    ['from=soon', 'invalid_parameter', 'from'],
    ['to=32.13.2026', 'invalid_parameter', 'to'],
    ['from=1h&to=2h', 'invalid_parameter', 'from'],
    ['service=a&service=b', 'invalid_parameter', 'service'],
    ['q=(a', 'query_syntax', undefined],
    ['cursor=abc', 'invalid_cursor', undefined],
  ]
  for (const [query, code, path] of refusals) {
    it(`${query.slice(0, 60)} is refused: ${code}`, async () => {
      const { status, body } = await reader.get(`/api/app/traces/search?${query}`)
      expect([status, body['code'], listOf(body, 'errors')[0]?.['path']]).to.deep.equal([400, code, path])
    })
  }

  it('says where a search cannot be understood, and what could stand there', async () => {
    const { body } = await reader.get('/api/app/traces/search?q=service:web%20AND%20)')
    expect(body).to.include({ code: 'query_syntax', position: 16 })
    expect(body['expected']).to.be.an('array').that.is.not.empty
  })

  it('refuses a search for which a pattern stands for too many words', async () => {
    const send = sendingTo(server, server.firstRun.keys)
    const words = Array.from({ length: 1_001 }, (_, index) => `w${index.toString(36).padStart(3, '0')}x`)
    const spans = Array.from({ length: 11 }, (_, index) => ({
      ...span('login', `words ${index}`),
      startNs: minutesAgoNs(5 * 24 * 60),
      attributes: { text: words.slice(index * 100, index * 100 + 100).join(' ') },
    }))
    await send.spans(spans)
    await untilIndexed(server)
    const { status, body } = await reader.get('/api/app/traces/search?q=w*x&from=10d')
    expect([status, body['code']]).to.deep.equal([400, 'query_too_broad'])
  })
})
