import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { readUsageAt } from '#projections/allowance/query.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { borrowChromium, closeTabs, openTab, serveSite, type Site } from '../support/browser.ts'
import { cli } from '../support/cli.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { createFlakyProxy, type Fault } from '../support/flaky-proxy.ts'
import { runNode } from '../support/run-program.ts'
import { expectSpan, type SentSpan } from '../support/sent-span.ts'
import { openInstallation } from '../support/installation.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

type FaroBody = Readonly<Partial<Record<'events' | 'measurements' | 'logs' | 'exceptions', readonly object[]>>> &
  Readonly<{ traces?: { resourceSpans: readonly { scopeSpans: readonly { spans: readonly object[] }[] }[] } }>
type Facts = Readonly<{ session: string; traceId: string; spanId: string }>
/** What the page of faro-page.js pushes, each in a body of its own or not. */
const pushed = ['basket opened', 'payment widget failed', 'purchase', 'total_ms', 'checkout click', 'inside the span']

describe('senders behind a failing network', () => {
  let server: LentServer
  let site: Site
  let browser: Browser
  let reader: Reader
  let spansSent = 0

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    site = await serveSite('faro-page.js')
    browser = await borrowChromium()
  })
  after(async () => {
    await closeTabs(browser)
    site.close()
    await server.giveBack()
  })

  async function expectOtel(fault: Fault, encoding: 'proto' | 'json'): Promise<void> {
    const proxy = await createFlakyProxy(server.baseUrl, fault)
    const url = `${proxy.baseUrl}/api/traces/v1/otlp`
    const lines = await runNode('otel.ts', encoding, 'gzip', url, server.firstRun.keys.tracing, '5')
    await proxy.close()
    expect([proxy.faults(), proxy.passed.length], 'attempts').to.deep.equal([1, 1])
    expect(lines).to.have.length(10)
    spansSent += lines.length
    await untilIndexed(server)
    for (const line of lines) await expectSpan(reader, JSON.parse(line) as SentSpan)
  }

  async function expectLogtail(fault: Fault): Promise<void> {
    const proxy = await createFlakyProxy(server.baseUrl, fault)
    const url = `${proxy.baseUrl}/api/logs/v1/ingest`
    await runNode('logtail.ts', url, server.firstRun.keys.logs, '12', `billing-${fault}`)
    await proxy.close()
    expect(proxy.faults()).to.be.at.least(1)
    await untilIndexed(server)
    const { body } = await reader.get(`/api/app/logs/search?service=billing-${fault}&limit=100`)
    const expected = Array.from({ length: 12 }, (_, index) => `logtail line ${index}`)
    const found = listOf(body, 'logs').map((log) => String(log['message']))
    // It sends no identity with a batch: what the server has taken and the sender does not know of is there twice.
    expect(found).to.have.members(fault === 'refuse' ? expected : [...expected, ...expected])
  }

  async function expectFaro(fault: Fault): Promise<void> {
    const proxy = await createFlakyProxy(server.baseUrl, fault)
    const tab = await openTab(browser)
    const url = `${proxy.baseUrl}/api/rum/v1/ingest`
    await tab.goto(site.page('faro-page.js', { url, key: server.firstRun.keys.publishable }))
    const facts = await tab.evaluate(() => (globalThis as unknown as { facts: Facts }).facts)
    await proxy.until((passed) => pushed.every((part) => passed.some((body) => body.includes(part))))
    // What Faro sends besides, of its own, may be between its attempts: what counts is what the server has taken.
    await proxy.close()
    await tab.close()
    await untilIndexed(server)
    const bodies = proxy.taken().map((body) => JSON.parse(String(body)) as FaroBody)
    const count = (...parts: readonly Exclude<keyof FaroBody, 'traces'>[]): number =>
      bodies.reduce((sum, body) => sum + parts.reduce((inner, part) => inner + (body[part]?.length ?? 0), 0), 0)
    const { body } = await reader.get(`/api/app/correlation?session_id=${facts.session}`)
    const events = listOf(at(body, 'rum_events') as JsonObject, 'items')
    expect(events, 'events').to.have.length(count('events', 'measurements'))
    const { body: logs } = await reader.get(`/api/app/logs/search?session_id=${facts.session}&limit=100`)
    expect(listOf(logs, 'logs'), 'logs').to.have.length(count('logs', 'exceptions'))
    const { body: trace } = await reader.get(`/api/app/correlation?trace_id=${facts.traceId}`)
    const spans = at(trace, 'trace', 'spans') as readonly JsonObject[]
    spansSent += bodies
      .flatMap(({ traces }) => traces?.resourceSpans ?? [])
      .flatMap(({ scopeSpans }) => scopeSpans)
      .reduce((sum, scope) => sum + scope.spans.length, 0)
    expect(spans.map((span) => [span['span_id'], span['repeated']])).to.deep.include([facts.spanId, 0])
  }

  for (const [fault, what] of [
    ['refuse', '503 with Retry-After, then taken'],
    ['lose', 'taken, but answered with 503'],
    ['reset', 'taken, but the connection breaks without an answer'],
  ] as const) {
    it(`${what}: OpenTelemetry and Faro are there once, @logtail/node at least once`, async () => {
      await Promise.all([
        expectOtel(fault, 'proto'),
        expectOtel(fault, 'json'),
        expectLogtail(fault),
        expectFaro(fault),
      ])
    })
  }

  it('the allowance has counted each span once', async () => {
    const workspaces = listOf(await cli(server, 'workspace', 'list'), 'workspaces')
    const workspace = workspaces.find(({ name }) => name === server.firstRun.workspace)
    const workspaceId = workspaceIdOf(String(workspace?.['id']))
    const { indexOf, close } = await openInstallation(server)
    const usage = await readUsageAt(indexOf(workspaceId), workspaceId, Date.now())
    await close()
    expect(spansSent).to.be.at.least(60)
    expect(usage.spans).to.equal(spansSent)
  })
})
