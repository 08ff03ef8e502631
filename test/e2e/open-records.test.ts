import { expect } from 'chai'
import type { Browser, Locator } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

const boxOf = async (locator: Locator) => (await locator.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 }

describe('an open log record in a browser', () => {
  let server: LentServer
  let browser: Browser
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  it('has the width of the list for what is in it, below columns that stay where they are', async () => {
    const stack = `TypeError: boom\n${'    at shop.cart.checkout (/srv/shop/src/cart/checkout/checkout-service.ts:120:34)\n'.repeat(9)}`
    const of = (service: string) => ({ message: 'request failed', level: 'error', service, stack })
    await sendingTo(server, server.firstRun.keys).logs([
      of('payments'),
      of(`payments-and-more${'-and-more'.repeat(6)}`),
    ])
    const { tab: page } = await openSignedIn(browser, server, { timezoneId: 'Europe/Berlin' })
    do await page.goto('/app/logs')
    while ((await page.locator('.logs > tbody > tr').count()) < 2)
    const rows = page.locator('.logs > tbody > tr')
    const summaries = rows.locator('summary')
    for (const [width, least] of [
      [1_280, 800],
      [740, 450],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      const lefts = (await Promise.all([0, 1].map((at) => boxOf(summaries.nth(at))))).map(({ x }) => x)
      expect(new Set(lefts).size, 'messages one below the other').to.equal(1)
      await summaries.first().click()
      expect((await boxOf(rows.first().locator('.fields pre'))).width, `of ${width}`).to.be.at.least(least)
      expect((await boxOf(summaries.first())).x, 'where it was').to.equal(lefts[0])
      expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).to.be.at.most(width)
      // Nothing lies over what stands beside it: it can be selected.
      await rows.first().locator('.time').click({ trial: true })
      await rows.first().locator('.service').click({ trial: true })
      await summaries.first().click()
    }
    await page.context().close()
  })
})
