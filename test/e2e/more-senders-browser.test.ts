import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import type { JsonObject } from '#src/lib/json.ts'
import { borrowChromium, closeTabs, openTab, serveSite, type Site } from '../support/browser.ts'
import { cli } from '../support/cli.ts'
import { at, getComplete, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { expectSpan, type SentSpan } from '../support/sent-span.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

type OtelFacts = Readonly<{ recorded: readonly string[]; outcome: string }>
const pollMs = 10

describe('browsers without Faro', () => {
  let server: LentServer
  let site: Site
  let browser: Browser
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    site = await serveSite('otel-page.js', 'beacon-page.js')
    browser = await borrowChromium()
  })
  after(async () => {
    await closeTabs(browser)
    site.close()
    await server.giveBack()
  })

  /** Opens the page that exports spans to a path with a key; what its SDK recorded, and what became of it. */
  async function exportSpans(
    path: string,
    key: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ sent: readonly SentSpan[]; outcome: string }> {
    const tab = await openTab(browser)
    await tab.goto(site.page('otel-page.js', { url: server.baseUrl + path, key, ...settings }))
    const facts = await tab.evaluate(() => (globalThis as unknown as { facts: Promise<OtelFacts> }).facts)
    await tab.close()
    return { sent: facts.recorded.map((line) => JSON.parse(line) as SentSpan), outcome: facts.outcome }
  }

  it('the OpenTelemetry web exporter delivers with a publishable key, to the RUM ingest', async () => {
    const { sent, outcome } = await exportSpans('/api/rum/v1/ingest', server.firstRun.keys.publishable)
    expect(outcome).to.equal('delivered')
    expect(sent).to.have.length(3)
    await untilIndexed(server)
    for (const span of sent) await expectSpan(reader, span)
    const { body } = await reader.get('/api/app/traces/search?session_id=page-session&service=shop-page')
    expect(listOf(body, 'traces').map((trace) => trace['trace_id'])).to.have.members(sent.map(({ traceId }) => traceId))
  })

  it('a tracing token does not work in a page, neither at its own ingest nor at the RUM ingest', async () => {
    const { tracing } = server.firstRun.keys
    for (const path of ['/api/traces/v1/otlp', '/api/rum/v1/ingest']) {
      const { sent, outcome } = await exportSpans(path, tracing, { timeout: '500' })
      expect(outcome, path).not.to.equal('delivered')
      expect(sent).to.have.length(3)
      await untilIndexed(server)
      for (const { traceId } of sent) {
        expect((await getComplete(reader, `/api/app/correlation?trace_id=${traceId}`)).status, path).to.equal(404)
      }
    }
    const keys = listOf(await cli(server, 'key', 'list', '--workspace', server.firstRun.workspace), 'keys')
    expect(keys.filter((key) => key['exposed'] === true).map((key) => key['kind'])).to.deep.equal(['tracing'])
  })

  it('a beacon of a page that is left: text/plain, the key in the address', async () => {
    const session = 'beacon-session'
    const tab = await openTab(browser)
    const url = `${server.baseUrl}/api/rum/v1/ingest`
    const address = site.page('beacon-page.js', { url, key: server.firstRun.keys.publishable, session })
    await tab.goto(address)
    const { opened } = await tab.evaluate(() => (globalThis as unknown as { facts: { opened: number } }).facts)
    await tab.goto('about:blank')
    const find = async () => {
      const { body } = await reader.get(`/api/app/correlation?session_id=${session}`)
      return listOf((body['rum_events'] ?? {}) as JsonObject, 'items')
    }
    // The page is gone and nobody is told when its beacons have been answered.
    while ((await find()).length < 2) await setTimeout(pollMs)
    await tab.close()
    await untilIndexed(server)
    const events = await find()
    const byType = new Map(events.map((event) => [event['type'], event]))
    expect([...byType.keys()]).to.have.members(['page_view', 'leave'])
    expect(events).to.have.length(2)
    expect(byType.get('page_view')?.['url']).to.equal(address)
    expect(Date.parse(String(byType.get('page_view')?.['timestamp']))).to.equal(opened)
    expect(Date.parse(String(byType.get('leave')?.['timestamp']))).to.equal(opened + 1)
    expect(at(byType.get('leave'), 'fields', 'basket')).to.deep.equal({ items: 3, total: 12.5, label: 'grün ✓' })
    for (const event of events) expect(event['session_id']).to.equal(session)
  })
})
