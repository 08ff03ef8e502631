import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { cli } from '../support/cli.ts'
import { answerOf, listOf, signIn, untilIndexed, untilServed, withKey, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const traceOf = (name: string): string => hex(32, 'listed', name)
const names = new Map(['first', 'second', 'third'].map((name) => [traceOf(name), name]))

describe('GET /api/v1/traces', () => {
  let server: LentServer
  let api: Reader
  const list = (query: string): Promise<JsonObject> => answerOf(api, `/api/v1/traces?${query}`)
  const found = async (query: string): Promise<(string | undefined)[]> =>
    listOf(await list(query), 'data').map(({ trace_id: id }) => names.get(String(id)))

  before(async () => {
    server = await borrowServer()
    api = withKey(server.baseUrl, server.firstRun.keys.api)
    const send = sendingTo(server, server.firstRun.keys)
    const at = (seconds: number): bigint => t0 + BigInt(seconds) * secondNs
    await send.spans([
      {
        traceId: traceOf('first'),
        spanId: hex(16, 1),
        name: 'GET /a',
        service: 'web',
        startNs: at(1),
        durationNs: 30n * msNs,
      },
      {
        traceId: traceOf('second'),
        spanId: hex(16, 2),
        name: 'GET /b',
        service: 'api',
        kind: 3,
        status: 'error',
        startNs: at(2),
        durationNs: 20n * msNs,
        attributes: { 'http.status_code': 500, 'session.id': 's-1' },
      },
      {
        traceId: traceOf('third'),
        spanId: hex(16, 3),
        name: 'GET /c',
        service: 'web',
        startNs: at(3),
        durationNs: 10n * msNs,
      },
      {
        traceId: traceOf('third'),
        spanId: hex(16, 4),
        parentSpanId: hex(16, 'none'),
        name: 'x',
        service: 'web',
        startNs: at(4),
      },
    ])
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const filters: readonly (readonly [query: string, traces: readonly string[]])[] = [
    ['', ['third', 'second', 'first']],
    ['order=oldest', ['first', 'second', 'third']],
    ['order=longest', ['third', 'first', 'second']],
    ['order=most_spans&limit=1', ['third']],
    ['order=errors&limit=1', ['second']],
    ['service=web', ['third', 'first']],
    ['operation=GET%20/b', ['second']],
    ['status=error', ['second']],
    ['kind=client', ['second']],
    ['min_duration=25ms', ['third', 'first']],
    ['max_duration=25ms', ['second']],
    ['q=http.status_code:%3E=500', ['second']],
    [`trace_id=${traceOf('first').toUpperCase()}`, ['first']],
    ['session_id=s-1', ['second']],
    ['has=missing_spans', ['third']],
    ['has=error', ['second']],
    ['has=logs', []],
    [`from=${formatTimeNs(t0 + 2n * secondNs)}`, ['third', 'second']],
    [`to=${formatTimeNs(t0 + 2n * secondNs)}`, ['first']],
    ['limit=1', ['third']],
    ['limit=100', ['third', 'second', 'first']],
  ]
  for (const [query, traces] of filters) {
    it(`${query === '' ? 'everything of the last day' : query} → ${traces.join(' ') || 'nothing'}`, async () => {
      expect(await found(query)).to.deep.equal(traces)
    })
  }

  it('answers traces as trace search does', async () => {
    const session = await signIn(server.baseUrl, server.firstRun.sign_in)
    const { traces, index, ...rest } = await answerOf(
      session,
      `/api/app/traces/search?q=service:web&from=${formatTimeNs(t0)}`,
    )
    const listing = await list(`q=service:web&from=${formatTimeNs(t0)}`)
    expect(listing).to.deep.include({ ...rest, data: traces, has_more: false })
    expect(Object.keys(listing).sort()).to.deep.equal(['data', 'has_more', 'index', 'next_cursor', 'query', 'range'])
    expect(listing['index']).to.have.all.keys(Object.keys(index as object))
    expect(listing['query']).to.deep.equal({ normalized: 'service:web', warnings: [] })
  })

  it('says how many requests the key has left', async () => {
    const remaining: number[] = []
    for (const query of ['', 'limit=0']) {
      const response = await api.raw(`/api/v1/traces?${query}`)
      const [, left, wait] = /^"key";r=(\d+);t=(\d+)$/.exec(response.headers.get('ratelimit') ?? '') ?? []
      expect(response.headers.get('ratelimit-policy')).to.match(/^"key";q=\d+;w=\d+$/)
      expect(wait).to.equal('0')
      expect(response.headers.get('cache-control')).to.equal('no-store')
      remaining.push(Number(left))
    }
    expect(remaining[0]).to.be.greaterThan(1_000)
  })

  const refusals: readonly (readonly [query: string, code: string, path: string | undefined])[] = [
    ['limit=101', 'invalid_parameter', 'limit'],
    ['limit=0', 'invalid_parameter', 'limit'],
    ['include=facets', 'unknown_parameter', 'include'],
    ['key=wk_x', 'unknown_parameter', 'key'],
    ['order=desc', 'invalid_parameter', 'order'],
    ['q=(', 'query_syntax', undefined],
    ['cursor=x', 'invalid_cursor', undefined],
  ]
  for (const [query, code, path] of refusals) {
    it(`${query} is refused: ${code}`, async () => {
      const { status, body } = await api.get(`/api/v1/traces?${query}`)
      expect([status, body['code'], listOf(body, 'errors')[0]?.['path']]).to.deep.equal([400, code, path])
    })
  }

  describe('by its key', () => {
    const asked = async (headers: Readonly<Record<string, string>>) => {
      const response = await untilServed(() => fetch(`${server.baseUrl}/api/v1/traces`, { headers }))
      return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject }
    }

    it('in every place where a key may travel', async () => {
      const { api: key } = server.firstRun.keys
      for (const headers of [
        { authorization: `Bearer ${key}` },
        { authorization: `bearer ${key}` },
        { authorization: key },
        { authorization: `Basic ${Buffer.from(`x:${key}`).toString('base64')}` },
        { 'x-api-key': key },
      ]) {
        expect((await asked(headers)).status).to.equal(200)
      }
    })

    it('and with no other', async () => {
      const { keys } = server.firstRun
      const typo = `${keys.api.slice(0, -1)}${keys.api.endsWith('a') ? 'b' : 'a'}`
      for (const [key, status, code] of [
        [keys.tracing, 403, 'wrong_key_kind'],
        [keys.logs, 403, 'wrong_key_kind'],
        [keys.publishable, 403, 'wrong_key_kind'],
        [typo, 401, 'invalid_credential'],
        ['wk_', 401, 'invalid_credential'],
        ['x', 401, 'invalid_credential'],
      ] as const) {
        const { status: answered, body, headers } = await asked({ authorization: `Bearer ${key}` })
        expect([answered, body['code']], key).to.deep.equal([status, code])
        if (status === 401) {
          expect(headers.get('www-authenticate')).to.match(/^Bearer .*error="invalid_token"/)
        } else expect(String(body['detail'])).to.include('wk_')
        expect(JSON.stringify(body)).not.to.include(key === 'x' ? '"x"' : `${key}"`)
      }
      const missing = await asked({})
      expect([missing.status, missing.body['code']]).to.deep.equal([401, 'missing_credential'])
      expect(missing.headers.get('www-authenticate')).to.match(/^Bearer /)
    })

    it('and not with a session', async () => {
      const session = await signIn(server.baseUrl, server.firstRun.sign_in)
      expect((await session.get('/api/v1/traces')).status).to.equal(401)
    })

    it('until it is revoked', async () => {
      const workspace = server.firstRun.workspace
      const made = await cli(server, 'key', 'create', '--workspace', workspace, '--kind', 'api')
      const headers = { authorization: `Bearer ${String(made['secret'])}` }
      while ((await asked(headers)).status !== 200);
      await cli(server, 'key', 'revoke', String(made['id']))
      for (;;) {
        const { status, body } = await asked(headers)
        if (status === 200) continue
        expect([status, body['code']]).to.deep.equal([401, 'revoked_credential'])
        break
      }
    })
  })

  it('takes GET and HEAD only', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await api.raw('/api/v1/traces', { method })
      expect(response.status, method).to.equal(405)
      expect(response.headers.get('allow'), method).to.equal('GET, HEAD')
    }
    const head = await api.raw('/api/v1/traces', { method: 'HEAD' })
    expect([head.status, await head.text()]).to.deep.equal([200, ''])
    expect(Number(head.headers.get('content-length'))).to.be.greaterThan(100)
  })
})
