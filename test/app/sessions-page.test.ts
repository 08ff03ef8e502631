import { expect } from 'chai'
import type { LogRecord, RumEvent } from '#src/events/telemetry.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { givenLog, givenRumEvent, msNs, noonNs, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { faultIn } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const attack = '<img src=x onerror=alert(1)>"\'</td><script>alert(2)</script>'
const at = (ms: number): bigint => noonNs + BigInt(ms) * msNs

describe('the page of browser sessions', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  const sent = (
    n: number,
    events: readonly Partial<RumEvent>[],
    records: readonly Partial<LogRecord>[] = [],
    of: string = workspace,
  ): DecodedEvent => {
    const rumEvents = events.map((event, place) => givenRumEvent({ ordinal: records.length + place, ...event }))
    const said = records.map((record, ordinal) => givenLog({ source: 'rum', ordinal, ...record }))
    return givenEvent('rum.received', n, { rumEvents, logs: said }, { workspace: of })
  }
  const rowsOf = (text: string): readonly string[] =>
    text
      .split('<tr>')
      .slice(1)
      .filter((row) => row.includes('<th scope="row">'))
  const idsIn = (text: string): readonly string[] =>
    rowsOf(text).map((row) =>
      decodeURIComponent((/\/app\/find\?id=([^"]*)/.exec(row)?.[1] ?? '').replaceAll('&#39;', "'")),
    )
  const wordsOf = (text: string): string =>
    text
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ (?=[.,])/g, '')

  const visits = () => [
    sent(
      1,
      [
        {
          ...{ sessionId: 'visit 1', timeNs: at(0), url: 'https://shop.example/cart' },
          fields: { user: { email: 'ann@shop.example' } },
        },
        { sessionId: 'visit 1', timeNs: at(90_000), url: 'https://shop.example/paid', name: 'paid' },
      ],
      [{ sessionId: 'visit 1', timeNs: at(60_000), level: 'error', service: 'shop', message: 'TypeError: boom' }],
    ),
    sent(2, [{ sessionId: 'visit 2', timeNs: at(120_000), service: 'desk' }, { timeNs: at(10) }]),
    logs(3, { sessionId: 'of a server', timeNs: at(70_000), level: 'error' }),
  ]

  it('lists them, newest first, with what their events say, and where they lead', async () => {
    await site.index(...visits())
    const { status, text } = await browser.get('/app/sessions')
    expect(status).to.equal(200)
    expect(idsIn(text)).to.deep.equal(['visit 2', 'visit 1'])
    const [second = '', first = ''] = rowsOf(text).map(wordsOf)
    expect(first).to.include('visit 1 https://shop.example/paid 2026-11-21 12:01:30.000 2026-11-21 12:00:00.000')
    expect(first).to.include(', 1.50 min before 3 events 1 error shop ann@shop.example')
    expect(second).to.include('1 event desk').and.not.include('error')
    expect(wordsOf(text)).to.include(
      '2 sessions in all 5 events of browsers (logs and exceptions included), from 2026-11-21 12:00:00.000 UTC to 2026-11-21 12:02:00.000 UTC. 1 of these names no session.',
    )
    const { address } = linksOfPage(text).find(({ name }) => name === 'visit 1') ?? {}
    expect(address).to.equal('/app/find?id=visit%201')
    expect((await browser.get(address ?? '')).text).to.include('TypeError: boom')
  })

  it('narrows them by time, service, words and errors', async () => {
    await site.index(...visits())
    const foundBy = async (search: string): Promise<readonly string[]> =>
      idsIn((await browser.get(`/app/sessions?${search}`)).text)
    expect(await foundBy('service=desk')).to.deep.equal(['visit 2'])
    expect(await foundBy('from=2026-11-21T12:01:31Z')).to.deep.equal(['visit 2'])
    expect(await foundBy('from=-2h&to=2026-11-21T12:01:31Z')).to.deep.equal(['visit 1'])
    expect(await foundBy('q=paid')).to.deep.equal(['visit 1'])
    expect(await foundBy('q=user.email%3Dann@shop.example')).to.deep.equal(['visit 1'])
    expect(await foundBy('has=error')).to.deep.equal(['visit 1'])
    expect(wordsOf((await browser.get('/app/sessions?has=error')).text)).to.include(
      '1 of 2 sessions with errors in all',
    )
    const { text } = await browser.get('/app/sessions?q=paid&service=shop&has=error&from=-6h')
    expect(text).to.match(/name="has"\s+value="error"\s+checked/)
    expect(wordsOf(text)).to.include('No browser sessions match.')
    expect(wordsOf((await browser.get('/app/sessions?q=paid')).text)).to.include(
      '1 session in all 1 event of browsers that fit',
    )
  })

  it('goes on with older events, each of one page', async () => {
    const ids = Array.from({ length: 7 }, (_, n) => `visit ${n}`)
    await site.index(
      sent(
        1,
        [...ids, ...ids].map((sessionId, n) => ({ sessionId, timeNs: at(-n) })),
      ),
    )
    const pages: string[] = []
    for (let address: string | undefined = '/app/sessions?limit=5'; address !== undefined;) {
      const { status, text } = await browser.get(address.split('#')[0] ?? '')
      expect(status).to.equal(200)
      pages.push(text)
      address = linksOfPage(text).find(({ name }) => name === 'Next page')?.address
    }
    expect(pages.map(idsIn)).to.deep.equal([
      [0, 1, 2, 3, 4].map((n) => `visit ${n}`),
      [5, 6, 0, 1, 2].map((n) => `visit ${n}`),
      [3, 4, 5, 6].map((n) => `visit ${n}`),
    ])
    const [first = '', second = '', third = ''] = pages.map(wordsOf)
    expect(first).to.include('5 sessions in the newest 5 events').and.include('stands on a later page again')
    expect(second).to.include('5 sessions in the next older 5 events')
    expect(third).to.include('4 sessions in the next older 4 events').and.not.include('stands on')
    const back = linksOfPage(pages[1] ?? '').find(({ name }) => name === 'First page')?.address ?? ''
    expect(idsIn((await browser.get(back.split('#')[0] ?? '')).text)).to.deep.equal(idsIn(pages[0] ?? ''))
  })

  it('says where there are none among the newest, and goes on', async () => {
    const broken = { sessionId: 'broken', type: 'error', timeNs: at(-10) }
    await site.index(sent(1, [...Array.from({ length: 3 }, (_, n) => ({ sessionId: 'fine', timeNs: at(n) })), broken]))
    const { text } = await browser.get('/app/sessions?has=error&limit=3')
    expect(wordsOf(text)).to.include('0 of 1 session with errors in the newest 3 events')
    expect(wordsOf(text)).to.include('None among these: there are older events on the next page.')
    const next = linksOfPage(text).find(({ name }) => name === 'Next page')?.address ?? ''
    expect(idsIn((await browser.get(next.split('#')[0] ?? '')).text)).to.deep.equal(['broken'])
  })

  it('leads to how a browser is connected, where there is none', async () => {
    await site.index()
    const { text } = await browser.get('/app/sessions')
    expect(wordsOf(text)).to.include(
      'No browser sessions match. Search the last 30 days, or see how to connect a browser.',
    )
    expect(wordsOf(text)).to.not.include('of browsers').and.not.include('A session is found once')
    expect(linksOfPage(text)).to.deep.include({ name: 'connect', address: '/app/connect?what=browser' })
    expect((await browser.get('/app/connect?what=browser')).text).to.include('Faro')
  })

  it('leads to the traces of sessions that only spans name, where the plan has traces', async () => {
    const inPage = { trace: 'of a page', id: 'a', sessionId: 'visit-1' }
    await site.index(spans(1, inPage, { trace: 'of a server', id: 'b' }))
    const leads = async (more: string): Promise<string | undefined> =>
      linksOfPage((await browser.get(`/app/sessions${more}`)).text).find(
        ({ name }) => name === 'the traces that name a session',
      )?.address
    const traces = (await leads('')) ?? ''
    expect((await browser.get(traces)).text)
      .to.include('operation a')
      .and.not.include('operation b')
    const narrowed = new URL((await leads('?q=paid&service=shop&has=error&from=-2h')) ?? '', 'http://here').searchParams
    const conditions = { q: 'session_id:*', service: 'shop', has: 'error', from: '-2h' }
    expect(Object.fromEntries(narrowed)).to.deep.equal(conditions)
    await site.directory.changePlan(workspace, 'logs-only')
    expect(await leads('')).to.equal(undefined)
  })

  it('says what an event must have, where there are events but no session', async () => {
    await site.index(sent(1, [{}, {}]))
    const { text } = await browser.get('/app/sessions')
    expect(wordsOf(text)).to.include('2 of these name no session.')
    expect(text).to.include('<code>session_id</code>')
  })

  it('shows nothing of another workspace, whatever the address says', async () => {
    await site.index(...visits(), sent(4, [{ sessionId: 'theirs', timeNs: at(0) }], [], 'globex'))
    for (const more of ['', '?workspace=globex', '?workspace_id=globex', '?q=theirs']) {
      expect((await browser.get(`/app/sessions${more}`)).text, more).to.not.include('id=theirs"')
    }
    expect((await browser.get('/app/sessions')).text, 'its own').to.include('id=visit%201"')
  })

  it('leads from the id of a session to its page', async () => {
    await site.index(sent(1, [{ sessionId: 'visit-1' }]))
    const { status, location } = await browser.get('/app/sessions?q=visit-1')
    expect([status, location]).to.deep.equal([303, '/app/find?id=visit-1'])
  })

  it('leaves out what was logged where the plan has no logs', async () => {
    await site.index(...visits())
    await site.directory.changePlan(workspace, 'tracing-only')
    const { status, text } = await browser.get('/app/sessions')
    expect(status).to.equal(200)
    expect(wordsOf(text)).to.include('in all 4 events of browsers, from').and.not.include('1 error')
  })

  it('says what is wrong with a search, and begins again where a cursor is refused', async () => {
    await site.index(...visits())
    for (const [search, field] of [
      ['q=(open', 'q'],
      ['from=never', 'from'],
    ] as const) {
      const { status, text } = await browser.get(`/app/sessions?${search}`)
      expect([status, faultIn(text)], search).to.deep.equal([400, field])
    }
    for (const search of ['order=asc', 'has=nothing', `trace_id=${traceIdOf('t')}`]) {
      expect((await browser.get(`/app/sessions?${search}`)).status, search).to.equal(400)
    }
    const { status, text } = await browser.get('/app/sessions?service=desk&cursor=made.up')
    expect(status).to.equal(400)
    expect(linksOfPage(text)).to.deep.include({
      name: 'Begin again at the first page',
      address: '/app/sessions?service=desk',
    })
  })

  it('says so where an index is behind', async () => {
    const behind = 'The index is behind the log'
    expect((await browser.get('/app/sessions')).text).to.include(behind)
    await site.index(...visits())
    expect((await browser.get('/app/sessions')).text).to.not.include(behind)
  })

  it('shows hostile words as the text they are', async () => {
    const fields = { user: { id: attack } }
    await site.index(sent(1, [{ sessionId: attack, service: attack, url: `javascript:${attack}`, fields }]))
    const { text } = await browser.get('/app/sessions')
    expect(idsIn(text)).to.deep.equal([attack])
    expect(text.replaceAll(/"[^"]*"/g, '""')).to.not.match(/<img|<script>|<[^>]* (?:on\w+|style)=/)
    expect(text).to.not.include('href="javascript')
  })
})
