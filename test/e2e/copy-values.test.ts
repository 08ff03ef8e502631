import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { msNs, nowNs, sendingTo } from '../support/workspace.ts'

const traceId = '6'.repeat(32)
const spanId = '6'.repeat(16)

describe('values of fields in a browser', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const { logs, spans } = sendingTo(server, server.firstRun.keys)
    const attributes = { 'url.full': 'https://shop.example/a?b=1' }
    await spans([{ traceId, spanId, startNs: nowNs() - 50n * msNs, attributes }])
    await logs([
      {
        message: 'copied from',
        tags: ['a b', 'c'],
        plan: 'pro',
        path: '  C:\\a ',
        lines: '  a\n  b',
        long: 'x'.repeat(3_000),
      },
    ])
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`wide${at}`, 'y'.repeat(1_000)]))
    await logs([{ message: 'too much', list: ['z'.repeat(3_000), 'b'], ...wide }])
    await untilIndexed(server)
    ;({ tab, complaints } = await openSignedIn(browser, server, { permissions: ['clipboard-read', 'clipboard-write'] }))
    // It is said for two seconds, which a busy machine may not look at.
    await tab.clock.install()
    await tab.clock.pauseAt(Date.now() + 3_600_000)
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })
  afterEach(() => expect(complaints).to.deep.equal([]))

  const button = (name: string, words = 'copy') => tab.getByRole('button', { name: `${words} ${name}`, exact: true })

  async function copied(name: string): Promise<string> {
    await button(name).click()
    // By name it is what it shows, for who speaks to it (WCAG 2.2, 2.5.3).
    await button(name, 'copied').getByText('copied', { exact: true }).waitFor()
    await tab.clock.runFor(2_000)
    await button(name).getByText('copy', { exact: true }).waitFor()
    // Not by its types: they are of a program without a browser.
    return tab.evaluate<string>('navigator.clipboard.readText()')
  }

  it('are copied without what stands beside them from a record that is opened', async () => {
    await tab.goto('/app/logs?q=copied')
    expect(await tab.getByRole('button', { name: /^copy / }).count()).to.equal(0)
    await tab.locator('.logs summary').click()
    expect(await copied('plan')).to.equal('pro')
    expect(await copied('tags')).to.equal('a b\nc')
    // Blanks are of the value.
    expect(await copied('path')).to.equal('  C:\\a ')
    expect(await copied('lines')).to.equal('  a\n  b')
    // Of a part of a value nobody would see that it is one.
    expect(await button('long').count()).to.equal(0)
    // Opened again, it has the same.
    await tab.locator('.logs summary').click()
    await button('plan').waitFor({ state: 'hidden' })
    await tab.locator('.logs summary').click()
    await button('plan').waitFor()
    expect(await button('plan').count()).to.equal(1)
  })

  it('are not copied where a part of a list is not there, nor what is said of fields that are not', async () => {
    await tab.goto('/app/logs?q=%22too+much%22')
    await tab.locator('.logs summary').click()
    await button('wide0').waitFor()
    expect(await tab.getByText('more fields: the search API').count()).to.equal(1)
    expect(await button('list').count()).to.equal(0)
    expect(await button('…').count()).to.equal(0)
  })

  it('are copied from the span that an address names, which is open', async () => {
    await tab.goto(`/app/trace/${traceId}?span=${spanId}`)
    expect(await copied('url.full')).to.equal('https://shop.example/a?b=1')
    expect(await copied('span')).to.equal(spanId)
  })
})
