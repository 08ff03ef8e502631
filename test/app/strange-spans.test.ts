import { expect } from 'chai'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('the page of a trace with strange spans', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let logs: SignedIn['logs']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })

  it('says where spans start before their parents, by how much, and leads to the worst', async () => {
    await site.index(
      spans(
        1,
        { id: 'root', forMs: 100 },
        { id: 'a', parent: 'root', atMs: -5, forMs: 1 },
        { id: 'b', parent: 'root', atMs: -7_200_000, forMs: 1 },
        { id: 'c', parent: 'gone', atMs: -9_000_000, forMs: 1 },
      ),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const words = text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ')
    expect(words).to.include('2 spans start before their parents, by up to 2.00 h: their clocks seem to differ.')
    expect(linksOfPage(text).find(({ name }) => name === '2.00 h')?.address).to.equal(`#span-${spanIdOf('b')}`)
    await site.index(spans(2, { id: 'd', trace: 'u' }, { id: 'e', trace: 'u', parent: 'd', atMs: 900 }))
    expect((await browser.get(`/app/trace/${traceIdOf('u')}`)).text).to.not.include('clocks')
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
