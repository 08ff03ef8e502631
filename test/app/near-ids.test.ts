import { expect } from 'chai'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('an id that is not found as it was typed', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })
  const of = { trace: 't', sessionId: 'visit-one-1' }
  beforeEach(() => site.index(logs(1, { message: 'declined', ...of }), spans(2, { id: 'a', ...of })))

  const [traceId, spanId] = [traceIdOf('t'), spanIdOf('a')]
  const [short, hyphened] = [traceId.slice(0, 8), `${traceId.slice(0, 8)}-${traceId.slice(8, 12)}`]

  const addressIn = (text: string, wanted: string): string =>
    linksOfPage(text).find(({ name }) => name === wanted)?.address ?? ''
  const search = (path: string, query: string) => browser.get(`${path}?q=${encodeURIComponent(query)}`)

  it('because it is cut short leads to what begins so', async () => {
    for (const [path, found] of [
      ['/app/logs', '<strong>1 record<'],
      ['/app/traces', `/app/trace/${traceId}`],
    ] as const) {
      for (const [typed, clause] of [
        [`trace_id:${short}`, `trace_id:${short}*`],
        [`trace_id=${short.toUpperCase()}`, `trace_id:${short.toUpperCase()}*`],
        [`trace_id:"${hyphened}"`, `trace_id:${hyphened.replace('-', '')}*`],
        [`service:checkout trace_id:${short}`, `trace_id:${short}*`],
        ['session_id:visit-on', 'session_id:visit-on*'],
        ['session_id=visit-one', 'session_id:visit-one*'],
        [short, `trace_id:${short}*`],
      ] as const) {
        const led = addressIn((await search(path, typed)).text, clause)
        expect((await browser.get(led)).text, `${path} ${typed}`).to.include(found)
      }
    }
    const unseen = await browser.get(`/app/find?id=${hyphened}`)
    const led = addressIn(unseen.text, 'Search traces by it')
    expect(led).to.include('from=-30d')
    expect((await browser.get(led)).text).to.include(`/app/trace/${traceId}`)
  })

  it('because of what stands before it or around it is found all the same', async () => {
    for (const [path, found] of [
      ['/app/logs', '<strong>1 record<'],
      ['/app/traces', `/app/trace/${traceId}`],
    ] as const) {
      for (const query of [`trace_id:0x${traceId}`, `trace_id=0X${traceId.toUpperCase()}`, `trace_id:" ${traceId} "`]) {
        expect((await search(path, query)).text, `${path} ${query}`).to.include(found)
      }
      expect((await browser.get(`${path}?trace_id=0x${traceId}`)).text, path).to.include(found)
    }
    expect((await search('/app/traces', `span_id:0x${spanId}`)).text).to.include(`/app/trace/${traceId}`)
    expect((await browser.get(`/app/trace/0x${traceId}`)).text).to.include(`id="span-${spanId}"`)
  })

  it('in a search of another time or kind leads to what has it', async () => {
    for (const address of [
      `/app/logs?q=trace_id:${traceId}&from=-1m`,
      `/app/patterns?q=trace_id%3D${traceId.toUpperCase()}&from=-1m`,
      `/app/traces?q=trace_id:${traceId}&from=-1m`,
      `/app/logs?q=span_id:${spanId}&from=-1m`,
      `/app/logs?trace_id=${traceId}&level=fatal`,
      '/app/traces?session_id=visit-one-1&status=error',
    ]) {
      const led = addressIn((await browser.get(address)).text, 'Find what has the id')
      expect((await browser.get(led)).text, address).to.include(`id="span-${spanId}"`)
    }
  })

  it('because it is in decimal leads to it as it is kept', async () => {
    const { status, text } = await browser.get(`/app/find?id=${BigInt(`0x${spanId}`)}`)
    expect(status).to.equal(404)
    expect((await browser.get(addressIn(text, spanId))).text).to.include(`id="span-${spanId}"`)
    for (const other of ['18446744073709551616', '0'.repeat(17), '1234567890'])
      expect((await browser.get(`/app/find?id=${other}`)).text, other).to.not.include('looks like an id')
  })

  it('is none where it is left out, a pattern, in quotes, a word or a number', async () => {
    for (const typed of [
      `checkout NOT trace_id:${short} absent`,
      `absent NOT (trace_id:${short} OR level:debug)`,
      'trace_id:abcd9*',
      `"trace_id:${short}"`,
      '/trace_id:abcd9/',
      'defaced',
      '1234567',
      'my.trace_id:abcd9',
    ]) {
      const { text } = await search('/app/logs', typed)
      expect(text, typed).to.include('No log records match').and.not.include('An id is searched whole')
      expect(text, typed).to.not.include('Find what has the id')
    }
  })
})
