import { expect } from 'chai'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import {
  answerOf,
  at,
  completeAnswerOf,
  getComplete,
  listOf,
  signIn,
  untilIndexed,
  type Reader,
} from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo, type Sending } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const timeAt = (seconds: number): string => formatTimeNs(t0 + BigInt(seconds) * secondNs)
const order = hex(32, 'order')
const later = hex(32, 'later')
const other = hex(32, 'other')
const printed = hex(32, 'printed')
const [root, db, gone] = ['root', 'db', 'gone'].map((name) => hex(16, name)) as [string, string, string]
const session = 'session 1/ö'
const shop = { meta: { app: { name: 'shop' }, session: { id: session } } }

async function sendAll(send: Sending): Promise<void> {
  await send.spans([
    { traceId: order, spanId: root, name: 'POST /orders', service: 'web', startNs: t0, durationNs: 90n * msNs },
    {
      traceId: order,
      spanId: db,
      parentSpanId: root,
      name: 'INSERT',
      service: 'db',
      kind: 3,
      startNs: t0 + msNs,
      status: 'error',
      statusMessage: 'deadlock',
      attributes: { 'db.rows': 9007199254740993n, nested: { a: [1, 'x', true, 0.5] } },
      events: [{ name: 'exception', attributes: { 'exception.type': 'Deadlock' } }],
      links: [{ traceId: other, spanId: hex(16, 'linked'), attributes: { why: 'retry' } }],
      resource: { region: 'eu-1' },
      scope: { name: 'pg', version: '8.1', attributes: { pool: 2 } },
    },
    {
      traceId: order,
      spanId: hex(16, 'child of gone'),
      parentSpanId: gone,
      name: 'late',
      service: 'db',
      startNs: t0 + 2n * msNs,
    },
    { traceId: order, spanId: 'not a span id', name: 'broken', service: 'db', startNs: t0 },
    { traceId: order, spanId: '0'.repeat(16), name: 'broken', service: 'db', startNs: t0 },
    {
      traceId: later,
      spanId: hex(16, 'l'),
      name: 'GET /orders',
      startNs: t0 + 60n * secondNs,
      attributes: { 'session.id': session },
    },
    { traceId: other, spanId: hex(16, 'o'), name: 'unrelated', startNs: t0 },
  ])
  await send.logs([
    { message: 'order stored', timestamp: timeAt(1), trace_id: order, span_id: root },
    { message: 'seen by the session', timestamp: timeAt(2), session_id: session },
    { message: 'of the later trace', timestamp: timeAt(61), trace_id: later },
    // At the same moment, and sharing nothing.
    { message: 'a stranger', timestamp: timeAt(1), service: 'web' },
    { message: 'of nobody else', timestamp: timeAt(3), trace_id: hex(32, 'only a log') },
    { log: `ERROR no card [trace_id=${printed} span_id=${root}]\n`, time: timeAt(6), container_name: '/payments' },
  ])
  await send.rum({
    ...shop,
    events: [
      { name: 'click', timestamp: timeAt(4).replace(/0{6}Z$/, 'Z'), trace: { trace_id: order, span_id: root } },
      { name: 'view', timestamp: timeAt(5).replace(/0{6}Z$/, 'Z') },
    ],
  })
}

