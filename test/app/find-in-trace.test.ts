import { expect } from 'chai'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search within a trace', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  const path = `/app/trace/${traceIdOf('t')}`
  const find = async (typed: string) => (await browser.get(`${path}?find=${encodeURIComponent(typed)}`)).location
  const spanOf = (address: string | null | undefined): string => /#span-(\w+)$/.exec(address ?? '')?.[1] ?? ''
  const linkIn = (text: string, name: string): string | undefined =>
    linksOfPage(text).find((link) => link.name === name)?.address
  const said = (text: string): string =>
    (/role="status">([^]*?)<\/p>/.exec(text)?.[1] ?? '').replaceAll(/<[^>]*>|\s+/g, ' ').trim()
  const markedIn = (text: string): readonly string[] =>
    [...text.matchAll(/<details class="line" id="span-(\w+)"[^>]*>\s*<summary>([^]*?)<\/summary>/g)]
      .filter(([, , summary = '']) => summary.includes('<mark>match</mark>'))
      .map(([, id = '']) => id)

  it('leads to the first span on whichever page, and from each to the next and the one before', async () => {
    const hits = new Set([3, 1_500, 1_501, 2_499])
    const many = Array.from({ length: 2_500 }, (_, n) => {
      return { id: n, atMs: n, ...(hits.has(n) ? { attributes: { 'db.table': 'orders' } } : {}) }
    })
    await site.index(spans(1, ...many))
    let address = await find('db.table=orders')
    const visited: string[] = []
    const counts: string[] = []
    const marked: (readonly string[])[] = []
    for (let next = address ?? undefined; next !== undefined;) {
      visited.push(spanOf(next))
      const { text } = await browser.get(next.replace(/#.*/, ''))
      expect(text, next).to.include(`id="span-${spanOf(next)}" aria-current="true"`)
      counts.push(said(text).split('.')[0] ?? '')
      marked.push(markedIn(text))
      address = next
      next = linkIn(text, 'Next match')
    }
    const ids = [...hits].map(spanIdOf)
    expect(visited).to.deep.equal(ids)
    expect(counts).to.deep.equal(ids.map((_, at) => `${at + 1} of 4 matches`))
    expect(marked).to.deep.equal([[ids[0]], [ids[1], ids[2]], [ids[1], ids[2]], [ids[3]]])
    const { text } = await browser.get((address ?? '').replace(/#.*/, ''))
    expect(spanOf(linkIn(text, 'Previous match'))).to.equal(ids[2])
    expect(linkIn(text, 'Clear')).to.equal(path)
    expect(text).to.match(/name="find"[^>]*value="db\.table=orders"/)
  })

  it('is led to for the spans of each service and for those with errors, from the head of the page', async () => {
    const odd = 'o"dd <b> AND (x)'
    await site.index(
      spans(
        1,
        { id: 'a', forMs: 90 },
        { id: 'b', parent: 'a', service: odd },
        { id: 'c', parent: 'a', service: 'db', status: 'error' },
        { id: 'd', parent: 'b', service: 'x'.repeat(300) },
        { id: 'e', parent: 'b', service: ' ' },
      ),
      spans(2, { trace: 'u', id: 'f', status: 'error' }),
    )
    const { text } = await browser.get(`${path}?folded=1`)
    const head = text.slice(0, text.indexOf('class="waterfall"'))
    for (const [name, id] of [
      ['checkout', 'a'],
      [odd, 'b'],
      ['db', 'c'],
      ['1 error', 'c'],
    ] as const) {
      const { location } = await browser.get(linkIn(head, name) ?? '')
      expect([spanOf(location), location?.includes('folded=1')], name).to.deep.equal([spanIdOf(id), true])
    }
    expect(head.match(/class="mark s\d"\s*>\s*<a\s/g)).to.have.length(3)
    const { text: alone } = await browser.get(`/app/trace/${traceIdOf('u')}`)
    expect(alone).to.not.include('find=')
  })

  it('goes down the lines of a page, though others began between them, and marks on pages that are turned to', async () => {
    await site.index(
      spans(
        1,
        { id: 'root', forMs: 900 },
        { id: 'left', parent: 'root', atMs: 10, name: 'SELECT' },
        { id: 'right', parent: 'root', atMs: 20, name: 'SELECT' },
        { id: 'below', parent: 'left', atMs: 30, name: 'select' },
      ),
    )
    const order: string[] = []
    for (let next: string | null | undefined = await find('select'); next != null;) {
      order.push(spanOf(next))
      next = linkIn((await browser.get(next.replace(/#.*/, ''))).text, 'Next match')
    }
    expect(order).to.deep.equal(['left', 'below', 'right'].map(spanIdOf))
    const { text } = await browser.get(`${path}?span=${spanIdOf('root')}&find=select`)
    expect(said(text)).to.match(/^3 spans match\./)
    expect(spanOf(linkIn(text, 'Next match'))).to.equal(spanIdOf('left'))
  })

  it('goes on from the page that was turned to, whatever was led to before, and marks what matches there', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({ id: n, atMs: n, name: n % 2 === 0 ? 'even' : 'odd' }))
    await site.index(spans(1, ...many))
    const first = await browser.get(((await find('odd')) ?? '').replace(/#.*/, ''))
    expect(said(first.text)).to.match(/^1 of 1,250 matches\./)
    const second = await browser.get(linkIn(first.text, 'More spans') ?? '')
    expect(said(second.text)).to.match(/^1,250 spans match\./)
    expect(spanOf(linkIn(second.text, 'Next match'))).to.equal(spanIdOf(1_001))
    expect(spanOf(linkIn(second.text, 'Previous match'))).to.equal(spanIdOf(999))
    const third = await browser.get(linkIn(second.text, 'More spans') ?? '')
    expect(markedIn(third.text)).to.have.length(250)
  })

  it('leaves the lines folded, and turns pages without the span that it led to', async () => {
    const many = Array.from({ length: 1_500 }, (_, n) => {
      return { id: n, atMs: n, ...(n === 0 ? {} : { parent: n % 100 === 1 ? 0 : n - 1 }) }
    })
    await site.index(spans(1, ...many))
    const page = async (address: string | null | undefined) =>
      (await browser.get((address ?? '').replace(/#.*/, ''))).text
    const folded = await page(`${path}?folded=1`)
    expect(folded).to.match(/<form[^>]*role="search"[^]*?name="folded" value="1"/)
    const { location } = await browser.get(`${path}?find=span_id:*&folded=1`)
    const first = await page(location)
    const second = await page(linkIn(first, 'Next match'))
    const other = await page(linkIn(second, 'More spans'))
    for (const text of [
      first,
      second,
      other,
      await page(linkIn(first, 'Clear')),
      await page(linkIn(other, 'First page')),
    ]) {
      expect(linkIn(text, 'Unfold all spans')).to.be.a('string')
    }
    expect(linkIn(second, 'More spans')).to.include('find=').and.not.include('span=')
    expect(other).to.not.include('is not among the spans')
    expect(linkIn(other, 'First page')).to.equal(`${path}?folded=1`)
    expect(await page(path)).to.not.match(/name="folded"/)
  })

  it('says that nothing matches, and what it does not understand; the trace stands', async () => {
    await site.index(
      spans(1, { id: 'a' }, { id: 'b', parent: 'a' }),
      spans(2, { id: 'c', trace: 'u', name: 'elsewhere' }),
    )
    for (const [typed, words] of [
      ['elsewhere', 'No span of this trace matches.'],
      ['(a', 'class="problem"'],
      ['status=error (a', '<pre class="place">status=error (a\n               ^</pre>'],
      ['status=error (a', 'aria-invalid="true" aria-describedby="problem"'],
      ['/', '<p class="notice">&quot;/&quot; has no letter or digit and is left out</p>'],
      ['<b>"', 'value="&lt;b&gt;&quot;"'],
    ] as const) {
      const { status, text } = await browser.get(`${path}?span=${spanIdOf('a')}&find=${encodeURIComponent(typed)}`)
      expect([status, text.includes(words), text.includes('class="waterfall"')], typed).to.deep.equal([200, true, true])
      expect(text).to.not.include('<b>"')
    }
    const { text } = await browser.get(`${path}?span=${spanIdOf('a')}&find=operation:b`)
    expect(said(text)).to.match(/^1 span matches\./)
  })
})
