import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { violationsOn } from '../support/axe.ts'
import { borrowChromium, closeTabs, openSignedIn, openTab, signInOn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { createTenant } from '../support/tenant.ts'
import { minutesAgoNs, msNs, sendingTo } from '../support/workspace.ts'

const [traceId, root, failed, lost] = ['7'.repeat(32), '1'.repeat(16), '2'.repeat(16), '3'.repeat(16)]
const otherId = '8'.repeat(32)
const session = 'a-customer'

async function sendIncident(server: LentServer): Promise<void> {
  const { logs, rum, spans } = sendingTo(server, server.firstRun.keys)
  const [startNs, exception] = [minutesAgoNs(5), { 'exception.message': 'card declined', 'exception.type': 'Declined' }]
  const span = { traceId, startNs, durationNs: 100n * msNs }
  const database = { 'db.system.name': 'postgresql', 'db.namespace': 'shop' }
  await spans([
    { ...span, spanId: root, service: 'web', name: 'POST /checkout', attributes: { 'session.id': session } },
    {
      ...{ ...span, spanId: failed, parentSpanId: root, service: 'payments', name: 'charge', status: 'error' as const },
      events: [{ name: 'exception', attributes: exception }],
    },
    { ...span, spanId: '4'.repeat(16), parentSpanId: lost, service: 'ledger', name: 'book' },
    { ...span, spanId: '5'.repeat(16), parentSpanId: failed, service: 'payments', kind: 3, attributes: database },
    { ...span, traceId: otherId, spanId: root, service: 'web', name: 'POST /checkout', durationNs: 200n * msNs },
  ])
  const ids = { trace_id: traceId, span_id: failed, session_id: session }
  await logs([
    { message: 'card declined', level: 'error', service: 'payments', ...ids, stack: 'Declined\n  at charge' },
    { message: 'order not paid', level: 'warn', service: 'web', ...ids, err: { type: 'NotPaid', message: 'no money' } },
    { message: 'waiting', level: 'info', service: 'web' },
  ])
  const meta = { app: { name: 'shop' }, session: { id: session } }
  await rum({ meta, events: [{ name: 'checkout', timestamp: new Date().toISOString() }] })
  await untilIndexed(server)
}

type Look = readonly [path: string, after?: string, act?: (tab: Page) => Promise<unknown>]

const openFirst =
  (...selectors: readonly string[]) =>
  async (tab: Page): Promise<void> => {
    for (const selector of selectors) await tab.locator(selector).first().click()
  }

/** Clicks that end on another page, which shows something: until then the page before is there, and loaded. */
const lead =
  (shown: string, ...selectors: readonly string[]) =>
  async (tab: Page): Promise<void> => {
    await openFirst(...selectors)(tab)
    await tab.locator(shown).first().waitFor()
  }

const pages: readonly Look[] = [
  ['/app'],
  ['/app/logs', 'with a record and the help open', openFirst('.logs summary', '.help > summary')],
  ['/app/logs?level=error&level=warn&service=payments&show=trace_id'],
  ['/app/logs?q=nowhere'],
  ['/app/logs?q=3b1b0d25-baa6-47a3-89bd-fbaf98165fc9'],
  ['/app/logs?q=(open'],
  ['/app/patterns', 'with the help open', openFirst('.help > summary')],
  ['/app/patterns?q=nowhere&first=rarest'],
  ['/app/logs', 'in context', lead('[aria-current]:is(tr)', '.logs summary', '.logs p.row > a')],
  ['/app/traces', 'with the help open', openFirst('.help > summary')],
  ['/app/traces?q=declined&order=longest'],
  ['/app/map', 'with the help open', openFirst('.help > summary')],
  ['/app/map?service=nobody'],
  ['/app/sessions', 'with the help open', openFirst('.help > summary')],
  ['/app/sessions?q=nowhere&has=error'],
  [`/app/trace/${traceId}`, 'with its figures open', openFirst('#figures > summary')],
  [`/app/trace/${traceId}?span=${failed}`],
  [`/app/trace/${traceId}?find=charge`],
  [`/app/compare?trace_id=${traceId}`],
  [`/app/compare?trace_id=${traceId}&with=${otherId}`],
  [`/app/compare?trace_id=${traceId}&with=never-seen`],
  [`/app/find?id=${session}`],
  ['/app/find'],
  ['/app/find?id=never-seen'],
  ['/app/usage'],
  ['/app/keys'],
  ['/app/connect'],
  ['/app/connect', 'with steps', lead('.steps', 'button:text("show me how")')],
  ['/app/members'],
  ['/app/password'],
  ['/app/workspace'],
  ['/app/audit'],
  ['/app/nowhere'],
]

/** WCAG 2.2, as far as axe can tell. */
describe('the accessibility of pages', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    await sendIncident(server)
    ;({ tab } = await openSignedIn(browser, server))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  for (const [path, after = '', act] of pages) {
    it(`is whole on ${path} ${after}`, async () => {
      await tab.goto(path)
      await act?.(tab)
      expect(await violationsOn(tab)).to.deep.equal([])
    })
  }

  it('is whole where somebody signs in, tries too often, and may not see a page', async () => {
    const { sign_in } = await createTenant(server, `of-logs-${server.firstRun.workspace}`, 'logs-only')
    await tab.context().close()
    tab = await openTab(browser, { baseURL: server.baseUrl })
    await tab.goto('/app/sign-in?next=%2Fapp%2Ftraces')
    expect(await violationsOn(tab), 'sign-in').to.deep.equal([])
    const statuses: number[] = []
    tab.on('response', (answer) => void (answer.request().isNavigationRequest() && statuses.push(answer.status())))
    await signInOn(tab, { ...sign_in, password: 'not this one' })
    await tab.getByRole('alert').waitFor()
    expect(await violationsOn(tab), 'a wrong password').to.deep.equal([])
    await signInOn(tab, sign_in)
    await tab.getByRole('heading', { name: 'Traces' }).waitFor()
    expect(statuses.at(-1)).to.equal(403)
    expect(await violationsOn(tab), 'not of the plan').to.deep.equal([])
    await tab.goto('/app/audit')
    expect(statuses.at(-1)).to.equal(403)
    expect(await violationsOn(tab), 'not for members').to.deep.equal([])
    await tab.context().clearCookies()
    await tab.goto('/app/sign-in')
    const nobody = { email: `nobody@${server.firstRun.workspace}.example`, password: 'not this one' }
    while (statuses.at(-1) !== 429) {
      await signInOn(tab, nobody)
      await tab.waitForLoadState()
    }
    expect(await violationsOn(tab), 'too often').to.deep.equal([])
  })
})
