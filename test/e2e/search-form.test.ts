import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

const [width, height] = [390, 844]
describe('the form of a search in a browser without scripts', () => {
  let server: LentServer
  let browser: Browser
  let page: Page

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const options = { javaScriptEnabled: false, viewport: { width, height } }
    ;({ tab: page } = await openSignedIn(browser, server, options))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  it('leaves the first screen of a phone to the first results, and says which filters are in use', async () => {
    const records = Array.from({ length: 9 }, (_, n) => ({ message: `ring ${n}`, service: 'phone', level: 'warn' }))
    await sendingTo(server, server.firstRun.keys).logs(records)
    do await page.goto('/app/logs?q=ring&service=phone&level=warn&level=error&from=-6h')
    // Until the index has everything, the page also says that it has not.
    while (
      (await page.locator('.logs tbody tr').count()) < records.length ||
      (await page.locator('.notice').count()) > 0
    )
    const fields = page.locator('.filters')
    expect(await fields.locator('summary').innerText()).to.equal('Filters: service phone, level warn, error, from -6h')
    const bottom = await page
      .locator('.logs tbody tr')
      .first()
      .evaluate((row) => row.getBoundingClientRect().bottom)
    expect(bottom).to.be.below(height)
    const service = page.getByLabel('Service', { exact: true })
    expect(await service.isVisible()).to.equal(false)
    // What is folded is searched with all the same.
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.waitForURL(/service=phone&from=-6h.*level=warn&level=error/)
    await page.locator('.filters > summary').click()
    expect(await service.isVisible()).to.equal(true)
    await page.goto('/app/logs?from=-1h&to=-2h')
    expect(await page.getByLabel('From (UTC)').isVisible(), 'a field that is at fault').to.equal(true)
    await page.setViewportSize({ width: 1280, height: 844 })
    await page.goto('/app/logs')
    expect([await service.isVisible(), await fields.locator('summary').isVisible()]).to.deep.equal([true, false])
    expect(await page.locator('.logs thead').isVisible(), 'heads over records').to.equal(true)
    const heights = ['label:has([name=service])', 'label:has([name=from])', 'label:has([name=to])'].map(
      async (label) => (await page.locator(label).boundingBox())?.height,
    )
    const [ofService, ...ofRange] = await Promise.all(heights)
    expect(ofRange, 'the words of a label on one line').to.deep.equal([ofService, ofService])
    await page.goto('/app/logs?q=nowhere')
    expect(
      await page.locator('.logs thead').evaluateAll((all) => all.map((head) => head.getClientRects().length)),
    ).to.deep.equal([0])
  })

  it('does so above traces too, however many operations they may be narrowed to', async () => {
    const time = `${Date.now()}000000`
    const spans = Array.from({ length: 8 }, (_, n) => {
      const [traceId, spanId] = [`5b8efff798038103d269b633813fc63${n}`, `eeeeeeeeeeeeeee${n}`]
      return { traceId, spanId, name: `GET /shops/{shop}/orders/${n}`, startTimeUnixNano: time, endTimeUnixNano: time }
    })
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    await page.setViewportSize({ width, height })
    const rows = page.locator('.traces tbody tr')
    do await page.goto('/app/traces')
    while ((await rows.count()) < spans.length || (await page.locator('.notice').count()) > 0)
    expect(await rows.first().evaluate((row) => row.getBoundingClientRect().bottom)).to.be.below(height)
    const heads = page.locator('.traces th:is(:first-child, :nth-child(4))')
    const tops = await heads.evaluateAll((all) => all.map((head) => head.getBoundingClientRect().top))
    expect(tops).to.have.length(2)
    expect(tops[0], 'on one line').to.equal(tops[1])
  })
})
