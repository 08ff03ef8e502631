import { expect } from 'chai'
import { marksOf, type ShownTrace } from '#src/app/search/trace-rows.ts'
import { present } from '#src/lib/assert.ts'
import { noonNs, traceIdOf, type givenSpan } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a list of traces', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  it('marks what stands out about a trace, and nothing else', () => {
    const counts = { error_count: 0, missing_parent_count: 0, rejected_span_count: 0, repeated_count: 0 }
    const marks = (more: Partial<ShownTrace>): readonly string[] =>
      marksOf({ ...counts, has_logs: false, has_rum: false, ...more } as ShownTrace).map(({ markup }) => textOf(markup))
    expect(marks({})).to.deep.equal([])
    expect(
      marks({ error_count: 1, missing_parent_count: 2, rejected_span_count: 1, repeated_count: 1_200 }),
    ).to.deep.equal(['1 error', '2 parents missing', '1 span rejected', '1,200 repeated'])
    expect(marks({ has_logs: true, has_rum: true })).to.deep.equal(['logs', 'browser'])
  })

  it('says why the spans that fit have failed', async () => {
    const statusMessage = `<b>card</b> declined ${'again '.repeat(100)}`
    await site.index(
      spans(1, { id: 'a' }, { id: 'b', parent: 'a', service: 'payments', status: 'error', statusMessage }),
    )
    const { text } = await browser.get('/app/traces?service=payments')
    expect(text).to.match(
      /<small class="bad"\s*>&lt;b&gt;card&lt;\/b&gt; declined again .* … \(\d+ more characters\)<\/small/,
    )
    expect((await browser.get('/app/traces?service=checkout')).text).to.not.include('declined')
  })

  it('names the spans that fit, and does not repeat a root of which the row says all', async () => {
    const root = { id: 'a', name: 'GET /', forMs: 100 }
    const statusMessage = 'no answer'
    await site.index(
      spans(
        1,
        { ...root, trace: 'plain' },
        { ...root, trace: 'plain', id: 'b', parent: 'a', forMs: 20 },
        { ...root, trace: 'outlived' },
        { trace: 'outlived', id: 'c', parent: 'a', forMs: 150 },
        { ...root, trace: 'failed', status: 'error', statusMessage },
      ),
    )
    const { text } = await browser.get('/app/traces?operation=GET+%2F')
    const matchedOf = (trace: string): readonly string[] =>
      linksOfPage(text)
        .filter(({ address }) => address.startsWith(`/app/trace/${traceIdOf(trace)}?span=`))
        .map(({ name }) => name)
    expect(matchedOf('plain')).to.deep.equal(['checkout GET / 20.0 ms'])
    expect(matchedOf('outlived')).to.deep.equal(['checkout GET / 100 ms'])
    expect(matchedOf('failed')).to.deep.equal(['checkout GET / 100 ms'])
    expect(text).to.include(statusMessage)
  })

  it('is put in order by the heads of its columns, which say in which it is', async () => {
    await site.index(
      spans(
        1,
        { trace: 'old', id: 'a', forMs: 20 },
        { trace: 'new', id: 'b', atMs: 5, forMs: 10 },
        { trace: 'many', id: 'c', atMs: 1, forMs: 1 },
        { trace: 'many', id: 'd', parent: 'c', atMs: 1, forMs: 1 },
      ),
    )
    const head = (text: string): string => /<table class="traces">[^]*?<\/thead>/.exec(text)?.[0] ?? ''
    const rows = (text: string): readonly string[] =>
      [...text.matchAll(/<td><a href="\/app\/trace\/(\w+)"/g)].map(([, id = '']) => id)
    const sortOf = (text: string): readonly (string | undefined)[] => {
      const [sorted, sort] = /<th scope="col" aria-sort="(\w+)"\s*>[^]*?<\/th/.exec(head(text)) ?? []
      return [
        sort,
        sorted
          ?.replaceAll(/<[^>]*>/g, '')
          .replace(/<.*/, '')
          .trim(),
      ]
    }
    let { text } = await browser.get('/app/traces?service=checkout')
    const [oldest, newest, most] = ['old', 'new', 'many'].map(traceIdOf)
    expect([rows(text), sortOf(text)]).to.deep.equal([
      [newest, most, oldest],
      ['descending', 'Start (UTC)'],
    ])
    for (const [name, sort, first] of [
      ['Duration', ['descending', 'Duration'], oldest],
      ['Spans', ['descending', 'Spans'], most],
      ['Start (UTC)', ['descending', 'Start (UTC)'], newest],
      ['Start (UTC)', ['ascending', 'Start (UTC)'], oldest],
      ['Start (UTC)', ['descending', 'Start (UTC)'], newest],
    ] as const) {
      const { address } = present(
        linksOfPage(head(text)).find((link) => link.name === name),
        name,
      )
      expect(address).to.include('service=checkout')
      ;({ text } = await browser.get(address))
      expect([rows(text)[0], sortOf(text)], name).to.deep.equal([first, sort])
    }
    // By an id there is no order to choose.
    expect(linksOfPage(head((await browser.get(`/app/find?id=${traceIdOf('many')}`)).text))).to.deep.equal([])
  })
})

describe('the rows of a trace', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })

  async function pageOf(...given: readonly Parameters<typeof givenSpan>[0][]): Promise<string> {
    await site.index(spans(1, ...given))
    return (await browser.get(`/app/trace/${traceIdOf('t')}`)).text.replaceAll(/\s+/g, ' ')
  }

  it('say when a span began, for who cannot see its bar, and why it failed', async () => {
    const event = { timeNs: noonNs, name: 'exception', droppedAttributesCount: 0 }
    const text = await pageOf(
      { id: 'a', forMs: 100 },
      { id: 'b', parent: 'a', atMs: 20, status: 'error', statusMessage: `<declined> ${'again '.repeat(100)}` },
      {
        id: 'c',
        parent: 'a',
        atMs: 30,
        spanEvents: [{ ...event, attributes: { 'exception.message': 'tried again' } }],
      },
    )
    const [first = '', second = '', third = ''] = [
      ...text.matchAll(/<summary> (<span class="name".*?)<\/summary>/g),
    ].map(([, row = '']) => row)
    expect(first)
      .to.include('role="img" aria-label="at +0 ns, 80.0 ms of it on the critical path"')
      .and.not.include('<small')
    expect(second).to.include('role="img" aria-label="at +20.0 ms, 10.0 ms of it on the critical path"')
    expect(second).to.match(
      /error<\/span> <small class="bad"\s*>&lt;declined&gt; again .* … \(\d+ more characters\)<\/small/,
    )
    expect(third).to.match(/<small\s*>tried again<\/small/)
  })

  it('lead to a search of its logs, where it has some', async () => {
    expect(await pageOf({ id: 'a' })).to.not.include('Search these logs')
    await site.index(logs(2, { message: 'of it', trace: 't' }, { message: 'of another', trace: 'u' }))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const found = await browser.get(linksOfPage(text).find(({ name }) => name === 'Search these logs')?.address ?? '')
    expect(found.text).to.include('of it').and.include('Export as CSV').and.not.include('of another')
    expect(text, 'no service is left out').to.not.match(/and\s+(?:more than\s+)?0\s+others/)
    await site.index(logs(3, { message: 'of a visit', trace: 't', sessionId: 'visit' }))
    // No search of logs finds those of a session by its traces too.
    expect((await browser.get('/app/find?id=visit')).text)
      .to.include('of a visit')
      .and.not.include('Search these logs')
  })
})
