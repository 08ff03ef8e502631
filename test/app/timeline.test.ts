import { expect } from 'chai'
import { givenRumEvent, msNs, noonNs, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const at = (ms: number): bigint => noonNs + BigInt(ms) * msNs

const partOf = (text: string): string => /<h2 id="timeline">[^]*?(?=<h2|<\/main>)/.exec(text)?.[0] ?? ''
/** The lines of the timeline as somebody reads them, without their date. */
const linesOf = (text: string): readonly string[] =>
  [...partOf(text).matchAll(/<li>([^]*?)<\/li>/g)].map(([, line = '']) => textOf(line).replace(/^\S+ /, ''))

describe('the timeline of what shares an id', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let logs: SignedIn['logs']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  const browserEvents = (n: number, ...given: readonly Parameters<typeof givenRumEvent>[0][]) => {
    const rumEvents = given.map((event, ordinal) => givenRumEvent({ ...event, ordinal }))
    return givenEvent('rum.received', n, { rumEvents }, { workspace })
  }
  const headsOf = (text: string): readonly string[] =>
    [...text.matchAll(/<h2[^>]*>([^<]*)/g)].map(([, words = '']) => words)

  /** A visit: a click, the trace that it began with a log in it, and a later trace. */
  async function visit(): Promise<string> {
    const sessionId = 'visit'
    await site.index(
      spans(
        1,
        {
          sessionId,
          trace: 'u',
          id: 'child',
          parent: 'root',
          atMs: 200,
          forMs: 5,
          service: 'payments',
          status: 'error',
        },
        { sessionId, trace: 'u', id: 'root', atMs: 200, forMs: 50 },
        { sessionId, id: 'early', atMs: 20, status: 'error' },
      ),
      logs(
        2,
        { message: 'declined', level: 'error', trace: 'u', timeNs: at(200), service: 'payments' },
        { message: '', level: 'warn', trace: 'u', timeNs: at(1_700), fields: { amount: 12n } },
      ),
      browserEvents(
        3,
        { sessionId, type: 'view', name: '', url: 'https://shop.example/', timeNs: at(0) },
        { sessionId, type: 'exception', name: 'TypeError', timeNs: at(1_701) },
      ),
    )
    return (await browser.get('/app/find?id=visit')).text
  }

  it('tells what a browser event says, where its name is nothing but its type', async () => {
    const fields = { type: 'error', message: 'TypeError: x is undefined' }
    const long = 'x'.repeat(1_000)
    await site.index(
      spans(1, { id: 'a' }),
      browserEvents(
        2,
        { trace: 't', type: 'error', name: 'error', fields, url: 'https://shop.example/' },
        { trace: 't', type: 'click', name: 'buy', fields: { message: '<b>Buy</b>' } },
        { trace: 't', type: 'log', name: 'log', fields: { message: long } },
        { trace: 't', type: 'view', name: 'view', fields: { message: 7n } },
      ),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const events = linesOf(text)
    const shown = [...text.matchAll(/id="browser-event-\d+"[^]*?<summary>([^]*?)<\/summary>/g)].map(
      ([, words]) => words,
    )
    expect(shown[0]).to.equal('TypeError: x is undefined https://shop.example/')
    expect(shown[1]).to.equal('buy &lt;b&gt;Buy&lt;/b&gt;')
    expect(shown[2]).to.match(/^x{400} … \(600 more characters\)$/)
    expect(shown[3]).to.equal('view')
    expect(events.join()).to.include('error TypeError: x is undefined https://shop.example/').and.include('click buy')
  })

  it('tells what a browser event has measured, and which address it is about', async () => {
    const url = 'https://shop.example/cart'
    const attributes = (of: Readonly<Record<string, string>>) => ({ attributes: { ...of, duration: '25' } })
    await site.index(
      spans(1, { id: 'a' }),
      browserEvents(
        2,
        {
          trace: 't',
          type: 'measurement',
          name: 'web-vitals',
          url,
          fields: { values: { lcp: 285.10000000009, delta: 1n } },
        },
        { trace: 't', name: 'faro.performance.resource', url, fields: attributes({ name: `${url}/items` }) },
        { trace: 't', name: 'faro.tracing.fetch', url, fields: attributes({ 'url.full': `${url}/pay`, name: 'pay' }) },
        { trace: 't', name: 'checkout', url, fields: attributes({ name: 'no address' }) },
        { trace: 't', type: 'measurement', name: 'odd', fields: { values: { a: 'b' }, attributes: 7n } },
      ),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const shown = [...text.matchAll(/id="browser-event-\d+"[^]*?<summary>([^]*?)<\/summary>/g)].map(
      ([, words]) => words,
    )
    expect(shown).to.deep.equal([
      `web-vitals lcp 285.1 ${url}`,
      `faro.performance.resource ${url}/items`,
      `faro.tracing.fetch ${url}/pay`,
      `checkout ${url}`,
      'odd',
    ])
  })

  it('tells in which order browser events, traces, spans and logs were, and how long after each other', async () => {
    const text = await visit()
    expect(linesOf(text)).to.deep.equal([
      '12:00:00.000 browser shop view https://shop.example/',
      '12:00:00.020 +20.0 ms trace checkout operation early 1 error',
      '12:00:00.200 +180 ms span checkout operation root took 50.0 ms',
      '12:00:00.200 +0 span payments operation child took 5.00 ms error',
      '12:00:00.200 +0 log payments declined error',
      '12:00:01.700 +1.50 s log checkout {&quot;amount&quot;:12} warn',
      '12:00:01.701 +1.00 ms browser shop exception TypeError error',
    ])
    expect(partOf(text)).to.not.include('<p class="note"').and.not.include('<details')
  })

  it('leads to each on the page, or to its own page', async () => {
    const text = await visit()
    const links = linksOfPage(partOf(text))
    expect(links.map(({ name }) => name)).to.deep.equal([
      'view https://shop.example/',
      'operation early',
      'operation root',
      'operation child',
      'declined',
      '{"amount":12}',
      'exception TypeError',
    ])
    const addresses = links.map(({ address }) => address)
    expect(addresses[1]).to.equal(`/app/trace/${traceIdOf('t')}`)
    expect(addresses[3]).to.equal(`#span-${spanIdOf('child')}`)
    const places = addresses.filter((address) => address.startsWith('#')).map((address) => address.slice(1))
    expect(new Set(places)).to.have.property('size', 6)
    for (const place of places) expect(text.split(` id="${place}"`), place).to.have.length(2)
    const rowOf = (address: string | undefined): string =>
      text.split(`<tr class="error" id="${address?.slice(1)}"`)[1] ?? ''
    expect(textOf(rowOf(addresses[4]).split('</tr>')[0] ?? '')).to.include('declined')
    expect(text).to.match(/<a href="#timeline">Timeline<\/a>/)
  })

  it('tells why spans and logs failed, as their own lists do', async () => {
    await site.index(
      spans(1, { id: 'a', forMs: 50, status: 'error', statusMessage: 'no <money>' }, { id: 'b', parent: 'a', atMs: 1 }),
      logs(2, { message: 'failed', level: 'error', trace: 't', timeNs: at(2), fields: { error: 'declined' } }),
    )
    const lines = linesOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).to.deep.equal([
      'span checkout operation a took 50.0 ms error no &lt;money&gt;',
      '+1.00 ms span checkout operation b took 10.0 ms',
      '+1.00 ms log checkout failed error declined',
    ])
  })

  it('comes first for a session, and below the spans of a trace', async () => {
    const session = await visit()
    expect(headsOf(session).slice(0, 2)).to.deep.equal(['Timeline', 'Trace'])
    // It is no trace, even where it has only one.
    expect(session).to.include('<title>visit · Session · Throughline</title>')
    const { text } = await browser.get(`/app/trace/${traceIdOf('u')}`)
    expect(headsOf(text)[0]).to.equal('Timeline')
    expect(text.indexOf('class="waterfall"')).to.be.within(1, text.indexOf('id="timeline"'))
    const { text: found } = await browser.get(`/app/find?id=${spanIdOf('child')}`)
    expect(headsOf(found).slice(0, 2)).to.deep.equal(['Trace', 'Timeline'])
    expect(found).to.match(/<title>checkout [^<]* · Found · Throughline/)
  })

  it('is not there where all is of one kind, which has its own list in that order', async () => {
    await site.index(
      spans(1, { id: 'a' }, { id: 'b', parent: 'a' }),
      logs(2, { message: 'one', sessionId: 's' }, { message: 'two', sessionId: 's' }),
    )
    for (const path of [`/app/trace/${traceIdOf('t')}`, '/app/find?id=s']) {
      const { status, text } = await browser.get(path)
      expect([status, text.includes('id="timeline"'), text.includes('#timeline')], path).to.deep.equal([
        200,
        false,
        false,
      ])
    }
  })

  it('folds what is beyond fifty lines, and says how much that is', async () => {
    const events = Array.from({ length: 60 }, (_, n) => ({ trace: 't', name: `click ${n}`, timeNs: at(n) }))
    await site.index(spans(1, { id: 'a' }), browserEvents(2, ...events))
    const part = partOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    const [open = '', folded = ''] = part.split('<details')
    expect([open, folded].map((markup) => markup.split('<li>').length - 1)).to.deep.equal([50, 11])
    expect(textOf(folded)).to.include('11 more lines, as far as 2026-11-21 12:00:00.059')
    expect(folded)
      .to.include('<ol class="moments" start="51"')
      .and.match(/\+1\.00 ms[^]*click 49</)
  })

  it('folds lines that read alike and follow each other to one, which says what they have in common', async () => {
    const gets = (from: number, count: number, more: object = {}) =>
      Array.from({ length: count }, (_, n) => {
        return { id: from + n, parent: 'a', name: 'GET', atMs: from + n * 10, forMs: 3 + (n % 2), ...more }
      })
    await site.index(
      spans(1, { id: 'a', forMs: 900 }, ...gets(10, 5), ...gets(100, 4, { status: 'error', atMs: 100, forMs: 2 })),
      spans(2, ...gets(200, 3), ...gets(300, 200)),
      browserEvents(3, { trace: 't', name: 'click', timeNs: at(290) }, { trace: 't', name: 'late', timeNs: at(5_000) }),
      browserEvents(4, ...Array.from({ length: 4 }, (_, n) => ({ trace: 't', name: 'rage', timeNs: at(6_000 + n) }))),
    )
    const part = partOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    const each = /<ol class="moments" aria-label="Each of them">([^]*?)<\/ol>/g
    expect(linesOf(`${part}<h2`.replaceAll(each, ''))).to.deep.equal([
      '12:00:00.000 span checkout operation a took 900 ms',
      '12:00:00.010 +10.0 ms span checkout GET 5 times within 40.0 ms, took 3.00 ms to 4.00 ms',
      '12:00:00.100 +50.0 ms span checkout GET 4 times at once, took 2.00 ms each error',
      '12:00:00.200 +100 ms span checkout GET took 3.00 ms',
      '12:00:00.210 +10.0 ms span checkout GET took 4.00 ms',
      '12:00:00.220 +10.0 ms span checkout GET took 3.00 ms',
      '12:00:00.290 +70.0 ms browser shop event click',
      '12:00:00.300 +10.0 ms span checkout GET 200 times within 1.99 s, took 3.00 ms to 4.00 ms',
      '12:00:05.000 +2.71 s browser shop event late',
      '12:00:06.000 +1.00 s browser shop event rage 4 times within 3.00 ms',
    ])
    expect(part).to.not.include('more lines')
    const folded = [...part.matchAll(each)].map(([, markup = '']) => markup)
    expect(folded.map((markup) => markup.split('<li>').length - 1)).to.deep.equal([5, 4, 200, 4])
    expect(linksOfPage(folded[0] ?? '').at(-1)).to.deep.equal({ name: 'GET', address: `#span-${spanIdOf(14)}` })
  })

  it('folds a loop of several lines, whatever their kinds, and says how often it went round', async () => {
    const rounds = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n)
    await site.index(
      spans(
        1,
        { id: 'a', forMs: 9_000 },
        ...rounds(1, 6).map((n) => ({ id: n, parent: 'a', name: 'SELECT', atMs: n * 10, forMs: 1 + (n % 2) })),
        ...rounds(20, 3).flatMap((n) => [
          { id: n, parent: 'a', name: 'ask', atMs: n * 100, forMs: 1 },
          { id: n + 10, parent: 'a', name: 'tell', atMs: n * 100 + 1, forMs: 1 },
        ]),
      ),
      logs(
        2,
        ...rounds(1, 6).flatMap((n) => [
          { message: 'row locked', level: 'warn', trace: 't', timeNs: at(n * 10 + 4) } as const,
          { message: 'again', trace: 't', timeNs: at(n * 10 + 5) },
        ]),
      ),
    )
    const part = partOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    const each = /<ol class="moments" aria-label="Each of them">([^]*?)<\/ol>/g
    expect(linesOf(`${part}<h2`.replaceAll(each, ''))).to.deep.equal([
      '12:00:00.000 span checkout operation a took 9.00 s',
      '12:00:00.010 +10.0 ms span checkout SELECT took 1.00 ms to 2.00 ms then log checkout row locked warn then log checkout again 6 times within 55.0 ms',
      ...['12:00:02.000 +1.94 s', '12:00:02.100 +99.0 ms', '12:00:02.200 +99.0 ms'].flatMap((time) => [
        `${time} span checkout ask took 1.00 ms`,
        `${time.replace(/0 .*/, '1 +1.00 ms')} span checkout tell took 1.00 ms`,
      ]),
    ])
    const [folded = ''] = [...part.matchAll(each)].map(([, markup = '']) => markup)
    expect(folded.split('<li>')).to.have.length(19)
  })

  it('has no more than four hundred lines: without the shortest spans, and says so', async () => {
    const many = Array.from({ length: 1_001 }, (_, n) => {
      return { id: n, parent: n === 0 ? null : 0, atMs: n, forMs: n === 0 ? 2_000 : n === 7 ? 1 : n + 1 }
    }).map((span) => (span.id === 7 ? { ...span, status: 'error' as const } : span))
    const records = Array.from({ length: 101 }, (_, n) => ({ message: `record ${n}`, trace: 't', timeNs: at(n) }))
    await site.index(spans(1, ...many), logs(2, ...records))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const lines = linesOf(text)
    expect(lines).to.have.length(400)
    expect(lines.filter((line) => line.includes(' log '))).to.have.length(100)
    const has = (n: number): boolean => lines.some((line) => line.includes(`operation ${n} took`))
    expect([0, 6, 7, 701, 702, 999].map(has)).to.deep.equal([true, false, true, false, true, true])
    expect(textOf(partOf(text))).to.match(
      /^Timeline 700 of this page&#39;s spans left out, which took the least time: the list of spans has them\. Only what is on this page: there are more spans, logs\. /,
    )
    expect(text.length).to.be.below(1_500_000)
    const next = linksOfPage(text).find(({ name }) => name === 'More logs')?.address ?? ''
    const { text: further } = await browser.get(next)
    expect(textOf(partOf(further))).to.include('What earlier pages of a list have is not here.')
  })

  it('shows hostile words as the text they are, and long ones as far as a line goes', async () => {
    const attack = '<img src=x onerror=alert(1)>"\''
    await site.index(
      spans(1, { id: 'a', name: attack, service: attack }),
      logs(2, { message: `${attack}${'x'.repeat(1_000)}`, trace: 't' }),
      browserEvents(3, { trace: 't', type: attack, name: attack, url: attack + 'y'.repeat(1_000), service: attack }),
    )
    const part = partOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    expect(part).to.not.include('<img')
    expect(part.split('&lt;img src=x')).to.have.length(7)
    expect(part)
      .to.match(/x{100,160} … \(\d+ more characters\)/)
      .and.not.match(/x{161}|y{161}/)
  })
})
