import { expect } from 'chai'
import { traceAddress } from '#src/app/trace-address.ts'
import { noonNs, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const partOf = (text: string): string => /<details class="durations"[^]*?<\/details>/.exec(text)?.[0] ?? ''
const summaryOf = (text: string): string | undefined =>
  /<summary>([^<]*)<\/summary>/.exec(partOf(text))?.[1]?.replaceAll(/\s+/g, ' ')
const placesOf = (text: string, shape: 'circle' | 'rect'): readonly (readonly (string | undefined)[])[] =>
  [...partOf(text).matchAll(new RegExp(`<${shape}[^>]* c?x="([^"]*)" c?y="([^"]*)"`, 'g'))].map(([, x, y]) => [x, y])

describe('durations of listed traces', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  const given = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ trace: n, id: n, atMs: n * 1_000, forMs: n + 1 }))
  const list = async (more = ''): Promise<string> => (await browser.get(`/app/traces?service=checkout${more}`)).text

  it('are told by what half and nearly all of them took, of all where all are listed', async () => {
    await site.index(spans(1, ...given(20)))
    expect(summaryOf(await list())).to.equal('All 20 traces: p50 10.0 ms, p95 19.0 ms, longest 20.0 ms')
  })

  it('are told of the page where there are more', async () => {
    await site.index(spans(1, ...given(52)))
    const first = await list('&order=longest')
    const words = '50 traces on this page: p50 27.0 ms, p95 50.0 ms, longest 52.0 ms'
    expect(summaryOf(first)).to.equal(words)
    const next = linksOfPage(first).find(({ name }) => name === 'Next page')?.address ?? ''
    expect(summaryOf((await browser.get(next)).text)).to.match(/^2 traces on this page: p50 1.00 ms/)
  })

  it('are told for each root, with how many traces have errors, the slowest first', async () => {
    const root = { service: 'web', name: 'GET /' }
    await site.index(
      spans(
        1,
        ...given(20).map((span) => ({ ...span, name: 'POST /orders' })),
        { ...root, trace: 'a', id: 'a', forMs: 100 },
        { ...root, trace: 'b', id: 'b', forMs: 300 },
        { ...root, trace: 'c', id: 'c', forMs: 200, status: 'error' },
        { trace: 'd', id: 'd', parent: 'lost', forMs: 50 },
      ),
    )
    const { text } = await browser.get('/app/traces')
    const [, table = ''] = /<table class="figures[^>]*>([^]*?)<\/table>/.exec(partOf(text)) ?? []
    expect(textOf(/<caption>([^]*?)<\/caption>/.exec(table)?.[1] ?? '')).to.equal(
      'All 24 traces by root, the slowest (p95) first',
    )
    const rows = [...table.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)].map(([, cell = '']) => textOf(cell)),
    )
    expect(rows).to.deep.equal([
      ['Root', 'Traces', 'With errors', 'p50', 'p95', 'Longest'],
      ['web GET /', '3', '1 33 %', '200 ms', '300 ms', '300 ms'],
      ['root span not received', '1', '0', '50.0 ms', '50.0 ms', '50.0 ms'],
      ['checkout POST /orders', '20', '0', '10.0 ms', '19.0 ms', '20.0 ms'],
    ])
    expect(linksOfPage(table).map(({ address }) => address)).to.deep.equal(
      ['b', 'd', 19].map((name) => traceAddress(traceIdOf(name))),
    )
    expect(partOf(await list()), 'of two roots')
      .to.include('<table')
      .and.include('id="roots"')
    const skips = async (more = ''): Promise<string | undefined> =>
      linksOfPage(partOf(await list(more))).find(({ name }) => name === 'Skip the points')?.address
    expect([await skips(), await skips('&operation=POST+%2Forders')]).to.deep.equal(['#roots', '#results'])
    expect(partOf(await list('&operation=POST+%2Forders')), 'of one')
      .to.include('All 20 traces')
      .and.not.include('<table')
  })

  it('are points over time that lead to their traces, and are another shape with errors', async () => {
    await site.index(
      spans(
        1,
        { trace: 'a', id: 'a', forMs: 100 },
        { trace: 'b', id: 'b', atMs: 5_000, forMs: 25, name: '<i>"&' },
        { trace: 'c', id: 'c', atMs: 20_000, forMs: 50, status: 'error' },
        { trace: 'd', id: 'd', parent: 'lost', atMs: 10_000, forMs: 0 },
      ),
    )
    const text = await list()
    expect(placesOf(text, 'rect')).to.deep.equal([['100.00%', '50.00%']])
    expect(placesOf(text, 'circle')).to.deep.equal([
      ['50.00%', '100.00%'],
      ['25.00%', '75.00%'],
      ['0.00%', '0.00%'],
    ])
    const links = linksOfPage(partOf(text)).slice(1, 5)
    expect(links.map(({ address }) => address)).to.deep.equal(
      ['c', 'd', 'b', 'a'].map((name) => traceAddress(traceIdOf(name))),
    )
    expect(links.map(({ name }) => name)).to.deep.equal([
      'checkout operation c: 50.0 ms, 1 error, 2026-11-21 12:00:20.000 UTC',
      'root span not received: 0 ns, 2026-11-21 12:00:10.000 UTC',
      'checkout <i>"&: 25.0 ms, 2026-11-21 12:00:05.000 UTC',
      'checkout operation a: 100 ms, 2026-11-21 12:00:00.000 UTC',
    ])
  })

  it('have places where all began at once and took no time', async () => {
    await site.index(spans(1, { trace: 'a', id: 'a', forMs: 0 }, { trace: 'b', id: 'b', forMs: 0 }))
    expect(placesOf(await list(), 'circle')).to.deep.equal([
      ['50.00%', '50.00%'],
      ['50.00%', '50.00%'],
    ])
  })

  it('have no place below the bottom of one that ends before it begins, by a clock that was put back', async () => {
    const back = { trace: 'b', id: 'b', startNs: noonNs, endNs: noonNs - 3_600_000_000_000n }
    await site.index(spans(1, { trace: 'a', id: 'a', atMs: 1_000, forMs: 5 }, back))
    const text = await list()
    expect(placesOf(text, 'circle')).to.deep.equal([
      ['100.00%', '0.00%'],
      ['0.00%', '100.00%'],
    ])
    expect(text).to.include('-1.00 h').and.not.include('width="-')
  })

  it('are said to be of traces that lack spans, where some do', async () => {
    const [one, two] = ['1 of these lacks spans, and may', '2 of these lack spans, and may']
    await site.index(spans(1, ...given(3)))
    expect(textOf(partOf(await list()))).to.not.include('lack')
    await site.index(spans(2, { trace: 1, id: 'b', parent: 'lost' }))
    expect(textOf(partOf(await list()))).to.include(`${one} have taken longer than is known.`)
    await site.index(spans(3, { trace: 2, id: 'c', parent: 'lost' }))
    expect(textOf(partOf(await list()))).to.include(two)
  })

  it('are not told of one trace, nor of none', async () => {
    await site.index(spans(1, { id: 'a' }))
    for (const more of ['', '&q=nowhere']) expect(partOf(await list(more)), more).to.equal('')
  })
})
