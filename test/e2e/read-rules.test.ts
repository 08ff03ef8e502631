import { expect } from 'chai'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { answerOf, at, listOf, positionOf, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { sendingTo, type Sending } from '../support/workspace.ts'

const traceId = hex(32, 'rules')
const sessionPaths = [
  '/api/app/traces/search',
  '/api/app/correlation',
  '/api/app/logs/search',
  '/app/logs/export',
] as const

describe('rules of all read endpoints', () => {
  let server: LentServer
  let session: Reader
  let api: Reader
  let send: Sending
  const readerOf = (path: string): Reader => (path.startsWith('/api/v1') ? api : session)
  const answered = (path: string): string => (path.includes('correlation') ? `${path}?trace_id=${traceId}` : path)
  const paths = [...sessionPaths, '/api/v1/traces'] as const

  before(async () => {
    server = await borrowServer()
    session = await signIn(server.baseUrl, server.firstRun.sign_in)
    api = withKey(server.baseUrl, server.firstRun.keys.api)
    send = sendingTo(server, server.firstRun.keys)
    await send.spans([{ traceId, spanId: hex(16, 1) }])
    await send.logs([{ message: 'ruled', trace_id: traceId }])
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  for (const path of paths) {
    describe(path, () => {
      const ask = (query = '', init: RequestInit = {}): Promise<Response> =>
        readerOf(path).raw(query === '' ? answered(path) : `${path}?${query}`, init)

      it('is not kept by any cache, and not sniffed, whatever it answers', async () => {
        for (const query of ['', 'nonsense=1']) {
          const { headers } = await ask(query)
          expect(headers.get('cache-control'), query).to.equal('no-store')
          expect(headers.get('x-content-type-options'), query).to.equal('nosniff')
          expect(headers.get('access-control-allow-origin'), query).to.equal(null)
        }
      })

      it('answers HEAD as GET, without the body', async () => {
        const head = await ask('', { method: 'HEAD' })
        const full = await ask()
        expect([head.status, await head.text()]).to.deep.equal([200, ''])
        expect(head.headers.get('content-type')).to.equal(full.headers.get('content-type'))
        const refused = await ask('nonsense=1', { method: 'HEAD' })
        expect([refused.status, await refused.text()]).to.deep.equal([400, ''])
      })

      it('takes no other method', async () => {
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const response = await ask('', { method })
          const body = (await response.json()) as JsonObject
          expect([response.status, body['code'], response.headers.get('allow')], method).to.deep.equal([
            405,
            'method_not_allowed',
            'GET, HEAD',
          ])
        }
      })

      it('names what is unknown and the nearest that is known', async () => {
        const close = path.includes('correlation') ? ['trace_di', 'trace_id'] : ['ordr', 'order']
        const { body } = await readerOf(path).get(`${path}?${close[0]}=x`)
        expect(body).to.include({
          status: 400,
          code: 'unknown_parameter',
          title: 'Unknown parameter',
          type: 'about:blank',
        })
        expect(body['detail']).to.include(`"${close[0]}"`).and.to.include(`did you mean ${close[1]}?`)
        expect(listOf(body, 'errors')).to.deep.equal([{ path: close[0], message: body['detail'] }])
        const far = await readerOf(path).get(`${path}?zzzzzzzzzzz=`)
        expect(far.body['code']).to.equal('unknown_parameter')
        expect(far.body['detail']).to.include('known are')
      })

      it('gives a refusal its request id, and says nothing of its insides', async () => {
        const response = await ask('nonsense=1')
        expect(response.headers.get('content-type')).to.match(/^application\/problem\+json/)
        const text = await response.text()
        expect(parseJson(text)).to.have.property('request_id', response.headers.get('x-request-id'))
        expect(text).not.to.match(/at .*\.ts|node:|\/src\//)
      })

      it('ignores a workspace that the client names', async () => {
        for (const name of ['workspace', 'workspace_id', 'workspaceId']) {
          const separator = answered(path).includes('?') ? '&' : '?'
          const response = await readerOf(path).raw(`${answered(path)}${separator}${name}=other&${name}=`)
          expect(response.status, name).to.equal(200)
          await response.body?.cancel()
        }
      })
    })
  }

  for (const path of sessionPaths) {
    it(`${path} answers to a session only`, async () => {
      const { keys } = server.firstRun
      for (const headers of [
        {},
        { authorization: `Bearer ${keys.api}` },
        { authorization: `Bearer ${keys.logs}` },
        { cookie: 'throughline=AAAAAAAAAAAAAAAAAAAAAAAA.1; throughline.sig=AAAAAAAAAAAAAAAAAAAAAAAAAAA' },
      ]) {
        const response = await fetch(server.baseUrl + path, { headers: headers as Record<string, string> })
        const body = (await response.json()) as JsonObject
        expect([response.status, body['code']]).to.deep.equal([401, 'not_signed_in'])
      }
    })
  }

  it('keeps idle connections open for longer than senders use them again', async () => {
    for (const response of [await send.logs([]), await session.raw('/api/app/logs/search?limit=1')]) {
      expect(response.headers.get('connection')).to.equal('keep-alive')
      const [, seconds] = /^timeout=(\d+)$/.exec(response.headers.get('keep-alive') ?? '') ?? []
      expect(Number(seconds)).to.be.at.least(75)
    }
  })

  it('shows nothing of what operators ask, which has a port of its own', async () => {
    for (const path of ['/metrics', '/health/live', '/health/ready', '/debug', '/api', '/api/v1', '/']) {
      const response = await fetch(server.baseUrl + path, { redirect: 'manual' })
      expect(await response.text(), path).to.not.match(/throughline_|^(?:not )?ready$|^live$/m)
      if (path !== '/') expect(response.status, path).to.equal(404)
    }
  })

  it('lets a client wait for its own write', async () => {
    const acks = [
      await send.logs([{ message: 'mine' }]),
      await send.spans([{ traceId: hex(32, 'mine'), spanId: hex(16, 'mine'), name: 'mine' }]),
    ]
    for (const [ack, path, list] of [
      [acks[0], '/api/app/logs/search?q=mine', 'logs'],
      [acks[1], '/api/app/traces/search?operation=mine', 'traces'],
    ] as const) {
      const position = positionOf(ack as Response)
      for (;;) {
        const body = await answerOf(session, path)
        if (Number(at(body, 'index', 'position')) < position) continue
        expect(listOf(body, list), path).to.have.length(1)
        break
      }
    }
  })

  it('keeps integers of 64 bits and odd names of attributes exact', async () => {
    const odd = { '': 'empty', __proto__: 'p', constructor: 'c', 'a.b': 1, ключ: 'ü', min: -9223372036854775808n }
    const attributes = Object.assign(Object.create(null) as Record<string, string>, odd, { max: 9223372036854775807n })
    Object.defineProperty(attributes, '__proto__', { value: 'p', enumerable: true })
    await send.spans([{ traceId: hex(32, 'odd'), spanId: hex(16, 'odd'), attributes }])
    await send.logs([{ message: 'odd', ...attributes }])
    await untilIndexed(server)
    const correlated = await session.raw(`/api/app/correlation?trace_id=${hex(32, 'odd')}`)
    const searched = await session.raw('/api/app/logs/search?q=odd')
    const exported = await session.raw('/app/logs/export?q=odd')
    for (const response of [correlated, searched, exported]) {
      const text = await response.text()
      for (const member of [
        '"":"empty"',
        '"__proto__":"p"',
        '"constructor":"c"',
        '"a.b":1',
        '"ключ":"ü"',
        '"min":-9223372036854775808',
        '"max":9223372036854775807',
      ]) {
        expect(text, response.url).to.include(member)
      }
    }
  })

  it('finds spans of any time, and says when they were', async () => {
    const year2262 = 9_223_372_036_854_775_807n
    const times = { first: 1n, last: year2262 - 1_000_000n, beyond: 18_446_744_073_709_551_615n - 1_000_000n }
    for (const [name, startNs] of Object.entries(times)) {
      await send.spans([{ traceId: hex(32, name), spanId: hex(16, name), name, startNs, service: 'times' }])
    }
    await untilIndexed(server)
    const read = async (name: string): Promise<JsonObject | undefined> => {
      const body = await answerOf(session, `/api/app/correlation?trace_id=${hex(32, name)}`)
      return listOf(body['trace'] as JsonObject, 'spans')[0]
    }
    for (const name of ['first', 'last'] as const) {
      expect(await read(name), name).to.deep.include({
        start: formatTimeNs(times[name]),
        duration_ns: '1000000',
        cuts: [],
      })
    }
    const beyond = await read('beyond')
    expect(beyond).to.include({ start: formatTimeNs(year2262), duration_ns: '0' })
    expect(beyond?.['cuts']).to.be.an('array').that.is.not.empty
    const found = async (query: string): Promise<unknown[]> =>
      listOf(await answerOf(session, `/api/app/traces/search?service=times&include=histogram&${query}`), 'traces').map(
        (trace) => at(trace, 'root', 'operation'),
      )
    expect(await found('from=0&to=1')).to.deep.equal(['first'])
    expect(await found('')).to.have.members(['last', 'beyond'])
    expect(await found('from=0&order=oldest')).to.deep.equal(['first', 'last', 'beyond'])
    expect(await found('from=1971-01-01&to=2262-01-01')).to.deep.equal([])
    expect(await found('to=1970-01-01')).to.deep.equal([])
  })

  it('says of a log record what of it was left out, or could not be read', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`f${n}`, n]))
    await send.logs([
      { message: 'cut whole' },
      { ...many, message: 'cut many' },
      { message: 'cut time', timestamp: 'soon' },
    ])
    await untilIndexed(server)
    const told = {
      whole: undefined,
      many: ['45 fields beyond 256 left out'],
      time: ['no time could be read from timestamp'],
    }
    for (const [name, cuts] of Object.entries(told)) {
      const q = `q=${encodeURIComponent(`"cut ${name}"`)}`
      const [found] = listOf(await answerOf(session, `/api/app/logs/search?${q}&fields=none`), 'logs')
      expect(found?.['cuts'], name).to.deep.equal(cuts)
      const exported = await session.raw(`/app/logs/export?${q}`)
      expect((JSON.parse(await exported.text()) as JsonObject)['cuts'], name).to.deep.equal(cuts)
      const page = await session.raw(`/app/logs?${q}`)
      const text = await page.text()
      for (const cut of cuts ?? []) expect(text, name).to.include(cut)
      expect(text.includes('Changed: '), name).to.equal(cuts !== undefined)
    }
  })

  it('takes a time that is missing from the other one, or from the arrival, and says so', async () => {
    const startNs = BigInt(Date.now()) * 1_000_000n
    const given = {
      started: { startTimeUnixNano: String(startNs) },
      ended: { endTimeUnixNano: String(startNs), startTimeUnixNano: 'soon' },
      neither: {},
    }
    const spans = Object.entries(given).map(([name, times]) => {
      return { traceId: hex(32, name), spanId: hex(16, name), name, ...times }
    })
    const before = Date.now()
    await send.otlp([{ scopeSpans: [{ spans }] }])
    await untilIndexed(server)
    const read = async (name: string): Promise<JsonObject | undefined> => {
      const answer = await answerOf(session, `/api/app/correlation?trace_id=${hex(32, name)}`)
      return listOf(answer['trace'] as JsonObject, 'spans')[0]
    }
    const atStart = { start: formatTimeNs(startNs), end: formatTimeNs(startNs), duration_ns: '0' }
    expect(await read('started')).to.deep.include({ ...atStart, cuts: ['no end time: that of its start'] })
    expect(await read('ended')).to.deep.include({ ...atStart, cuts: ['no start time: that of its end'] })
    const neither = await read('neither')
    expect(neither).to.deep.include({ duration_ns: '0', cuts: ['no times: that of its arrival'] })
    expect(Date.parse(String(neither?.['start']))).to.be.within(before - 1, Date.now())
  })

  const hostile: readonly string[] = [
    ...[
      '"',
      "'",
      'NEAR(',
      'hello AND',
      '*',
      '-hello',
      'col:x',
      'NEAR(a b, 5)',
      'fields : x',
      '{a b} : c',
      '^a',
      'a + b',
    ],
    ...[
      '_exists_:',
      'a:(',
      'a:[1 TO',
      'a:>',
      'a:/(/',
      '/(a+)+$/',
      '/.*.*.*.*x/',
      `/${'(a|'.repeat(40)}b${')'.repeat(40)}/`,
    ],
    ...[
      '/(?=a)/',
      '/a{1,100000}/',
      '/\\1/',
      '/[/',
      '\\',
      '\\\\',
      'a:\\',
      '%',
      "'; DROP TABLE logs; --",
      '${jndi:ldap://x}',
    ],
    ...['*a*b*c*', '?????????????', '*'.repeat(500), '('.repeat(2_000), 'a OR '.repeat(500), 'NOT '.repeat(400) + 'a'],
    ...[
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\u202e',
      '💥',
      '支'.repeat(1_000),
      'ﷺ'.repeat(500),
      'İ',
      'ß',
      'e\u0301'.repeat(300),
    ],
    ...[
      'a:b:c:d',
      '::',
      'http://x:y@z/?q=1#f',
      'a=b=c',
      '!!!!',
      '&&',
      '||',
      'AND',
      'a AND OR b',
      'a | b',
      'x >> y',
      '<script>',
    ],
    ...[
      'duration:[1s TO 5000000000000000000000s]',
      'a:>1e999',
      'a:>-1e308',
      'a:999999999999999999999999999',
      'level:>nope',
    ],
  ]
  for (const path of ['/api/app/logs/search', '/api/app/traces/search', '/app/logs/export', '/api/v1/traces']) {
    it(`${path} answers any search, or says what is wrong with it`, async () => {
      for (const q of hostile) {
        const response = await readerOf(path).raw(`${path}?q=${encodeURIComponent(q.toWellFormed())}`)
        const text = await response.text()
        expect(response.status, q.slice(0, 60)).to.be.oneOf([200, 400])
        if (response.status === 400) {
          expect(parseJson(text), q).to.have.property('code').that.is.oneOf(['query_syntax', 'query_too_broad'])
        }
      }
      for (const query of ['q=%ff%fe', 'q=%', 'q=%00', 'service=%00', 'session_id=%00%01', 'service=%ed%a0%80']) {
        expect((await readerOf(path).raw(`${path}?${query}`)).status, query).to.be.oneOf([200, 400])
      }
    })
  }

  it('answers look-ups of anything with 200, 400 or 404', async () => {
    const ids = [...hostile.filter((id) => id.length <= 256), '0'.repeat(16), 'f'.repeat(32), '8000000000000000-x-0']
    for (const id of ids) {
      for (const name of ['id', 'log_id', 'session_id', 'span_id', 'trace_id', 'traceparent']) {
        const response = await session.raw(`/api/app/correlation?${name}=${encodeURIComponent(id.toWellFormed())}`)
        expect(response.status, `${name}=${id}`).to.be.oneOf([200, 400, 404])
        await response.body?.cancel()
      }
      const around = await session.raw(`/api/app/logs/search?around=${encodeURIComponent(id.toWellFormed())}`)
      expect(around.status, `around=${id}`).to.be.oneOf([400, 404])
    }
  })
})
