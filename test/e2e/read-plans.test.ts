import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import {
  answerOf,
  completeAnswerOf,
  listOf,
  post,
  signIn,
  untilIndexed,
  withKey,
  type Reader,
} from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'

const json = { 'content-type': 'application/json' }

/** The plans, and what each includes. */
const plans: ReadonlyMap<string, readonly string[]> = new Map([
  ['free', ['logs', 'tracing']],
  ['pro', ['logs', 'tracing', 'api_access']],
  ['unlimited', ['logs', 'tracing', 'api_access']],
  ['logs-only', ['logs', 'api_access']],
  ['tracing-only', ['tracing']],
])

/** The endpoints that read, and what each needs, in the order in which they are asked for. */
const reads: readonly (readonly [path: string, needed: readonly string[]])[] = [
  ['/api/app/traces/search', ['tracing']],
  ['/api/app/logs/search', ['logs']],
  ['/app/logs/export', ['logs']],
  ['/api/app/correlation?session_id=s', []],
  ['/api/v1/traces', ['tracing', 'api_access']],
]

describe('what a plan includes', () => {
  let server: LentServer
  const tenants = new Map<string, Readonly<{ tenant: Tenant; session: Reader; api: Reader }>>()
  const traceId = hex(32, 'entitled')

  before(async () => {
    server = await borrowServer()
    for (const plan of plans.keys()) {
      const tenant = await createTenant(server, `w-${plan}`, plan)
      const session = await signIn(server.baseUrl, tenant.sign_in)
      tenants.set(plan, { tenant, session, api: withKey(server.baseUrl, tenant.keys.api) })
      const send = sendingTo(server, tenant.keys)
      if (plan !== 'logs-only') await send.spans([{ traceId, spanId: hex(16, 1), attributes: { 'session.id': 's' } }])
      if (plan !== 'tracing-only') await send.logs([{ message: 'entitled', trace_id: traceId, session_id: 's' }])
      await send.rum({
        meta: { session: { id: 's' } },
        events: [
          { name: 'click', timestamp: new Date().toISOString(), trace: { trace_id: traceId, span_id: hex(16, 1) } },
        ],
      })
    }
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const keysOf = (plan: string): Tenant['keys'] =>
    present(tenants.get(plan), `a workspace of the plan ${plan}`).tenant.keys

  for (const [plan, features] of plans) {
    for (const [path, needed] of reads) {
      const lacking = needed.find((feature) => !features.includes(feature))
      it(`${plan}: ${path} ${lacking === undefined ? 'is answered' : `needs ${lacking}`}`, async () => {
        const { session, api } = tenants.get(plan) ?? {}
        const response = await (path.startsWith('/api/v1') ? api : session)?.raw(path)
        const body = response?.status === 200 ? {} : ((await response?.json()) as JsonObject)
        const expected = lacking === undefined ? [200, undefined, undefined] : [403, 'entitlement_required', lacking]
        expect([response?.status, body['code'], body['feature']]).to.deep.equal(expected)
      })
    }
  }

  it('leaves out of a correlation what the plan does not include, and names it', async () => {
    const about = async (plan: string): Promise<JsonObject> =>
      answerOf(tenants.get(plan)?.session as Reader, '/api/app/correlation?session_id=s')
    const free = await about('free')
    expect(free['omitted']).to.deep.equal([])
    expect(free).to.include.keys('trace', 'traces', 'logs', 'rum_events')
    const logsOnly = await about('logs-only')
    expect(logsOnly['omitted']).to.deep.equal(['trace', 'traces'])
    expect(logsOnly).not.to.have.any.keys('trace', 'traces')
    expect(listOf(logsOnly['logs'] as JsonObject, 'items')).to.have.length(1)
    const tracingOnly = await about('tracing-only')
    expect(tracingOnly['omitted']).to.deep.equal(['logs'])
    expect(tracingOnly).not.to.have.any.keys('logs')
    expect(listOf(tracingOnly['traces'] as JsonObject, 'items')).to.have.length(1)
    const kinds = listOf(tracingOnly, 'timeline').map(({ kind }) => kind)
    expect(new Set(kinds)).to.deep.equal(new Set(['span', 'rum_event']))
  })

  it('reads what is left of a body of browser items as what it was sent as', async () => {
    const tenant = await createTenant(server, 'parts', 'tracing-only')
    const session = await signIn(server.baseUrl, tenant.sign_in)
    const joined = hex(32, 'joined')
    const trace = { trace_id: joined, span_id: hex(16, 'joined') }
    // Without `meta`, only the logs tell that this is Faro's body. The plan takes them away.
    const rum = { logs: [{ message: 'x' }], events: [{ name: 'click', trace }] }
    await sendingTo(server, tenant.keys).rum(rum)
    await untilIndexed(server)
    const found = await answerOf(session, `/api/app/correlation?trace_id=${joined}`)
    const items = listOf(found['rum_events'] as JsonObject, 'items')
    expect(items.map(({ type, name }) => [type, name])).to.deep.equal([['event', 'click']])
  })

  it('shows what was stored before a plan lost a feature only when it has it again, at once', async () => {
    const { tenant, session } = tenants.get('pro') as { tenant: Tenant; session: Reader }
    const plan = (name: string): Promise<JsonObject> => cli(server, 'workspace', 'plan', tenant.workspace, name)
    const ask = () => session.get('/api/app/logs/search?q=entitled')
    for (let turn = 0; turn < 4; turn++) {
      await plan('tracing-only')
      // The verb is another process: what it has taken away is answered until this one hears of it, a moment later.
      while ((await ask()).status !== 403);
      await plan('pro')
      // Nobody is refused before the log was asked, in any process of a cluster.
      for (let asked = 0; asked < 4; asked++) {
        const { status, body } = await ask()
        expect([status, listOf(body, 'logs').length], `turn ${turn}`).to.deep.equal([200, 1])
      }
    }
  })

  it('tells of spans that were refused for lack of allowance', async () => {
    const tenant = await createTenant(server, 'used-up', 'free')
    const session = await signIn(server.baseUrl, tenant.sign_in)
    const send = sendingTo(server, tenant.keys)
    const big = hex(32, 'over the allowance')
    // 50,000 a month: these leave nine. The same ones again and again cost the allowance, and no index.
    for (const [request, count] of [10_000, 10_000, 10_000, 10_000, 9_991].entries()) {
      await send.spans(
        Array.from({ length: count }, (_, n) => ({
          traceId: hex(32, 'filler', request),
          spanId: hex(16, 'filler', n % 20),
        })),
      )
    }
    const spanOf = (n: number): string => hex(16, 'big', n)
    await send.spans(
      Array.from({ length: 13 }, (_, n) => ({
        traceId: big,
        spanId: spanOf(n),
        ...(n === 0 ? {} : { parentSpanId: spanOf(n === 12 ? 0 : 12) }),
      })),
    )
    await untilIndexed(server)
    const body = await completeAnswerOf(session, `/api/app/correlation?trace_id=${big}`)
    const trace = body['trace'] as JsonObject
    expect(trace['summary']).to.include({ span_count: 9, rejected_span_count: 4, missing_parent_count: 1 })
    const missing = listOf(trace, 'missing')
    expect(new Set(missing.map(({ reason }) => reason))).to.deep.equal(new Set(['rejected_allowance']))
    expect(missing.map(({ span_id: id }) => id)).to.have.members([9, 10, 11, 12].map(spanOf))
    const parent = missing.find(({ span_id: id }) => id === spanOf(12))
    expect(parent?.['referenced_by']).to.have.members([1, 2, 3, 4, 5, 6, 7, 8].map(spanOf))
    const found = await answerOf(session, '/api/app/traces/search?has=missing_spans')
    expect(listOf(found, 'traces').map(({ trace_id: id }) => id)).to.deep.equal([big])
  })

  // Last, so that the tests before find only what they look for.
  const taken = { traceId: hex(32, 'matrix'), spanId: hex(16, 1) }
  for (const [plan, features] of plans) {
    it(`${plan}: spans are ${features.includes('tracing') ? 'taken' : 'refused'}`, async () => {
      const keys = keysOf(plan)
      const response = await post(server, '/api/traces/v1/otlp', keys.tracing, otlpJson([taken]), json)
      const expected = features.includes('tracing') ? [200, false] : [403, true]
      expect([response.status, /tracing/.test(await response.text())]).to.deep.equal(expected)
    })

    it(`${plan}: logs are ${features.includes('logs') ? 'taken' : 'refused'}`, async () => {
      const response = await post(server, '/api/logs/v1/ingest', keysOf(plan).logs, '{"message":"m"}', json)
      const { code, feature } = (await response.json()) as JsonObject
      const expected = features.includes('logs') ? [200, undefined, undefined] : [403, 'entitlement_required', 'logs']
      expect([response.status, code, feature]).to.deep.equal(expected)
    })

    it(`${plan}: of browser telemetry the parts are taken that it includes`, async () => {
      const span = JSON.parse(otlpJson([taken])) as JsonObject
      const timestamp = new Date().toISOString()
      const body = {
        meta: { session: { id: 'matrix' } },
        events: [{ name: 'click', timestamp }],
        logs: [{ message: 'm', level: 'info', timestamp }],
        traces: span,
      }
      const response = await post(server, '/api/rum/v1/ingest', keysOf(plan).publishable, JSON.stringify(body), json)
      const refused = ['tracing', 'logs'].filter((feature) => !features.includes(feature)).length
      expect([response.status, await response.json()]).to.deep.equal([
        202,
        { accepted: 3 - refused, rejected: refused },
      ])
    })
  }
})
