import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import { complaintsOf, launchChromium, openTab, signInOn } from '../support/browser.ts'
import { post } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

const json = { 'content-type': 'application/json' }
/** Four hours before UTC all year, under one name. */
const timezoneId = 'Asia/Dubai'
const offsetMs = 4 * 3_600_000
const traceId = '5b8efff798038103d269b633813fc620'

/** `2026-11-21 17:30:00.123+04:00` of that zone. */
const inZone = (ms: number): string => `${new Date(ms + offsetMs).toISOString().slice(0, 23).replace('T', ' ')}+04:00`
const inUtc = (ms: number): string => new Date(ms).toISOString().slice(0, 23).replace('T', ' ')

describe('the scripts of pages in a browser', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]

  before(async () => {
    server = await borrowServer()
    browser = await launchChromium()
    tab = await openTab(browser, { baseURL: server.baseUrl, timezoneId })
    complaints = complaintsOf(tab)
    await tab.goto('/app')
    await signInOn(tab, server.firstRun.sign_in)
    await tab.getByRole('heading', { name: 'Overview' }).waitFor()
  })
  after(async () => {
    await browser.close()
    await server.giveBack()
  })
  afterEach(() => expect(complaints).to.deep.equal([]))

  const sendLogs = async (...records: readonly object[]): Promise<void> => {
    const answer = await post(server, '/api/logs/v1/ingest', server.firstRun.keys.logs, JSON.stringify(records), json)
    expect(answer.status).to.equal(200)
  }
  /** Opens a page until it shows something: what is acknowledged is soon searchable. */
  async function openUntil(path: string, shown: Locator, page = tab): Promise<void> {
    do await page.goto(path)
    while ((await shown.count()) === 0)
  }

  describe('show times', () => {
    const atMs = Date.now() - 60_000
    const zones = (page = tab) => page.getByLabel('Times in')
    const time = (page = tab) => page.locator('.logs td time')
    const head = () => tab.getByRole('columnheader', { name: /^Time/ }).innerText()
    const path = '/app/logs?service=clock'

    before(async () => {
      await sendLogs({
        message: 'tick',
        service: 'clock',
        level: 'info',
        dt: new Date(atMs).toISOString(),
        trace_id: traceId,
      })
      await openUntil(path, time())
    })
    beforeEach(() => tab.goto(path))

    it('in the zone of the browser, and say so', async () => {
      expect(await time().innerText()).to.equal(inZone(atMs))
      expect(await time().getAttribute('title')).to.match(new RegExp(`^${new Date(atMs).toISOString().slice(0, -1)}`))
      expect(await head()).to.equal('Time (Dubai)')
      expect(await zones().locator('option:checked').innerText()).to.equal(timezoneId)
      for (const words of await tab.locator('.axis time').allInnerTexts()) expect(words).to.match(/\d\d:\d\d\+04:00$/)
      expect(await tab.locator('.histogram title').first().textContent()).to.match(/:\d\d\+04:00: 1$/)
      expect(await tab.getByLabel('From (UTC)').count()).to.equal(1)
    })

    it('in UTC where that is chosen, on other pages and later too', async () => {
      await zones().selectOption('UTC')
      expect([await time().innerText(), await head()]).to.deep.equal([inUtc(atMs), 'Time (UTC)'])
      await tab.reload()
      expect([await time().innerText(), await head()]).to.deep.equal([inUtc(atMs), 'Time (UTC)'])
      await tab.goto('/app/members')
      expect(await tab.locator('td time').innerText()).to.match(/ UTC$/)
      await zones().selectOption(timezoneId)
      expect(await tab.locator('td time').innerText()).to.match(/\+04:00$/)
      await tab.goto(path)
      expect(await time().innerText()).to.equal(inZone(atMs))
    })

    it('that mean the same where they are typed', async () => {
      const found = async (field: string): Promise<number> => {
        await tab.goto(path)
        await tab.getByLabel(field).fill(inZone(atMs))
        await tab.getByRole('button', { name: 'Search', exact: true }).click()
        await tab.waitForURL(/%2B04%3A00/)
        await tab.waitForLoadState()
        return time().count()
      }
      expect([await found('From (UTC)'), await found('To (UTC)')]).to.deep.equal([1, 0])
    })

    it('of the records that arrive later as well, and of a trace', async () => {
      await tab.getByRole('button', { name: 'Follow' }).click()
      await sendLogs({ message: 'tock', service: 'clock', dt: new Date(atMs + 1).toISOString() })
      await tab.locator('summary', { hasText: 'tock' }).waitFor()
      expect(await time().allInnerTexts()).to.deep.equal([inZone(atMs + 1), inZone(atMs)])
      await openUntil(`/app/trace/${traceId}`, time())
      expect(await time().innerText()).to.equal(inZone(atMs))
    })

    it('on a phone beside words that stay whole', async () => {
      const times = { startTimeUnixNano: `${atMs + 20}000000`, endTimeUnixNano: `${atMs + 30}000000` }
      const spans = [{ traceId, spanId: 'dddddddddddddddd', name: 'strike', ...times }]
      const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
      const { tracing } = server.firstRun.keys
      expect((await post(server, '/api/traces/v1/otlp', tracing, body, json)).status).to.equal(200)
      const whole = tab.viewportSize() ?? { width: 1280, height: 720 }
      await tab.setViewportSize({ width: 390, height: 844 })
      await openUntil(`/app/trace/${traceId}`, tab.locator('.moments .kind'))
      const lines = await tab.locator('.moments .kind, .moments .time').evaluateAll((all) =>
        all.flatMap((element) => {
          const range = element.ownerDocument.createRange()
          range.selectNodeContents(element)
          const tops = [...range.getClientRects()].map(({ top }) => Math.round(top))
          return new Set(tops).size > 1 ? [element.textContent] : []
        }),
      )
      await tab.setViewportSize(whole)
      expect(lines).to.deep.equal([])
    })

    it('in UTC where scripts do not run, and offer nothing else; nor where the zone is UTC', async () => {
      const storageState = await tab.context().storageState()
      for (const way of [{ javaScriptEnabled: false, timezoneId }, { timezoneId: 'UTC' }]) {
        const page = await openTab(browser, { baseURL: server.baseUrl, storageState, ...way })
        await page.goto('/app/logs?service=clock&q=tick')
        expect(await time(page).innerText()).to.equal(inUtc(atMs))
        expect(await zones(page).isVisible()).to.equal(false)
        await page.context().close()
      }
    })
  })

  describe('choose a time on the bars', () => {
    const [firstMs, secondMs, thirdMs] = [3, 2, 1].map((hours) => Date.now() - hours * 3_600_000) as [
      number,
      number,
      number,
    ]
    const [from, to] = [firstMs - 3_600_000, thirdMs + 3_600_000].map((ms) => new Date(ms).toISOString())
    const path = `/app/logs?service=bars&from=${from}&to=${to}`
    const bars = () => tab.locator('.histogram a')
    const records = () => tab.locator('.logs summary').allInnerTexts()
    const led: string[] = []

    before(async () => {
      const many = Array.from({ length: 20 }, () => secondMs)
      await sendLogs(
        ...[firstMs, ...many, thirdMs].map((ms) => ({
          message: `at ${ms}`,
          service: 'bars',
          dt: new Date(ms).toISOString(),
        })),
      )
      await openUntil(path, tab.getByText('22 records'))
      tab.on('request', (request) => void (request.isNavigationRequest() && led.push(request.url())))
    })
    beforeEach(async () => {
      await tab.goto(path)
      led.length = 0
    })

    /** Somewhere in a bar's column, high above what it counts. */
    async function placeOf(bar: number): Promise<readonly [x: number, y: number]> {
      const box = await bars().nth(bar).boundingBox()
      const chart = await tab.locator('.histogram').boundingBox()
      if (box === null || chart === null) throw new Error('there is no such bar')
      return [box.x + box.width / 2, chart.y + 3]
    }
    async function press(bar: number, other: number): Promise<void> {
      await tab.mouse.move(...(await placeOf(bar)))
      await tab.mouse.down()
      await tab.mouse.move(...(await placeOf(other)), { steps: 4 })
    }

    it('from where the pointer goes down to where it goes up, in either direction', async () => {
      for (const [bar, other, wanted] of [
        [0, 1, [...Array.from({ length: 20 }, () => secondMs), firstMs]],
        [2, 1, [thirdMs, ...Array.from({ length: 20 }, () => secondMs)]],
      ] as const) {
        await tab.goto(path)
        await press(bar, other)
        expect(await tab.locator('[data-chosen]').innerText()).to.match(/^[-\d]+ [:\d]+\+04:00 – [-\d]+ [:\d]+\+04:00$/)
        await tab.mouse.up()
        await tab.getByText(`${wanted.length} records`).waitFor()
        expect(await records()).to.deep.equal(wanted.map((ms) => `at ${ms}`))
        expect(new URL(tab.url()).searchParams.get('service')).to.equal('bars')
      }
    })

    it('not where Escape is pressed, and a bar is a link as before', async () => {
      const said = await tab.locator('[data-chosen]').innerText()
      for (const [bar, other] of [
        [0, 2],
        [1, 1],
      ] as const) {
        await press(bar, other)
        const [x, y] = await placeOf(other)
        await tab.mouse.move(x + 6, y)
        await tab.keyboard.press('Escape')
        expect(await tab.locator('.chosen').count()).to.equal(0)
        await tab.mouse.up()
      }
      expect(await tab.locator('[data-chosen]').innerText()).to.equal(said)
      await tab.mouse.click(...(await placeOf(0)))
      await tab.getByText('1 record', { exact: true }).waitFor()
      expect(led.map((address) => new URL(address).searchParams.get('to'))).to.deep.equal([
        new URL(tab.url()).searchParams.get('to'),
      ])
    })

    it('by the keyboard too', async () => {
      await bars().nth(2).focus()
      await tab.keyboard.press('Enter')
      await tab.getByText('1 record', { exact: true }).waitFor()
      expect(await records()).to.deep.equal([`at ${thirdMs}`])
    })
  })

  it('copy what is to be pasted elsewhere, and say so', async () => {
    const storageState = await tab.context().storageState()
    for (const permissions of [['clipboard-read', 'clipboard-write'], ['clipboard-read']]) {
      const page = await openTab(browser, { baseURL: server.baseUrl, storageState, permissions })
      // As where the page is not served securely.
      if (permissions.length === 1)
        await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'clipboard'))
      await page.clock.install()
      await page.goto('/app/connect')
      await page.getByRole('button', { name: /show me how/ }).click()
      const code = await page.locator('[data-step]').first().innerText()
      // It is said for two seconds, which a busy machine may not look at.
      await page.clock.pauseAt(Date.now() + 3_600_000)
      await page.getByRole('button', { name: 'Copy' }).nth(1).click()
      const said = page.getByRole('status').getByText('Copied', { exact: true })
      await said.waitFor()
      await page.clock.runFor(2_000)
      await said.waitFor({ state: 'detached' })
      await page.goto('/app/logs')
      await page.getByRole('searchbox').focus()
      await page.keyboard.press('Control+V')
      const pasted = await page.getByRole('searchbox').inputValue()
      expect(pasted.replaceAll(/\s/g, '')).to.equal(code.replaceAll(/\s/g, ''))
      expect(pasted).to.include('OTEL_SERVICE_NAME')
      await page.context().close()
    }
  })

  it('take single keys, unless somebody types, or has switched them off', async () => {
    const isFocused = (place: Locator): Promise<boolean> => place.evaluate((element) => element.matches(':focus'))
    const field = tab.getByRole('searchbox').first()
    const help = tab.locator('details.help')
    const follow = tab.locator('[data-tail-button]')
    await tab.goto('/app/logs?q=tick')
    await tab.keyboard.press('/')
    expect(await isFocused(field)).to.equal(true)
    // The first one led here and is no part of the text, which is selected.
    for (const key of ['/', '?', 'f']) await tab.keyboard.press(key)
    expect(await field.inputValue()).to.equal('/?f')
    expect([await help.getAttribute('open'), await follow.innerText()]).to.deep.equal([null, 'Follow'])
    await field.blur()
    await tab.keyboard.press('?')
    await tab.keyboard.press('f')
    expect([await help.getAttribute('open'), await follow.innerText()]).to.deep.equal(['', 'Stop following'])
    expect(await help.locator('kbd').allInnerTexts()).to.deep.equal(['/', '?', 'f', 'Escape'])
    await help.getByRole('checkbox').uncheck()
    for (const again of [false, true]) {
      if (again) await tab.reload()
      await tab.keyboard.press('/')
      expect(await isFocused(field), 'switched off').to.equal(false)
    }
    await tab.keyboard.press('?')
    await help.locator('summary').click()
    await help.getByRole('checkbox').check()
    await tab.keyboard.press('Control+/')
    expect(await isFocused(field)).to.equal(false)
    await tab.goto('/app')
    await tab.keyboard.press('/')
    expect(await isFocused(field)).to.equal(true)
  })
})
