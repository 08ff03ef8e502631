import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { borrowChromium, closeTabs, openSignedIn } from '../support/browser.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

const dayMs = 86_400_000
const minuteMs = 60_000

/** Zones that keep their offset all year. */
const zones = [
  ['Asia/Dubai', 4 * 60 * minuteMs, '+04:00'],
  ['America/Bogota', -5 * 60 * minuteMs, '-05:00'],
  ['UTC', 0, ' UTC'],
] as const

describe('times of day in the form of a search', () => {
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

  async function search(tab: Page, from: string, to: string): Promise<readonly (string | null)[]> {
    await tab.goto('/app/logs')
    await tab.locator('input[name=from]').fill(from)
    await tab.locator('input[name=to]').fill(to)
    await Promise.all([tab.waitForEvent('load'), tab.getByRole('button', { name: 'Search', exact: true }).click()])
    const { searchParams } = new URL(tab.url())
    return [searchParams.get('from'), searchParams.get('to')]
  }

  for (const [timezoneId, offsetMs, suffix] of zones) {
    it(`are the last ones of ${timezoneId}, and in To the first after From`, async () => {
      const { tab, complaints } = await openSignedIn(browser, server, { timezoneId })
      const shown = (ms: number): string =>
        new Date(ms + offsetMs).toISOString().slice(0, 19).replace('T', ' ').concat(suffix)
      const ofDay = (ms: number): string => shown(ms).slice(11, 16)
      // Whole minutes, far enough from now for this test to be neither.
      const now = Math.floor(Date.now() / minuteMs) * minuteMs
      const [past, future] = [now - 90 * minuteMs, now + 90 * minuteMs]
      for (const [typed, meant] of [
        [ofDay(past), shown(past)],
        [` ${ofDay(past)}:07 `, shown(past + 7_000)],
        [ofDay(future), shown(future - dayMs)],
      ] as const) {
        expect(await search(tab, typed, '')).to.deep.equal([meant, ''])
        expect(await search(tab, '-2d', typed)).to.deep.equal(['-2d', meant])
      }
      const both = await search(tab, ofDay(past), ofDay(future))
      expect(both).to.deep.equal([shown(past), shown(future)])
      const overnight = await search(tab, ofDay(future), ofDay(past))
      expect(overnight).to.deep.equal([shown(future - dayMs), shown(past)])
      expect(await search(tab, ofDay(past), ofDay(past))).to.deep.equal([shown(past), shown(past + dayMs)])
      expect(complaints, 'refused by the server').to.deep.equal([])
      await tab.context().close()
    })
  }

  const tabs = new Map<string, Promise<Page>>()
  async function searchAt(now: string, timezoneId: string, from: string, to = ''): Promise<readonly (string | null)[]> {
    const opened = tabs.get(timezoneId) ?? openSignedIn(browser, server, { timezoneId }).then(({ tab }) => tab)
    tabs.set(timezoneId, opened)
    const tab = await opened
    await tab.clock.setFixedTime(now)
    return search(tab, from, to)
  }

  it('are said with their day and as half of one', async () => {
    const now = '2026-11-10T20:00:00Z'
    for (const [from, to, meant] of [
      ['yesterday', 'Today', ['2026-11-10 00:00:00+05:45', '2026-11-12 00:00:00+05:45']],
      ['10.30', '11.15.20 pm', ['2026-11-10 10:30:00+05:45', '2026-11-10 23:15:20+05:45']],
      ['Yesterday 9:15 PM', '11pm', ['2026-11-10 21:15:00+05:45', '2026-11-10 23:00:00+05:45']],
      ['today 1am', '', ['2026-11-11 01:00:00+05:45', '']],
      ['12am', '12:30 pm', ['2026-11-11 00:00:00+05:45', '2026-11-11 12:30:00+05:45']],
      ['10am', '', ['2026-11-10 10:00:00+05:45', '']],
    ] as const) {
      expect(await searchAt(now, 'Asia/Kathmandu', from, to), `${from}, ${to}`).to.deep.equal(meant)
    }
    expect(await searchAt(now, 'UTC', 'yesterday', '10am')).to.deep.equal([
      '2026-11-09 00:00:00 UTC',
      '2026-11-09 10:00:00 UTC',
    ])
    for (const typed of ['14', '13pm', '0am', '24:00', '10.3', 'today14', 'someday']) {
      expect(await searchAt(now, 'UTC', typed), typed).to.deep.equal([typed, ''])
    }
  })

  it('are in To the first after a From that is a date, or a date and a time', async () => {
    const now = '2026-11-10T20:00:00Z'
    for (const [timezoneId, from, to, meant] of [
      ['Asia/Kathmandu', '2026-11-05 10:00', '11:00', ['2026-11-05 10:00+05:45', '2026-11-05 11:00:00+05:45']],
      ['Asia/Kathmandu', '2026-11-05T22:00:00Z', '11pm', ['2026-11-05T22:00:00Z', '2026-11-06 23:00:00+05:45']],
      ['UTC', '2026-11-05 10:00:07+01:00', '9:00', ['2026-11-05 10:00:07+01:00', '2026-11-06 09:00:00 UTC']],
      ['UTC', '2026-11-05', '1am', ['2026-11-05', '2026-11-05 01:00:00 UTC']],
    ] as const) {
      expect(await searchAt(now, timezoneId, from, to), `${from}, ${to}`).to.deep.equal(meant)
    }
  })

  it('are all of a day whose name or date is in To', async () => {
    const now = '2026-11-10T20:00:00Z'
    for (const [timezoneId, from, to, meant] of [
      ['UTC', 'yesterday', 'yesterday', ['2026-11-09 00:00:00 UTC', '2026-11-10 00:00:00 UTC']],
      ['Asia/Kathmandu', '', 'yesterday', ['', '2026-11-11 00:00:00+05:45']],
      ['UTC', '2026-10-31', ' 2026-10-31', ['2026-10-31', '2026-11-01 00:00:00 UTC']],
      // A day of 25 hours.
      ['Europe/Berlin', '2026-10-25', '2026-10-25', ['2026-10-25 00:00+02:00', '2026-10-26 00:00:00+01:00']],
      ['UTC', '', '2026-02-31', ['', '2026-02-31']],
    ] as const) {
      expect(await searchAt(now, timezoneId, from, to), `${timezoneId} ${from}, ${to}`).to.deep.equal(meant)
    }
  })

  it('are all of a day of the zone in which its date was typed, also when another is chosen then', async () => {
    const { tab } = await openSignedIn(browser, server, { timezoneId: 'Asia/Dubai' })
    for (const [zone, other, shown] of [
      ['local', 'utc', '2026-11-06 00:00:00+04:00'],
      ['utc', 'local', '2026-11-06 04:00:00+04:00'],
    ] as const) {
      await tab.goto('/app/logs')
      await tab.getByLabel('Times in').selectOption(zone)
      await tab.locator('input[name=to]').fill('2026-11-05')
      await tab.getByLabel('Times in').selectOption(other)
      expect(await tab.locator('input[name=to]').inputValue(), zone).to.equal(shown)
    }
    await tab.context().close()
  })

  it('are all of a day whose date is typed over the same one of an address, which is shown in another zone', async () => {
    const { tab } = await openSignedIn(browser, server, { timezoneId: 'Asia/Dubai' })
    await tab.goto('/app/logs?to=2026-11-05')
    const to = tab.locator('input[name=to]')
    expect(await to.inputValue()).to.equal('2026-11-05 04:00+04:00')
    await to.fill('2026-11-05')
    await Promise.all([tab.waitForEvent('load'), tab.getByRole('button', { name: 'Search', exact: true }).click()])
    expect(new URL(tab.url()).searchParams.get('to')).to.equal('2026-11-06 00:00:00+04:00')
    await tab.context().close()
  })

  it('are what the address of a page said, as long as nobody types over it', async () => {
    const { tab } = await openSignedIn(browser, server, { timezoneId: 'UTC' })
    await tab.goto('/app/logs?to=2026-11-05')
    await Promise.all([tab.waitForEvent('load'), tab.getByRole('button', { name: 'Search', exact: true }).click()])
    expect(new URL(tab.url()).searchParams.get('to')).to.equal('2026-11-05')
    await tab.context().close()
  })

  it('are the first as From and the second as To where a change of clocks repeats them', async () => {
    for (const [timezoneId, now, from, to, meant] of [
      [
        'Europe/Berlin',
        '2026-10-25T05:00Z',
        '2:15',
        '2:45',
        ['2026-10-25 02:15:00+02:00', '2026-10-25 02:45:00+01:00'],
      ],
      ['Europe/Berlin', '2026-10-26T05:00Z', '', 'yesterday 2am', ['', '2026-10-25 02:00:00+01:00']],
      [
        'Europe/Berlin',
        '2026-10-26T05:00Z',
        '2026-10-25 02:30',
        '2026-10-25 02:30',
        ['2026-10-25 02:30+02:00', '2026-10-25 02:30+01:00'],
      ],
      // By half an hour.
      [
        'Australia/Lord_Howe',
        '2026-04-06T05:00Z',
        '2026-04-05 01:45',
        '2026-04-05 01:45',
        ['2026-04-05 01:45+11:00', '2026-04-05 01:45+10:30'],
      ],
      ['America/Havana', '2026-11-03T05:00Z', '', '2026-10-31', ['', '2026-11-01 00:00:00-04:00']],
    ] as const) {
      expect(await searchAt(now, timezoneId, from, to), `${timezoneId} ${from}, ${to}`).to.deep.equal(meant)
    }
  })

  it('are the same on the day before where a change of clocks leaves them out today', async () => {
    const before = await searchAt('2026-03-29T00:30:00Z', 'Europe/Berlin', '02:30')
    expect(before).to.deep.equal(['2026-03-28 02:30:00+01:00', ''])
  })
})
