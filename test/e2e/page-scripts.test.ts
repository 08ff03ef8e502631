import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import type { JsonObject } from '#src/lib/json.ts'
import { borrowChromium, closeTabs, openSignedIn, openTab } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

/** Four hours before UTC all year, under one name. */
const timezoneId = 'Asia/Dubai'
const offsetMs = 4 * 3_600_000
const traceId = '5b8efff798038103d269b633813fc620'

/** `2026-11-21 17:30:00.123+04:00` of that zone. */
const inZone = (ms: number): string => `${new Date(ms + offsetMs).toISOString().slice(0, 23).replace('T', ' ')}+04:00`
const inUtc = (ms: number): string => new Date(ms).toISOString().slice(0, 23).replace('T', ' ')

type Chart = Readonly<{ dataset: Readonly<Record<string, string>> }>

describe('the scripts of pages in a browser', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab, complaints } = await openSignedIn(browser, server, { timezoneId }))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })
  afterEach(() => expect(complaints).to.deep.equal([]))

  const sendLogs = (...records: readonly JsonObject[]): Promise<Response> =>
    sendingTo(server, server.firstRun.keys).logs(records)
  /** Opens a page until it shows something: what is acknowledged is soon searchable. */
  async function openUntil(path: string, shown: Locator): Promise<void> {
    do await tab.goto(path)
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
      expect(await tab.getByLabel('From (Dubai)').count()).to.equal(1)
    })

    it('below the bars too, days with their hour', async () => {
      const ticks = tab.locator('.clock text')
      const zoned = async (path: string, part: readonly [number, number]): Promise<void> => {
        await tab.goto(path)
        const sent = await ticks.evaluateAll((all) => all.map((tick) => Date.parse(tick.getAttribute('data-at') ?? '')))
        expect(sent).not.to.deep.equal([])
        expect(await ticks.allTextContents()).to.deep.equal(sent.map((ms) => inZone(ms).slice(...part)))
      }
      await zoned(`${path}&from=3h`, [11, 16])
      await zoned(`${path}&from=4d`, [5, 16])
      await zones().selectOption('UTC')
      expect((await ticks.allTextContents()).join()).to.match(/^(\d\d-\d\d,?)+$/)
      await zones().selectOption(timezoneId)
    })

    it('in UTC where that is chosen, on other pages and later too', async () => {
      await zones().selectOption('UTC')
      expect([await time().innerText(), await head()]).to.deep.equal([inUtc(atMs), 'Time (UTC)'])
      await tab.reload()
      expect([await time().innerText(), await head()]).to.deep.equal([inUtc(atMs), 'Time (UTC)'])
      expect(await zones().locator('option:checked').innerText()).to.equal('UTC')
      await tab.goto('/app/members')
      expect(await tab.locator('td time').innerText()).to.match(/ UTC$/)
      await zones().selectOption(timezoneId)
      expect(await tab.locator('td time').innerText()).to.match(/\+04:00$/)
      await tab.goto(path)
      expect(await time().innerText()).to.equal(inZone(atMs))
      await tab.goto('/app/password')
      expect(await zones().isVisible(), 'where there are no times').to.equal(false)
    })

    it('from midnight on, and after noon', async () => {
      // 00:30 and 13:30 in Dubai.
      const lastAt = (minutes: number): number => {
        const dayMs = 86_400_000
        return Math.floor((Date.now() - minutes * 60_000) / dayMs) * dayMs + minutes * 60_000
      }
      const hours = [20 * 60 + 30, 9 * 60 + 30].map(lastAt).sort((a, b) => b - a)
      await sendLogs(...hours.map((ms) => ({ message: 'hour', service: 'hours', dt: new Date(ms).toISOString() })))
      await openUntil('/app/logs?service=hours&from=2d', time().nth(1))
      expect(await time().allInnerTexts()).to.deep.equal(hours.map(inZone))
    })

    /** What the scripts of a page make of a text of the server. */
    const shown = (page: Page, text: string): Promise<string> =>
      page.evaluate(`import('/app/times.js').then(({ inZone }) => inZone('${text}'))`)
    for (const [zone, name, offsets] of [
      ['America/New_York', 'New York', /-0[45]:00$/],
      ['Africa/Abidjan', 'Abidjan', /\+00:00$/],
    ] as const) {
      it(`of ${name}, by its offset then`, async () => {
        const storageState = await tab.context().storageState()
        const page = await openTab(browser, { baseURL: server.baseUrl, storageState, timezoneId: zone })
        await page.goto('/app/logs?service=clock&q=tick')
        const text = await time(page).innerText()
        expect(text).to.match(offsets)
        expect(Date.parse(text.replace(' ', 'T'))).to.equal(atMs)
        expect(await page.getByRole('columnheader', { name: `Time (${name})` }).count()).to.equal(1)
        expect(await shown(page, '2026-11-21 12:34 UTC')).to.match(/^2026-11-21 \d\d:34[-+]\d\d:00$/)
        expect(await shown(page, '0999-11-21 12:00:00.5 UTC')).to.match(/^0999-11-21 [:\d]{8}\.5[-+]/)
        expect(await zones(page).locator('option:checked').innerText()).to.equal(zone.replace('_', ' '))
        await page.context().close()
      })
    }

    it('that mean the same where they are typed', async () => {
      const found = async (field: string): Promise<number> => {
        await tab.goto(path)
        await tab.getByLabel(field).fill(inZone(atMs))
        await tab.getByRole('button', { name: 'Search', exact: true }).click()
        await tab.waitForURL(/%2B04%3A00/)
        await tab.waitForLoadState()
        return time().count()
      }
      expect([await found('From (Dubai)'), await found('To (Dubai)')]).to.deep.equal([1, 0])
    })

    describe('of the forms of searches', () => {
      const from = () => tab.locator('input[name=from]')
      const to = () => tab.locator('input[name=to]')
      async function search(): Promise<URLSearchParams> {
        await Promise.all([tab.waitForEvent('load'), tab.getByRole('button', { name: 'Search', exact: true }).click()])
        return new URL(tab.url()).searchParams
      }

      it('as they are shown, where no zone is named', async () => {
        const local = inZone(atMs).slice(0, -6)
        await from().fill(` ${local} `)
        await to().fill('2031-07-01')
        const asked = await search()
        expect([asked.get('from'), asked.get('to')]).to.deep.equal([`${local}+04:00`, '2031-07-02 00:00:00+04:00'])
        expect(await time().count()).to.be.above(0)
        await from().fill('2026-11-21t08:00')
        expect((await search()).get('from')).to.equal('2026-11-21 08:00+04:00')
      })

      it('as they are typed, where that says all', async () => {
        for (const typed of ['-3h', '2026-11-21T08:00Z', '2026-11-21 08:00+01:00', '1795557482', '']) {
          await from().fill(typed)
          expect((await search()).get('from')).to.equal(typed)
        }
        await from().fill('2026-11-41 08:00')
        const sent = tab.evaluate(`new FormData(document.querySelector('form.search')).get('from')`)
        expect(await sent, 'no such day: for the server to refuse').to.equal('2026-11-41 08:00')
      })

      for (const [zone, typed, sent] of [
        ['Europe/Berlin', '2026-03-29 02:30', '2026-03-29 02:30+01:00'],
        ['Europe/Berlin', '2026-03-29 03:00', '2026-03-29 03:00+02:00'],
        ['Africa/Cairo', '2026-04-24', '2026-04-24 00:00+02:00'],
        ['Europe/Berlin', '2026-10-25 02:30', '2026-10-25 02:30+02:00'],
        ['America/St_Johns', '2026-03-08 02:30', '2026-03-08 02:30-03:30'],
      ] as const) {
        it(`in the hours that a change of clocks leaves out or repeats: ${typed} of ${zone}`, async () => {
          const storageState = await tab.context().storageState()
          const page = await openTab(browser, { baseURL: server.baseUrl, storageState, timezoneId: zone })
          await page.goto(path)
          await page.locator('input[name=from]').fill(typed)
          const form = `new FormData(document.querySelector('form.search')).get('from')`
          expect(await page.evaluate(form)).to.equal(sent)
          await page.context().close()
        })
      }

      it('in the zone that is shown, where an address has them in UTC', async () => {
        for (const [utc, local] of [
          [`${inUtc(atMs).replace(' ', 'T')}Z`, inZone(atMs)],
          ['2026-11-20', '2026-11-20 04:00+04:00'],
          ['2026-11-20 20:00 UTC', '2026-11-21 00:00+04:00'],
          ['-3h', '-3h'],
        ] as const) {
          await tab.goto(`${path}&from=${utc}`)
          expect(await from().inputValue()).to.equal(local)
          const count = await time().count()
          expect((await search()).get('from')).to.equal(local)
          expect(await time().count()).to.equal(count)
        }
      })

      it('in UTC where that is chosen, and as they were meant where another is chosen then', async () => {
        await from().fill('2026-11-21 08:00')
        await zones().selectOption('UTC')
        expect(await from().inputValue()).to.equal('2026-11-21 08:00+04:00')
        await tab.getByLabel('From (UTC)').fill('2026-11-21 08:00')
        expect((await search()).get('from')).to.equal('2026-11-21 08:00')
        await zones().selectOption(timezoneId)
        expect(await from().inputValue()).to.equal('2026-11-21 12:00+04:00')
      })
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
      await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
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
        const text = '2026-11-21 12:34 UTC'
        if (!('javaScriptEnabled' in way)) expect(await shown(page, text)).to.equal(text)
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
    const [from = '', to = ''] = [firstMs - 3_600_000, thirdMs + 3_600_000].map((ms) => new Date(ms).toISOString())
    const path = `/app/logs?service=bars&from=${from}&to=${to}`
    const bars = () => tab.locator('.histogram a')
    const records = () => tab.locator('.logs summary').allInnerTexts()
    const led: string[] = []
    const chosen = () => tab.locator('.chosen')
    const chosenWords = () => tab.locator('[data-chosen]').innerText()
    const axisTime = /^[-\d]+ \d\d:\d\d(:\d\d)?\+04:00$/

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
        led.length = 0
        await press(bar, other)
        expect(await chosenWords()).to.match(/^[-\d]+ [:\d]+\+04:00 – [-\d]+ [:\d]+\+04:00$/)
        const shade = await chosen().boundingBox()
        const [left, right] = [shade?.x ?? 0, (shade?.x ?? 0) + (shade?.width ?? 0)]
        const covered = await Promise.all([0, 1, 2].map(async (n) => (await placeOf(n))[0]))
        const under = covered.map((x) => left < x && x < right)
        expect(under).to.deep.equal([0, 1, 2].map((n) => n === bar || n === other))
        await tab.mouse.up()
        await tab.getByText(`${wanted.length} records`).waitFor()
        // Its scripts run when all of the page is there.
        await tab.waitForLoadState()
        expect(led).to.have.length(1)
        led.length = 0
        for (const words of await tab.locator('.axis time').allInnerTexts()) expect(words).to.match(axisTime)
        expect(await records()).to.deep.equal(wanted.map((ms) => `at ${ms}`))
        expect(new URL(tab.url()).searchParams.get('service')).to.equal('bars')
      }
    })

    it('not where Escape is pressed, and a bar is a link as before, by a key too', async () => {
      const said = await chosenWords()
      for (const [bar, other] of [
        [0, 2],
        [1, 1],
      ] as const) {
        await press(bar, other)
        const [x, y] = await placeOf(other)
        await tab.mouse.move(x + 6, y)
        await tab.keyboard.press('Shift')
        expect(await chosen().count()).to.equal(1)
        await tab.keyboard.press('Escape')
        expect(await chosen().count()).to.equal(0)
        await tab.mouse.move(x - 20, y)
        expect(await chosen().count(), 'after Escape').to.equal(0)
        await tab.mouse.up()
        await tab.mouse.move(x + 20, y)
        expect(await chosen().count(), 'with no button down').to.equal(0)
      }
      expect(await chosenWords()).to.equal(said)
      await bars().first().focus()
      await tab.keyboard.press('Enter')
      await tab.getByText('1 record', { exact: true }).waitFor()
      expect(led.map((address) => new URL(address).searchParams.get('to'))).to.deep.equal([
        new URL(tab.url()).searchParams.get('to'),
      ])
    })

    it('not with another button, by a hand that shakes, nor where the browser takes the pointer away', async () => {
      const [x, y] = await placeOf(1)
      await tab.mouse.move(x, y)
      await tab.mouse.down({ button: 'right' })
      await tab.mouse.move(x + 50, y)
      expect(await chosen().count(), 'another button').to.equal(0)
      await tab.mouse.up({ button: 'right' })
      await press(1, 1)
      await tab.mouse.move(x + 3, y)
      expect(await chosen().count(), 'a hand that shakes').to.equal(0)
      await tab.mouse.move(x, 1)
      await tab.mouse.up()
      await tab.mouse.move(x + 50, y)
      expect(await chosen().count(), 'let go beside it').to.equal(0)
      await press(1, 2)
      expect(await chosen().count()).to.equal(1)
      const width = async (): Promise<number> => (await chosen().boundingBox())?.width ?? 0
      const far = await width()
      await tab.mouse.move(x + 2, y)
      expect(await width(), 'back where it began').to.be.within(1, far - 1)
      await tab.locator('.histogram').dispatchEvent('pointercancel')
      expect(await chosen().count(), 'taken away').to.equal(0)
      await tab.mouse.up()
      expect(led).to.deep.equal([])
    })

    /** Drags from the middle of the chart to beyond one of its ends: what the page says of it, and where that leads. */
    async function dragBeyond(search: string, isLeft: boolean) {
      await openUntil(`/app/logs?${search}#place`, bars().nth(1))
      const chart = tab.locator('.histogram')
      const data = await chart.evaluate((element) => ({ ...(element as unknown as Chart).dataset }))
      const box = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 }
      const [x, y] = [box.x + box.width / 2, box.y + 3]
      await tab.mouse.move(x, y)
      await tab.mouse.down()
      await tab.mouse.move(x + (isLeft ? -20 : 20), y)
      await tab.mouse.move(isLeft ? box.x - 99 : box.x + box.width + 99, box.y - 20, { steps: 3 })
      const words = await chosenWords()
      const shade = await chosen().boundingBox()
      // A bar may begin before its range does.
      expect(shade?.x).to.be.above(box.x - 50)
      await tab.mouse.up()
      await tab.waitForURL(({ hash }) => hash === '')
      const { searchParams } = new URL(tab.url())
      return { data, words, led: ['from', 'to'].map((name) => searchParams.get(name) ?? '') as [string, string] }
    }

    it('as far as the range goes, or the bars where it has no end, when the pointer goes beyond them', async () => {
      const [now = '', hourAgo = ''] = [0, 1].map((hours) => new Date(Date.now() - hours * 3_600_000).toISOString())
      await sendLogs(...[now, hourAgo].map((dt) => ({ message: 'end', service: 'ends', dt })))
      const utc = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
      const toNs = (time: string): string => time.replace('Z', '000000Z')
      const toSecond = (time: string): string => inZone(Date.parse(time)).replace(/\.\d+/, '')
      for (const [search, ends] of [
        [`service=bars&from=${from}&to=${to}`, [from, to].map(toNs)],
        ['service=bars', []],
        ['service=ends', []],
      ] as const) {
        for (const isLeft of [true, false]) {
          const { data, words, led } = await dragBeyond(search, isLeft)
          const [end = 0, first = 0, step = 1] = ['end', 'first', 'step'].map((name) => Number(data[name]))
          const endOfLast = first + (Math.floor((end - 1 - first) / step) + 1) * step
          expect(words).to.equal(led.map(toSecond).join(' – '))
          const [begin, close] = isLeft ? led : led.toReversed()
          expect(begin, search).to.equal(ends[isLeft ? 0 : 1] ?? (isLeft ? data['from'] : utc(endOfLast)))
          expect(close, 'no more than is needed').to.match(/:\d\dZ$/)
        }
      }
    })

    it('of one bar by a click', async () => {
      await tab.mouse.click(...(await placeOf(2)))
      await tab.getByText('1 record', { exact: true }).waitFor()
      expect(await records()).to.deep.equal([`at ${thirdMs}`])
    })
  })
})
