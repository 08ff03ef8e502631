import { expect } from 'chai'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('ids', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  it('that stand in something else that was pasted are led to', async () => {
    await site.index(spans(1, { id: 'one' }))
    const id = traceIdOf('t')
    const leadsTo = async (pasted: string): Promise<readonly string[]> => {
      const { text } = await browser.get(`/app/find?id=${encodeURIComponent(pasted)}`)
      const found = /<p class="notice row">[^]*?<\/p>/.exec(text)?.[0] ?? ''
      return linksOfPage(found).map(({ address }) => address)
    }
    for (const pasted of [
      `"${id}"`,
      `trace_id=${id}`,
      `traceId: ${id.toUpperCase()}`,
      `0x${id}`,
      `https://other.example/trace/${id}?x=1`,
      `12:00:01 ERROR {"trace_id":"${id}"} ${'x '.repeat(1_500)}`,
      `1-${id.slice(0, 8)}-${id.slice(8)}`,
    ]) {
      const [address = ''] = await leadsTo(pasted)
      expect(address.toLowerCase(), pasted).to.equal(`/app/find?id=${id}`)
      expect((await browser.get(address)).status).to.equal(200)
    }
    const uuid = '113f6569-5514-4090-b8f8-4e2ac461bba9'
    expect(await leadsTo(`session ${uuid} of span ${spanIdOf('x')}`)).to.deep.equal([
      `/app/find?id=${uuid}`,
      `/app/find?id=${spanIdOf('x')}`,
    ])
    for (const pasted of ['1'.repeat(32), 'mistyped', `${id}${id}`, 'a 1234567 b']) {
      expect(await leadsTo(pasted), pasted).to.deep.equal([])
    }
  })
})
