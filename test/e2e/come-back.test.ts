import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { msNs, nowNs, sendingTo } from '../support/workspace.ts'

const traceIdOf = (n: number): string => String(n).repeat(32)

describe('coming back to a page in a browser', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const { logs, spans } = sendingTo(server, server.firstRun.keys)
    const at = (n: number) => ({ traceId: traceIdOf(n), spanId: String(n).repeat(16), startNs: nowNs() - msNs * 50n })
    await spans([1, 2, 3].map((n) => ({ ...at(n), name: `operation ${n}` })))
    await logs([1, 2, 3].map((n) => ({ message: `line ${n}`, trace_id: traceIdOf(n), level: 'warn' })))
    await untilIndexed(server)
    ;({ tab, complaints } = await openSignedIn(browser, server))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })
  afterEach(() => expect(complaints).to.deep.equal([]))

  const focused = (): Locator => tab.locator(':focus')

  it('finds the record open that was looked into, wherever it is by then, and goes on from there', async () => {
    await tab.goto('/app/logs?level=warn')
    await tab.getByText('line 2', { exact: true }).click()
    await tab.getByRole('link', { name: 'Trace', exact: true }).click()
    await tab.getByRole('heading', { name: 'Trace', exact: true }).waitFor()
    await sendingTo(server, server.firstRun.keys).logs([{ message: 'line 4', level: 'warn' }])
    await untilIndexed(server)
    await tab.goBack()
    const open = tab.locator('.logs details[open] > summary')
    await open.waitFor()
    expect(await open.allInnerTexts()).to.deep.equal(['line 2'])
    expect(await tab.locator('.logs > tbody > tr').count()).to.equal(4)
    expect(await focused().innerText()).to.equal('Trace')
    // Closed again, it stays closed.
    await open.click()
    await tab.getByRole('link', { name: 'hour', exact: true }).click()
    await tab.waitForLoadState()
    await tab.goBack()
    await focused().waitFor()
    expect(await open.count()).to.equal(0)
  })

  it('has the focus on the trace that was opened from a list', async () => {
    await tab.goto('/app/traces')
    for (const key of ['j', 'j', 'Enter']) await tab.keyboard.press(key)
    await tab.waitForURL('**/app/trace/*')
    const { pathname } = new URL(tab.url())
    await tab.goBack()
    await focused().waitFor()
    expect(await focused().getAttribute('href')).to.equal(pathname)
  })

  it('keeps what somebody opens, and nothing for folds, of which a page may come with hundreds', async () => {
    const [traceId, startNs] = [traceIdOf(7), nowNs() - msNs * 50n]
    const [parent, child] = ['7'.repeat(16), '8'.repeat(16)]
    await sendingTo(server, server.firstRun.keys).spans([
      { traceId, startNs, spanId: parent },
      { traceId, startNs, spanId: child, parentSpanId: parent },
    ])
    await untilIndexed(server)
    const page = await tab.context().newPage()
    page.setDefaultTimeout(0)
    await page.addInitScript(`
      const { replaceState } = history
      history.replaceState = (state, ...more) => {
        document.documentElement.dataset.kept += state.open?.length
        replaceState.call(history, state, ...more)
      }
    `)
    await page.goto(`/app/trace/${traceId}`)
    const kept = page.locator('html')
    await kept.evaluate((element) => (element.dataset['kept'] = 'so many open: '))
    await page.locator('.below > summary').click()
    await page.locator('.line > summary').first().click()
    await page.locator('html[data-kept$="1"]').waitFor()
    expect(await kept.getAttribute('data-kept')).to.equal('so many open: 1')
    await page.close()
  })

  it('finds the forms as the page came with them, and not what was chosen for the page after it', async () => {
    const debug = tab.getByRole('checkbox', { name: 'debug', exact: true })
    const order = tab.getByLabel('Order')
    await tab.goto('/app/logs?level=warn')
    await debug.check()
    await order.selectOption('oldest first')
    await tab.getByRole('button', { name: 'Search', exact: true }).click()
    await tab.waitForURL('**order=asc**')
    await tab.goBack()
    await tab.waitForURL('**/app/logs?level=warn')
    await tab.getByText('line 1', { exact: true }).waitFor()
    expect([await debug.isChecked(), await order.inputValue()]).to.deep.equal([false, ''])

    const month = tab.getByLabel('Month (UTC)')
    await tab.goto('/app/usage')
    const shown = await month.inputValue()
    await month.fill('2024-02')
    await tab.getByRole('button', { name: 'Show', exact: true }).click()
    await tab.waitForURL('**month=2024-02')
    await tab.goBack()
    await tab.waitForURL('**/app/usage')
    await tab.waitForLoadState()
    expect(await month.inputValue()).to.equal(shown)
  })

  it('opens the record that a timeline leads to', async () => {
    await tab.goto(`/app/trace/${traceIdOf(1)}`)
    const line = tab
      .getByRole('list', { name: 'What happened, in order of time' })
      .getByRole('link', { name: 'line 1' })
    await line.click()
    await tab.locator('tr:target details[open]').getByRole('link', { name: 'In context' }).waitFor()
  })
})
