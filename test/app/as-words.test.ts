import { expect } from 'chai'
import { givenLog, givenRumEvent, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('what was pasted into a search, and finds nothing as a search', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  const said = "charge failed: TypeError: Cannot read order=7 (of 'id')"
  const search = async (page: string, typed: string): Promise<string> => {
    const [path = '', own = 'service=web'] = page.split('?')
    return (await browser.get(`${path}?${own}&q=${encodeURIComponent(typed)}`)).text
  }

  /** The page that the words lead to which the page says may be meant; and these. */
  async function ledBy(path: string, typed: string): Promise<Readonly<{ meant: string; led: string }>> {
    const [part = ''] = /<p>\s*A word before a colon[^]*?<\/p>/.exec(await search(path, typed)) ?? []
    const [link] = linksOfPage(part)
    return { meant: link?.name ?? '', led: link === undefined ? '' : (await browser.get(link.address)).text }
  }

  it('leads to the same as words, where a message has it, on each page', async () => {
    const event = givenRumEvent({ sessionId: 'visit', service: 'web' })
    const log = givenLog({ ordinal: 1, source: 'rum', sessionId: 'visit', service: 'web', message: said })
    await site.index(
      logs(1, { message: said, service: 'web', fields: { order: { id: 5 } } }),
      spans(2, { id: 'a', service: 'web', attributes: { 'exception.message': said } }),
      givenEvent('rum.received', 3, { rumEvents: [event], logs: [log] }, { workspace }),
    )
    for (const [path, found] of [
      ['/app/logs', '<strong>2 records<'],
      ['/app/patterns', '<strong>1 pattern<'],
      ['/app/patterns?first=rarest', '<strong>1 pattern<'],
      ['/app/logs?order=asc&fields=order.id&limit=7', '<strong>2 records<'],
      ['/app/traces', `/app/trace/${traceIdOf('t')}`],
      ['/app/map', '<th scope="row">'],
      ['/app/sessions', '/app/find?id=visit'],
    ] as const) {
      const { meant, led } = await ledBy(path, said)
      expect(meant, path).to.include('AND "failed:TypeError:"')
      expect(led, path).to.include(found).and.not.include('A word before a colon')
    }
    expect((await ledBy('/app/logs', `service:web ${said} level>=info`)).meant).to.match(
      /^service:web AND charge AND "/,
    )
  })

  it('leads to the same words side by side, where one of them is not and was taken for an operator', async () => {
    const message = 'ERROR:  relation "orders" does not exist'
    await site.index(logs(1, { message, service: 'web' }), spans(2, { id: 'a', attributes: { 'db.error': message } }))
    for (const path of ['/app/logs', '/app/patterns', '/app/traces?service=']) {
      for (const typed of [message, ' relation "orders" does not exist\n']) {
        const [part = ''] = /<p>\s*A “not” leaves out[^]*?<\/p>/.exec(await search(path, typed)) ?? []
        const [link] = linksOfPage(part)
        expect(link?.name, `${path} ${typed}`).to.match(/^"(?:ERROR: )?relation orders does not exist"$/)
        const led = link === undefined ? '' : (await browser.get(link.address)).text
        expect(led, `${path} ${typed}`).to.match(/<strong>1 (?:record|pattern)<|\/app\/trace\//)
      }
    }
    for (const typed of ['relation not exist', '-relation does not exist', '"relation orders" not orders'])
      expect(await search('/app/logs', typed), typed).to.not.include('A “not” leaves out')
  })

  it('is not said to be words where these are not found either, or are in quotes', async () => {
    await site.index(logs(1, { message: said, service: 'web' }), spans(2, { id: 'a', service: 'web' }))
    for (const typed of [
      'charge failed:other',
      'level:fatal failed',
      '"failed:other"',
      'absent',
      'x -failed:TypeError',
    ])
      expect((await ledBy('/app/logs', typed)).meant, typed).to.equal('')
    expect((await ledBy('/app/traces', said)).meant).to.equal('')
  })

  it('leads to the id that it holds', async () => {
    await site.index(logs(1, { message: 'declined', trace: 't' }), spans(2, { id: 'a', trace: 't' }))
    const id = traceIdOf('t')
    for (const typed of [
      `traceparent: 00-${id}-00f067aa0ba902b7-01`,
      `"traceparent":"00-${id}-00f067aa0ba902b7-01"`,
      `traceID=${id} absent`,
      `https://jaeger.example/trace/${id}?uiFind=x`,
      `{"level":"error","message":"gone","trace_id":"${id}"}`,
    ]) {
      for (const path of ['/app/logs', '/app/traces']) {
        const link = linksOfPage(await search(path, typed)).find(({ address }) => address === `/app/find?id=${id}`)
        expect(link, `${path} ${typed}`).to.not.equal(undefined)
      }
    }
    expect(await search('/app/logs', `"${id.replace(/./, 'f')}"`)).to.not.include('It holds what looks like an id')
  })
})
