import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { violationsOn } from '../support/axe.ts'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('the page of a trace in a browser', () => {
  let server: LentServer
  let browser: Browser
  let page: Page

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab: page } = await openSignedIn(browser, server, { javaScriptEnabled: false }))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  it('opens the folded resource that a span leads to, and leads from its timeline to its records, without scripts', async () => {
    const [trace, spanId, time] = ['5b8efff798038103d269b633813fc610', 'cccccccccccccccc', `${Date.now()}000000`]
    const span = { traceId: trace, spanId, name: 'pay', startTimeUnixNano: time, endTimeUnixNano: time }
    const resource = { attributes: [{ key: 'host.name', value: { stringValue: 'the-host' } }] }
    const send = sendingTo(server, server.firstRun.keys)
    await send.otlp([{ resource, scopeSpans: [{ scope: { name: 'sdk' }, spans: [span] }] }])
    await send.logs([{ message: 'card declined', level: 'error', trace_id: trace }])
    const lines = page.getByRole('list', { name: 'What happened, in order of time' }).getByRole('listitem')
    do await page.goto(`/app/trace/${trace}`)
    while ((await lines.count()) < 2)
    await lines.getByRole('link', { name: 'card declined' }).click()
    expect(await page.locator('tr:target').innerText()).to.include('card declined')
    const host = page.getByRole('cell', { name: 'the-host' })
    for (const [name, place] of [
      ['Resource 1', '#resource-1'],
      ['Scope 1', '#scope-1'],
      ['Resources and scopes', '#origins'],
    ] as const) {
      await page.goto(`/app/trace/${trace}?span=${spanId}`)
      expect(await host.isVisible(), name).to.equal(false)
      await page.getByRole('link', { name, exact: true }).click()
      expect(await host.isVisible(), name).to.equal(true)
      const top = await page.locator(place).evaluate((element) => element.getBoundingClientRect().top)
      expect(top, name).to.be.within(0, page.viewportSize()?.height ?? 0)
    }
  })

  it('says when a span was in the zone of the browser, to the nanosecond', async () => {
    const [trace, spanId, atMs] = ['5b8efff798038103d269b633813fc613', 'eeeeeeeeeeeeeeee', Date.now()]
    const times = { startTimeUnixNano: `${atMs}000123`, endTimeUnixNano: `${atMs}000456` }
    const spans = [{ traceId: trace, spanId, name: 'chime', ...times }]
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const { tab } = await openSignedIn(browser, server, { timezoneId: 'Asia/Dubai' })
    const start = tab.locator(`#span-${spanId} time`)
    do await tab.goto(`/app/trace/${trace}?span=${spanId}`)
    while ((await start.count()) === 0)
    const shown = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23).replace('T', ' ')}000123`
    expect(await start.innerText()).to.equal(`${shown(atMs + 4 * 3_600_000)}+04:00`)
    await tab.getByLabel('Times in').selectOption('UTC')
    expect(await start.innerText()).to.equal(`${shown(atMs)} UTC`)
    await tab.context().close()
  })

  it('goes from match to match without being loaded anew, where it has the span; and back', async () => {
    const [traceId, startNs] = ['5b8efff798038103d269b633813fc614', BigInt(Date.now()) * 1_000_000n]
    const idOf = (n: number): string => String(n + 1).padStart(16, '0')
    const matches = [2, 4, 1_001]
    const spans = Array.from({ length: 1_002 }, (_, n) => ({
      traceId,
      spanId: idOf(n),
      ...(n === 0 ? {} : { parentSpanId: idOf(n % 2 === 0 ? n - 1 : 0) }),
      name: matches.includes(n) ? 'call' : 'walk',
      startTimeUnixNano: String(startNs + BigInt(n)),
      endTimeUnixNano: String(startNs + 2_000n),
    }))
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const { tab } = await openSignedIn(browser, server)
    const said = tab.locator('[data-matches]')
    do await tab.goto(`/app/trace/${traceId}?find=call&folded=1`)
    while (!(await said.innerText()).includes('of 3'))
    const loads: string[] = []
    tab.on('domcontentloaded', () => loads.push(tab.url()))
    const stateOf = async () => ({
      span: /[?]span=(\w+)&find=call&folded=1#span-\1$/.exec(tab.url())?.[1],
      said: /^\d of \d/.exec(await said.innerText())?.[0],
      target: await tab.locator('.line:target').getAttribute('id'),
      current: await tab.locator('.line[aria-current]').evaluateAll((all) => all.map(({ id }) => id)),
      open: await tab.locator('.line[open]').evaluateAll((all) => all.map(({ id }) => id)),
      leads: await tab.locator('.tabs a', { hasText: 'The span' }).getAttribute('href'),
      unfolds: await tab.locator('.tabs a', { hasText: 'Unfold all spans' }).getAttribute('href'),
    })
    const at = (match: number) => {
      const id = idOf(matches[match] ?? 0)
      const [place, address] = [`span-${id}`, `/app/trace/${traceId}?span=${id}&find=call`]
      const of = { span: id, said: `${match + 1} of 3`, target: place, current: [place], open: [place] }
      return { ...of, leads: `#${place}`, unfolds: address }
    }
    expect(await stateOf()).to.deep.equal(at(0))
    expect(await tab.locator('[data-match=previous]').count()).to.equal(0)
    await tab.keyboard.press('n')
    await tab.waitForURL(`**#span-${idOf(4)}`)
    expect(await stateOf()).to.deep.equal(at(1))
    expect(await tab.locator('.line:target').evaluate((line) => line.checkVisibility())).to.equal(true)
    await tab.locator('[data-match=previous]').click()
    await tab.waitForURL(`**#span-${idOf(2)}`)
    expect(await stateOf()).to.deep.equal(at(0))
    await tab.goBack()
    await tab.waitForURL(`**#span-${idOf(4)}`)
    await said.getByText('2 of 3').waitFor()
    expect(await stateOf()).to.deep.equal(at(1))
    expect(loads).to.deep.equal([])
    await tab.keyboard.press('n')
    await tab.waitForURL(`**#span-${idOf(1_001)}`)
    expect(loads).to.have.length(1)
    expect(await said.innerText()).to.match(/^3 of 3/)
    // The page has no other match.
    await tab.keyboard.press('p')
    await tab.waitForURL(`**#span-${idOf(4)}`)
    expect(await stateOf()).to.deep.equal(at(1))
    // Neither the span of the first address is a match, nor has the second one.
    const next = (await tab.locator('a[rel=next]').first().getAttribute('href')) ?? ''
    for (const [address, current] of [
      [`/app/trace/${traceId}?span=${idOf(3)}&find=call`, [`span-${idOf(3)}`]],
      [next, []],
    ] as const) {
      await tab.goto(address)
      await tab.keyboard.press('n')
      await tab.waitForURL('**#span-*')
      expect(await tab.locator('.line[aria-current]').count()).to.equal(1)
      loads.length = 0
      await tab.goBack()
      await said.getByText('3 spans match').waitFor()
      const marked = tab.locator('.line:is([aria-current], [open])')
      expect(await marked.evaluateAll((all) => all.map(({ id }) => id))).to.deep.equal(current)
      expect(loads).to.deep.equal([])
    }
  })

  it('zooms into the time that is dragged over, with a search as it was; and out by a key', async () => {
    const [traceId, startMs] = ['5b8efff798038103d269b633813fc615', Date.now()]
    const nsAt = (ms: number): string => `${startMs + ms}000000`
    const spans = Array.from({ length: 8 }, (_, n) => ({
      traceId,
      spanId: String(n + 1).padStart(16, '0'),
      ...(n === 0 ? {} : { parentSpanId: '1'.padStart(16, '0') }),
      name: 'step',
      startTimeUnixNano: nsAt(n * 1_000),
      endTimeUnixNano: nsAt(n === 0 ? 10_000 : n * 1_000 + 500),
    }))
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const { tab, complaints } = await openSignedIn(browser, server)
    const path = `/app/trace/${traceId}?span=${'2'.padStart(16, '0')}&find=step`
    do await tab.goto(path)
    while ((await tab.locator('.waterfall .line').count()) < 8)
    /** Milliseconds of the trace. */
    const shown = (): readonly number[] => {
      const zoom = new URL(tab.url()).searchParams.get('zoom') ?? ''
      return zoom.split('-').map((ns) => Number(BigInt(ns) / 1_000_000n) - startMs)
    }
    const chosen = tab.locator('.chosen')
    async function placeOn(place: string, share: number): Promise<readonly [x: number, y: number]> {
      const box = await tab.locator(place).boundingBox()
      if (box === null) throw new Error('there is no such time line')
      return [box.x + box.width * share, box.y + box.height / 2]
    }
    async function press(place: string, from: number, to: number): Promise<void> {
      await tab.mouse.move(...(await placeOn(place, from)))
      await tab.mouse.down()
      await tab.mouse.move(...(await placeOn(place, to)), { steps: 4 })
    }
    async function drag(...[place, from, to]: Parameters<typeof press>): Promise<void> {
      await press(place, from, to)
      expect(await chosen.count()).to.equal(1)
      await Promise.all([tab.waitForEvent('load'), tab.mouse.up()])
    }
    const led: string[] = []
    tab.on('request', (request) => void (request.isNavigationRequest() && led.push(request.url())))
    for (const giveUp of [
      () => tab.keyboard.press('Escape'),
      async () => tab.mouse.move(...(await placeOn('.overview', 0.2))),
      () => tab.locator('.overview').dispatchEvent('pointercancel'),
    ]) {
      await press('.overview', 0.2, 0.6)
      expect(await chosen.count()).to.equal(1)
      await giveUp()
      await tab.mouse.up()
      expect(await chosen.count()).to.equal(0)
    }
    // Let go beside the axis, which is no higher than a line of text.
    const [x, y] = await placeOn('.ticks', 0.4)
    await tab.mouse.move(x, y)
    await tab.mouse.down()
    await tab.mouse.move(x, y + 40)
    await tab.mouse.up()
    await tab.mouse.move(...(await placeOn('.ticks', 0.6)))
    await tab.mouse.move(...(await placeOn('.ticks', 0.8)))
    expect(await chosen.count()).to.equal(0)
    await tab.locator('.overview').click()
    expect(led).to.deep.equal([])
    await drag('.overview', 0.6, 0.2)
    const [from = 0, to = 0] = shown()
    expect(from).to.be.within(1_970, 2_030)
    expect(to).to.be.within(5_970, 6_030)
    expect(await tab.getByRole('img', { name: /before what is shown$/ }).count()).to.equal(1)
    expect(await tab.getByRole('img', { name: /after what is shown$/ }).count()).to.be.within(1, 2)
    // Beyond its end is its end.
    await drag('.ticks', 0.5, 1.5)
    expect(shown()[0]).to.be.within((from + to) / 2 - 30, (from + to) / 2 + 30)
    expect(shown()[1]).to.equal(to)
    const kept = new URL(tab.url()).searchParams
    expect([kept.get('find'), kept.get('span')]).to.deep.equal(['step', '2'.padStart(16, '0')])
    expect(await violationsOn(tab)).to.deep.equal([])
    await tab.keyboard.press('n')
    await tab.waitForURL(/zoom=.*#span-0+3$/)
    await tab.getByRole('link', { name: 'Show the whole trace' }).focus()
    await Promise.all([tab.waitForEvent('load'), tab.keyboard.press('Enter')])
    expect(tab.url()).to.match(/[?]span=0+3&find=step#shown$/)
    expect(await violationsOn(tab)).to.deep.equal([])
    expect(complaints).to.deep.equal([])
    await tab.context().close()
  })

  it('is no wider than the window with names that have no blanks, nor are the pages that lead to it', async () => {
    const [trace, time, name] = ['5b8efff798038103d269b633813fc611', `${Date.now()}000000`, 'longname'.repeat(25)]
    const span = { traceId: trace, spanId: 'dddddddddddddddd', name, startTimeUnixNano: time, endTimeUnixNano: time }
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: name } }] }
    const send = sendingTo(server, server.firstRun.keys)
    await send.otlp([{ resource, scopeSpans: [{ spans: [span] }] }])
    await send.logs([{ message: name, service: name, trace_id: trace }])
    const lines = page.getByRole('list', { name: 'What happened, in order of time' }).getByRole('listitem')
    do await page.goto(`/app/trace/${trace}`)
    while ((await lines.count()) < 2)
    const sizeBefore = page.viewportSize() ?? { width: 1_280, height: 720 }
    for (const width of [sizeBefore.width, 390]) {
      await page.setViewportSize({ width, height: 800 })
      for (const path of [
        `/app/trace/${trace}`,
        `/app/logs?q=${name}`,
        `/app/traces?q=${name}`,
        `/app/map?q=${name}`,
        `/app/find?id=${name}`,
        `/app/compare?trace_id=${trace}`,
        `/app/compare?trace_id=${trace}&with=${trace}`,
      ]) {
        await page.goto(path)
        const wider = await page.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth)
        expect(wider, `${path} at ${width}`).to.equal(0)
      }
    }
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(`/app/logs?trace_id=${trace}`)
    expect((await page.locator('.logs > tbody > tr').boundingBox())?.height, 'a row of the list').to.be.below(400)
    await page.setViewportSize(sizeBefore)
  })

  it('keeps what a sender has piled up on one letter in its own cell', async () => {
    const piled = `pile Z${'\u0301'.repeat(440)}`
    const [trace, time] = ['5b8efff798038103d269b633813fc612', `${Date.now()}000000`]
    const span = {
      traceId: trace,
      spanId: 'eeeeeeeeeeeeeeee',
      name: piled,
      startTimeUnixNano: time,
      endTimeUnixNano: time,
    }
    const send = sendingTo(server, server.firstRun.keys)
    await send.otlp([{ scopeSpans: [{ spans: [span] }] }])
    await send.logs([{ message: piled, trace_id: trace }])
    await page.goto('/app/logs?q=nowhere')
    const above = page.locator('header')
    const plain = await above.screenshot()
    do await page.goto('/app/logs?q=pile')
    while ((await page.locator('.logs > tbody > tr').count()) === 0)
    expect((await above.screenshot()).equals(plain), 'the head of the page is as it was').to.equal(true)
  })
})
