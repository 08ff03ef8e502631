import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { launchChromium, openTab, signInOn } from '../support/browser.ts'
import { post } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

describe('a log search on the narrowest screen', () => {
  let server: LentServer
  let browser: Browser
  before(async () => {
    server = await borrowServer()
    browser = await launchChromium()
  })
  after(async () => {
    await browser.close()
    await server.giveBack()
  })

  /** 1,280 px at 400 % (WCAG 2.2, 1.4.10). */
  async function openNarrow(timezoneId: string): Promise<Page> {
    const page = await openTab(browser, { baseURL: server.baseUrl, viewport: { width: 320, height: 844 }, timezoneId })
    await page.goto('/app/logs')
    await signInOn(page, server.firstRun.sign_in)
    await page.getByRole('heading', { name: 'Logs' }).waitFor()
    return page
  }

  /** In UTC, and with an offset behind each time. */
  for (const zone of ['UTC', 'America/New_York']) {
    it(`has names and times that can be read, in ${zone}`, async () => {
      const { logs } = server.firstRun.keys
      const record = JSON.stringify({ message: 'narrow', service: 'payments', level: 'error' })
      const json = { 'content-type': 'application/json' }
      expect((await post(server, '/api/logs/v1/ingest', logs, record, json)).status).to.equal(200)
      const page = await openNarrow(zone)
      for (const range of ['-24h', '-2d', '-7d']) {
        do await page.goto(`/app/logs?q=narrow&from=${range}`)
        while ((await page.locator('.logs .service').count()) === 0)
        const ticks = await page.locator('.clock text').evaluateAll((all) =>
          all
            .map((tick) => tick.getBoundingClientRect())
            .filter(({ width }) => width > 0)
            .map(({ left, right }) => ({ left, right })),
        )
        expect(ticks.length, range).to.be.above(1)
        for (const [at, { left }] of ticks.slice(1).entries()) expect(left, range).to.be.above(ticks[at]?.right ?? 0)
        const lines = await page.locator('.logs .service').evaluateAll((all) =>
          all.map((cell) => {
            const text = cell.ownerDocument.createRange()
            text.selectNodeContents(cell)
            return text.getClientRects().length
          }),
        )
        expect(new Set(lines), 'lines of a service').to.deep.equal(new Set([1]))
      }
      await page.context().close()
    })
  }
})
