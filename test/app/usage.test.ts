import { expect } from 'chai'
import { noCounts, type Counts } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { forecastSpans } from '#src/app/account/usage-forecast.ts'
import { readUsage } from '#projections/allowance/query.ts'
import { givenLog, givenSpan } from '#test/projections/traces/given.ts'
import { givenEvent, type GivenHeader } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { createTestClock, openDirectory } from '../directory/harness.ts'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'
const day = 86_400_000
const noon = Date.UTC(2026, 10, 21, 12)

describe('usage page', () => {
  let site: Site
  let browser: Browser
  let workspace: WorkspaceId
  beforeEach(async () => {
    site = await openSite({ opened: await openDirectory({ clock: createTestClock(noon) }) })
    workspace = (await createPerson(site.directory, email, 'Acme')).workspace.id
    await site.directory.changePlan(workspace, 'free')
    browser = createBrowser(site)
    await browser.post('/app/sign-in', { email, password })
  })
  afterEach(async () => {
    await site.close()
    expect(site.failures).to.deep.equal([])
  })

  const received = (n: number, counts: Partial<Counts>, header: GivenHeader = {}) =>
    givenEvent('spans.received', n, {}, { workspace, counts: { ...noCounts, ...counts }, ...header })
  /** The rows under a heading, cells with a bar between. */
  function rowsUnder(text: string, heading: string): readonly string[] {
    const [, section = ''] = new RegExp(`<h2>${heading}</h2>([\\s\\S]*?)</table>`).exec(text) ?? []
    return [...section.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].slice(1).map(([, row = '']) =>
      row
        .replaceAll(/<\/t[hd]>/g, '|')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/ ?\| ?/g, '|')
        .trim(),
    )
  }

  it('does not say of services beyond the first of a day that they were not named', async () => {
    const many = Array.from({ length: 501 }, (_, n) => givenSpan({ id: n, service: `s${n}` }))
    await site.index(givenEvent('spans.received', 1, { spans: many }, { workspace, receivedAt: noon - 1_000 }))
    const rows = rowsUnder((await browser.get('/app/usage')).text, 'By service')
    expect(rows).to.include('no service named, or beyond the first 500 of a day|1|0|0|')
  })

  it('shows the month by day, service and key, what was refused and why', async () => {
    const made = await site.directory.createKey({ workspaceId: workspace, kind: 'tracing', name: 'checkout key' })
    const key = made.ok ? made.value.key : undefined
    const keyId = key?.id ?? ''
    const reasons = ['rejected_allowance', 'rejected_allowance', 'rejected_invalid'] as const
    const refusedSpans = reasons.map((reason) => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), reason }))
    await site.index(
      received(1, { spans: 10_000, bytes: 1_234 }, { keyId, receivedAt: noon - day }),
      givenEvent(
        'spans.received',
        2,
        { spans: [givenSpan({ id: 1 }), givenSpan({ id: 2, service: 'payments' })] },
        { workspace, keyId, receivedAt: noon - 1_000, counts: { ...noCounts, spans: 2, bytes: 10 } },
      ),
      givenEvent('spans.refused', 3, { refusedSpans }, { workspace, keyId, counts: { ...noCounts, refused: 3 } }),
    )
    const { status, text } = await browser.get('/app/usage')
    expect(status).to.equal(200)
    for (const part of ['<strong>10,002</strong>', 'of 50,000', '(20.0%)', '1.24 kB', '2026-12-01 00:00 UTC']) {
      expect(text).to.include(part)
    }
    expect(text).to.match(/Spans and records refused:\s+3\.\s+Requests\s+of\s+which nothing could be read/)
    expect(text.replaceAll(/\s+/g, ' ')).to.include('too large (413), or in a format that is not taken (415)')
    expect(text).to.include('data-filter="Find a service"').and.include('data-filter="Find a key"')
    expect(text).to.include('src="/app/filter.js"')
    expect(rowsUnder(text, 'By day')).to.deep.equal([
      '2026-11-21|2|0|0|3|10 bytes|',
      '2026-11-20|10,000|0|0|0|1.23 kB|',
    ])
    for (const head of ['Spans', 'All data', 'How many'])
      expect(text).to.match(new RegExp(`class="number">\\s*${head}`))
    expect(rowsUnder(text, 'By service')).to.deep.equal(['checkout|1|0|0|', 'payments|1|0|0|'])
    const shown = `${key?.prefix}…${key?.last4} checkout key`
    expect(rowsUnder(text, 'By key')).to.deep.equal([`${shown}|10,002|0|0|3|1.24 kB|`])
    expect([...rowsUnder(text, 'Refused')].sort()).to.deep.equal([
      `2026-11-21|${shown}|spans without valid ids|1|`,
      `2026-11-21|${shown}|the monthly span allowance was used up|2|`,
    ])
  })

  it('says where there are more lines of what was refused than it shows', async () => {
    const refusedSpans = [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), reason: 'rejected_invalid' }] as const
    const refused = (n: number) =>
      givenEvent(
        'spans.refused',
        n,
        { refusedSpans },
        { workspace, keyId: `k${n}`, counts: { ...noCounts, refused: 1 } },
      )
    const isCut = async () => (await browser.get('/app/usage')).text.includes('Only the newest 1,000 lines are shown.')
    await site.index(...Array.from({ length: 999 }, (_, n) => refused(n + 1)))
    expect(await isCut()).to.equal(false)
    await site.index(refused(1_000))
    expect(await isCut()).to.equal(true)
  })

  it('leads from each figure of a service to what it counts, as far as the plan has it', async () => {
    const services = ['pay & ship', 'x'.repeat(128)]
    const spans = services.map((service, n) => givenSpan({ id: n, trace: n, service }))
    const logs = [...services, 'pay & ship', null].map((service, ordinal) => givenLog({ ordinal, service }))
    await site.index(
      givenEvent('spans.received', 1, { spans }, { workspace, receivedAt: noon }),
      givenEvent('logs.received', 2, { logs }, { workspace, receivedAt: noon }),
    )
    const { text: page } = await browser.get('/app/usage')
    expect(rowsUnder(page, 'By service')).to.include('no service named|0|1|0|')
    const figuresOf = (text: string) =>
      linksOfPage(text).flatMap(({ name, address }) => (/^\d+$/.test(name) ? [{ count: Number(name), address }] : []))
    const figures = figuresOf(page)
    expect(figures).to.deep.equal([
      { count: 1, address: '/app/traces?service=pay+%26+ship&from=2026-11-01T00%3A00Z' },
      { count: 2, address: '/app/logs?service=pay+%26+ship&from=2026-11-01T00%3A00Z' },
    ])
    const found = await Promise.all(figures.map(async ({ address }) => (await browser.get(address)).text))
    expect(found[0]?.match(/<td class="time">/g)).to.have.length(1)
    expect(found[1]).to.include('<strong>2 records</strong>')
    await site.directory.changePlan(workspace, 'logs-only')
    const left = figuresOf((await browser.get('/app/usage')).text)
    expect(left).to.deep.equal(figures.slice(1))
    site.clock.advance(15 * day)
    await browser.post('/app/sign-in', { email, password })
    const [over] = figuresOf((await browser.get('/app/usage?month=2026-11')).text)
    expect(over?.address).to.equal(`${figures[1]?.address}&to=2026-12-01T00%3A00Z`)
  })

  it('says so while it has not counted all that has arrived, which senders are told of already', async () => {
    await site.index(received(1, { spans: 27_000 }))
    expect((await browser.get('/app/usage')).text)
      .to.include('<strong>27,000</strong>')
      .and.not.include('is behind')
    site.clock.advance(70_000)
    expect((await browser.get('/app/usage')).text).to.include('The index is behind the log by 70 s')
  })

  it('shows another month, and refuses what is none', async () => {
    await site.index(received(1, { spans: 77 }, { receivedAt: Date.UTC(2026, 9, 5) }))
    const { text } = await browser.get('/app/usage?month=2026-10')
    expect(text).to.include('<strong>77</strong>').and.not.include('At the pace')
    expect((await browser.get('/app/usage')).text).to.include('<strong>0</strong>')
    for (const month of ['2026-13', 'last', '2026-11-01', "'>"]) {
      expect((await browser.get(`/app/usage?month=${encodeURIComponent(month)}`)).status, month).to.equal(400)
    }
  })

  it('calls the allowance used up with its last span, and not before', async () => {
    const shown = async () => (await browser.get('/app/usage')).text
    await site.index(received(1, { spans: 49_999 }))
    expect(await shown()).to.include('<strong>49,999</strong> spans of 50,000 (99.9%)')
    await site.index(received(2, { spans: 1 }))
    expect(await shown()).to.include('<strong>50,000</strong> spans of 50,000 (100.0%)')
  })

  it('says how a month is typed where a browser has no choice of months, as Firefox and Safari do not', async () => {
    const { text } = await browser.get('/app/usage')
    const [field = ''] = /<input name="month"[^>]*>/.exec(text) ?? []
    const [, pattern = ''] = / pattern="([^"]*)"/.exec(field) ?? []
    // As browsers take it: all of the text, in the mode of the flag v.
    const isTaken = new RegExp(`^(?:${pattern})$`, 'v')
    for (const month of ['2026-11', '2026-01', '2025-12']) expect(month).to.match(isTaken)
    for (const month of ['2026-13', 'Nov 2026', '11/2026', '2026-11-01']) expect(month).not.to.match(isTaken)
    // Without a full stop: Firefox ends its own sentence with it.
    expect(field).to.include('title="A month looks like 2026-11"')
  })

  it('says from which day on a month is counted whose first days are no longer kept', async () => {
    await site.index(received(1, { spans: 77 }, { receivedAt: Date.UTC(2026, 10, 25) }))
    const open = async (month: string): Promise<string> => {
      await browser.post('/app/sign-in', { email, password })
      return (await browser.get(`/app/usage?month=${month}`)).text
    }
    site.clock.advance(Date.UTC(2026, 11, 29, 23) - noon)
    expect(await open('2026-11'), 'since there is the workspace')
      .to.include('<strong>77</strong> spans of 50,000 (0.2%)')
      .and.not.include('kept')
    site.clock.advance(2 * 3_600_000)
    expect(await open('2026-11'))
      .to.include('Counted from 2026-11-22 on; earlier days are no longer kept.')
      .and.include('<strong>77</strong> spans,')
      .and.not.include('of 50,000')
    expect(await open('2026-12'))
      .to.include('of 50,000')
      .and.not.include('kept')
    expect(await open('2026-10'), 'before there was the workspace')
      .to.include('of 50,000')
      .and.not.include('kept')
    site.clock.advance(8 * day)
    expect(await open('2026-11')).to.include('Counted from 2026-11-30 on')
    site.clock.advance(day)
    expect(await open('2026-11'))
      .to.include('The counts of this month are no longer kept.')
      .and.not.include('spans of')
      .and.not.include('spans,')
  })

  it('shows no other workspace’s', async () => {
    const { workspace: other } = await createPerson(site.directory, 'eve@other.example', 'Other')
    const made = await site.directory.createKey({ workspaceId: other.id, kind: 'tracing', name: 'of their shop' })
    const keyId = made.ok ? made.value.key.id : ''
    await site.index(
      received(1, { spans: 4_321 }, { workspace: other.id, keyId: 'k-of-other' }),
      received(2, { spans: 1 }, { keyId }),
    )
    expect((await browser.get('/app/usage')).text)
      .to.include('<strong>1</strong> span')
      .and.not.include('4,321')
      .and.not.include('k-of-other')
      .and.not.include('of their shop')
  })

  describe('at the head of each page', () => {
    const heads = [
      [39_999, undefined],
      [40_000, 'At least 80 % of the monthly allowance of 50,000 spans is used; it resets on 2026-12-01.'],
      [47_499, 'At least 80 %'],
      [47_500, 'At least 95 %'],
      [49_999, 'At least 95 %'],
      [50_000, 'is used up: further spans are rejected until 2026-12-01.'],
    ] as const
    for (const [spans, warning] of heads) {
      it(`${spans} spans of 50,000: ${warning ?? 'no warning'}`, async () => {
        await site.index(received(1, { spans }))
        for (const path of ['/app', '/app/keys', '/app/logs', '/app/connect']) {
          const { text } = await browser.get(path)
          if (warning === undefined) expect(text, path).to.not.include('monthly allowance of')
          else expect(text, path).to.include(warning)
        }
      })
    }

    it('there is none without a limit, and none of the month before', async () => {
      await site.index(received(1, { spans: 50_000 }, { receivedAt: Date.UTC(2026, 9, 31) }))
      expect((await browser.get('/app')).text).to.not.include('monthly allowance of')
      await site.index(received(2, { spans: 60_000 }))
      await site.directory.changePlan(workspace, 'unlimited')
      expect((await browser.get('/app')).text).to.not.include('monthly allowance of')
    })
  })

  describe('forecasts the month’s end', () => {
    const forecast = async (given: readonly (readonly [daysAgo: number, spans: number])[]) => {
      await site.index(
        ...given.map(([daysAgo, spans], n) => received(n + 1, { spans }, { receivedAt: noon - daysAgo * day - 1 })),
      )
      return forecastSpans(await readUsage(site.reader, workspace, '2026-11'), noon)
    }

    it('by the pace of the last seven days', async () => {
      // The 6.5 days up to this noon have 715 spans, 110 a day; 9.5 days are to come. The day before them counts, but sets no pace.
      const days = [5, 4, 3, 2, 1, 0].map((ago) => [ago, ago === 0 ? 50 : 100] as const)
      expect(await forecast([[7, 5_000], [6, 165], ...days])).to.equal(5_715 + 9.5 * 110)
    })
    it('by the days since spans came at all', async () => {
      expect(await forecast([[1, 150]])).to.equal(150 + 950)
    })
    it('and when the allowance will be used up, as long as it is not', async () => {
      const shown = async () => textOf((await browser.get('/app/usage')).text)
      // 10,000 a day: what is left of 50,000 is for three and a half days.
      await forecast([[1, 15_000]])
      expect(await shown()).to.include(
        'At the pace of the last days it would be 110,000 spans by then: the allowance will be used up at about 2026-11-25 00:00 UTC.',
      )
      await site.index(received(2, { spans: 35_000 }))
      expect(await shown())
        .to.include('(100.0%)')
        .and.not.include('At the pace')
    })
    it('not at all without a pace', async () => {
      expect(await forecast([])).to.equal(undefined)
      expect(await forecast([[12, 100]])).to.equal(undefined)
    })
    it('nor by less than an hour, nor by days on which other things came', async () => {
      const usage = await readUsage(site.reader, workspace, '2026-11')
      const tally = (spans: number) => ({ spans, logs: 1, rumEvents: 0, refusedSpans: 0, refusedRecords: 0, bytes: 0 })
      const at = (nowMs: number, byDay: Readonly<Record<string, number>>) =>
        forecastSpans(
          {
            ...usage,
            spans: 240,
            byDay: Object.fromEntries(Object.entries(byDay).map(([day, count]) => [day, tally(count)])) as never,
          },
          nowMs,
        )
      const midnight = noon - day / 2
      expect(at(midnight + 3_599_999, { '2026-11-21': 240 })).to.equal(undefined)
      expect(at(midnight + day / 2, { '2026-11-19': 0, '2026-11-21': 240 })).to.equal(240 + 9.5 * 480)
    })
  })
})
