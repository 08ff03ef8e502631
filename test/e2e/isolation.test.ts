import { expect } from 'chai'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { cookieOf, getComplete, listOf, post, signIn, untilIndexed, withKey, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'

const traceId = hex(32, 'shared trace')
const sessionId = 'shared-session'
const json = { 'content-type': 'application/json' }

/** What a workspace sends: the same ids and messages in both, and its own name in every field that can hold one. */
async function sendAs(server: LentServer, keys: Tenant['keys'], canary: string): Promise<void> {
  const otlp = otlpJson([
    {
      traceId,
      spanId: hex(16, 'root'),
      name: canary,
      service: 'shared',
      attributes: { owner: canary, 'session.id': sessionId },
    },
    {
      traceId,
      spanId: hex(16, canary),
      parentSpanId: hex(16, 'root'),
      service: 'shared',
      attributes: { 'session.id': sessionId },
    },
  ])
  const log = { message: 'shared message', service: 'shared', owner: canary, trace_id: traceId, session_id: sessionId }
  const rum = {
    meta: { app: { name: 'shop' }, session: { id: sessionId } },
    events: [
      {
        name: 'click',
        timestamp: new Date().toISOString(),
        attributes: { owner: canary },
        trace: { trace_id: traceId, span_id: hex(16, 'root') },
      },
    ],
  }
  const answers = [
    await post(server, '/api/traces/v1/otlp', keys.tracing, otlp, json),
    await post(server, '/api/logs/v1/ingest', keys.logs, JSON.stringify(log), { ...json, 'idempotency-key': 'same' }),
    await post(server, '/api/rum/v1/ingest', keys.publishable, JSON.stringify(rum), json),
  ]
  expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 202])
}

const cursorIn = (body: object): string[] =>
  [...JSON.stringify(body).matchAll(/"(?:next|prev)_cursor":"([^"]+)"/g)].map(([, cursor]) => cursor ?? '')

describe('two workspaces with equal ids', () => {
  let server: LentServer
  let mine: Reader
  let theirs: Reader
  let other: Tenant

  before(async () => {
    server = await borrowServer()
    other = await createTenant(server, 'other', 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    theirs = await signIn(server.baseUrl, other.sign_in)
    await sendAs(server, server.firstRun.keys, 'canary-mine')
    await sendAs(server, other.keys, 'canary-theirs')
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const paths = (tenant: string): readonly string[] => {
    const places = ['', `&workspace=${tenant}`, `&workspace_id=${tenant}`, `&workspaceId=${tenant}`]
    return places.flatMap((place) => [
      `/api/app/traces/search?limit=1${place}`,
      `/api/app/traces/search?trace_id=${traceId}${place}`,
      `/api/app/traces/search?session_id=${sessionId}${place}`,
      `/api/app/traces/search?q=canary${place}`,
      `/api/app/traces/search?service=shared&operation=canary-theirs${place}`,
      `/api/app/logs/search?q=shared${place}`,
      `/api/app/logs/search?trace_id=${traceId}${place}`,
      `/api/app/logs/search?q=owner:canary${place}`,
      `/api/app/correlation?trace_id=${traceId}${place}`,
      `/api/app/correlation?session_id=${sessionId}${place}`,
      `/api/app/correlation?traceparent=00-${traceId}-${hex(16, 'root')}-01${place}`,
      `/app/logs/export?q=shared${place}`,
    ])
  }

  it('each sees its own data, whatever workspace it names', async () => {
    for (const [reader, own, foreign, tenant] of [
      [mine, 'canary-mine', 'canary-theirs', other.workspace],
      [theirs, 'canary-theirs', 'canary-mine', server.firstRun.workspace],
    ] as const) {
      for (const path of paths(tenant)) {
        const response = await reader.raw(path, { headers: { 'x-workspace-id': tenant, workspace: tenant } })
        const text = (await response.text()).replaceAll(/"normalized":"[^"]*"/g, '')
        expect(response.status, path).to.equal(200)
        expect(text, path).not.to.include(foreign)
        if (!path.includes('operation=')) expect(text, path).to.include(own)
      }
    }
  })

  it('each sees its own data on the pages too', async () => {
    const place = `workspace=${other.workspace}&workspaceId=${other.workspace}`
    const searches = [`/app/logs?q=shared&${place}`, `/app/traces?${place}`, `/app/trace/${traceId}?${place}`]
    const found = [
      ...searches,
      `/app/find?id=${sessionId}&${place}`,
      '/app/usage',
      '/app/keys',
      '/app/audit',
      '/app/members',
    ]
    for (const path of found) {
      const answer = await mine.raw(path, { headers: { accept: 'text/html' } })
      const text = await answer.text()
      expect(answer.status, path).to.equal(200)
      expect(text, path).to.not.include('canary-theirs').and.not.include(other.sign_in.email)
      if (path.includes('?')) expect(text, path).to.include('canary-mine')
    }
  })

  it('the listing shows only the key’s workspace', async () => {
    for (const [key, own] of [
      [server.firstRun.keys.api, 'canary-mine'],
      [other.keys.api, 'canary-theirs'],
    ] as const) {
      const { body } = await withKey(server.baseUrl, key).get('/api/v1/traces')
      const roots = listOf(body, 'data').map((trace) => (trace['root'] as { operation: string }).operation)
      expect(roots).to.deep.equal([own])
    }
  })

  it('refuses the other’s cursors and does not know its log ids and span ids', async () => {
    await post(server, '/api/logs/v1/ingest', other.keys.logs, '[{"message":"shared 1"},{"message":"shared 2"}]', json)
    await untilIndexed(server)
    const page = await theirs.get('/api/app/logs/search?q=shared&limit=1')
    const cursors = cursorIn(page.body)
    expect(cursors).not.to.be.empty
    for (const cursor of cursors) {
      const answer = await mine.get(`/api/app/logs/search?q=shared&limit=1&cursor=${cursor}`)
      expect([answer.status, answer.body['code']]).to.deep.equal([400, 'invalid_cursor'])
    }
    const ids = (await theirs.get('/api/app/logs/search?q=shared&limit=10')).body
    for (const log of listOf(ids, 'logs')) {
      expect((await getComplete(mine, `/api/app/correlation?log_id=${String(log['id'])}`)).status).to.equal(404)
    }
    expect((await getComplete(mine, `/api/app/correlation?span_id=${hex(16, 'canary-theirs')}`)).status).to.equal(404)
  })

  it('knows a session cookie only with its signature', async () => {
    const [name] = (await cookieOf(server.baseUrl, server.firstRun.sign_in)).split('=')
    for (const cookie of [`${name}=${other.workspace}`, `${name}=x; ${name}.sig=x`, `workspace=${other.workspace}`]) {
      const answer = await fetch(`${server.baseUrl}/api/app/logs/search`, { headers: { cookie } })
      expect(answer.status).to.equal(401)
    }
  })
})
