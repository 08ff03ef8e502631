import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { violationsOn } from '../support/axe.ts'
import { borrowChromium, closeTabs, onEachScreen, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { minutesAgoNs, msNs, secondNs, sendingTo } from '../support/workspace.ts'

const traceIdOf = (n: number): string => `${n}b`.repeat(16)
const path = '/app/traces?service=scattered'

describe('durations of listed traces in a browser', () => {
  let server: LentServer
  let browser: Browser
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const startNs = minutesAgoNs(5)
    const spans = [1, 2, 3, 4].map((n) => ({
      traceId: traceIdOf(n),
      spanId: `${n}`.repeat(16),
      name: `operation ${n}`,
      service: 'scattered',
      startNs: startNs + BigInt(n) * 20n * secondNs,
      durationNs: BigInt(n) * 100n * msNs,
      ...(n === 3 ? { status: 'error' as const } : {}),
    }))
    await sendingTo(server, server.firstRun.keys).spans(spans)
    await untilIndexed(server)
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  const summaryOf = (tab: Page) => tab.locator('.durations > summary')
  const pointsOf = (tab: Page) => tab.locator('.scatter a')

  it('are unfolded by the keyboard, lead to a trace and back to its line, and stay unfolded', async () => {
    const { tab, complaints } = await openSignedIn(browser, server, { timezoneId: 'Asia/Dubai' })
    await tab.goto(path)
    expect(await pointsOf(tab).first().isVisible()).to.equal(false)
    await summaryOf(tab).focus()
    await tab.keyboard.press('Enter')
    await pointsOf(tab).first().waitFor()
    const skip = tab.getByRole('link', { name: 'Skip the points' })
    await tab.keyboard.press('Tab')
    expect(await skip.evaluate((link) => link === link.ownerDocument.activeElement)).to.equal(true)
    for (const key of ['Tab', 'Tab', 'Enter']) await tab.keyboard.press(key)
    await tab.waitForURL(`**/app/trace/${traceIdOf(3)}`)
    await tab.goBack()
    await pointsOf(tab).first().waitFor()
    const focused = tab.locator('.traces a:focus')
    await focused.waitFor()
    expect(await focused.innerText()).to.equal('scattered operation 3')
    expect(await pointsOf(tab).locator('title').nth(1).textContent()).to.match(
      /^scattered operation 3: 300 ms, 1 error, .*\+04:00$/,
    )
    expect(await violationsOn(tab)).to.deep.equal([])
    await summaryOf(tab).click()
    await tab.goto(`${path}&order=longest`)
    expect(await pointsOf(tab).first().isVisible()).to.equal(false)
    expect(complaints).to.deep.equal([])
    await tab.context().close()
  })

  it('are within the window, each where its time and its duration are, without scripts', async () => {
    await onEachScreen(browser, server, async (tab, width) => {
      await tab.goto(path)
      await summaryOf(tab).click()
      const places = await pointsOf(tab).evaluateAll((points) =>
        points.map((point) => {
          const { left, right, top, bottom } = (point.lastElementChild ?? point).getBoundingClientRect()
          return { left, right, x: (left + right) / 2, y: (top + bottom) / 2 }
        }),
      )
      // The newest first, which took longest.
      expect(places).to.have.length(4)
      for (const [at, { left, right, x, y }] of places.entries()) {
        expect([left >= 0, right <= width], `${at} at ${width}`).to.deep.equal([true, true])
        const before = places[at - 1]
        if (before !== undefined) expect([x < before.x, y > before.y], `${at} at ${width}`).to.deep.equal([true, true])
      }
      for (const part of [tab.locator('main'), summaryOf(tab)]) {
        expect(await part.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).to.equal(0)
      }
      await pointsOf(tab).nth(1).locator('rect').click()
      await tab.waitForURL(`**/app/trace/${traceIdOf(3)}`)
    })
  })
})
