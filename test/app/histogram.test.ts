import { expect } from 'chai'
import { noonNs } from '#test/projections/traces/given.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('bars over time', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site } = signedIn)
  })

  it('lead to as many records as they count, at both ends of the range too', async () => {
    const [fromNs, toNs] = [noonNs + 500n, noonNs + 1_000_000_000_500n]
    const times = [fromNs - 400n, fromNs, fromNs + 1n, noonNs + 500_000_000_000n, toNs - 1n, toNs, toNs + 1n]
    await site.index(logs(1, ...times.map((timeNs) => ({ timeNs }))))
    const { text } = await browser.get('/app/logs?from=2026-11-21T12:00:00.0000005Z&to=2026-11-21T12:16:40.0000005Z')
    const bars = [...text.matchAll(/<a href="([^"]*)"\s*><title>[^<]*: (\d+)</g)]
    expect(bars.map(([, , total]) => Number(total))).to.deep.equal([2, 1, 1])
    for (const [, address = '', total] of bars) {
      const { text: narrowed } = await browser.get(address.replaceAll('&amp;', '&'))
      expect(/<strong>(\d+) record/.exec(narrowed)?.[1], address).to.equal(total)
    }
  })

  it('can be seen however few they count beside the highest, and so can their errors', async () => {
    const many = Array.from({ length: 400 }, () => ({ timeNs: noonNs }))
    const minuteNs = 60_000_000_000n
    await site.index(logs(1, ...many, { timeNs: noonNs, level: 'error' }, { timeNs: noonNs + 30n * minuteNs }))
    const { text } = await browser.get('/app/logs?from=2026-11-21T11:55Z&to=2026-11-21T12:55Z')
    const drawn = [...text.matchAll(/<rect (class="error")? ?x="[^"]*" y="([^"]*)" width="[^"]*" height="([^"]*)"/g)]
    const tall = drawn.map(([, kind, y, height]) => [kind === undefined ? 'all' : 'errors', Number(y), Number(height)])
    expect(tall).to.deep.equal([
      ['all', 0, 100],
      ['errors', 98, 2],
      ['all', 98, 2],
      ['errors', 100, 0],
    ])
  })

  it('lead to times as short as they can be, which the form then shows', async () => {
    const secondNs = 1_000_000_000n
    await site.index(
      logs(1, { timeNs: noonNs }, { timeNs: noonNs + 90n * secondNs }, { timeNs: noonNs + 99n * secondNs }),
    )
    const { text } = await browser.get('/app/logs?from=2026-11-21T11:59:00Z&to=2026-11-21T12:05:00Z')
    const ends = [...text.matchAll(/<span\s*><time[^>]*>([^<]*)</g)].map(([, words]) => words)
    expect(ends).to.deep.equal(['2026-11-21 11:59:00 UTC', '2026-11-21 12:05:00 UTC'])
    const { text: wider } = await browser.get('/app/logs?from=2026-11-21T11:00:00Z&to=2026-11-21T12:05:00Z')
    expect(wider).to.match(/<time[^>]*>2026-11-21 11:00 UTC</)
    const times = [...text.matchAll(/<a href="[^"]*from=([^"&]*)&amp;to=([^"]*)"\s*><title>/g)]
    const shown = times.map(([, from = '', to = '']) => [decodeURIComponent(from), decodeURIComponent(to)])
    expect(shown).to.have.length.above(1)
    expect(shown[0]?.[0]).to.equal('2026-11-21T12:00Z')
    for (const time of shown.flat()) expect(time).to.match(/^2026-11-21T12:\d\d(:(?!00)\d\d)?Z$/)
  })
})
