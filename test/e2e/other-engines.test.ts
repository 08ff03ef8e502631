import { expect } from 'chai'
import type { Browser, Locator } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { msNs, nowNs, sendingTo } from '../support/workspace.ts'

/** What WebKit lays out otherwise than Chromium: here by what the difference comes from, since only Chromium is at hand. */
describe('pages as WebKit lays them out', () => {
  const traceId = 'e'.repeat(32)
  const record = { message: 'engines', service: 'a-service-with-a-name-of-some-length', level: 'error' }
  let server: LentServer
  let browser: Browser
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const sending = sendingTo(server, server.firstRun.keys)
    await sending.logs([record])
    await sending.spans([{ traceId, spanId: '1'.repeat(16), startNs: nowNs(), durationNs: msNs, status: 'error' }])
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  /** Opens a page, again until it has that. */
  async function openUntil(path: string, selector: string, width = 1_280): Promise<Locator> {
    const { tab } = await openSignedIn(browser, server, { viewport: { width, height: 900 } })
    const found = tab.locator(selector)
    do await tab.goto(path)
    while ((await found.count()) === 0)
    return found
  }

  it('have marks that stand on the line they are in', async () => {
    for (const path of [`/app/trace/${traceId}`, '/app/traces']) {
      const marks = await openUntil(path, 'main .mark')
      const clips = await marks.evaluateAll((all) =>
        all.map((mark) => {
          const style = mark.ownerDocument.defaultView?.getComputedStyle(mark)
          return { overflow: style?.overflow, isCut: style?.clipPath !== 'none' }
        }),
      )
      // An inline block with overflow that is clipped stands on its lower edge there. They are cut all the same, by a path.
      expect(new Set(clips.map((clip) => JSON.stringify(clip))), path).to.deep.equal(
        new Set([JSON.stringify({ overflow: 'visible', isCut: true })]),
      )
    }
  })

  it('have values on a phone that are as wide as their words', async () => {
    const values = await openUntil('/app/logs?q=engines', '.facets li > a', 320)
    const missing = await values.evaluateAll((all) =>
      all.map((value) => {
        // As WebKit takes it: what may break anywhere can be as narrow as a letter.
        value.style.minWidth = '0'
        const text = value.ownerDocument.createRange()
        text.selectNodeContents(value)
        return text.getBoundingClientRect().right - value.getBoundingClientRect().right
      }),
    )
    expect(Math.max(...missing)).to.be.below(0)
  })

  it('have a focus on a record that is seen on all of its sides', async () => {
    const summaries = await openUntil('/app/logs?q=engines', '.logs summary')
    await summaries.page().keyboard.press('j')
    // WebKit clips by the very edge of a cell: it has no `overflow-clip-margin`.
    const { line, over } = await summaries.first().evaluate((summary) => {
      const style = summary.ownerDocument.defaultView?.getComputedStyle(summary)
      const reach = Number.parseFloat(style?.outlineOffset ?? '') + Number.parseFloat(style?.outlineWidth ?? '')
      const [ring, cell] = [summary, summary.closest('td') ?? summary].map((each) => each.getBoundingClientRect())
      const room = ring && cell ? [ring.left - cell.left, ring.top - cell.top, cell.right - ring.right] : []
      return { line: style?.outlineStyle, over: reach - Math.min(...room) }
    })
    expect(line).not.to.equal('none')
    expect(over).to.be.at.most(0)
  })
})
