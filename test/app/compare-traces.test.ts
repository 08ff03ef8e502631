import { expect } from 'chai'
import { noCounts } from '#src/events/envelope.ts'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const words = (markup: string): string => textOf(markup.replaceAll(/<\/t[dh]>/g, ' '))

/** The rows of the page's tables, without their heads. */
const rowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<tbody>([^]*?)<\/tbody>/g)].flatMap(([, body = '']) =>
    body.split('</tr>').map(words).filter(Boolean),
  )

const [a, b, c] = ['a', 'b', 'c'].map(traceIdOf)

describe('comparing two traces', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans, workspace } = signedIn)
  })

  const page = async (query: string): Promise<string> => (await browser.get(`/app/compare?${query}`)).text
  const get = { name: 'GET /' }
  const select = { name: 'SELECT <b>', service: 'db' }

  it('tells by operation what each took in both, and by how much they differ, those that differ most first', async () => {
    await site.index(
      spans(
        1,
        { ...get, trace: 'a', id: 'a', forMs: 100 },
        { ...select, trace: 'a', id: 'a1', parent: 'a', atMs: 10, forMs: 30 },
        { name: 'render', trace: 'a', id: 'a2', parent: 'a', atMs: 50, forMs: 20 },
        { ...get, trace: 'b', id: 'b', atMs: 2_000, forMs: 250 },
        { ...select, trace: 'b', id: 'b1', parent: 'b', atMs: 2_010, forMs: 90 },
        { ...select, trace: 'b', id: 'b2', parent: 'b', atMs: 2_110, forMs: 90, status: 'error' },
        { name: 'retry', trace: 'b', id: 'b3', parent: 'b', atMs: 2_210, forMs: 10 },
      ),
    )
    const text = await page(`trace_id=${a}&with=${b}`)
    expect(rowsOf(text)).to.deep.equal([
      `First: checkout GET / ${a} 2026-11-21 12:00:00.000 100 ms 3 0`,
      `Second: checkout GET / ${b} 2026-11-21 12:00:02.000 250 ms 4 1`,
      'Difference +2.00 s +150 ms +1 +1',
      'db SELECT &lt;b&gt; 30.0 ms 180 ms +150 ms 1 2 1 error',
      'checkout render 20.0 ms – -20.0 ms 1 0',
      'checkout GET / 50.0 ms 60.0 ms +10.0 ms 1 1',
      'checkout retry – 10.0 ms +10.0 ms 0 1',
    ])
    expect(linksOfPage(text).find(({ name }) => name === '30.0 ms')?.address).to.equal(
      `/app/trace/${a}?span=${spanIdOf('a1')}#span-${spanIdOf('a1')}`,
    )
    const round = linksOfPage(text).find(({ name }) => name === 'The other way round')?.address ?? ''
    expect(rowsOf((await browser.get(round)).text)[2]).to.equal('Difference -2.00 s -150 ms -1 -1')
  })

  it('begins at the page of a trace, with the others of its root operation', async () => {
    await site.index(
      spans(
        1,
        { ...get, trace: 'a', id: 'a', forMs: 100 },
        { ...get, trace: 'b', id: 'b', atMs: 2_000, forMs: 250, status: 'error' },
        { ...get, trace: 'c', id: 'c', atMs: 3_000, forMs: 40 },
        { name: 'GET /other', trace: 'd', id: 'd', atMs: 4_000 },
        { ...get, trace: 'd', id: 'd1', parent: 'd', atMs: 4_000 },
        { ...get, trace: 'e', id: 'e', atMs: 5_000, service: 'proxy' },
        { ...get, trace: 'e', id: 'e1', parent: 'e', atMs: 5_000 },
      ),
    )
    const { text: trace } = await browser.get(`/app/trace/${a}`)
    const choose = linksOfPage(trace).find(({ name }) => name === 'Compare')?.address ?? ''
    const { text } = await browser.get(choose)
    expect(rowsOf(text)).to.deep.equal([
      `Compare with ${c?.slice(0, 8)} 2026-11-21 12:00:03.000 40.0 ms -60.0 ms 1 span`,
      `Compare with ${b?.slice(0, 8)} 2026-11-21 12:00:02.000 250 ms +150 ms 1 span 1 error`,
    ])
    const links = linksOfPage(text)
    const longest = links.find(({ name }) => name === 'longest first')?.address ?? ''
    const currentIn = (page: string) =>
      />([^<]*)</.exec(/<a[^>]*aria-current="true"[^>]*>[^<]* first</.exec(page)?.[0] ?? '')?.[1]
    expect(currentIn(text)).to.equal('newest first')
    expect(currentIn((await browser.get(longest)).text)).to.equal('longest first')
    expect(rowsOf((await browser.get(longest)).text)[0]).to.include(b?.slice(0, 8))
    const compare = links.find(({ name }) => name === `Compare with ${b?.slice(0, 8)}`)?.address ?? ''
    expect(rowsOf((await browser.get(compare)).text)[2]).to.equal('Difference +2.00 s +150 ms 0 +1')
    const search = links.find(({ name }) => name === 'Search them')?.address ?? ''
    expect((await browser.get(search)).text).to.include(`/app/trace/${b}`)
  })

  it('names the first of many others, and says where there are none', async () => {
    await site.index(spans(1, { ...get, trace: 'a', id: 'a' }))
    expect(await page(`trace_id=${a}`)).to.include('There are no others.')
    const many = Array.from({ length: 25 }, (_, n) => ({ ...get, trace: `n${n}`, id: `n${n}`, atMs: n + 1 }))
    await site.index(spans(2, ...many))
    const text = await page(`trace_id=${a}`)
    expect(text).to.not.include('There are no others.')
    expect(rowsOf(text)).to.have.length(20)
  })

  it('finds others of the time of a trace that is older than a day', async () => {
    const hourMs = 3_600_000
    await site.index(
      spans(
        1,
        { ...get, trace: 'a', id: 'a', atMs: -50 * hourMs },
        { ...get, trace: 'b', id: 'b', atMs: -45 * hourMs },
        { ...get, trace: 'c', id: 'c' },
      ),
    )
    const text = await page(`trace_id=${a}`)
    expect(text).to.include('Up to 20 of the 12 hours before and after it')
    expect(rowsOf(text)).to.have.length(1)
    expect(rowsOf(text)[0]).to.include(b?.slice(0, 8))
  })

  it('makes up no operation where the root was not received', async () => {
    await site.index(spans(1, { trace: 'a', id: 'a', parent: 'lost' }))
    expect(await page(`trace_id=${a}`)).to.include('Its root span was not received')
  })

  it('says of each trace which spans it lacks: what is only missing would look like what was not done', async () => {
    const zero = { traceId: b ?? '', spanId: '0'.repeat(16), reason: 'rejected_invalid' } as const
    await site.index(
      spans(
        1,
        { ...get, trace: 'a', id: 'a', forMs: 100 },
        { ...select, trace: 'a', id: 'a1', parent: 'a', atMs: 10, forMs: 30 },
        { ...get, trace: 'b', id: 'b', forMs: 100 },
        { name: 'render', trace: 'b', id: 'b1', parent: 'lost', atMs: 10, forMs: 30 },
      ),
      givenEvent(
        'spans.refused',
        2,
        { refusedSpans: [zero, zero] },
        { workspace, counts: { ...noCounts, refused: 2 } },
      ),
    )
    const rows = rowsOf(await page(`trace_id=${a}&with=${b}`))
    expect(rows[0]).to.match(/ 100 ms 2 0$/)
    expect(rows[1]).to.match(/ 100 ms 2 2 known to be missing, 1 more rejected without a valid id 0$/)
  })

  it('says how many spans of a very large trace are compared', async () => {
    const many = Array.from({ length: 4_001 }, (_, n) => ({ trace: 'a', id: n, atMs: n, name: 'step' }))
    await site.index(spans(1, ...many, { ...get, trace: 'b', id: 'b' }))
    const rows = rowsOf(await page(`trace_id=${a}&with=${b}`))
    expect(rows[0]).to.match(/4,001 \(the first 4,000 are compared\) 0$/)
    expect(rows[3]).to.match(/^checkout step .* 4,000 0$/)
  })

  it('says what is wrong with an id, and keeps both in the form', async () => {
    await site.index(spans(1, { ...get, trace: 'a', id: 'a' }))
    for (const [other, status, said] of [
      [traceIdOf('nowhere'), 404, 'has never seen'],
      ['<b>"x', 400, 'trace_id'],
    ] as const) {
      for (const [first, second] of [
        [a ?? '', other],
        [other, a ?? ''],
      ] as const) {
        const query = new URLSearchParams({ trace_id: first, with: second }).toString()
        const { status: got, text } = await browser.get(`/app/compare?${query}`)
        expect([got, text.includes(said), text.includes('<b>"x')], query).to.deep.equal([status, true, false])
        expect(
          [...text.matchAll(/<input name="\w+" type="search"[^>]* value="([^"]*)"/g)].map(([, value]) => value),
        ).to.deep.equal([first, second].map((id) => id.replace('<b>"x', '&lt;b&gt;&quot;x')))
      }
    }
  })

  it('begins with two ids where none is given', async () => {
    expect(await page(''))
      .to.include('name="trace_id"')
      .and.include('name="with"')
  })
})
