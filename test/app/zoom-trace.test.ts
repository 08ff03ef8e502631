import { expect } from 'chai'
import { msNs, noonNs, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a page that shows a part of the time of a trace', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  const path = `/app/trace/${traceIdOf('t')}`
  const hourMs = 3_600_000
  /** An hour, with a call of 5 ms each minute. */
  const batch = [
    { id: 'root', forMs: hourMs },
    ...Array.from({ length: 60 }, (_, n) => ({ id: n, parent: 'root', atMs: n * 60_000, forMs: 5 })),
  ]
  const zoomOf = (atMs: number, forMs: number): string =>
    `zoom=${noonNs + BigInt(atMs) * msNs}-${noonNs + BigInt(atMs + forMs) * msNs}`
  const pageOf = async (address: string): Promise<string> => {
    const { status, text } = await browser.get(address.replace(/#.*/, ''))
    expect(status, address).to.equal(200)
    return text.replaceAll(/\s+/g, ' ')
  }
  const rowOf = (text: string, id: string | number): string =>
    text.split('<li class="').find((row) => row.includes(`id="span-${spanIdOf(id)}"`)) ?? ''
  const barsIn = (row: string): readonly string[] =>
    [...row.matchAll(/<rect class="(\w+)" x="([\d.]+%)" width="([\d.]+%)"/g)].map(
      ([, kind = '', x, width]) => `${/^s\d/.test(kind) ? 'bar' : kind} ${x} ${width}`,
    )
  const besideIn = (row: string): string | undefined =>
    /<span class="(?:before|after)" role="img" aria-label="([^"]*)"/.exec(row)?.[1]
  const linkIn = (text: string, name: string): string | undefined =>
    linksOfPage(text).find((link) => link.name === name)?.address
  const shownIn = (text: string): string | undefined =>
    /Shown: (.*?)<\/p>/
      .exec(text)?.[1]
      ?.replaceAll(/<[^>]*>/g, '')
      .trim()

  it('draws bars, the critical path and the axis of that time, and an arrow for what lies before and after it', async () => {
    await site.index(spans(1, ...batch))
    const whole = await pageOf(path)
    expect(barsIn(rowOf(whole, 1))).to.deep.equal(['bar 1.6% 0.2%', 'critical 1.6% 0.1%'])
    expect(besideIn(whole)).to.equal(undefined)
    expect(shownIn(whole)).to.equal(undefined)
    const text = await pageOf(`${path}?${zoomOf(59_995, 20)}`)
    expect(barsIn(rowOf(text, 1))).to.deep.equal(['bar 25% 25%', 'critical 25% 25%'])
    expect(barsIn(rowOf(text, 'root'))).to.deep.equal(['bar 0% 100%', 'critical 0% 25%', 'critical 50% 50%'])
    expect(besideIn(rowOf(text, 0))).to.equal('at +0 ns, before what is shown')
    expect(besideIn(rowOf(text, 2))).to.equal('at +2.00 min, after what is shown')
    expect(barsIn(rowOf(text, 2))).to.deep.equal([])
    expect(text.match(/<details class="line"/g)).to.have.length(61)
    const ticks = /<div class="ticks".*?<\/div>/.exec(text)?.[0] ?? ''
    expect(
      textOf(ticks)
        .split(/(?<=ms)|(?<=^0)/)
        .map((tick) => tick.trim()),
    ).to.deep.equal(['0', '5.00 ms', '10.0 ms', '15.0 ms', '20.0 ms'])
    expect(text).to.include('When, from +1.00 min')
    expect(shownIn(text)).to.equal(
      '20.0 ms of 1.00 h, from 2026-11-21 12:00:59.995 UTC (+1.00 min in the trace). Outside: 59 of 61 spans here.',
    )
  })

  it('is led to from each span that is not all of the trace, and leads to the whole and to what is beside it', async () => {
    await site.index(spans(1, ...batch))
    const whole = await pageOf(path)
    expect(linkIn(rowOf(whole, 'root'), 'Zoom to this span')).to.equal(undefined)
    const third = `${path}?span=${spanIdOf(3)}`
    expect(linkIn(rowOf(whole, 3), 'Zoom to this span')).to.equal(
      `${third}&zoom=${zoomOf(180_000, 5).slice(5)}#span-${spanIdOf(3)}`,
    )
    const text = await pageOf(linkIn(rowOf(whole, 3), 'Zoom to this span') ?? '')
    expect(barsIn(rowOf(text, 3))[0]).to.equal('bar 0% 100%')
    expect(rowOf(text, 3)).to.match(/<details class="line"[^>]* open>/)
    expect(linkIn(rowOf(text, 3), 'Zoom to this span')).to.equal(undefined)
    expect(linkIn(text, 'Show the whole trace')).to.equal(`${third}#shown`)
    expect(text).to.include('id="shown"')
    const later = await pageOf(linkIn(text, 'Later') ?? '')
    expect(barsIn(rowOf(later, 3))[0]).to.equal('bar 0% 50%')
    expect(barsIn(rowOf(await pageOf(linkIn(later, 'Earlier') ?? ''), 3))[0]).to.equal('bar 0% 100%')
    expect(barsIn(rowOf(await pageOf(linkIn(text, 'Zoom out') ?? ''), 3))[0]).to.equal('bar 33.3% 33.3%')
  })

  it('keeps it where spans are searched, folded and paged, and what was searched, folded and paged where it changes', async () => {
    const many = Array.from({ length: 1_500 }, (_, n) => ({
      id: n,
      atMs: n * 1_000,
      ...(n === 0 ? {} : { parent: n % 100 === 1 ? 0 : n - 1 }),
    }))
    await site.index(spans(1, ...many))
    const zoom = zoomOf(5_000, 900_000)
    const first = await pageOf(`${path}?folded=1&${zoom}`)
    expect(first).to.include(`name="zoom" value="${zoom.slice(5)}"`)
    const { location } = await browser.get(`${path}?folded=1&${zoom}&find=service:checkout`)
    expect(location).to.include(zoom).and.include('folded=1')
    const found = await pageOf(location ?? '')
    const names = ['Next match', 'Clear', 'More spans', 'Unfold all spans', 'Later'] as const
    for (const name of names) expect(linkIn(found, name), name).to.include('zoom=')
    expect(linkIn(found, 'Show the whole trace')).to.include('find=service%3Acheckout').and.include('folded=1')
    const next = await pageOf(linkIn(found, 'More spans') ?? '')
    expect(shownIn(next)).to.match(/^15\.0 min of/)
    for (const name of ['Later', 'Show the whole trace', 'Fold spans', 'Unfold all spans'] as const) {
      const address = linkIn(next, name)
      if (address !== undefined) expect(await pageOf(address), name).to.include(`id="span-${spanIdOf(1_400)}"`)
    }
    expect(linkIn(next, 'First page')).to.include('zoom=')
    expect(linkIn(rowOf(next, 1_400), 'Zoom to this span'))
      .to.include('folded=1')
      .and.include('find=')
  })

  it('has the whole time where it is asked for one that is none, and says so', async () => {
    await site.index(spans(1, { id: 'a', forMs: 100 }, { id: 'b', parent: 'a', forMs: 50 }))
    const plain = await pageOf(path)
    expect(plain).to.not.include('no part of this trace')
    for (const asked of ['', 'x', '1-2', '9-1', `${noonNs}`, '%3Cb%3E', '-', `${'9'.repeat(400)}-1`, '%00-%F0']) {
      const text = await pageOf(`${path}?zoom=${asked}`)
      expect(text.includes('no part of this trace'), asked).to.equal(asked !== '')
      expect(barsIn(rowOf(text, 'b'))[0], asked).to.equal('bar 0% 50%')
      expect(text, asked).to.not.include('zoom=-').and.not.include('<b>')
      expect(linkIn(text, 'Show the whole trace'), asked).to.equal(undefined)
    }
  })

  for (const [when, startNs, atElse, said] of [
    ['in 1970', 5n, 'bar 99.8% 0.2%', 'at +0 ns, before what is shown'],
    ['in the next year', noonNs + 31_536_000_000n * msNs, 'bar 0% 0.2%', 'at +365 d, after what is shown'],
  ] as const) {
    it(`is offered where a clock is ${when}, and holds all spans but that one`, async () => {
      const rest = Array.from({ length: 5 }, (_, n) => ({ id: n, parent: 'root', atMs: n * 10, forMs: 10 }))
      const absurd = { id: 'absurd', parent: 'root', startNs, endNs: startNs + 4n }
      await site.index(spans(1, { id: 'root', forMs: 100 }, ...rest, absurd))
      const whole = await pageOf(path)
      for (const id of [0, 4]) expect(barsIn(rowOf(whole, id))[0]).to.equal(atElse)
      const text = await pageOf(linkIn(whole, 'Zoom to where most spans are') ?? '')
      expect(barsIn(rowOf(text, 'root'))[0]).to.equal('bar 0% 100%')
      expect(barsIn(rowOf(text, 4))[0]).to.equal('bar 40% 10%')
      expect(besideIn(rowOf(text, 'absurd'))).to.equal(said)
      expect(linkIn(text, 'Zoom to where most spans are')).to.equal(undefined)
    })
  }

  it('has a span that ends before it begins, by a clock that was put back, where it begins', async () => {
    const back = { id: 'back', parent: 'root', startNs: noonNs + 500n * msNs, endNs: noonNs + 300n * msNs }
    await site.index(spans(1, { id: 'root', forMs: 1_000 }, back))
    const whole = await pageOf(path)
    expect(barsIn(rowOf(whole, 'back'))[0]).to.equal('bar 50% 0.2%')
    expect(besideIn(rowOf(await pageOf(`${path}?${zoomOf(350, 100)}`), 'back'))).to.match(/after what is shown$/)
    expect(besideIn(rowOf(await pageOf(`${path}?${zoomOf(450, 100)}`), 'back'))).to.equal(undefined)
    const text = await pageOf(linkIn(rowOf(whole, 'back'), 'Zoom to this span') ?? '')
    expect(barsIn(rowOf(text, 'back'))[0]).to.equal('bar 0% 0.2%')
  })

  it('has all bars in miniature, with what is shown marked, where there are more than a handful', async () => {
    await site.index(spans(1, ...batch), spans(2, ...batch.slice(0, 5).map((span) => ({ ...span, trace: 'few' }))))
    const overviewIn = (text: string): string => /<div class="overview".*?<\/div>/.exec(text)?.[0] ?? ''
    const whole = overviewIn(await pageOf(path))
    expect(whole).to.include('aria-label="All bars in miniature"').and.include('M0 0.5h1000').and.include('M500 31.5h4')
    expect(whole).to.not.include('<rect')
    const zoomed = overviewIn(await pageOf(`${path}?${zoomOf(1_800_000, 900_000)}`))
    expect(zoomed).to.include('class="shown" x="500" width="250" height="61"').and.include('M500 31.5h4')
    expect(zoomed).to.include('aria-label="All bars in miniature, with what is shown marked"')
    expect(overviewIn(await pageOf(`/app/trace/${traceIdOf('few')}`))).to.equal('')
  })

  it('shows the trace of whatever id was looked for, by the same address', async () => {
    await site.index(spans(1, ...batch))
    const text = await pageOf(`/app/find?id=${spanIdOf('root')}&${zoomOf(59_995, 20)}`)
    expect(barsIn(rowOf(text, 1))[0]).to.equal('bar 25% 25%')
    expect(linkIn(text, 'Show the whole trace')).to.equal(`/app/find?id=${spanIdOf('root')}#shown`)
    expect((await browser.get('/app/find?id=never-seen&zoom=1-2')).status).to.equal(404)
  })
})
