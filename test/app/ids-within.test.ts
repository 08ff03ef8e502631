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

  const find = (pasted: string) => browser.get(`/app/find?id=${encodeURIComponent(pasted)}`)

  it('that stand alone in something else that was pasted are what it finds', async () => {
    await site.index(spans(1, { id: 'one' }, { id: 'two', parent: 'one' }))
    const [id, spanId] = [traceIdOf('t'), spanIdOf('two')]
    for (const pasted of [
      `"${id}"`,
      `trace_id=${id} level=error`,
      `traceId: ${id.toUpperCase()}`,
      `of 0x${id}`,
      `https://other.example/trace/${id}?x=1`,
      `12:00:01 ERROR {"trace_id":"${id}","parent":"${id}"} ${'x '.repeat(1_500)}`,
      `1-${id.slice(0, 8)}-${id.slice(8)}`,
    ]) {
      const { status, location } = await find(pasted)
      expect([status, location?.toLowerCase()], pasted).to.deep.equal([303, `/app/find?id=${id}`])
      expect((await browser.get(location ?? '')).text).to.include(`id="span-${spanId}"`)
    }
    for (const pasted of [
      `traceparent: 00-${id}-${spanId}-01`,
      `{"span_id":"${spanId}","trace_id":"${id}","parent_id":"${'0'.repeat(16)}"}`,
      `https://own.example/app/trace/${id}?span=${spanId}#span-${spanId}`,
    ]) {
      const { status, location } = await find(pasted)
      expect([status, location], pasted).to.deep.equal([303, `/app/trace/${id}?span=${spanId}#span-${spanId}`])
    }
    for (const whole of [`00-${id}-${spanId}-01`, `0x${id}`]) {
      expect((await find(whole)).status, `${whole}, which is an id`).to.equal(200)
    }
    const unseen = await find(`trace_id=${'1'.repeat(32)} level=error`)
    expect(unseen.location).to.equal(`/app/find?id=${'1'.repeat(32)}`)
    expect((await browser.get(unseen.location ?? '')).status).to.equal(404)
  })

  it('that stand in the id of a session are part of it', async () => {
    const sessionId = `mobile-${traceIdOf('t')}`
    await site.index(spans(1, { id: 'one', sessionId }))
    expect((await find(sessionId)).text).to.include('<h1>Session</h1>')
  })

  it('that are several in what was pasted are led to', async () => {
    await site.index(spans(1, { id: 'one' }))
    const id = traceIdOf('t')
    const leadsTo = async (pasted: string): Promise<readonly string[]> => {
      const { text } = await find(pasted)
      const found = /<p class="notice row">[^]*?<\/p>/.exec(text)?.[0] ?? ''
      return linksOfPage(found).map(({ address }) => address)
    }
    const uuid = '113f6569-5514-4090-b8f8-4e2ac461bba9'
    expect(await leadsTo(`session ${uuid} of span ${spanIdOf('x')}`)).to.deep.equal([
      `/app/find?id=${uuid}`,
      `/app/find?id=${spanIdOf('x')}`,
    ])
    expect(await leadsTo(`${id} and ${'1'.repeat(32)}`)).to.have.length(2)
    const many = Array.from({ length: 12 }, (_, n) => `${n}`.padStart(32, '1'))
    expect(await leadsTo(many.join(' '))).to.deep.equal(many.slice(0, 10).map((each) => `/app/find?id=${each}`))
    for (const pasted of ['1'.repeat(32), 'mistyped', `${id}${id}`, 'a 1234567 b']) {
      expect(await leadsTo(pasted), pasted).to.deep.equal([])
    }
  })
})
