import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('pages that follow logs', () => {
  let server: LentServer
  let browser: Browser
  let page: Page

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab: page } = await openSignedIn(browser, server))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  it('say while they follow that the server does not answer, until it does', async () => {
    await page.goto('/app/logs?service=away')
    const words = page.locator('[data-tail-words]')
    for (const kind of ['no answer', 'overload'] as const) {
      await page.route('**/app/logs/rows?*', (route) =>
        kind === 'overload' ? route.fulfill({ status: 503, json: {} }) : route.abort('connectionrefused'),
      )
      await page.getByRole('button', { name: 'Follow', exact: true }).click()
      await words.filter({ hasText: 'The server does not answer at the moment.' }).waitFor()
      await sendingTo(server, server.firstRun.keys).logs([{ message: `after ${kind}`, service: 'away' }])
      await page.unroute('**/app/logs/rows?*')
      await page.locator('summary', { hasText: `after ${kind}` }).waitFor()
      await words.filter({ hasText: /^$/ }).waitFor({ state: 'attached' })
      await page.getByRole('button', { name: 'Stop following' }).click()
    }
  })

  it('wait while a record is open, so that it stays where it is read, and then show what has come', async () => {
    const send = (message: string) =>
      sendingTo(server, server.firstRun.keys).logs([{ message, service: 'read', level: 'error' }])
    await page.goto('/app/logs?service=read')
    await page.getByRole('button', { name: 'Follow', exact: true }).click()
    await send('the first')
    const [first, second] = ['the first', 'the second'].map((hasText) => page.locator('.logs summary', { hasText }))
    await first?.click()
    const words = page.locator('[data-tail-words]')
    await words.filter({ hasText: /^Waiting while a record is open/ }).waitFor()
    await send('the second')
    await untilIndexed(server)
    expect(await page.locator('.logs > tbody > tr').count()).to.equal(1)
    await first?.click()
    await second?.waitFor()
    await words.filter({ hasText: /^$/ }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Stop following' }).click()
  })

  it('keep the oldest records while they are in sight, and the focus when they go', async () => {
    const send = (message: string, length: number) =>
      sendingTo(server, server.firstRun.keys).logs(Array.from({ length }, () => ({ message, service: 'flood' })))
    await send('the oldest', 1)
    await send('an early one', 60)
    await untilIndexed(server)
    await page.goto('/app/logs?service=flood')
    const oldest = page.locator('.logs summary', { hasText: 'the oldest' })
    await oldest.focus()
    await page.getByRole('button', { name: 'Follow', exact: true }).dispatchEvent('click')
    await send('a later one', 1_100)
    // The focus is in sight, and a browser keeps what is in sight where it is.
    const words = page.locator('[data-tail-words]')
    await words.filter({ hasText: /^Waiting while the oldest records are in sight/ }).waitFor()
    expect(await page.locator(':focus').innerText()).to.equal('the oldest')
    await send('the newest', 1)
    await untilIndexed(server)

    await page.evaluate('scrollTo(0, 0)')
    await page.locator('.logs summary', { hasText: 'the newest' }).waitFor()
    expect(await oldest.count()).to.equal(0)
    const focused = await page.locator(':focus').evaluate((summary) => summary.closest('tr')?.nextElementSibling)
    expect(focused, 'the focus is on the last row').to.equal(null)
    expect(await page.evaluate('scrollY')).to.equal(0)
    await page.getByRole('button', { name: 'Stop following' }).click()
  })

  it('say why they follow no longer', async () => {
    await page.goto('/app/logs')
    const ends = [
      [401, 'Following has ended: you are signed out. Load the page again.'],
      [400, 'Following has ended: the search is no longer answered. Load the page again.'],
    ] as const
    for (const [status, words] of ends) {
      await page.route('**/app/logs/rows?*', (route) => route.fulfill({ status, json: {} }))
      await page.getByRole('button', { name: 'Follow', exact: true }).click()
      await page.getByText(words).waitFor()
      await page.getByRole('button', { name: 'Follow', exact: true }).waitFor()
      await page.unroute('**/app/logs/rows?*')
    }
  })
})
