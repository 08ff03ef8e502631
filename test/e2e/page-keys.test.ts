import { expect } from 'chai'
import type { Browser, Locator, Page } from 'playwright-core'
import { borrowChromium, closeTabs, complaintsOf, openSignedIn, openTab } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { sendingTo } from '../support/workspace.ts'

describe('the scripts of pages in a browser, for keys and copies', () => {
  let server: LentServer
  let browser: Browser
  let tab: Page
  let complaints: readonly string[]

  before(async () => {
    server = await borrowServer()
    browser = await borrowChromium()
    ;({ tab, complaints } = await openSignedIn(browser, server))
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })
  afterEach(() => expect(complaints).to.deep.equal([]))

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
      await page.clock.runFor(1_500)
      await said.evaluate((element) => (element.textContent = 'not yet'))
      await page.getByRole('button', { name: 'Copy' }).nth(1).click()
      await said.waitFor()
      await page.clock.runFor(1_500)
      expect(await said.count(), 'anew after the second').to.equal(1)
      await page.clock.runFor(500)
      await said.waitFor({ state: 'detached' })
      await page.goto('/app/logs')
      await page.getByRole('searchbox').focus()
      await page.keyboard.press('Control+V')
      const pasted = await page.getByRole('searchbox').inputValue()
      expect(pasted.replaceAll(/\s/g, '')).to.equal(code.replaceAll(/\s/g, ''))
      expect(pasted).to.include('OTEL_SERVICE_NAME')
      if (permissions.length === 1) {
        await page.goto('/app/connect')
        await page.getByRole('button', { name: /show me how/ }).click()
        await page.evaluate('document.execCommand = () => false')
        await page.getByRole('button', { name: 'Copy' }).first().click()
        await page.getByRole('status').getByText('Not copied: select it, and press Ctrl+C.').waitFor()
      }
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
    expect(await isFocused(help.locator('summary'))).to.equal(true)
    await tab.keyboard.press('f')
    expect([await help.getAttribute('open'), await follow.innerText()]).to.deep.equal(['', 'Stop following'])
    expect(await help.locator('kbd').allInnerTexts()).to.deep.equal(['/', '?', 'j', 'k', 'f', 'n', 'p', 'Escape'])
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
    // A box takes no characters.
    await tab.keyboard.press('/')
    expect(await isFocused(field)).to.equal(true)
    await tab.goto('/app')
    await tab.keyboard.press('/')
    expect(await isFocused(field)).to.equal(true)
  })

  it('go from session to session', async () => {
    for (const id of ['older', 'newer']) {
      const events = [{ name: 'click', timestamp: new Date().toISOString() }]
      await sendingTo(server, server.firstRun.keys).rum({ meta: { session: { id } }, events })
    }
    do await tab.goto('/app/sessions')
    while ((await tab.locator('.sessions tbody a').count()) < 2)
    await tab.keyboard.press('j')
    await tab.keyboard.press('j')
    await tab.keyboard.press('Enter')
    await tab.waitForURL('**/app/find?id=older')
  })

  it('go from pattern to pattern', async () => {
    await sendingTo(server, server.firstRun.keys).logs([
      { message: 'of keys' },
      { message: 'of keys' },
      { message: 'of a key' },
    ])
    do await tab.goto('/app/patterns?q=of')
    while ((await tab.locator('.patterns tbody th > a').count()) < 2)
    await tab.keyboard.press('j')
    await tab.keyboard.press('j')
    await tab.keyboard.press('Enter')
    await tab.waitForURL((url) => url.searchParams.get('q') === 'of AND message="of a key"')
  })

  it('go from result to result, and in a trace from span to span and from match to match', async () => {
    const [traceId, spanIds] = ['a'.repeat(32), ['1', '2', '3', '4'].map((digit) => digit.repeat(16))]
    const startNs = BigInt(Date.now()) * 1_000_000n
    const spans = spanIds.map((spanId, at) => ({
      traceId,
      spanId,
      ...(at === 0 ? {} : { parentSpanId: spanIds[0] }),
      name: at % 2 === 1 ? 'call' : 'walk',
      startTimeUnixNano: String(startNs + BigInt(at)),
      endTimeUnixNano: String(startNs + 9n),
    }))
    await sendingTo(server, server.firstRun.keys).otlp([{ scopeSpans: [{ spans }] }])
    const focused = tab.locator(':focus')
    do await tab.goto('/app/traces')
    while ((await tab.locator('.traces tbody a').count()) === 0)
    await tab.keyboard.press('j')
    await tab.keyboard.press('Enter')
    await tab.waitForURL(`**/app/trace/${traceId}`)
    for (const key of ['j', 'j', 'j', 'k']) await tab.keyboard.press(key)
    await tab.keyboard.press('Enter')
    expect(await tab.locator(`#span-${spanIds[1]}`).getAttribute('open')).to.equal('')
    await focused.press('Tab')
    await tab.keyboard.press('j')
    expect(await focused.evaluate((element) => element.parentElement?.id)).to.equal(`span-${spanIds[2]}`)
    await tab.keyboard.press('?')
    expect(await tab.locator('details.help[open] kbd').count()).to.equal(8)
    await tab.keyboard.press('Enter')
    await tab.keyboard.press('/')
    await tab.keyboard.type('call')
    await tab.keyboard.press('Enter')
    await tab.waitForURL(`**#span-${spanIds[1]}`)
    await tab.keyboard.press('n')
    await tab.waitForURL(`**#span-${spanIds[3]}`)
    expect(await tab.locator('.line mark').count()).to.equal(2)
    await tab.keyboard.press('k')
    expect(await focused.evaluate((element) => element.parentElement?.id)).to.equal(`span-${spanIds[2]}`)
    await tab.keyboard.press('p')
    await tab.waitForURL(`**#span-${spanIds[1]}`)
  })

  it('leave a key to the browser where it does nothing here, is held, or is part of something else', async () => {
    /** Whether a key that is pressed in a new element of the page is left to the browser. */
    const isLeft = (key: string, more: object = {}, element = 'p'): Promise<boolean> =>
      tab.evaluate(
        `(() => {
          const place = document.body.appendChild(document.createElement('${element}'))
          const init = { key: '${key}', bubbles: true, cancelable: true, ...${JSON.stringify(more)} }
          return place.dispatchEvent(new KeyboardEvent('keydown', init))
        })()`,
      )
    for (const [path, left] of [
      ['/app/members', true],
      ['/app/logs', false],
    ] as const) {
      await tab.goto(path)
      for (const key of ['/', '?', 'f']) expect(await isLeft(key), `${key} on ${path}`).to.equal(left)
    }
    for (const key of ['g', 'F', 'Enter', 'valueOf']) expect(await isLeft(key), key).to.equal(true)
    for (const how of ['ctrlKey', 'metaKey', 'altKey', 'isComposing', 'repeat'])
      expect(await isLeft('f', { [how]: true }), how).to.equal(true)
    expect(await isLeft('f', { shiftKey: true })).to.equal(false)
    for (const element of ['input', 'textarea', 'select'])
      expect(await isLeft('f', {}, element), element).to.equal(true)
  })

  it('do what is asked also where the browser keeps nothing for them', async () => {
    const storageState = await tab.context().storageState()
    const page = await openTab(browser, { baseURL: server.baseUrl, storageState, timezoneId: 'Asia/Dubai' })
    const own = complaintsOf(page)
    await page.addInitScript(() =>
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new Error('nothing is kept')
        },
      }),
    )
    await page.goto('/app/members')
    const time = page.locator('td time')
    expect(await time.innerText()).to.match(/\+04:00$/)
    await page.getByLabel('Times in').selectOption('UTC')
    expect(await time.innerText()).to.match(/ UTC$/)
    await page.goto('/app/logs')
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: 'Keyboard shortcuts' }).uncheck()
    await page.keyboard.press('/')
    expect(await page.getByRole('searchbox').evaluate((element) => element.matches(':focus'))).to.equal(false)
    expect(own).to.deep.equal([])
    await page.context().close()
  })
})
