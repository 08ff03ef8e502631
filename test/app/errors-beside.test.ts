import { expect } from 'chai'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('the head of a page of a long trace', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  const path = `/app/trace/${traceIdOf('t')}`
  const linkIn = (text: string, name: string): string => {
    const head = /<nav[^>]*aria-label="On this page"[^]*?<\/nav>/.exec(text)?.[0] ?? ''
    return linksOfPage(head).find((link) => link.name === name)?.address ?? ''
  }
  /** The pages of the trace, as its heads lead on. */
  async function pages(): Promise<readonly string[]> {
    const texts: string[] = []
    for (let address = path; address !== '';) {
      const { text } = await browser.get(address)
      texts.push(text)
      address = linkIn(text, 'More spans')
    }
    return texts
  }
  /** The errors that it leads to: on an earlier page, here, and on a later page. */
  const errorsIn = (text: string): readonly string[] =>
    ['Error on an earlier page', 'First error', 'Error on a later page'].map((name) =>
      linkIn(text, name).replace(/.*#span-/, ''),
    )

  it('leads to the nearest errors on other pages, each on its page', async () => {
    const failed = new Set([5, 999, 1_500, 2_400])
    const many = Array.from({ length: 2_500 }, (_, n) => {
      return { id: n, atMs: n, ...(failed.has(n) ? ({ status: 'error' } as const) : {}) }
    })
    await site.index(spans(1, ...many))
    const shown = await pages()
    expect(shown.map(errorsIn)).to.deep.equal([
      ['', spanIdOf(5), spanIdOf(1_500)],
      [spanIdOf(999), spanIdOf(1_500), spanIdOf(2_400)],
      [spanIdOf(1_500), spanIdOf(2_400), ''],
    ])
    const later = linkIn(shown[0] ?? '', 'Error on a later page')
    const { text } = await browser.get(later.replace(/#.*/, ''))
    expect(text).to.match(new RegExp(`id="span-${spanIdOf(1_500)}" aria-current="true"`))
    const { text: kept } = await browser.get(`${path}?span=${spanIdOf(5)}&find=operation:*&folded=1`)
    expect(linkIn(kept, 'Error on a later page')).to.match(/\?span=\w+&find=operation%3A\*&folded=1#span-/)
  })

  it('has nothing of other pages where it shows all errors, or there are none', async () => {
    const many = Array.from({ length: 1_001 }, (_, n) => ({ id: n, atMs: n }))
    await site.index(spans(1, ...many.slice(1), { id: 0, status: 'error' }))
    const [first = '', second = ''] = await pages()
    expect(errorsIn(first)).to.deep.equal(['', spanIdOf(0), ''])
    expect(errorsIn(second)).to.deep.equal([spanIdOf(0), '', ''])
  })

  it('leads to errors that started at one time with those of the page', async () => {
    const together = Array.from({ length: 4 }, (_, n) => ({ id: 2_000 + n, atMs: 2_000, status: 'error' as const }))
    await site.index(spans(1, ...Array.from({ length: 999 }, (_, n) => ({ id: n, atMs: n })), ...together))
    const [first = '', second = ''] = await pages()
    const [, here, later] = errorsIn(first)
    const ids = together.map(({ id }) => spanIdOf(id))
    expect(ids).to.include(here).and.include(later)
    expect(first).to.not.include(`id="span-${later}"`)
    expect(second).to.include(`id="span-${later}"`)
    expect(errorsIn(second)[0]).to.equal(here)
  })

  it('leads to the nearest errors of other pages where many on this page started at its ends', async () => {
    const at = (from: number, length: number, atMs: number, status: 'error' | 'ok') =>
      Array.from({ length }, (_, n) => ({ id: from + n, atMs, status }))
    await site.index(
      spans(1, ...at(0, 999, 0, 'ok'), { id: 999, atMs: 1, status: 'error' }, ...at(1_000, 1_000, 2, 'error')),
      spans(2, { id: 2_000, atMs: 3, status: 'error' }),
    )
    const [, second = ''] = await pages()
    expect(linkIn(second, 'Error on an earlier page')).to.include(spanIdOf(999))
    expect(linkIn(second, 'Error on a later page')).to.include(spanIdOf(2_000))
  })
})
