import { expect } from 'chai'
import { spanIdOf, traceIdOf, type GivenSpan } from '#test/projections/traces/given.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const given: readonly (readonly [said: string, span: Omit<GivenSpan, 'id'>])[] = [
  [
    'POST api.pay.example/v2/charges',
    {
      name: 'POST',
      attributes: { 'server.address': 'api.pay.example', 'url.full': 'https://api.pay.example/v2/charges?key=a#b' },
    },
  ],
  ['GET shop.example:8080/', { name: 'GET', attributes: { 'http.url': 'http://shop.example:8080/' } }],
  [
    'SELECT SELECT * FROM a WHERE id = $1',
    { name: 'SELECT', attributes: { 'db.query.text': 'SELECT *\n  FROM a\n WHERE id = $1' } },
  ],
  [`query ${'x'.repeat(80)}…`, { name: 'query', attributes: { 'db.statement': 'x'.repeat(500) } }],
  [
    'send orders &lt;b&gt;',
    { name: 'send', kind: 'producer', attributes: { 'messaging.destination.name': 'orders <b>' } },
  ],
  [
    'receive orders',
    { name: 'receive orders', kind: 'consumer', attributes: { 'messaging.destination.name': 'orders' } },
  ],
  ['call ledger', { name: 'call', attributes: { 'peer.service': 'ledger', 'url.full': ' ', 'net.peer.name': 7n } }],
  ['GET /orders', { name: 'GET /orders', kind: 'server', attributes: { 'url.full': 'http://shop.example/orders' } }],
  [
    'POST error refused a.example',
    { name: 'POST', status: 'error', statusMessage: 'refused', attributes: { 'server.address': 'a.example' } },
  ],
  ['work', { name: 'work', attributes: {} }],
  [
    'order {order} stored order o-17 stored',
    { name: 'order {order} stored', kind: 'internal', attributes: { 'logfire.msg': 'order o-17 stored' } },
  ],
  ['pay', { name: 'pay', kind: 'internal', attributes: { 'logfire.msg': 'pay' } }],
  [
    'see {at} see https://a.example/?b',
    { name: 'see {at}', kind: 'internal', attributes: { 'logfire.msg': 'see https://a.example/?b' } },
  ],
  // As @opentelemetry/instrumentation-document-load 0.68.0 and -user-interaction 0.67.0 send them.
  [
    'resourceFetch localhost:18595/a.png',
    {
      name: 'resourceFetch',
      kind: 'internal',
      attributes: { 'url.full': 'http://localhost:18595/a.png', 'http.response_content_length': 0n },
    },
  ],
  [
    'click //*[@id=&quot;b&quot;]',
    {
      name: 'click',
      kind: 'internal',
      attributes: {
        event_type: 'click',
        target_element: 'BUTTON',
        target_xpath: '//*[@id="b"]',
        'url.full': 'http://localhost:18595/',
      },
    },
  ],
  ['inner', { name: 'inner', kind: 'internal', attributes: { 'url.full': 'http://shop.example/orders' } }],
]

describe('the line of a span that calls something', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  it('says what it calls, or its message, where its name does not', async () => {
    await site.index(spans(1, ...given.map(([, span], id) => ({ kind: 'client' as const, atMs: id, ...span, id }))))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const lines = given.map((_, id) => {
      const [, line = ''] = text.split(`id="span-${spanIdOf(id)}"`)
      const [, name = ''] = /<span class="name"\s*>([^]*?)<span class="timeline"/.exec(line) ?? []
      return textOf(name)
    })
    expect(lines).to.deep.equal(given.map(([said]) => `checkout ${said}`))
  })
})
