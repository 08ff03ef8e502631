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
      expect(await head()).to.equal(`Time (${timezoneId})`)
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
})
