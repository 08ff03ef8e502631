import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { launchChromium, openTab, signInOn } from '../support/browser.ts'
import { post } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

describe('pages that follow logs', () => {
  let server: LentServer
  let browser: Browser
  let page: Page

  before(async () => {
    server = await borrowServer()
    browser = await launchChromium()
    page = await openTab(browser, { baseURL: server.baseUrl })
    await page.goto('/app/logs')
    await signInOn(page, server.firstRun.sign_in)
    await page.getByRole('button', { name: 'Follow', exact: true }).waitFor()
  })
  after(async () => {
    await browser.close()
    await server.giveBack()
  })

  const sendLogs = async (record: object): Promise<void> => {
    const json = { 'content-type': 'application/json' }
    const answer = await post(server, '/api/logs/v1/ingest', server.firstRun.keys.logs, JSON.stringify(record), json)
    expect(answer.status).to.equal(200)
  }

  it('say while they follow that the server does not answer, until it does', async () => {
    await page.goto('/app/logs?service=away')
    const words = page.locator('[data-tail-words]')
    for (const kind of ['no answer', 'overload'] as const) {
      await page.route('**/app/logs/rows?*', (route) =>
        kind === 'overload' ? route.fulfill({ status: 503, json: {} }) : route.abort('connectionrefused'),
      )
      await page.getByRole('button', { name: 'Follow', exact: true }).click()
      await words.filter({ hasText: 'The server does not answer at the moment.' }).waitFor()
      await sendLogs({ message: `after ${kind}`, service: 'away' })
      await page.unroute('**/app/logs/rows?*')
      await page.locator('summary', { hasText: `after ${kind}` }).waitFor()
      await words.filter({ hasText: /^$/ }).waitFor({ state: 'attached' })
      await page.getByRole('button', { name: 'Stop following' }).click()
    }
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
