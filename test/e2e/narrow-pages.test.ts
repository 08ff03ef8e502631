import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { msNs, nowNs, sendingTo } from '../support/workspace.ts'

describe('pages on narrow screens', () => {
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

  /** 1,280 px at 400 % (WCAG 2.2, 1.4.10). */
  const viewport = { width: 320, height: 844 }

  /** In UTC, and with an offset behind each time. */
  for (const zone of ['UTC', 'America/New_York']) {
    it(`have names and times of logs that can be read, in ${zone}`, async () => {
      const record = { message: 'narrow', service: 'payments', level: 'error' }
      await sendingTo(server, server.firstRun.keys).logs([record])
      const { tab: page } = await openSignedIn(browser, server, { viewport, timezoneId: zone })
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

  it('have their whole width where times can be shown in a zone of its own', async () => {
    const span = { traceId: 'c'.repeat(32), spanId: '1'.repeat(16), startNs: nowNs(), durationNs: msNs }
    await sendingTo(server, server.firstRun.keys).spans([span])
    const { tab: page } = await openSignedIn(browser, server, {
      viewport: { width: 390, height: 844 },
      timezoneId: 'Europe/Berlin',
    })
    const first = { [`/app/trace/${span.traceId}`]: '.tabs', '/app/logs': 'form.search', '/app/traces': 'form.search' }
    for (const [path, selector] of Object.entries(first)) {
      const part = page.locator(selector).first()
      do await page.goto(path)
      while ((await part.count()) === 0)
      await page.locator('.zone').waitFor()
      expect((await part.boundingBox())?.width, path).to.be.at.least(350)
    }
    await page.context().close()
  })

  it('have an audit that breaks no name', async () => {
    const { tab: page } = await openSignedIn(browser, server, { viewport })
    await page.goto('/app/audit')
    const lines = await page
      .getByRole('cell', { name: server.firstRun.sign_in.email })
      .first()
      .evaluate((cell) => {
        const text = cell.ownerDocument.createRange()
        text.selectNodeContents(cell)
        return text.getClientRects().length
      })
    expect(lines).to.equal(1)
    await page.context().close()
  })

  it('have ticks of a trace that stay above its bars', async () => {
    const span = { traceId: 'b'.repeat(32), spanId: '1'.repeat(16), startNs: nowNs(), durationNs: 116n * msNs }
    await sendingTo(server, server.firstRun.keys).spans([span])
    const { tab: page } = await openSignedIn(browser, server)
    do await page.goto(`/app/trace/${span.traceId}`)
    while ((await page.locator('.ticks').count()) === 0)
    for (const width of [730, 768, 1_024, 1_160, 1_440]) {
      await page.setViewportSize({ width, height: 1_024 })
      const ticks = page.locator('.ticks > *')
      expect(await ticks.last().innerText(), `of ${width}`).to.match(/116 ms$/)
      const over = await ticks.evaluateAll((all) =>
        all.map((tick) => {
          const text = tick.ownerDocument.createRange()
          text.selectNodeContents(tick)
          return text.getBoundingClientRect().right - tick.getBoundingClientRect().right
        }),
      )
      expect(Math.max(...over), `of ${width}`).to.be.at.most(0)
    }
    await page.context().close()
  })

  it('have no name of a service that is wider than they are', async () => {
    const parentSpanId = '1'.repeat(16)
    const span = { traceId: 'e'.repeat(32), spanId: parentSpanId, startNs: nowNs(), durationNs: msNs }
    const service = 'x'.repeat(200)
    await sendingTo(server, server.firstRun.keys).spans([
      { ...span, service },
      { ...span, spanId: '2'.repeat(16), parentSpanId, service },
    ])
    const { tab: page } = await openSignedIn(browser, server, { viewport })
    do await page.goto(`/app/trace/${span.traceId}`)
    while ((await page.locator('#critical-path').count()) === 0)
    const beyond = await page.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth)
    expect(beyond).to.equal(0)
    await page.context().close()
  })

  it('have lists of traces that need not be pushed aside on a tablet', async () => {
    const start = nowNs()
    const ids = (n: number) => ({ traceId: 'a'.repeat(32), spanId: `000000000000000${n}` })
    const times = { startNs: start, durationNs: 321n * msNs }
    await sendingTo(server, server.firstRun.keys).spans([
      { ...ids(1), ...times, service: 'web', name: `POST /api/checkout ${'and so on '.repeat(20)}`, status: 'error' },
      {
        ...ids(2),
        ...times,
        service: 'payments-and-more'.repeat(9),
        name: 'POST /charges',
        parentSpanId: ids(1).spanId,
        status: 'error',
      },
    ])
    const { tab: page } = await openSignedIn(browser, server, { timezoneId: 'Europe/Berlin' })
    do await page.goto('/app/traces')
    while ((await page.locator('.traces > tbody > tr').count()) === 0)
    for (const width of [721, 768, 800]) {
      await page.setViewportSize({ width, height: 1_024 })
      const needed = await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)
      expect(needed, `of ${width}`).to.be.at.most(width)
    }
    // On a phone each cell has its head too, for who is read them; and all that can be followed is to be seen.
    await page.setViewportSize(viewport)
    const heads = page.locator('.traces').getByRole('columnheader')
    expect(await heads.allInnerTexts()).to.have.length(5)
    for (const link of await heads.getByRole('link').all()) {
      const { x = -1, width = 0 } = (await link.boundingBox()) ?? {}
      expect([x >= 0, x + width <= viewport.width], await link.innerText()).to.deep.equal([true, true])
    }
    // Where there is room, a count stands beside what it counts.
    await page.setViewportSize({ width: 1_280, height: 1_024 })
    const marks = page.locator('.traces > tbody > tr:first-child > td:last-child .mark')
    const heights = await marks.evaluateAll((all) => all.map((mark) => mark.getBoundingClientRect().height))
    expect(Math.max(...heights)).to.be.within(1, 40)
    await page.context().close()
  })

  it('have cards on whose last line no figure stands alone', async () => {
    const times = { traceId: 'd'.repeat(32), startNs: nowNs(), durationNs: 321n * msNs }
    await sendingTo(server, server.firstRun.keys).spans([
      { ...times, spanId: '1'.repeat(16), service: 'till', name: 'POST /api/checkout', status: 'error' },
      { ...times, spanId: '2'.repeat(16), service: 'bank', name: 'charge', parentSpanId: '1'.repeat(16) },
    ])
    const { tab: page } = await openSignedIn(browser, server, { viewport: { width: 390, height: 844 } })
    for (const path of ['/app', '/app/map']) {
      const cards = page.locator('.figures.cards > tbody > tr', { hasText: 'till' })
      do await page.goto(path)
      while ((await cards.count()) === 0)
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 844 })
        for (const card of await cards.all()) {
          const tops = await card.locator('td').evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().y))
          const last = tops.filter((top) => top === tops.at(-1))
          expect(last.length, `${path}, of ${width}: ${tops.join(' ')}`).to.be.at.least(2)
        }
        const needed = await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)
        expect(needed, `${path}, of ${width}`).to.be.at.most(width)
      }
    }
    await page.context().close()
  })

  it('have lists of sessions that need not be pushed aside, on a tablet or on a phone', async () => {
    const meta = {
      app: { name: 'back-office-and-more'.repeat(9) },
      page: { url: `https://shop.example/${'a'.repeat(300)}` },
      session: { id: 'b'.repeat(128) },
      user: { email: `${'c'.repeat(60)}@shop.example` },
    }
    const timestamps = [new Date(Date.now() - 5_000).toISOString(), new Date().toISOString()]
    const exceptions = timestamps.map((timestamp) => ({ type: 'TypeError', value: 'boom', timestamp }))
    await sendingTo(server, server.firstRun.keys).rum({ meta, exceptions })
    const { tab: page } = await openSignedIn(browser, server, { timezoneId: 'Europe/Berlin' })
    do await page.goto('/app/sessions')
    while ((await page.locator('.sessions > tbody > tr').count()) === 0)
    for (const width of [320, 390, 721, 768, 800, 1_024, 1_280]) {
      await page.setViewportSize({ width, height: 1_024 })
      const needed = await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)
      expect(needed, `of ${width}`).to.be.at.most(width)
    }
    await page.context().close()
  })
})
