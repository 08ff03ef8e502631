import { expect } from 'chai'
import { traceAddress } from '#src/app/trace-address.ts'
import { noCounts } from '#src/events/envelope.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('the page of a trace with strange spans', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let logs: SignedIn['logs']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  it('says where spans start before their parents, by how much, and leads to the worst', async () => {
    await site.index(
      spans(
        1,
        { id: 'root', forMs: 100 },
        { id: 'a', parent: 'root', atMs: -5, forMs: 1 },
        { id: 'b', parent: 'root', atMs: -7_200_000, forMs: 1 },
        { id: 'c', parent: 'gone', atMs: -9_000_000, forMs: 1 },
        { id: 'late', parent: 'root', atMs: 10_800_000, forMs: 1 },
        { id: 'f', parent: 'late', atMs: 0, forMs: 1 },
      ),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const words = textOf(text)
    expect(words).to.include('3 spans start before their parents, by up to 3.00 h: their clocks seem to differ.')
    expect(linksOfPage(text).find(({ name }) => name === '3.00 h')?.address).to.equal(`#span-${spanIdOf('f')}`)
    await site.index(spans(2, { id: 'd', trace: 'u' }, { id: 'e', trace: 'u', parent: 'd', atMs: 900 }))
    expect((await browser.get(`/app/trace/${traceIdOf('u')}`)).text).to.not.include('clocks')
  })

  it('says nothing of clocks where spans of one service are off by less than a browser’s clock ticks', async () => {
    // documentFetch of @opentelemetry/instrumentation-document-load 0.68.0 starts so before documentLoad.
    const early = { parent: 'root', atMs: -0.199951 }
    await site.index(spans(1, { id: 'root' }, { id: 'a', ...early }))
    expect((await browser.get(`/app/trace/${traceIdOf('t')}`)).text).to.not.include('clocks')
    const apart = [
      { id: 'root', trace: 'u' },
      { id: 'b', trace: 'u', service: 'ledger', ...early },
    ] as const
    await site.index(spans(2, ...apart))
    const { text } = await browser.get(`/app/trace/${traceIdOf('u')}`)
    expect(textOf(text)).to.include('1 span starts before its parent, by 200 µs: their clocks seem to differ.')
  })

  it('leads to the error that has none below it, where others only handed it on', async () => {
    await site.index(
      spans(
        1,
        { id: 'root', status: 'error' },
        { id: 'fine', parent: 'root', atMs: 1 },
        { id: 'call', parent: 'root', atMs: 2, status: 'error' },
        { id: 'cause', parent: 'call', atMs: 3, status: 'error' },
        { id: 'later', parent: 'root', atMs: 4, status: 'error' },
      ),
      spans(2, { id: 'alone', trace: 'u', status: 'error' }),
    )
    const leadsTo = async (trace: string) => {
      const { text } = await browser.get(`/app/trace/${traceIdOf(trace)}`)
      return linksOfPage(text).filter(({ name }) => /^\w+ error$/.test(name))
    }
    expect(await leadsTo('t')).to.deep.equal([
      { name: 'First error', address: `#span-${spanIdOf('root')}` },
      { name: 'Innermost error', address: `#span-${spanIdOf('cause')}` },
    ])
    expect(await leadsTo('u')).to.deep.equal([{ name: 'First error', address: `#span-${spanIdOf('alone')}` }])
  })

  it('shows a bar of what took no time, wherever it lies', async () => {
    const barsOf = async (trace: string) => {
      const { text } = await browser.get(`/app/trace/${traceIdOf(trace)}`)
      return [...text.matchAll(/<rect class="s\d" x="([^"]*)" width="([^"]*)"/g)].map(([, x, width]) => [x, width])
    }
    await site.index(
      spans(
        1,
        { id: 'a', forMs: 100 },
        { id: 'b', parent: 'a', atMs: 100, forMs: 0 },
        { trace: 'u', id: 'c', forMs: 0 },
      ),
    )
    expect(await barsOf('t')).to.deep.equal([
      ['0%', '100%'],
      ['99.8%', '0.2%'],
    ])
    expect(await barsOf('u')).to.deep.equal([['0%', '100%']])
  })

  it('shows each span whose parents go in a circle, once', async () => {
    const circle = [
      { id: 'a', parent: 'c' },
      { id: 'b', parent: 'a' },
      { id: 'c', parent: 'b' },
    ]
    await site.index(spans(1, ...circle))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const shown = [...text.matchAll(/ id="span-(\w+)"/g)].map(([, id]) => id)
    expect(shown).to.have.members(['a', 'b', 'c'].map(spanIdOf))
  })

  it('leads from a span to one that it is linked with, where its ids can be of one', async () => {
    const bare = { traceState: '', flags: 0, attributes: {}, droppedAttributesCount: 0 }
    const sent = { ...bare, traceId: traceIdOf('u'), spanId: spanIdOf('sent') }
    const links = [sent, { ...sent, spanId: '' }, { ...sent, traceId: 'none', spanId: '"><b>' }]
    await site.index(
      spans(1, { id: 'a', links }),
      spans(2, { id: 'root', trace: 'u' }, { id: 'sent', trace: 'u', parent: 'root' }),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const found = linksOfPage(text).filter(({ name }) => name === spanIdOf('sent'))
    expect(found.map(({ address }) => address)).to.deep.equal([traceAddress(traceIdOf('u'), spanIdOf('sent'))])
    const { text: there } = await browser.get(found[0]?.address.replace(/#.*/, '') ?? '')
    expect(there).to.match(new RegExp(`id="span-${spanIdOf('sent')}" aria-current="true"`))
    expect(linksOfPage(text).filter(({ name }) => [traceIdOf('u'), 'none'].includes(name))).to.have.length(3)
    expect(text).to.include('&quot;&gt;&lt;b&gt;').and.not.include('<b>')
  })

  it('says how many spans were rejected that no id tells apart', async () => {
    const zero = { traceId: traceIdOf('t'), spanId: '0'.repeat(16), reason: 'rejected_invalid' } as const
    const refusedSpans = [zero, zero, { ...zero, spanId: '' }, { ...zero, spanId: spanIdOf('refused') }]
    const counts = { ...noCounts, refused: refusedSpans.length }
    await site.index(givenEvent('spans.refused', 1, { refusedSpans }, { workspace, counts }))
    const page = async () => textOf((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)
    expect(await page()).to.include('0 spans, 0 errors, 2 known to be missing, 2 more rejected without a valid id.')
    await site.index(spans(2, { id: 'a' }))
    expect(await page()).to.include('1 span, 0 errors, 2 known to be missing, 2 more rejected without a valid id.')
  })

  it('says that more may be missing than an answer lists', async () => {
    const known = async () =>
      / [\w ]*[\d,]+ known to be missing/.exec((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)?.[0]
    const orphans = Array.from({ length: 1_000 }, (_, n) => ({ id: n, parent: `lost ${n}` }))
    await site.index(spans(1, ...orphans.slice(1)))
    expect(await known()).to.equal(' 999 known to be missing')
    await site.index(spans(2, ...orphans.slice(0, 1)))
    expect(await known()).to.equal(' at least 1,000 known to be missing')
  })

  it('is of the trace, also where a session has the same id', async () => {
    const [id, upper] = [traceIdOf('t'), traceIdOf('u').toUpperCase()]
    await site.index(spans(1, { id: 'a', trace: 't', sessionId: id }, { id: 'b', trace: 'u', sessionId: upper }))
    for (const each of [id, upper]) {
      const { text } = await browser.get(`/app/find?id=${each}`)
      expect([each, text.includes('<h1>Session</h1>'), text.includes('Search these logs')]).to.deep.equal([
        each,
        false,
        false,
      ])
      expect(
        linksOfPage(text).map(({ name }) => name),
        each,
      ).to.include('Compare')
    }
  })

  it('says of a span that came again how often', async () => {
    await site.index(spans(1, { id: 'a' }), spans(2, { id: 'a' }))
    const said = async (): Promise<string | undefined> =>
      /came again [^<]*/.exec((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)?.[0]
    expect(await said()).to.equal('came again 1 time')
    await site.index(spans(3, { id: 'a' }))
    expect(await said()).to.equal('came again 2 times')
  })

  it('is not said to lack by its sender what was cut here, which is in the same count', async () => {
    await site.index(spans(1, { id: 'c', droppedAttributesCount: 2, cuts: ['attributes cut at 256, 2 left out'] }))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    expect(text).to.match(/dropped by the sender, or cut here<\/th>\s*<td>2 attributes</)
  })

  it('has room for a few of very many services, those with errors first, and says how many there are', async () => {
    const many = (trace: string, count: number) =>
      Array.from({ length: count }, (_, n) => {
        return {
          id: `${trace}${n}`,
          trace,
          service: `s${String(n).padStart(3, '0')}`,
          ...(n === count - 1 ? { status: 'error' as const } : {}),
        }
      })
    await site.index(spans(1, ...many('t', 20)), spans(2, ...many('u', 300)))
    const servicesIn = (markup: string): readonly string[] =>
      [...markup.matchAll(/class="mark s\d+"\s*>([^<]*)/g)].map(([, name = '']) => name.trim().split(/\s/)[0] ?? '')
    const leftIn = (markup: string) => /<span class="note">and ([^<]*)<\/span>/.exec(markup)?.[1]
    const list = (await browser.get('/app/traces')).text
    const [, table = ''] = /<table class="traces">([^]*?)<\/table>/.exec(list) ?? []
    const rows = [...table.matchAll(/<tr>[^]*?<\/tr>/g)].map(([row]) => row)
    const row = (trace: string): string => rows.find((each) => each.includes(traceIdOf(trace))) ?? ''
    expect([servicesIn(row('t')).length, leftIn(row('t'))]).to.deep.equal([12, '8 others'])
    expect(servicesIn(row('t')).slice(0, 2)).to.deep.equal(['s019', 's000'])
    expect([servicesIn(row('u')).length, leftIn(row('u'))]).to.deep.equal([12, 'more than 188 others'])
    const headOf = async (trace: string): Promise<string> =>
      /<main[^]*?role="search"/.exec((await browser.get(`/app/trace/${traceIdOf(trace)}`)).text)?.[0] ?? ''
    expect([servicesIn(await headOf('t')).length, leftIn(await headOf('t'))]).to.deep.equal([20, undefined])
    expect([servicesIn(await headOf('u')).length, leftIn(await headOf('u'))]).to.deep.equal([
      60,
      'more than 140 others',
    ])
  })

  it('names what has no name, so that links to it can be seen, and cuts the names of a list', async () => {
    const long = 'x'.repeat(900)
    await site.index(
      spans(1, { id: 'root', service: long, name: long }, { id: 'a', parent: 'root', name: '' }),
      logs(2, { trace: 't' }),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    expect(linksOfPage(text).filter(({ name }) => name === '')).to.deep.equal([])
    expect(text.match(/<em>no name<\/em>/g)).to.have.length(3)
    const list = await browser.get('/app/traces?q=service:x*')
    const [rows = ''] = /<table class="traces">[^]*?<\/table>/.exec(list.text) ?? []
    expect(rows).to.include('(780 more characters)').and.not.include('x'.repeat(121))
  })
})
