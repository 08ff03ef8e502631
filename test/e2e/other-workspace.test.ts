import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn, searchOn } from '../support/browser.ts'
import { cli } from '../support/cli.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('two tabs of somebody who has two workspaces', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let other: Page
  let complaints: readonly string[]
  let second: string

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab, complaints } = await openSignedIn(browser, server))
    second = `Second of ${server.firstRun.workspace}`
    await cli(server, 'workspace', 'create', second, '--plan', 'pro')
    await cli(server, 'user', 'add', server.firstRun.sign_in.email, '--workspace', second)
    await sendingTo(server, server.firstRun.keys).logs([{ message: 'of the first', service: 'shop' }])
    other = await tab.context().newPage()
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  const told = (page: Page) => page.getByRole('heading', { name: 'Another workspace' })
  /** The other tab, in the workspace of this name. */
  async function go(to: string): Promise<void> {
    const here = other.getByRole('link', { name: `Workspace ${to}`, exact: true })
    // Another process has made it: it is followed, not waited for.
    do await other.goto('/app/workspace')
    while ((await other.getByRole('button', { name: to, exact: true }).count()) === 0)
    await other.getByRole('button', { name: to, exact: true }).click()
    while ((await here.count()) === 0) await other.goto('/app')
  }

  it('tell in the one that was left behind, whatever is done there, and lead back', async () => {
    const label = await tab.getByRole('link', { name: /^Workspace / }).getAttribute('aria-label')
    const first = label?.replace('Workspace ', '') ?? ''
    await go(second)
    await go(first)
    const search = (): Promise<void> => searchOn(tab, 'first')
    const find = async (): Promise<void> => {
      await tab.goto('/app/logs')
      do await search()
      while ((await tab.locator('.logs tbody tr').count()) === 0)
    }
    const drag = async (): Promise<void> => {
      const box = await tab.locator('svg.histogram').boundingBox()
      if (box === null) throw new Error('the bars are not drawn')
      await tab.mouse.move(box.x + 20, box.y + 20)
      await tab.mouse.down()
      await tab.mouse.move(box.x + 90, box.y + 20, { steps: 3 })
      await tab.mouse.up()
    }
    const deeds = [
      search,
      drag,
      () => tab.getByRole('link', { name: 'Export as CSV' }).click(),
      () => tab.getByRole('link', { name: 'Usage' }).click(),
      () => tab.reload(),
    ]
    for (const deed of deeds) {
      await find()
      await go(second)
      await deed()
      await told(tab).waitFor()
      await tab.waitForLoadState()
      expect(await tab.getByText('Nothing was searched or exported.').count()).to.equal(1)
      await go(first)
    }
    await find()
    await go(second)
    await search()
    await tab.getByRole('button', { name: `Change to ${first} and go on` }).click()
    await tab.locator('.logs > tbody > tr').waitFor()
    await find()
    await go(second)
    await search()
    await tab.getByRole('link', { name: `Go on in ${second}` }).click()
    await tab.getByText('No log records match.').waitFor()
    expect(complaints.filter((each) => !each.includes('409'))).to.deep.equal([])
  })
})