describe('GET /api/app/correlation', () => {
  let server: LentServer
  let reader: Reader
  let send: Sending
  const about = (id: string): Promise<JsonObject> => completeAnswerOf(reader, `/api/app/correlation?${id}`)
  const refused = async (query: string): Promise<JsonObject & Readonly<{ status: number }>> => {
    const { status, body } = await getComplete(reader, `/api/app/correlation?${query}`)
    return { ...body, status }
  }
  const itemsOf = (body: JsonObject, part: string): readonly JsonObject[] => listOf(body[part] as JsonObject, 'items')
  const messages = (body: JsonObject): unknown[] => itemsOf(body, 'logs').map(({ message }) => message)
  const events = (body: JsonObject): unknown[] => itemsOf(body, 'rum_events').map(({ name }) => name)
  const spanNames = (body: JsonObject): unknown[] =>
    listOf(body['trace'] as JsonObject, 'spans').map(({ name }) => name)
  const traceIds = (body: JsonObject): unknown[] => itemsOf(body, 'traces').map(({ trace_id: id }) => id)
  const find = (items: readonly JsonObject[], name: string, value: Json): JsonObject =>
    items.find((item) => item[name] === value) ?? {}

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    send = sendingTo(server, server.firstRun.keys)
    await sendAll(send)
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  it('joins what a container has printed by what its text says of itself', async () => {
    const [log = {}] = itemsOf(await about(`trace_id=${printed}`), 'logs')
    expect(log).to.include({ level: 'error', service: 'payments', trace_id: printed, span_id: root })
    const found = await completeAnswerOf(reader, '/api/app/logs/search?q=level:error+service:payments&from=-1h')
    expect(listOf(found, 'logs')).to.have.length(1)
  })

  it('gives a trace whole, with the logs, browser events and sessions that share an identifier with it', async () => {
    const body = await about(`trace_id=${order}`)
    expect(spanNames(body)).to.deep.equal(['POST /orders', 'INSERT', 'late'])
    expect(at(body, 'trace', 'summary', 'root', 'span_id')).to.equal(root)
    expect(messages(body)).to.deep.equal(['order stored', 'seen by the session'])
    expect(events(body)).to.deep.equal(['click', 'view'])
    expect(traceIds(body)).to.deep.equal([order])
    expect(body['ids']).to.deep.equal({ trace_ids: [order], session_ids: [session], span_ids: [], log_ids: [] })
    expect(body['sessions']).to.deep.equal([{ session_id: session, linked_by: ['rum_event'] }])
    expect(body).to.deep.include({ truncated: false, omitted: [] })
    expect(body['index']).to.include({ complete: true })
  })

  it('gives a span with all that it came with, integers to the digit', async () => {
    const body = await about(`trace_id=${order}`)
    expect(find(listOf(body['trace'] as JsonObject, 'spans'), 'span_id', db)).to.deep.equal({
      trace_id: order,
      span_id: db,
      parent_span_id: root,
      trace_state: '',
      flags: 0,
      name: 'INSERT',
      kind: 'client',
      service: 'db',
      session_id: null,
      start: formatTimeNs(t0 + msNs),
      end: formatTimeNs(t0 + 2n * msNs),
      duration_ns: '1000000',
      status: { code: 'error', message: 'deadlock' },
      attributes: { 'db.rows': 9007199254740993n, nested: { a: [1, 'x', true, 0.5] } },
      dropped_attributes_count: 0,
      events: [
        {
          time: formatTimeNs(t0 + msNs),
          name: 'exception',
          attributes: { 'exception.type': 'Deadlock' },
          dropped_attributes_count: 0,
        },
      ],
      dropped_events_count: 0,
      links: [
        {
          trace_id: other,
          span_id: hex(16, 'linked'),
          trace_state: '',
          flags: 0,
          attributes: { why: 'retry' },
          dropped_attributes_count: 0,
        },
      ],
      dropped_links_count: 0,
      resource: {
        attributes: { 'service.name': 'db', region: 'eu-1' },
        dropped_attributes_count: 0,
        schema_url: '',
      },
      scope: { name: 'pg', version: '8.1', attributes: { pool: 2 }, dropped_attributes_count: 0, schema_url: '' },
      repeated: 0,
      cuts: [],
    })
  })

  it('puts everything shown in order of time, by the ids that the parts have', async () => {
    const body = await about(`trace_id=${order}`)
    const timeline = listOf(body, 'timeline')
    expect(timeline.map(({ kind }) => kind)).to.deep.equal([
      'span',
      'span',
      'span',
      'log',
      'log',
      'rum_event',
      'rum_event',
    ])
    expect(timeline[0]).to.deep.equal({ time: formatTimeNs(t0), kind: 'span', ref: root })
    const [stored] = itemsOf(body, 'logs')
    expect(timeline[3]).to.deep.equal({ time: timeAt(1), kind: 'log', ref: stored?.['id'] })
    const [click] = itemsOf(body, 'rum_events')
    expect(timeline[5]).to.deep.equal({ time: timeAt(4), kind: 'rum_event', ref: click?.['id'] })
  })

  it('says by which identifier the parts were joined', async () => {
    const how = listOf(await about(`trace_id=${order}`), 'how')
    expect(how).to.deep.include({ from: `trace:${order}`, to: `session:${session}`, by: 'rum_event.session_id' })
    expect(how).to.deep.include({ from: `trace:${order}`, to: 'logs', by: 'trace_id' })
    expect(how).to.deep.include({ from: `session:${session}`, to: 'logs', by: 'session_id' })
    const ofSession = listOf(await about(`session_id=${encodeURIComponent(session)}`), 'how')
    expect(ofSession).to.deep.include({ from: `session:${session}`, to: `trace:${later}`, by: 'span.session_id' })
  })

  it('gives of a session all its traces, and through them their logs', async () => {
    for (const name of ['session_id', 'id']) {
      const body = await about(`${name}=${encodeURIComponent(session)}`)
      expect(traceIds(body), name).to.deep.equal([later, order])
      expect(messages(body), name).to.deep.equal(['order stored', 'seen by the session', 'of the later trace'])
      expect(events(body), name).to.deep.equal(['click', 'view'])
      expect(at(body, 'trace', 'summary', 'trace_id'), name).to.equal(later)
      expect(find(listOf(body, 'timeline'), 'kind', 'trace'), name).to.include({ ref: order })
    }
  })

  const traceForms: readonly (readonly [form: string, query: string])[] = [
    ['a trace id in upper case', `trace_id=${order.toUpperCase()}`],
    ['a trace id with dashes', `trace_id=${order.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`],
    ['a traceparent', `traceparent=00-${order}-${root}-01`],
    ['a traceparent in upper case', `traceparent=00-${order.toUpperCase()}-${root}-00`],
    ['a span id', `span_id=${db}`],
    ['a span id in upper case', `span_id=${db.toUpperCase()}`],
    ['a span id with dashes', `span_id=${db.replace(/^(.{8})/, '$1-')}`],
    ['a span that was only named as a parent', `span_id=${gone}`],
    ['any id: a trace id', `id=${order}`],
    ['any id: a traceparent', `id=00-${order}-${root}-01`],
    ['any id: a span id', `id=${db}`],
  ]
  for (const [form, query] of traceForms) {
    it(`takes ${form}`, async () => {
      const body = await about(query)
      expect(spanNames(body)).to.deep.equal(['POST /orders', 'INSERT', 'late'])
      expect(messages(body)).to.include('order stored')
    })
  }

  it('takes the id of a log record, by either name', async () => {
    const [log] = itemsOf(await about(`trace_id=${order}`), 'logs')
    for (const name of ['log_id', 'id']) {
      const body = await about(`${name}=${encodeURIComponent(String(log?.['id']))}`)
      expect(at(body, 'ids', 'log_ids'), name).to.deep.equal([log?.['id']])
      expect(spanNames(body), name).to.deep.equal(['POST /orders', 'INSERT', 'late'])
      expect(listOf(body, 'how'), name).to.deep.include({
        from: `log:${String(log?.['id'])}`,
        to: `trace:${order}`,
        by: 'trace_id',
      })
    }
  })

  it('takes the id of a browser event', async () => {
    const [, view] = itemsOf(await about(`trace_id=${order}`), 'rum_events')
    const body = await about(`id=${encodeURIComponent(String(view?.['id']))}`)
    expect(events(body)).to.deep.equal(['click', 'view'])
    expect(at(body, 'ids', 'session_ids')).to.deep.equal([session])
  })

  it('shows a log record that names nothing by itself, and joins nothing by time', async () => {
    const search = await answerOf(reader, '/api/app/logs/search?q=stranger')
    const id = String(listOf(search, 'logs')[0]?.['id'])
    const body = await about(`log_id=${encodeURIComponent(id)}`)
    expect(messages(body)).to.deep.equal(['a stranger'])
    expect([body['trace'], traceIds(body), events(body)]).to.deep.equal([null, [], []])
  })

  it('knows a trace that only a log has named, and makes no span up for it', async () => {
    const body = await about(`trace_id=${hex(32, 'only a log')}`)
    expect(messages(body)).to.deep.equal(['of nobody else'])
    expect(at(body, 'trace', 'spans')).to.deep.equal([])
    expect(at(body, 'trace', 'summary')).to.deep.include({ span_count: 0, root: null, start: null, duration_ns: null })
  })

  it('takes 64-bit trace ids, padded', async () => {
    const short = hex(16, 'zipkin')
    await send.spans([{ traceId: short, spanId: hex(16, 'z'), name: 'short' }])
    await untilIndexed(server)
    for (const id of [short, short.toUpperCase(), `${'0'.repeat(16)}${short}`]) {
      expect(spanNames(await about(`trace_id=${id}`)), id).to.deep.equal(['short'])
    }
  })

  it('says what is missing of a trace, and why', async () => {
    const trace = (await about(`trace_id=${order}`))['trace'] as JsonObject
    const missing = listOf(trace, 'missing')
    expect(missing).to.deep.include({
      span_id: gone,
      referenced_by: [hex(16, 'child of gone')],
      reason: 'not_received',
    })
    expect(missing).to.deep.include({ span_id: '0'.repeat(16), referenced_by: [], reason: 'rejected_invalid' })
    expect(missing).to.have.length(2)
    // The one without a usable id is told by the count alone.
    expect(trace['summary']).to.include({ missing_parent_count: 1, rejected_span_count: 2 })
  })

  describe('an id that was never seen', () => {
    const unknown = [
      `trace_id=${hex(32, 'unknown')}`,
      `traceparent=00-${hex(32, 'unknown')}-${root}-01`,
      'session_id=nobody',
      `span_id=${hex(16, 'unknown')}`,
      'log_id=8000000000000000-abc-0',
      'log_id=anything',
      `id=${hex(32, 'unknown')}`,
      'id=anything else',
    ]
    for (const query of unknown) {
      it(`${query} is 404, and how far the index was`, async () => {
        const body = await refused(query)
        expect(body).to.include({ status: 404, code: 'not_found' })
        expect(body['index']).to.include({ complete: true })
      })
    }
  })

  const refusals: readonly (readonly [query: string, code: string, path: string | undefined])[] = [
    ['', 'invalid_parameter', 'trace_id'],
    ['trace_id=', 'invalid_parameter', 'trace_id'],
    [`trace_id=${order}&session_id=x`, 'invalid_parameter', 'trace_id'],
    ['trace_id=123', 'invalid_parameter', 'trace_id'],
    [`trace_id=${'0'.repeat(32)}`, 'invalid_parameter', 'trace_id'],
    [`trace_id=${order}&trace_id=${order}`, 'invalid_parameter', 'trace_id'],
    ['span_id=123', 'invalid_parameter', 'span_id'],
    [`traceparent=${order}`, 'invalid_parameter', 'traceparent'],
    [`traceparent=ff-${order}-${root}-01`, 'invalid_parameter', 'traceparent'],
    [`traceparent=00-${'0'.repeat(32)}-${root}-01`, 'invalid_parameter', 'traceparent'],
    [`session_id=${'s'.repeat(129)}`, 'invalid_parameter', 'session_id'],
    [`log_id=${'l'.repeat(257)}`, 'invalid_parameter', 'log_id'],
    [`traceid=${order}`, 'unknown_parameter', 'traceid'],
    [`trace_id=${order}&limit=5`, 'unknown_parameter', 'limit'],
    [`trace_id=${order}&cursor=x`, 'invalid_cursor', undefined],
  ]
  for (const [query, code, path] of refusals) {
    it(`${query === '' ? 'no id' : query.slice(0, 60)} is refused: ${code}`, async () => {
      const body = await refused(query)
      expect([body.status, body['code'], listOf(body, 'errors')[0]?.['path']]).to.deep.equal([400, code, path])
    })
  }

  it('pages each part by its own cursor, while the others stand', async () => {
    const traceId = hex(32, 'big')
    const spans = Array.from({ length: 2_050 }, (_, n) => ({
      traceId,
      spanId: hex(16, 'big', n),
      startNs: t0 + BigInt(n),
      name: `span ${n}`,
    }))
    await send.spans(spans)
    await send.logs(
      Array.from({ length: 230 }, (_, n) => ({ message: `log ${n}`, timestamp: timeAt(n), trace_id: traceId })),
    )
    await send.rum({
      ...shop,
      meta: { ...shop.meta, session: { id: 'big session' } },
      events: Array.from({ length: 130 }, (_, n) => ({
        name: `event ${n}`,
        timestamp: timeAt(n).replace(/0{6}Z$/, 'Z'),
        trace: { trace_id: traceId, span_id: hex(16, 'big', n) },
      })),
    })
    await untilIndexed(server)
    const query = `trace_id=${traceId}`
    const first = await about(query)
    expect(first['truncated']).to.equal(true)
    const walked = async (of: (body: JsonObject) => JsonObject, list: string, name: string): Promise<unknown[]> => {
      const found: unknown[] = []
      const others: number[] = []
      for (let body = first; ;) {
        const part = of(body)
        found.push(...listOf(part, list).map((item) => item[name]))
        expect(part['truncated']).to.equal(part['next_cursor'] !== null)
        others.push(itemsOf(body, 'traces').length)
        if (part['next_cursor'] === null) break
        body = await about(`${query}&cursor=${String(part['next_cursor'])}`)
      }
      expect(new Set(others)).to.deep.equal(new Set([1]))
      return found
    }
    const part =
      (name: string) =>
      (body: JsonObject): JsonObject =>
        body[name] as JsonObject
    expect(await walked(part('trace'), 'spans', 'name')).to.deep.equal(spans.map(({ name }) => name))
    expect(await walked(part('logs'), 'items', 'message')).to.deep.equal(
      Array.from({ length: 230 }, (_, n) => `log ${n}`),
    )
    expect(await walked(part('rum_events'), 'items', 'name')).to.deep.equal(
      Array.from({ length: 130 }, (_, n) => `event ${n}`),
    )
    const cursor = String(at(first, 'logs', 'next_cursor'))
    const mismatch = await refused(`trace_id=${order}&cursor=${cursor}`)
    expect(mismatch).to.include({ status: 400, code: 'cursor_mismatch' })
  })

  it('pages the traces of a session, and gives their logs', async () => {
    const ids = Array.from({ length: 1_200 }, (_, n) => hex(32, 'of many', n))
    const spans = ids.map((traceId, n) => ({
      traceId,
      spanId: hex(16, n),
      startNs: t0 + BigInt(n) * msNs,
      attributes: { 'session.id': 'many' },
    }))
    await send.spans(spans)
    await send.logs([{ message: 'of the first of many', timestamp: timeAt(1), trace_id: hex(32, 'of many', 0) }])
    await untilIndexed(server)
    const found: unknown[] = []
    for (let cursor = ''; cursor !== 'null';) {
      const body = await about(`session_id=many&cursor=${cursor}`)
      found.push(...traceIds(body))
      expect(messages(body)).to.deep.equal(['of the first of many'])
      cursor = String(at(body, 'traces', 'next_cursor'))
    }
    expect(found).to.deep.equal([...ids].reverse())
  })
})
