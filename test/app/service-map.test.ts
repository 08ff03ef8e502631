import { expect } from 'chai'
import type { AppContext } from '#src/app/context.ts'
import { createGraphLinks } from '#src/app/map/graph-links.ts'
import { readGraph } from '#src/app/map/read-graph.ts'
import { limits } from '#src/config.ts'
import { noCounts } from '#src/events/envelope.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createSearches } from '#src/query/searches.ts'
import { spanIdOf, traceIdOf, type GivenSpan } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { attacks } from './attacks.ts'
import { createBrowser, createPerson, password } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const words = (markup: string): string =>
  markup
    .replaceAll(/<\/t[dh]>/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** The rows of the page's tables: of calls, and of services. */
const tablesOf = (text: string): readonly (readonly string[])[] =>
  [...(text.split('</form>').at(-1) ?? '').matchAll(/<tbody>([^]*?)<\/tbody>/g)].map(([, body = '']) =>
    body.split('</tr>').map(words).filter(Boolean),
  )

const drawingOf = (text: string): string => /<div class="map[^]*?<\/div>/.exec(text)?.[0] ?? ''
const titlesIn = (markup: string, kind: 'node' | 'edge'): readonly string[] =>
  [...markup.matchAll(new RegExp(`<g class="${kind}[^]*?<title>([^<]*)</title>`, 'g'))].map(([, title = '']) => title)

/** An order: of a page, by two services, and a database; with a call whose caller was not received. */
const incident: readonly GivenSpan[] = [
  { id: 'page', service: 'page', kind: 'internal', forMs: 100 },
  { id: 'web', parent: 'page', service: 'web', forMs: 90, status: 'error' },
  { id: 'call', parent: 'web', service: 'web', kind: 'client', forMs: 80 },
  { id: 'orders', parent: 'call', service: 'orders', forMs: 70, status: 'error' },
  {
    id: 'select',
    parent: 'orders',
    service: 'orders',
    kind: 'client',
    forMs: 20,
    attributes: { 'db.system.name': 'postgresql', 'db.namespace': 'shop' },
  },
  { id: 'book', parent: 'lost', service: 'ledger', forMs: 5 },
]

describe('the service map', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans, workspace } = signedIn)
  })

  const open = async (address = '/app/map'): Promise<string> => {
    const { status, text } = await browser.get(address.replace(/#.*/, ''))
    expect(status, address).to.equal(200)
    return text
  }

  it('draws who calls whom and tells the same in tables, with errors, durations and what is missing', async () => {
    await site.index(spans(1, ...incident, ...incident.map((span) => ({ ...span, trace: 'u', forMs: 10 }))))
    const text = await open()
    expect(words(text)).to.include('4 services in all 2 traces that fit, by 12 spans. 2 more are known to be missing.')
    expect(tablesOf(text)).to.deep.equal([
      [
        'page → web 2 2 errors 10.0 ms 90.0 ms 90.0 ms',
        'web → orders 2 2 errors 10.0 ms 70.0 ms 70.0 ms',
        'missing spans → ledger 2 0 5.00 ms 10.0 ms 10.0 ms',
        'orders → postgresql/shop database 2 0 10.0 ms 20.0 ms 20.0 ms',
      ],
      // Entry spans, which of them failed, their p50 and p95; all spans, their errors; traces that begin there.
      [
        'orders 2 2 100 % 10.0 ms 70.0 ms 4 2 errors 0',
        'web 2 2 100 % 10.0 ms 90.0 ms 4 2 errors 0',
        'ledger 2 0 5.00 ms 10.0 ms 2 0 0',
        'page 2 0 10.0 ms 100 ms 2 0 2',
      ],
    ])
    const drawing = drawingOf(text)
    expect(titlesIn(drawing, 'node')).to.deep.equal([
      'page: 2 spans, 2 traces begin here',
      'postgresql/shop: database',
      'missing spans: 2 spans',
      'ledger: 2 spans',
      'orders: 4 spans, 2 errors',
      'web: 4 spans, 2 errors',
    ])
    expect(titlesIn(drawing, 'edge')).to.have.members([
      'page to web: 2 calls, 2 errors, p50 10.0 ms, p95 90.0 ms',
      'web to orders: 2 calls, 2 errors, p50 10.0 ms, p95 70.0 ms',
      'orders to postgresql/shop: 2 calls, p50 10.0 ms, p95 20.0 ms',
      'missing spans to ledger: 2 calls, p50 5.00 ms, p95 10.0 ms',
    ])
    expect(drawing.match(/class="edge failed"/g)).to.have.length(2)
  })

  it('tells services apart whose long names begin alike', async () => {
    const long = ['eu-west-1', 'us-east-1'].map((region) => `payments-card-authorization-worker-${region}`)
    const names = ['web', 'payments-api-gateway', ...long, 'x'.repeat(40)]
    await site.index(spans(1, ...names.map((service, id) => ({ id, service, ...(id > 0 ? { parent: 0 } : {}) }))))
    const drawn = [...drawingOf(await open()).matchAll(/<text class="name"[^>]*>([^<]*)<\/text>/g)]
    expect(drawn.map(([, line]) => line)).to.have.members([
      'web',
      ...['payments-api-', 'gateway'],
      ...['payments-card-', '…-worker-eu-west-1'],
      ...['payments-card-', '…-worker-us-east-1'],
      ...['x'.repeat(18), `…${'x'.repeat(17)}`],
    ])
  })

  it('leads from each box and arrow to traces that have it, and to spans of calls', async () => {
    const other: GivenSpan = { trace: 'other', id: 'o', service: 'elsewhere' }
    await site.index(spans(1, ...incident, other))
    const text = await open('/app/map?from=2026-11-21T11:00Z')
    const all = linksOfPage(drawingOf(text))
    expect(all).to.have.length(4 + 7)
    const drawn = all.filter(({ name }) => !/ to .* error/.test(name))
    expect(drawn).to.have.length(2 + 7)
    for (const { address, name } of drawn) {
      const found = await open(address)
      expect(address, name)
        .to.match(/^\/app\/traces\?/)
        .and.include('from=2026-11-21T11')
      const traces = name.startsWith('elsewhere') ? ['other'] : ['t']
      expect(
        [...found.matchAll(/<a href="\/app\/trace\/(\w{32})"><strong>/g)].map(([, id]) => id),
        address,
      ).to.deep.equal(traces.map(traceIdOf))
    }
    const longest = linksOfPage(text).find(({ name }) => name === '70.0 ms')
    const failed = linksOfPage(text).filter(({ name }) => name === '1 error')
    const place = `/app/trace/${traceIdOf('t')}?span=${spanIdOf('orders')}#span-${spanIdOf('orders')}`
    const red = all.find(({ name }) => name.startsWith('web to orders: 1 call, 1 error'))
    expect([longest?.address, failed[1]?.address, red?.address]).to.deep.equal([place, place, place])
  })

  it('is of the traces that a search finds, led to from their list, and leads back', async () => {
    await site.index(spans(1, ...incident, { trace: 'other', id: 'o', service: 'elsewhere' }))
    const list = await open('/app/traces?service=orders&status=error&has=missing_spans')
    const { address = '' } = linksOfPage(list).find(({ name }) => name === 'Service map') ?? {}
    const map = await open(address)
    expect(words(map)).to.include('4 services in the 1 trace that fits')
    expect(map)
      .to.match(/<option value="error" selected/)
      .and.match(/name="service"\s+value="orders"/)
    expect(map).to.include('<option value="ledger"></option>').and.not.include('elsewhere')
    const back = linksOfPage(map).find(({ name }) => name === 'List of these traces')?.address
    expect(back).to.equal('/app/traces?service=orders&status=error&has=missing_spans')
    // What a box asks of one span must not be asked for beside what the search asked of another.
    const page = linksOfPage(drawingOf(map)).find(({ name }) => name.startsWith('page:'))?.address
    expect(page).to.equal('/app/traces?has=missing_spans&service=page')
  })

  it('leads by a call of which only its caller tells to that caller', () => {
    const node = (name: string) =>
      ({
        kind: 'service',
        key: name,
        name,
        spans: 1,
        errors: 0,
        begins: 0,
        entries: [],
        failedEntries: 0,
        target: undefined,
      }) as const
    const edge = { from: node('web'), to: node('api'), calls: 2 }
    const links = createGraphLinks(new URLSearchParams('from=-1h&status=error'))
    expect([1, 2].map((toldByCaller) => links.edge({ ...edge, toldByCaller }))).to.deep.equal([
      '/app/traces?from=-1h&service=api',
      '/app/traces?from=-1h&service=web&kind=client',
    ])
  })

  it('is without a trace that is no longer kept when it is read', async () => {
    await site.index(spans(1, ...incident))
    const readerOf = () => site.reader
    const searches = createSearches({ ...site, readerOf, limits, cursors: createCursors('a secret') })
    const read = async (...ids: readonly string[]) => {
      const listed = ids.map((id) => ({ trace_id: id, span_count: 6 })) as unknown as Parameters<typeof readGraph>[2]
      const result = await readGraph({ searches } as AppContext, workspace, listed)
      return result.ok ? [result.value.traces, result.value.spans] : result.error.code
    }
    expect(await read(traceIdOf('gone'), traceIdOf('t'))).to.deep.equal([1, 6])
    expect(await read(traceIdOf('t'), 'no id')).to.equal('invalid_parameter')
  })

  it('says how many spans are missing, also those that are above none, and leads to the traces that lack some', async () => {
    const counts = { ...noCounts, refused: 3 }
    const refused = (trace: string, id: string) =>
      ({ traceId: traceIdOf(trace), spanId: spanIdOf(id), reason: 'rejected_allowance' }) as const
    const zero = { ...refused('t', ''), spanId: '', reason: 'rejected_invalid' } as const
    await site.index(
      spans(1, { id: 'a' }, { id: 'b', trace: 'u' }),
      givenEvent('spans.refused', 2, { refusedSpans: [refused('t', 'x'), zero, zero] }, { workspace, counts }),
    )
    const text = await open('/app/map?service=checkout&has=missing_spans')
    expect(words(text)).to.include('in the 1 trace that fits, by 1 span. 3 more are known to be missing')
    expect(drawingOf(text)).to.not.include('missing spans')
    const missing = (page: string) => linksOfPage(page).find(({ name }) => name === 'known to be missing')?.address
    const all = await open('/app/map?service=checkout')
    expect(missing(all)).to.equal('/app/traces?service=checkout&has=missing_spans')
    const listed = await open(missing(all))
    expect(listed).to.include(traceIdOf('t')).and.not.include(traceIdOf('u'))
    expect(missing(await open('/app/map?trace_id=' + traceIdOf('u')))).to.equal(undefined)
  })

  it('is of one trace too, from its page', async () => {
    await site.index(spans(1, ...incident, { trace: 'other', id: 'o', service: 'elsewhere' }))
    const links = linksOfPage(await open(`/app/trace/${traceIdOf('t')}`))
    const { address = '' } = links.find(({ name }) => name === 'Service map') ?? {}
    expect(words(await open(address))).to.include('4 services in the 1 trace that fits, by 6 spans.')
    const alone = linksOfPage(await open(`/app/trace/${traceIdOf('other')}`))
    expect(alone.map(({ name }) => name)).to.not.include('Service map')
  })

  it('says of which traces it is where more fit, and reads no further', async () => {
    await site.index(
      spans(1, ...Array.from({ length: 101 }, (_, n) => ({ trace: n, id: n, service: `s${n}`, atMs: n, forMs: n }))),
    )
    const newest = await open()
    expect(words(newest)).to.include('100 services in the 100 newest of the traces that fit, by 100 spans.')
    expect(tablesOf(newest).flat().join()).to.include('s100 ').and.not.include('s0 ')
    expect(words(await open('/app/map?order=oldest'))).to.include('the 100 oldest of the traces that fit')
    expect(words(await open('/app/map?order=longest'))).to.include('the 100 longest of the traces that fit')
    expect(words(newest)).to.include('None of these spans is a call')
    expect(words(newest)).to.include('Left out of the drawing, for want of room: 60 names, 0 arrows')
    expect(drawingOf(newest).match(/class="box"/g)).to.have.length(40)
  })

  it('says as far as which spans traces are read, and takes no call for unanswered whose answer may not have been', async () => {
    const call = { service: 'web', kind: 'client', attributes: { 'server.address': 'api.example' } } as const
    const many = Array.from({ length: 1_000 }, (_, n) => ({ id: n, parent: 'root', atMs: n, forMs: 1, service: 'web' }))
    await site.index(
      spans(
        1,
        { id: 'root', service: 'web', forMs: 2_000 },
        { ...call, id: 'done', parent: 'root', atMs: 1, forMs: 2 },
        { ...call, id: 'going on', parent: 'root', atMs: 1, forMs: 2_000 },
        ...many,
        { id: 'late', parent: 'going on', service: 'api', atMs: 1_500 },
      ),
    )
    const text = await open()
    expect(words(text)).to.include(
      'by 1,000 spans. 1 trace of these has more spans than were read: the first 1,000 of a trace',
    )
    expect(tablesOf(text)[0]).to.deep.equal(['web → api.example named by callers 1 0 2.00 ms 2.00 ms 2.00 ms'])
  })

  it('stays a page however many names there are', async () => {
    const many = Array.from({ length: 900 }, (_, n): GivenSpan => {
      const called = { kind: 'client', attributes: { 'server.address': `host-${n}` } } as const
      return { id: n, parent: 'root', atMs: n, service: `s${n % 450}`, ...(n < 450 ? {} : called) }
    })
    await site.index(spans(1, { id: 'root', service: 'web', kind: 'internal', forMs: 1_000 }, ...many))
    const text = await open()
    expect(words(text)).to.include('451 services in the 1 trace that fits, by 901 spans.')
    expect(tablesOf(text).map(({ length }) => length)).to.deep.equal([200, 200])
    expect(words(text)).to.include('And 700 others.').and.include('And 251 others.')
    expect(words(text)).to.include('room: 861 names, ')
    expect(text.match(/<option value="s\d/g)?.length ?? 0).to.be.at.most(100)
    expect(text.length).to.be.below(300_000)
  })

  it('reads fewer traces where these are large', async () => {
    const large = (trace: number): readonly GivenSpan[] =>
      Array.from({ length: 1_000 }, (_, n) => ({ trace, id: `${trace}-${n}`, atMs: trace * 1_000 + n }))
    for (let trace = 0; trace < 12; trace++) await site.index(spans(trace + 1, ...large(trace)))
    const text = words(await open())
    expect(text).to.include('1 service in the 10 newest of the traces that fit, by 10,000 spans.')
  })

  it('shows names of senders as text, each for itself, and leads by them', async () => {
    const unseen = [' ', '\u202e\u200b', '\u3164']
    const names = [...attacks, '\u202egpj.exe', 'x'.repeat(3_000), ...unseen]
    const called = attacks.map((attack, n) => ({
      id: `c${n}`,
      parent: 'root',
      kind: 'client' as const,
      attributes: { 'peer.service': `to ${attack}` },
    }))
    await site.index(
      spans(
        1,
        { id: 'root', service: 'root' },
        ...names.map((service, id) => ({ id, parent: 'root', service })),
        ...called,
      ),
    )
    const text = await open()
    const plain = text.replaceAll(/<script type="module" src="\/app\/[\w-]+\.js"><\/script>/g, '')
    for (const attack of attacks) expect(/[<>"']/.test(attack) && plain.includes(attack), attack).to.equal(false)
    expect(plain.replaceAll(/"[^"]*"/g, '""')).to.not.match(/<script|<img|<b>|<!--|<[^>]* (?:on\w+|style)=/i)
    expect(text).to.include('\u2068\u202egpj.exe\u2069: 1 span').and.include('<bdi>\u202egpj.exe</bdi>')
    expect(text.match(/>no name<\/text>/g)).to.have.length(unseen.length)
    // As who is called, and as a service.
    expect(text.match(/<em>no name<\/em>/g)).to.have.length(2 * unseen.length)
    expect(text.length).to.be.below(150_000)
    const drawn = linksOfPage(drawingOf(text)).filter(({ name }) => /^(?!root).*: 1 span/.test(name))
    // The longest one is longer than any that is kept.
    expect(drawn).to.have.length(names.length - 1)
    for (const { address, name } of drawn) expect(await open(address), name).to.include(traceIdOf('t'))
  })

  it('leads nowhere by a name whose address would be longer than what lies on the way takes', async () => {
    await site.index(
      spans(
        1,
        ...['名'.repeat(1_024), '名'.repeat(800)].flatMap((service, id) => [
          { id: `${id}`, service },
          { id: `of ${id}`, parent: `${id}`, service: `called ${service}`.slice(0, 1_024) },
        ]),
      ),
    )
    const drawn = linksOfPage(drawingOf(await open()))
    expect(drawn).to.have.length(3)
    for (const { address } of drawn) expect(address.length).to.be.at.most(8_000)
  })

  it('says so where nothing fits, and what is wrong with a search', async () => {
    await site.index(spans(1, ...incident))
    const none = await open('/app/map?service=nobody')
    expect(none).to.include('No traces match.').and.not.include('<svg')
    const wrong = await browser.get('/app/map?q=(open&service=web')
    expect(wrong.status).to.equal(400)
    expect(wrong.text)
      .to.include('value="(open"')
      .and.match(/name="service"\s+value="web"/)
    const id = await browser.get(`/app/map?q=${traceIdOf('t')}`)
    expect([id.status, id.location]).to.deep.equal([303, `/app/find?id=${traceIdOf('t')}`])
  })

  it('is of the own workspace, and of plans with traces', async () => {
    await site.index(spans(1, ...incident))
    await createPerson(site.directory, 'eve@other.example', 'Other')
    const eve = createBrowser(site)
    await eve.post('/app/sign-in', { email: 'eve@other.example', password })
    for (const query of ['', `?trace_id=${traceIdOf('t')}`, `?workspace=${workspace}`]) {
      expect((await eve.get(`/app/map${query}`)).text, query).to.not.include('ledger')
    }
    await site.directory.changePlan(workspace, 'logs-only')
    const refused = await browser.get('/app/map')
    expect([refused.status, refused.text.includes('ledger')]).to.deep.equal([403, false])
  })
})
