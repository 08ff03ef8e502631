import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

describe('the list of keys in a browser', () => {
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

  it('has a field that leaves those in sight that have what is typed, once it is long', async () => {
    const { tab, complaints } = await openSignedIn(browser, server, { viewport: { width: 390, height: 844 } })
    const rows = tab.locator('.cards > tbody > tr:visible')
    await tab.goto('/app/keys')
    const few = await rows.count()
    expect(few).to.be.below(10)
    const field = tab.getByLabel('Find a key')
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
})
