import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import type { JsonObject } from '#src/lib/json.ts'
import { borrowChromium, closeTabs, complaintsOf, openTab, searchOn, signInOn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

const attack = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
const traceId = '5b8efff798038103d269b633813fc60c'

describe('search pages in a browser', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]
  const dialogs: string[] = []

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    tab = await openTab(browser, { baseURL: server.baseUrl })
    complaints = complaintsOf(tab)
    tab.on('dialog', (dialog) => dialogs.push(dialog.message()))
    await tab.goto('/app/logs')
    await signInOn(tab, server.firstRun.sign_in)
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })
  afterEach(async () => {
    expect([...complaints, ...dialogs]).to.deep.equal([])
    expect(await tab.title()).to.not.equal('owned')
  })

  const sendLogs = (...records: readonly JsonObject[]): Promise<Response> =>
    sendingTo(server, server.firstRun.keys).logs(records)
  /**
   * Searches by the form again and again until the page shows it: what is acknowledged is soon searchable. The text is none that a page
   * without it shows, as it does the query.
   */
  async function searchUntil(query: string, text: string): Promise<void> {
    do await searchOn(tab, query)
    while ((await tab.getByText(text).count()) === 0)
  }

  it('find a log by its words, mark them, and open its fields', async () => {
    await sendLogs({ level: 'error', message: 'payment declined', service: 'checkout', order: 7 })
    await searchUntil('declined', 'payment declined')
    expect(await tab.locator('mark').allInnerTexts()).to.deep.equal(['declined'])
    await tab.locator('summary', { hasText: 'payment declined' }).click()
    expect(await tab.getByRole('row', { name: 'order 7' }).isVisible()).to.equal(true)
  })

  it('find what came since when the same search is asked again', async () => {
    await tab.goto('/app/logs')
    await searchUntil('teapot', 'No log records match.')
    await sendLogs({ message: 'a teapot boils' })
    await searchUntil('teapot', 'a teapot boils')
  })

  it('narrow a search by a value, and by the most frequent ones, and take that away again', async () => {
    const late = { message: 'parcel late', service: 'shipping' }
    await sendLogs({ ...late, level: 'error', order: 7 }, { ...late, level: 'warn', order: 8 })
    await searchUntil('parcel', 'parcel late')
    await tab.locator('tr.warn summary', { hasText: 'parcel late' }).click()
    await tab.getByRole('link', { name: 'only logs with order: 8', exact: true }).click()
    await tab.getByText('Searched: parcel AND order=8').waitFor()
    await tab.waitForLoadState()
    expect(await tab.getByRole('searchbox').inputValue()).to.equal('parcel AND order=8')
    expect(await tab.locator('.logs details').count()).to.equal(1)
    await searchUntil('parcel', 'parcel late')
    const narrow = tab.getByRole('navigation', { name: 'Narrow the search' })
    await narrow.getByRole('link', { name: 'error 1' }).click()
    await narrow.getByRole('link', { name: 'error 1 ✕' }).click()
    await narrow.getByRole('link', { name: 'warn 1' }).waitFor()
    await tab.waitForLoadState()
    expect(await tab.locator('.logs details').count()).to.equal(2)
  })

  it('follow what arrives', async () => {
    await tab.goto('/app/logs?service=follow')
    expect(await tab.getByText('0 records').count()).to.equal(1)
    await tab.getByRole('button', { name: 'Follow' }).click()
    await sendLogs({ message: 'first to arrive', service: 'follow' })
    await tab.locator('summary', { hasText: 'first to arrive' }).waitFor()
    await sendLogs({ message: `second ${attack}`, service: 'follow' }, { message: 'of another service', service: 'x' })
    await tab.locator('summary', { hasText: 'second' }).waitFor()
    const rows = await tab.locator('tbody[data-tail] > tr').allInnerTexts()
    expect(rows).to.have.length(2)
    expect(rows[0]).to.include(attack)
    expect(await tab.locator('#results strong').innerText()).to.equal('2 records')
    expect(await tab.locator('#nothing').count()).to.equal(0)
    await tab.getByRole('button', { name: 'Stop following' }).click()
  })

  it('follow what arrives faster than one answer holds, without a pause', async () => {
    const page = await openTab(browser, { baseURL: server.baseUrl, storageState: await tab.context().storageState() })
    const words = page.locator('[data-tail-words]')
    const said: string[] = []
    await page.route('**/app/logs/rows?*', async (route) => {
      said.push((await words.textContent()) ?? '')
      await route.fulfill({ json: { cursor: 'c', rows: '', more: said.length < 10 } })
    })
    await page.clock.install()
    await page.goto('/app/logs?service=busy')
    await page.clock.pauseAt(Date.now() + 3_600_000)
    await page.getByRole('button', { name: 'Follow' }).click()
    // No time passes here but what is let pass.
    while (said.length < 10) await page.clock.runFor(0)
    while ((await words.textContent()) !== '') await page.clock.runFor(0)
    await page.clock.runFor(1_999)
    expect(said, 'asked before the pause was over').to.have.length(10)
    await page.clock.runFor(1)
    while (said.length < 11) await page.clock.runFor(0)
    await page.context().close()
    expect(said.map((words) => words.startsWith('Catching up'))).to.deep.equal([
      false,
      ...Array.from({ length: 9 }, () => true),
      false,
    ])
  })

  it('follow once, however often it is stopped and begun while an answer is awaited', async () => {
    await tab.goto('/app/logs?service=twice')
    await sendLogs({ message: 'only once', service: 'twice' })
    const open: Promise<void>[] = []
    let letGo = (): void => undefined
    const held = new Promise<void>((resolve) => (letGo = resolve))
    await tab.route('**/app/logs/rows?*', async (route) => {
      const isHeld = open.length < 3
      const answered = (isHeld ? held : Promise.resolve()).then(() => route.continue()).catch(() => undefined)
      open.push(answered)
      await answered
    })
    for (const name of ['Follow', 'Stop following', 'Follow', 'Stop following', 'Follow']) {
      const asked = name === 'Follow' ? tab.waitForRequest('**/app/logs/rows?*') : undefined
      await tab.getByRole('button', { name, exact: true }).click()
      await asked
    }
    letGo()
    await tab.locator('summary', { hasText: 'only once' }).first().waitFor()
    while (open.length < 4) await tab.waitForRequest('**/app/logs/rows?*')
    await Promise.all(open)
    await tab.unroute('**/app/logs/rows?*')
    expect(await tab.locator('tbody[data-tail] > tr').count()).to.equal(1)
    await tab.getByRole('button', { name: 'Stop following' }).click()
  })

  it('show hostile messages and names as the text they are', async () => {
    const now = `${Date.now()}000000`
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: attack } }] }
    const span = { traceId, spanId: 'eee19b7ec3c1b174', name: attack, startTimeUnixNano: now, endTimeUnixNano: now }
    await sendingTo(server, server.firstRun.keys).otlp([{ resource, scopeSpans: [{ spans: [span] }] }])
    await sendLogs({ message: attack, service: attack, trace_id: traceId, [attack]: attack })
    await tab.goto('/app/traces')
    await searchUntil('', attack)
    await tab.locator(`a[href="/app/trace/${traceId}"]`).click()
    await tab.getByRole('heading', { name: 'Trace', exact: true, level: 1 }).waitFor()
    await tab.waitForLoadState()
    while ((await tab.locator('.logs summary', { hasText: attack }).count()) === 0) await tab.reload()
    for (const summary of await tab.locator('summary').all()) await summary.click()
    expect(await tab.locator('.waterfall').innerText()).to.include(attack)
    expect(await tab.locator('main img, main script').count()).to.equal(0)
  })

  it('are not wider than a small screen, whatever they show', async () => {
    const id = '5b8efff798038103d269b633813fc60d'
    const long = 'a-name-without-end-'.repeat(10)
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: long } }] }
    const [time, idOf] = [`${Date.now()}000000`, (n: number) => n.toString(16).padStart(16, '0')]
    const spans = Array.from({ length: 30 }, (_, n) => {
      return { traceId: id, spanId: idOf(n + 1), parentSpanId: n === 0 ? '' : idOf(n), name: long + long }
    }).map((span) => ({ ...span, startTimeUnixNano: time, endTimeUnixNano: time }))
    await sendingTo(server, server.firstRun.keys).otlp([{ resource, scopeSpans: [{ spans }] }])
    await sendLogs({ message: long.repeat(5), service: long, trace_id: id, level: 'error', [long]: long })
    // Where 1,280 px are read at 400 % (WCAG 2.2, 1.4.10).
    const viewport = { width: 320, height: 844 }
    const storageState = await tab.context().storageState()
    // With offsets behind their times, and the name of a zone.
    const timezoneId = 'America/Argentina/Buenos_Aires'
    const page = await openTab(browser, { baseURL: server.baseUrl, viewport, storageState, timezoneId })
    const isWhole = async (): Promise<boolean> =>
      (await page.locator('.waterfall .d24').count()) > 0 && (await page.locator('.logs summary').count()) > 0
    do await page.goto(`/app/trace/${id}`)
    while (!(await isWhole()))
    for (const path of [
      `/app/trace/${id}`,
      '/app/logs',
      '/app/traces',
      '/app',
      '/app/connect',
      '/app/keys',
      '/app/usage',
      '/app/audit',
    ]) {
      await page.goto(path)
      for (const summary of await page.locator('.logs summary').all()) await summary.click()
      const wide = await page
        .locator('html, main')
        .evaluateAll((all) =>
          all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ tagName }) => tagName),
        )
      expect(wide, path).to.deep.equal([])
      // What is unfolded has the width of the screen, not of a column beside others.
      const unfolded = page.locator('.logs details[open] > .fields')
      const widths = await unfolded.evaluateAll((all) => all.map((table) => table.getBoundingClientRect().width))
      for (const width of widths) expect(width, path).to.be.above(250)
      expect(widths.length > 0, path).to.equal(/trace\/|logs/.test(path))
      // Nothing runs out of its cell into the next one.
      const cells = page.locator('.traces td')
      const out = await cells.evaluateAll((all) =>
        all.flatMap((cell) => (cell.scrollWidth > cell.clientWidth ? cell.innerText : [])),
      )
      expect(out, path).to.deep.equal([])
    }
    await page.context().close()
  })

  it('stand in line: the fields of a form, and a name with its value', async () => {
    await sendLogs({ message: 'parts that stand side by side', service: 'shop' })
    await tab.goto('/app/logs')
    await searchUntil('parts', 'parts that stand')
    await tab.locator('.logs summary').first().click()
    const tops = (selector: string): Promise<readonly number[]> =>
      tab.locator(selector).evaluateAll((all) => {
        return all.map((element) => {
          const range = element.ownerDocument.createRange()
          range.selectNodeContents(element)
          return Math.round(range.getBoundingClientRect().top)
        })
      })
    const [name, value] = [await tops('.fields th'), await tops('.fields td')]
    expect(name).to.deep.equal(value).and.have.length.above(1)
    const fields = tab.locator('form.search :is([name=service], [name=order])')
    const heights = await fields.evaluateAll((all) => all.map((field) => field.getBoundingClientRect().height))
    expect(heights).to.have.length(2)
    expect(Math.abs((heights[0] ?? 0) - (heights[1] ?? 0))).to.be.below(1)
  })

  it('show a record in context among what came before and after it', async () => {
    const message = (n: number): string => `step ${n} of the way`
    await sendLogs(...Array.from({ length: 90 }, (_, n) => ({ message: message(n), service: 'way' })))
    await tab.goto('/app/logs?service=way')
    await searchUntil('"step 45"', message(45))
    await tab.locator('summary', { hasText: message(45) }).click()
    await tab.getByRole('link', { name: 'In context' }).click()
    const places = tab.locator('.logs > tbody > tr', { hasText: /step 4[4-6]/ })
    await places.nth(2).waitFor()
    await tab.waitForLoadState()
    const inView = await places.evaluateAll((rows) =>
      rows.map((row) => {
        const { top, bottom } = row.getBoundingClientRect()
        return top >= 0 && bottom <= (row.ownerDocument.defaultView?.innerHeight ?? 0)
      }),
    )
    expect(inView).to.deep.equal([true, true, true])
  })

  it('begin a message that is one long word beside its sign', async () => {
    await sendLogs({ message: 'unbroken'.repeat(60), service: 'long' })
    await tab.goto('/app/logs?service=long')
    await searchUntil('unbroken*', 'more characters')
    const summary = tab.locator('summary', { hasText: 'unbroken' })
    const indent = await summary.evaluate((element) => {
      const range = element.ownerDocument.createRange()
      range.selectNodeContents(element)
      return (range.getClientRects()[0]?.top ?? Infinity) - element.getBoundingClientRect().top
    })
    expect(indent, 'where its first line stands').to.be.below(10)
  })

  it('of keys break no word of a kind or a scope, whatever is opened', async () => {
    const whole = tab.viewportSize() ?? { width: 1280, height: 720 }
    await tab.setViewportSize({ width: 800, height: 720 })
    await tab.goto('/app/keys')
    const summaries = tab.locator('.cards td:last-child summary')
    const heights = await summaries.evaluateAll((all) => all.map((summary) => summary.getBoundingClientRect().height))
    for (const summary of await tab.locator('.cards summary').all()) await summary.click()
    const texts = tab.locator('.cards tbody tr > td:first-child, .cards tbody tr > td:first-child > .note')
    const broken = await texts.evaluateAll((all) =>
      all.flatMap(({ firstChild: text, ownerDocument }) => {
        if (text === null) return []
        const range = ownerDocument.createRange()
        return [...(text.textContent ?? '').matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          return range.getClientRects().length > 1 ? [word] : []
        })
      }),
    )
    await tab.setViewportSize(whole)
    expect(broken).to.deep.equal([])
    expect(heights).to.have.length.above(1)
    for (const height of heights) expect(height, 'a name beside its sign').to.be.below(40)
  })

  it('lead past their head by the keyboard', async () => {
    await tab.goto('/app/logs')
    await tab.keyboard.press('Tab')
    expect(
      await tab.getByRole('link', { name: 'Skip to the content' }).evaluate((link) => link.matches(':focus')),
    ).to.equal(true)
    const follow = tab.getByRole('button', { name: 'Follow' })
    await tab.keyboard.press('Enter')
    await tab.keyboard.press('Tab')
    const skip = tab.getByRole('link', { name: 'Skip to the results' })
    expect(await skip.evaluate((link) => link.matches(':focus'))).to.equal(true)
    await tab.keyboard.press('Tab')
    expect(await tab.getByRole('searchbox').evaluate((box) => box.matches(':focus'))).to.equal(true)
    for (const link of [skip, tab.getByRole('link', { name: 'Skip the bars' })]) {
      await link.focus()
      await tab.keyboard.press('Enter')
      await tab.keyboard.press('Tab')
      expect(await follow.evaluate((box) => box.matches(':focus'))).to.equal(true)
    }
  })

  it('open a span that is looked for, and only that, where its page begins, with the spans before it in sight', async () => {
    const [trace, now] = ['5b8efff798038103d269b633813fc60e', `${Date.now()}000000`]
    const spans = Array.from({ length: 200 }, (_, n) => {
      const spanId = (n + 1).toString(16).padStart(16, 'a')
      const status = n === 40 ? { code: 2 } : {}
      return { traceId: trace, spanId, name: `step ${n}`, status, startTimeUnixNano: now, endTimeUnixNano: now }
    })
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const asked = spans[150]?.spanId ?? ''
    const link = tab.getByRole('link', { name: 'The span', exact: true })
    do await tab.goto(`/app/find?id=${asked}`)
    while ((await link.count()) === 0)
    await link.click()
    await tab.waitForLoadState()
    const row = tab.locator(`#span-${asked}`)
    const topOf = (line: Locator): Promise<number> => line.evaluate((element) => element.getBoundingClientRect().top)
    expect(await topOf(row)).to.be.within(0, 150)
    expect(await topOf(tab.locator(`#span-${spans[149]?.spanId}`))).to.be.within(0, await topOf(row))
    expect(await tab.locator('.waterfall .line[open] > summary').allInnerTexts()).to.have.length(1)
    expect(await row.getByRole('cell', { name: asked }).isVisible()).to.equal(true)
    // Its details have the width of the page, not of a column.
    const widthOf = (selector: string): Promise<number> =>
      row.locator(selector).evaluate((element) => element.getBoundingClientRect().width)
    expect(await widthOf('.fields >> nth=0')).to.be.above(0.9 * (await widthOf('summary >> nth=0')))
    // A link within the page opens what it leads to as well, and the keys go on from there.
    await tab.getByRole('link', { name: 'First error' }).click()
    await tab.locator(`#span-${spans[40]?.spanId}[open]`).waitFor()
    await tab.keyboard.press('j')
    expect(await tab.locator(':focus').innerText()).to.include('step 41')
    await tab.getByRole('link', { name: 'Where the time went' }).click()
    await tab.getByRole('columnheader', { name: 'Own time' }).waitFor()
  })

  it('open where their address says after a sign-in too, at the second attempt, without scripts', async () => {
    const guest = await openTab(browser, { baseURL: server.baseUrl, javaScriptEnabled: false })
    const { email, password } = server.firstRun.sign_in
    const asked = `/app/trace/${traceId}?span=00f067aa0ba902b7#span-00f067aa0ba902b7`
    await guest.goto(asked)
    for (const typed of ['not the password', password]) {
      await signInOn(guest, { email, password: typed })
    }
    expect(guest.url()).to.equal(server.baseUrl + asked)
    await guest.context().close()
  })

  it('fold the spans below a span, by the keyboard and without scripts', async () => {
    const trace = '5b8efff798038103d269b633813fc60f'
    const spans = ['root', 'child', 'grandchild', 'sibling'].map((name, n) => {
      const idOf = (place: number): string => (place + 1).toString(16).padStart(16, 'b')
      const parent = [undefined, 0, 1, 0][n]
      const times = { startTimeUnixNano: `${Date.now()}00000${n}`, endTimeUnixNano: `${Date.now()}000009` }
      return {
        traceId: trace,
        spanId: idOf(n),
        name,
        ...times,
        ...(parent === undefined ? {} : { parentSpanId: idOf(parent) }),
      }
    })
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const storageState = await tab.context().storageState()
    const page = await openTab(browser, { baseURL: server.baseUrl, javaScriptEnabled: false, storageState })
    do await page.goto(`/app/trace/${trace}`)
    while ((await page.locator('.line').count()) < 4)
    const shown = async (): Promise<readonly string[]> => {
      const names = await page.locator('.line .name').all()
      const visible = await Promise.all(names.map(async (name) => ((await name.isVisible()) ? name.innerText() : '')))
      return visible.flatMap((text) => text.split(' ').slice(-1)).filter((name) => name !== '')
    }
    expect(await shown()).to.deep.equal(['root', 'child', 'grandchild', 'sibling'])
    const fold = page.getByLabel(/^1 span below .*child$/)
    await fold.focus()
    await page.keyboard.press('Enter')
    expect(await shown()).to.deep.equal(['root', 'child', 'sibling'])
    await page.keyboard.press('Space')
    expect(await shown()).to.deep.equal(['root', 'child', 'grandchild', 'sibling'])
    await page.goto(`/app/trace/${trace}?folded=1`)
    expect(await shown()).to.deep.equal(['root', 'child', 'sibling'])
    await page.goto(`/app/trace/${trace}?folded=1&span=${spans[2]?.spanId}`)
    expect(await shown()).to.deep.equal(['root', 'child', 'grandchild', 'sibling'])
    await page.context().close()
  })

  it('say on a page why an export is refused', async () => {
    const page = await openTab(browser, {
      baseURL: server.baseUrl,
      storageState: await tab.context().storageState(),
    })
    await page.goto('/app/logs/export?q=%28declined')
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('Query not understood')
    expect(await page.getByRole('link', { name: 'Logs', exact: true }).count()).to.equal(1)
    await page.context().close()
  })

  it('work without scripts', async () => {
    await sendLogs({ message: 'a gadget breaks' })
    await tab.goto('/app/logs')
    await searchUntil('gadget', 'a gadget breaks')
    const storageState = await tab.context().storageState()
    const page = await openTab(browser, { baseURL: server.baseUrl, javaScriptEnabled: false, storageState })
    await page.goto('/app/logs')
    await searchOn(page, 'gadget')
    await page.locator('mark', { hasText: 'gadget' }).waitFor()
    expect(await page.locator('summary', { hasText: 'a gadget breaks' }).count()).to.equal(1)
    expect(await page.getByRole('button', { name: 'Follow' }).count()).to.equal(0)
    await page.context().close()
  })
})
