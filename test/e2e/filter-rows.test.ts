import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('long lists in a browser', () => {
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

  it('of keys have a field that leaves those in sight that have what is typed, once it is long', async () => {
    const { tab, complaints } = await openSignedIn(browser, server, { viewport: { width: 390, height: 844 } })
    const rows = tab.locator('.cards > tbody > tr:visible')
    await tab.goto('/app/keys')
    const few = await rows.count()
    expect(few).to.be.below(10)
    const field = tab.getByRole('searchbox', { name: 'Find a key' })
    expect(await field.count()).to.equal(0)
    for (let n = few; n < 12; n++) {
      const form = { action: 'create', kind: 'logs', name: `shop ${n}` }
      expect((await tab.request.post('/app/keys', { form })).status()).to.equal(200)
    }
    // Another process may have made a key: it is followed, not waited for.
    do await tab.goto('/app/keys')
    while ((await rows.count()) < 12)
    const said = tab.locator('form[role=search] output')
    await field.fill(' SHOP  11')
    expect(await said.innerText()).to.equal('1 of 12')
    expect(await rows.count()).to.equal(1)
    expect(await rows.innerText()).to.include('shop 11')
    await field.press('Enter')
    await field.fill('nowhere')
    expect([await rows.count(), await said.innerText()]).to.deep.equal([0, '0 of 12'])
    // Words of what can be done with each are of none.
    await field.fill('rotate')
    expect(await rows.count()).to.equal(0)
    await field.fill('')
    expect([await rows.count(), await said.innerText()]).to.deep.equal([12, ''])
    expect(await tab.evaluate('document.documentElement.scrollWidth')).to.equal(390)
    expect(complaints).to.deep.equal([])
  })

  it('of the service map have one each, and are led to from above the drawing', async () => {
    const id = (n: number) => n.toString(16).padStart(16, '0')
    const spans = Array.from({ length: 24 }, (_, n) => ({
      traceId: 'e'.repeat(32),
      spanId: id(n + 1),
      ...(n === 0 ? {} : { parentSpanId: id(n) }),
      service: `till-${Math.floor(n / 2)}`,
      kind: n % 2 === 0 ? 2 : 3,
    }))
    await sendingTo(server, server.firstRun.keys).spans(spans)
    await untilIndexed(server)
    const { tab, complaints } = await openSignedIn(browser, server, { viewport: { width: 390, height: 844 } })
    await tab.goto('/app/map')
    for (const [list, what, found] of [
      ['Calls', 'Find a call', 2],
      ['Services', 'Find a service', 1],
    ] as const) {
      await tab.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: list }).click()
      await tab.locator('h2:target', { hasText: list }).waitFor()
      const rows = tab.locator(`table[data-filter="${what}"] > tbody > tr:visible`)
      await tab.getByRole('searchbox', { name: what }).fill('TILL-7')
      expect(await rows.count(), what).to.equal(found)
    }
    expect(complaints).to.deep.equal([])
    await tab.context().close()
  })
})
