import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { borrowChromium, closeTabs, openTab, serveSite, type Site } from '../support/browser.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

describe('the browser SDK in Chromium', () => {
  let server: LentServer
  let shop: Site
  let browser: Browser
  let reader: Reader

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    shop = await serveSite('faro-page.js')
    browser = await borrowChromium()
  })
  after(async () => {
    await closeTabs(browser)
    shop.close()
    await server.giveBack()
  })

  it('Faro delivers logs, errors, events, measurements and spans, joined by session and trace', async () => {
    const tab = await openTab(browser)
    const answered: number[] = []
    tab.on('response', (response) => {
      if (response.url().includes('/api/rum/') && response.request().method() === 'POST')
        answered.push(response.status())
    })
    const bodies: string[] = []
    tab.on('request', (request) => {
      if (request.url().includes('/api/rum/') && request.method() === 'POST') bodies.push(request.postData() ?? '')
    })
    const url = `${server.baseUrl}/api/rum/v1/ingest`
    await tab.goto(shop.page('faro-page.js', { url, key: server.firstRun.keys.publishable }))
    const facts = await tab.evaluate(() => (globalThis as unknown as { facts: Record<string, string> }).facts)
    const sent = (): string => bodies.join('\n')
    for (const needed of [
      'basket opened',
      'payment widget failed',
      'purchase',
      'total_ms',
      'checkout click',
      'inside the span',
    ]) {
      while (!sent().includes(needed)) await tab.waitForEvent('request')
    }
    while (answered.length < bodies.length) await tab.waitForEvent('response')
    await tab.close()
    expect(new Set(answered)).to.deep.equal(new Set([202]))
    await untilIndexed(server)

    const logs = listOf((await reader.get(`/api/app/logs/search?q=source:rum&limit=100`)).body, 'logs')
    const opened = logs.find((log) => log['message'] === 'basket opened ✓')
    expect([opened?.['level'], opened?.['service'], opened?.['session_id']]).to.deep.equal([
      'warn',
      'shop-web',
      facts['session'],
    ])
    const failed = logs.find((log) => String(log['message']).includes('payment widget failed'))
    expect(failed?.['level']).to.equal('error')
    const inside = logs.find((log) => log['message'] === 'inside the span')
    expect([inside?.['trace_id'], inside?.['span_id']]).to.deep.equal([facts['traceId'], facts['spanId']])

    const session = (await reader.get(`/api/app/correlation?session_id=${facts['session']}`)).body
    const names = listOf(at(session, 'rum_events') as never, 'items').map((event) => event['name'])
    expect(names).to.include('purchase')
    const trace = (await reader.get(`/api/app/correlation?trace_id=${facts['traceId']}`)).body
    const spans = at(trace, 'trace', 'spans') as readonly { span_id: string; operation?: string; name?: string }[]
    expect(spans.map((span) => span.operation ?? span.name)).to.include('checkout click')
    expect(JSON.stringify(at(trace, 'sessions'))).to.include(facts['session'])
  })

  it('a browser may not hold a secret: no CORS for logs and traces', async () => {
    const tab = await openTab(browser)
    await tab.goto(shop.page('none.js'))
    const { keys } = server.firstRun
    for (const [path, key] of [
      ['/api/logs/v1/ingest', keys.logs],
      ['/api/traces/v1/otlp', keys.tracing],
    ] as const) {
      const outcome = await tab.evaluate(
        ([url = '', token = '']) =>
          fetch(url, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${token}` } }).then(
            () => 'readable',
            () => 'refused',
          ),
        [server.baseUrl + path, key],
      )
      expect(outcome, path).to.equal('refused')
    }
  })
})
