import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { violationsOn } from '../support/axe.ts'
import { borrowChromium, closeTabs, onEachScreen, openSignedIn } from '../support/browser.ts'
import { untilIndexed } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import type { SpanSketch } from '../support/telemetry.ts'
import { minutesAgoNs, msNs, sendingTo } from '../support/workspace.ts'

const traceId = '6d'.repeat(16)
const spanId = (n: number): string => `${n}c`.repeat(8)
const path = `/app/map?trace_id=${traceId}`
const long = 'a-service-of-a-name-that-no-box-has-room-for-'.repeat(3)

const asked = { kind: 3, attributes: { 'peer.service': 'bank' } }
const sent: readonly (Partial<SpanSketch> & Readonly<{ id: number; parent?: number }>)[] = [
  { id: 1, service: 'map-page' },
  { id: 2, parent: 1, service: 'map-web', status: 'error' },
  { id: 3, parent: 2, service: 'map-orders', status: 'error' },
  { id: 4, parent: 2, service: long },
  { id: 5, parent: 4, service: 'map-orders' },
  // It closes a circle.
  { id: 6, parent: 5, service: 'map-web' },
  { id: 7, parent: 3, service: 'map-orders', ...asked },
  { id: 8, parent: 9, service: 'map-ledger' },
]

type Box = Readonly<{ name: string; left: number; right: number; top: number; bottom: number; text: number }>

/** The boxes as they are drawn, by their names. */
const boxesOf = (tab: Page): Promise<readonly Box[]> =>
  tab.locator('.map .node').evaluateAll((nodes) =>
    nodes.map((node) => {
      const { left = 0, right = 0, top = 0, bottom = 0 } = node.querySelector('.box')?.getBoundingClientRect() ?? {}
      const text = node.querySelector('.name')?.getBoundingClientRect().left ?? 0
      return { name: node.querySelector('title')?.textContent?.split(':')[0] ?? '', left, right, top, bottom, text }
    }),
  )

describe('the service map in a browser', () => {
  let server: LentServer
  let browser: Browser
  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    const startNs = minutesAgoNs(5)
    await sendingTo(server, server.firstRun.keys).spans(
      sent.map(({ id, parent, ...span }) => ({
        traceId,
        spanId: spanId(id),
        ...(parent === undefined ? {} : { parentSpanId: spanId(parent) }),
        startNs: startNs + BigInt(id) * msNs,
        durationNs: 50n * msNs,
        ...span,
      })),
    )
    await untilIndexed(server)
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  it('has all of a label between the boxes, however many calls failed, without scripts', async () => {
    const startNs = minutesAgoNs(5)
    const spans = ['7e', '7f'].flatMap((of): readonly SpanSketch[] => {
      const shared = { traceId: of.repeat(16), startNs, durationNs: msNs }
      const calls = Array.from({ length: 600 }, (_, n): SpanSketch => {
        const id = (n + 1).toString(16).padStart(16, '0')
        const status = n < 590 ? 'error' : 'ok'
        return { ...shared, spanId: id, parentSpanId: spanId(1), service: 'map-worker', status }
      })
      return [{ ...shared, spanId: spanId(1), service: 'map-fan' }, ...calls]
    })
    await sendingTo(server, server.firstRun.keys).spans(spans)
    await untilIndexed(server)
    await onEachScreen(browser, server, async (tab, width) => {
      await tab.goto('/app/map?service=map-fan')
      const [from, to] = await boxesOf(tab)
      const label = tab.locator('.map .edge text')
      expect(await label.textContent()).to.equal('1,200, 1,180 errors')
      const { x = 0, width: wide = 0 } = (await label.boundingBox()) ?? {}
      expect(x, `at ${width}`).to.be.at.least(from?.right ?? Infinity)
      expect(x + wide, `at ${width}`).to.be.at.most(to?.left ?? 0)
    })
  })

  it('has boxes apart from each other, callers to the left of whom they call, without scripts', async () => {
    await onEachScreen(browser, server, async (tab, width) => {
      await tab.goto(path)
      const boxes = await boxesOf(tab)
      const of = (name: string): Box => {
        const box = boxes.find((each) => each.name.startsWith(name))
        if (box === undefined) throw new Error(`${name} is not among ${boxes.map((each) => each.name).join()}`)
        return box
      }
      expect(boxes).to.have.length(7)
      const onward = ['map-page>map-web', 'map-web>map-orders', 'map-web>a-service', 'a-service>map-orders']
      for (const arrow of [...onward, 'map-orders>bank', 'missing spans>map-ledger']) {
        const [from = '', to = ''] = arrow.split('>')
        expect(of(from).right, `${arrow} at ${width}`).to.be.below(of(to).left)
      }
      for (const [at, box] of boxes.entries()) {
        expect(box.text, box.name).to.be.above(box.left)
        for (const other of boxes.slice(at + 1)) {
          const isApart = box.right <= other.left || other.right <= box.left || box.bottom <= other.top
          expect(isApart || other.bottom <= box.top, `${box.name}, ${other.name} at ${width}`).to.equal(true)
        }
      }
      // The drawing may be wider than a phone: it alone is pushed aside.
      expect(await tab.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth)).to.equal(0)
    })
  })

  it('leads by boxes and arrows, and skips to its table by the keyboard', async () => {
    const { tab, complaints } = await openSignedIn(browser, server)
    await tab.goto(path)
    expect(await violationsOn(tab)).to.deep.equal([])
    await tab.setViewportSize({ width: 1_280, height: 900 })
    await tab.locator('.map .node', { hasText: 'map-orders' }).locator('.name').click()
    await tab.waitForURL('**/app/traces?*service=map-orders*')
    await tab.goBack()
    await tab.locator('.map .edge.failed text').first().click()
    await tab.waitForURL('**/app/trace/*?*span=*')
    await tab.goBack()
    const skip = tab.getByRole('link', { name: 'Skip the drawing' })
    await skip.focus()
    await tab.keyboard.press('Enter')
    await tab.waitForURL('**#calls')
    await tab.keyboard.press('Tab')
    expect(await tab.locator('table.figures a:focus').count()).to.equal(1)
    expect(complaints).to.deep.equal([])
    await tab.context().close()
  })

  it('is whole on paper, where nothing can be pushed aside, as are the values beside a search', async () => {
    // What A4 has between its margins.
    const { tab } = await openSignedIn(browser, server, { viewport: { width: 700, height: 1_000 } })
    await tab.emulateMedia({ media: 'print' })
    const missing = (selector: string): Promise<readonly number[]> =>
      tab.locator(selector).evaluateAll((all) => all.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
    await tab.goto(path)
    expect(await missing('.map')).to.deep.equal([0])
    do await tab.goto(`/app/traces?trace_id=${traceId}`)
    while ((await tab.locator('.facets li').count()) === 0)
    expect(Math.max(...(await missing('.facets li')))).to.equal(0)
  })
})
