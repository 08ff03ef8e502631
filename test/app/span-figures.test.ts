import { expect } from 'chai'
import { noonNs, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('where the time of a trace went', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  async function figures(...given: readonly Parameters<SignedIn['spans']>[1][]): Promise<readonly string[]> {
    await site.index(spans(1, ...given))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const part = /<details id="figures">([^]*?)<\/details>/.exec(text)?.[1] ?? ''
    const [head = '', body = ''] = part.split('<tbody>')
    return [textOf(head.split('<table')[0] ?? ''), ...body.split('</tr>').map(textOf)].filter(Boolean)
  }
  const known =
    'Where the time went A span’s own time is what none of the spans below it took, as far as these are known. An operation leads to its span with the most of it.'

  it('is told by operation: what it took, and what of that no span below it took', async () => {
    const db = { name: 'SELECT', service: 'db', parent: 'a' }
    expect(
      await figures(
        { id: 'a', name: 'GET /', forMs: 100 },
        // Two at once and one that outlives its parent: no time is counted twice, and none beyond the parent's.
        { ...db, id: 'b', atMs: 10, forMs: 20 },
        { ...db, id: 'c', atMs: 20, forMs: 20, status: 'error' },
        { id: 'd', name: 'send <b>', parent: 'a', atMs: 90, forMs: 50 },
        { ...db, id: 'e', parent: 'lost', atMs: 200, forMs: 1 },
        { id: 'f', name: 'own parent', parent: 'f', atMs: 300, forMs: 7 },
        { ...db, id: 'g', atMs: 400, forMs: 2 },
      ),
    ).to.deep.equal([
      known,
      'checkout GET / 60.0 ms 100 ms 1',
      'checkout send &lt;b&gt; 50.0 ms 50.0 ms 1',
      'db SELECT 43.0 ms 43.0 ms 4 1 error',
      'checkout own parent 7.00 ms 7.00 ms 1',
    ])
  })

  it('has no time of a span that ends before it begins, by a clock that was put back', async () => {
    const back = { name: 'back', parent: 'a', startNs: noonNs + 60_000_000n, endNs: noonNs + 40_000_000n }
    expect(
      (
        await figures(
          { id: 'a', name: 'GET /', forMs: 100 },
          { ...back, id: 'b' },
          { id: 'c', name: 'back', parent: 'a', atMs: 70, forMs: 10 },
        )
      ).slice(1),
    ).to.deep.equal(['checkout GET / 90.0 ms 100 ms 1', 'checkout back 10.0 ms 10.0 ms 2'])
  })

  it('leads to the span of an operation that took the most time of its own', async () => {
    const step = { name: 'step', parent: 'a' }
    await site.index(
      spans(
        1,
        { id: 'a', forMs: 100 },
        { ...step, id: 'b', atMs: 1, forMs: 60 },
        { id: 'c', parent: 'b', atMs: 1, forMs: 55 },
        { ...step, id: 'd', atMs: 61, forMs: 20 },
      ),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const part = /<details id="figures">([^]*?)<\/details>/.exec(text)?.[1] ?? ''
    const [, place = ''] = /<a href="#([^"]*)"\s*>step</.exec(part) ?? []
    expect(place).to.equal(`span-${spanIdOf('d')}`)
    expect(text).to.include(` id="${place}"`)
  })

  it('is not told of one operation', async () => {
    const same = { name: 'GET' }
    expect(await figures({ id: 'a', ...same }, { id: 'b', parent: 'a', ...same })).to.deep.equal([])
  })

  it('is told of the twenty that took most where there are more', async () => {
    const told = await figures(...Array.from({ length: 25 }, (_, n) => ({ id: n, atMs: n * 100, forMs: n + 1 })))
    expect(told).to.have.length(21)
    expect(told[0]).to.include('The 5 operations with the least time of their own are left out.')
    expect([told[1], told[20]]).to.deep.equal([
      'checkout operation 24 25.0 ms 25.0 ms 1',
      'checkout operation 5 6.00 ms 6.00 ms 1',
    ])
  })

  it('is that of a page where the trace has several', async () => {
    const [head] = await figures(...Array.from({ length: 1_001 }, (_, n) => ({ id: n, atMs: n })))
    expect(head).to.match(/^Where the time went, on this page .* as far as these are on this page\./)
  })
})
