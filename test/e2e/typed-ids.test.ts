import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn, searchOn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('an id that is pasted into a search', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab, complaints } = await openSignedIn(browser, server))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
    expect(complaints).to.deep.equal([])
  })

  it('opens what has it, and leads back from it', async () => {
    const id = 'a'.repeat(31)
    const err = { type: 'Lost', message: 'no id' }
    await sendingTo(server, server.firstRun.keys).logs([
      { message: 'with an id', level: 'error', trace_id: `${id}1`, err },
    ])
    await untilIndexed(server)
    await tab.goto('/app/logs?q=with')
    await tab.locator('.logs summary', { hasText: 'with an id Lost: no id' }).waitFor()
    await tab.getByRole('searchbox').fill(`${id}1`)
    await tab.getByRole('button', { name: 'Search', exact: true }).click()
    await tab.waitForURL(`/app/find?id=${id}1`)
    await tab.locator('.logs summary', { hasText: 'with an id Lost: no id' }).waitFor()
    await tab.goBack()
    await tab.waitForURL('/app/logs?q=with')
    await searchOn(tab, `${id}2`)
    await tab.getByText('it is of no trace').waitFor()
  })
})
