import { expect } from 'chai'
import { colours, serviceColours } from '#src/app/service-colours.ts'
import { style } from '#src/app/style.ts'
import { noCounts } from '#src/events/envelope.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { noonNs, spanIdOf, traceIdOf, type givenSpan } from '#test/projections/traces/given.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

/** WCAG 2.2, "relative luminance", of `#rrggbb` or `#rgb`. */
function luminanceOf(colour: string): number {
  const digits = (colour.length === 4 ? colour.replaceAll(/\w/g, '$&$&') : colour).slice(1)
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(digits.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** What pages are painted on: white, and what Chromium has for a dark scheme; other browsers' is darker or little lighter. */
const [lightPage, darkPage] = ['#ffffff', '#121212']

describe('colours of the pages', () => {
  it('of services stand out from a light and a dark page', () => {
    for (const colour of colours) {
      for (const page of [lightPage, darkPage]) expect(contrastOf(colour, page), colour).to.be.at.least(3)
    }
  })

  it('of text can be read on a light and on a dark page', () => {
    const [light = '', dark = ''] = [...style.matchAll(/:root \{([^}]*)\}/g)].map(([, text = '']) => text)
    for (const [scheme, page] of [
      [light, lightPage],
      [dark, darkPage],
    ] as const) {
      const valueOf = (name: string): string => new RegExp(`--${name}: (#[0-9a-f]+)`).exec(scheme)?.[1] ?? ''
      for (const name of ['accent', 'bad', 'warn']) {
        expect(contrastOf(valueOf(name), page), `${name} on ${page}`).to.be.at.least(4.5)
      }
      expect(contrastOf(valueOf('on-accent'), valueOf('accent')), page).to.be.at.least(4.5)
      expect(contrastOf(valueOf('on-accent'), valueOf('bad')), page).to.be.at.least(4.5)
    }
    // A link within a note would be paler by it than can be read.
    expect(style)
      .to.match(/\n\.note \{/)
      .and.not.match(/\n\.note \{[^}]*opacity/)
  })

  it('of the edges of fields stand out from the page, and in the dark from what Chromium fills them with', () => {
    expect(style).to.match(/\ninput, select, button \{[^}]*border: 1px solid var\(--edge\)/)
    const [light = '', dark = ''] = [...style.matchAll(/--edge: (#[0-9a-f]+)/g)].map(([, colour = '']) => colour)
    for (const [edge, beside] of [
      [light, lightPage],
      [dark, darkPage],
      [dark, '#3b3b3b'],
    ] as const) {
      expect(contrastOf(edge, beside), `${edge} beside ${beside}`).to.be.at.least(3)
    }
  })

  it('are one for a service, whatever others there are, as far as they reach', () => {
    const names = Array.from({ length: 200 }, (_, n) => `service ${n}`)
    const alone = new Map(names.map((name) => [name, serviceColours([name])(name)]))
    for (let start = 0; start + colours.length <= names.length; start += 7) {
      const some = names.slice(start, start + colours.length)
      const colourOf = serviceColours(some)
      expect(new Set(some.map(colourOf)).size, 'no two alike').to.equal(colours.length)
      const reversed = serviceColours([...some].reverse())
      expect(some.map(reversed)).to.deep.equal(some.map(colourOf))
      // Who is the first by name to have a colour by its name alone, keeps it.
      const kept = [...some]
        .sort((a, b) => (a < b ? -1 : 1))
        .filter((name, at, all) => {
          return all.findIndex((other) => alone.get(other) === alone.get(name)) === at
        })
      for (const name of kept) expect(colourOf(name), name).to.equal(alone.get(name))
    }
    expect(names.map(serviceColours(names)), 'more than there are colours').to.deep.equal([...alone.values()])
    expect(serviceColours([])('unheard of')).to.match(/^s\d$/)
  })
})

describe('the page of a trace', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let logs: SignedIn['logs']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  async function pageOf(...given: readonly Parameters<typeof givenSpan>[0][]): Promise<string> {
    await site.index(spans(1, ...given))
    return (await browser.get(`/app/trace/${traceIdOf('t')}`)).text.replaceAll(/\s+/g, ' ')
  }
  const ticksOf = (text: string): readonly string[] =>
    [...(/<div class="ticks"[\s\S]*?<\/div>/.exec(text)?.[0] ?? '').matchAll(/>([^<>\s][^<>]*)</g)].map(
      ([, tick = '']) => tick.trim(),
    )

  it('has an axis of time above its bars, in four even steps', async () => {
    expect(
      ticksOf(await pageOf({ id: 'a', forMs: 100 }, { id: 'b', parent: 'a', atMs: 100, forMs: 1_700 })),
    ).to.deep.equal(['0', '450 ms', '900 ms', '1.35 s', '1.80 s'])
  })

  it('has none where no time passed', async () => {
    const text = await pageOf({ id: 'a', forMs: 0 })
    expect(text).to.include('</strong> operation a').and.include('<rect')
    expect(ticksOf(text)).to.deep.equal([])
  })

  it('draws spans in the colour of their service, errors with a mark beside it, and nothing for what is missing', async () => {
    const text = await pageOf(
      { id: 'a', forMs: 100 },
      { id: 'b', parent: 'a', service: 'payments', status: 'error' },
      { id: 'c', parent: 'lost', atMs: 20 },
    )
    const colourOf = serviceColours(['checkout', 'payments'])
    const rows = text.split('<li class="').slice(1)
    const rowOf = (words: string): string => rows.find((row) => row.includes(words)) ?? ''
    const barsIn = (row: string): readonly string[] =>
      [...row.matchAll(/<rect class="(\w+)"/g)].map(([, name = '']) => name)
    expect(barsIn(rowOf('</strong> operation a'))).to.deep.equal([colourOf('checkout'), 'critical', 'critical'])
    expect(barsIn(rowOf('</strong> operation b'))).to.deep.equal([colourOf('payments'), 'error', 'critical'])
    expect(rowOf('</strong> operation b')).to.include('<span class="mark bad">error</span>')
    const missing = rowOf(`Span <code>${spanIdOf('lost')}</code> is missing`)
    expect(missing)
      .to.match(/^missing d0"/)
      .and.include('not known')
      .and.not.include('<rect')
    const chipOf = (service: string): string =>
      textOf(new RegExp(`<span class="mark ${colourOf(service)}"\\s*>(<a[^]*?)</span\\s*>`).exec(text)?.[1] ?? '')
    expect(['checkout', 'payments'].map(chipOf)).to.deep.equal(['checkout 2', 'payments 1, 1 error'])
    for (const service of ['checkout', 'payments']) expect(style).to.include(`rect.${colourOf(service)} { fill: #`)
  })

  it('says of missing spans how many at least where not all are listed', async () => {
    const orphans = (count: number) => Array.from({ length: count }, (_, n) => ({ id: n, parent: `lost ${n}` }))
    const text = await pageOf(...orphans(999))
    expect(text).to.include(', 999 known to be missing').and.not.include('at least')
    await site.index(spans(2, { id: 'a', parent: 'lost a' }, { id: 'b', parent: 'lost b' }, { id: 'c', atMs: 1 }))
    const { text: more } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    expect(more)
      .to.include(', at least 1,000 known to be missing')
      .and.include('Its parent is on another page, or missing.')
  })

  it('has a missing span on the pages of its children, and one that nothing names at the end of the last', async () => {
    const refused = { traceId: traceIdOf('t'), spanId: spanIdOf('refused'), reason: 'rejected_invalid' } as const
    const counts = { ...noCounts, refused: 1 }
    await site.index(
      spans(
        1,
        { id: 'early', parent: 'lost early' },
        ...Array.from({ length: 1_100 }, (_, n) => ({ id: n, atMs: n })),
        { id: 'late', parent: 'lost late', atMs: 2_000 },
      ),
      givenEvent('spans.refused', 2, { refusedSpans: [refused] }, { workspace, counts }),
    )
    const pages: (readonly string[])[] = []
    for (let address: string | undefined = `/app/trace/${traceIdOf('t')}`; address !== undefined;) {
      const { text } = await browser.get(address)
      pages.push([...text.matchAll(/<em class="name"\s*>Span <code>(\w+)/g)].map(([, id = '']) => id))
      address = linksOfPage(text).find(({ name }) => name === 'More spans')?.address
    }
    expect(pages).to.deep.equal([[spanIdOf('lost early')], [spanIdOf('lost late'), spanIdOf('refused')]])
  })

  const rowsIn = (text: string): readonly string[] => text.split('<li class="').slice(1)
  const markedIn = (text: string): readonly string[] =>
    rowsIn(text)
      .filter((row) => row.includes('aria-current="true"'))
      .map((row) => /id="([^"]*)"/.exec(row)?.[1] ?? '')
  const addressNamed = (text: string, name: string): string =>
    linksOfPage(text).find((link) => link.name === name)?.address ?? ''

  it('shows the span that somebody looks for: by its id, from a search, from its log, and by a link to it', async () => {
    await site.index(
      spans(1, { id: 'a', forMs: 100 }, { id: 'b', parent: 'a', status: 'error' }, { id: 'c', parent: 'b' }),
      logs(2, { message: 'one', trace: 't', spanId: spanIdOf('b') }),
    )
    const place = `/app/trace/${traceIdOf('t')}?span=${spanIdOf('b')}#span-${spanIdOf('b')}`
    const found = (await browser.get(`/app/find?id=${spanIdOf('b')}`)).text
    expect(addressNamed(found, 'The span')).to.equal(`#span-${spanIdOf('b')}`)
    expect(addressNamed(found, 'Link to this span')).to.equal(place.replaceAll(spanIdOf('b'), spanIdOf('a')))
    const searched = (await browser.get('/app/traces?status=error')).text
    expect(linksOfPage(searched).map(({ address }) => address)).to.include(place)
    expect(addressNamed((await browser.get('/app/logs')).text, 'Trace')).to.equal(place)
    const linked = (await browser.get(place.replace(/#.*/, ''))).text
    for (const text of [found, linked]) {
      expect(markedIn(text)).to.deep.equal([`span-${spanIdOf('b')}`])
      expect(rowsIn(text).filter((row) => /<details class="line"[^>]* open>/.test(row))).to.have.length(1)
    }
    const whole = (await browser.get(`/app/trace/${traceIdOf('t')}`)).text
    expect(markedIn(whole)).to.deep.equal([])
    expect(whole).to.not.match(/<details class="line"[^>]* open>/)
  })

  it('begins with the page that holds the span looked for, or what a missing one was the parent of', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => ({
      id: n,
      atMs: n,
      ...(n === 1_700 ? { parent: 'gone' } : {}),
    }))
    await site.index(spans(1, ...many), logs(2, { message: 'one', trace: 't', spanId: spanIdOf(2_400) }))
    const path = `/app/trace/${traceIdOf('t')}`
    const held = new Map<string, readonly (string | undefined)[]>()
    for (const id of [999, 1_000, 1_999, 2_400, 'gone']) {
      const { text } = await browser.get(`${path}?span=${spanIdOf(id)}`)
      expect(markedIn(text), String(id)).to.deep.equal([`span-${spanIdOf(id)}`])
      const rows = rowsIn(text).map((row) => /id="span-([^"]*)"/.exec(row)?.[1])
      held.set(String(id), [rows[0], addressNamed(text, 'First page')])
    }
    expect([...held]).to.deep.equal([
      ['999', [spanIdOf(0), '']],
      ['1000', [spanIdOf(1_000), path]],
      ['1999', [spanIdOf(1_000), path]],
      ['2400', [spanIdOf(2_000), path]],
      ['gone', [spanIdOf(1_000), path]],
    ])
    expect(markedIn((await browser.get(`/app/find?id=${spanIdOf(1_200)}`)).text)).to.have.length(1)
    const log = addressNamed((await browser.get('/app/logs')).text, 'Trace')
    const { text: second } = await browser.get(`${path}?span=${spanIdOf(1_000)}`)
    expect(markedIn((await browser.get(log.replace(/#.*/, ''))).text)).to.have.length(1)
    const { text: third } = await browser.get(addressNamed(second, 'More spans'))
    expect(rowsIn(third)[0]).to.include(`id="span-${spanIdOf(2_000)}"`)
    expect(third, 'the span is not looked for on a page that was turned to').to.not.include('is not among the spans')
    const both = `${addressNamed(second, 'More spans')}&span=${spanIdOf(1_000)}`
    expect(addressNamed((await browser.get(both)).text, 'Look for it')).to.equal(
      `${path}?span=${spanIdOf(1_000)}#span-${spanIdOf(1_000)}`,
    )
  })

  it('begins with the span looked for where the page that holds it would end before it for its size', async () => {
    const large = { region: 'eu '.repeat(300_000) }
    await site.index(spans(1, ...Array.from({ length: 30 }, (_, n) => ({ id: n, atMs: n, resource: large }))))
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}?span=${spanIdOf(20)}`)
    expect(markedIn(text)).to.deep.equal([`span-${spanIdOf(20)}`])
    expect(rowsIn(text)[0]).to.include(`id="span-${spanIdOf(20)}"`)
  })

  it('says that a span looked for is nowhere', async () => {
    const lost = `/app/trace/${traceIdOf('t')}?span=${spanIdOf('lost')}`
    await site.index(spans(1, ...Array.from({ length: 1_001 }, (_, n) => ({ id: n, atMs: n }))))
    const first = (await browser.get(lost)).text.replaceAll(/\s+/g, ' ')
    expect(first).to.include(`Span <code>${spanIdOf('lost')}</code> is not among the spans received so far.`)
    expect(first).to.include('1,001 spans (1,000 on this page)')
    const both = `${addressNamed(first, 'More spans')}&span=${spanIdOf('lost')}`
    const second = (await browser.get(both)).text.replaceAll(/\s+/g, ' ')
    expect(second).to.include(`Span <code>${spanIdOf('lost')}</code> is not among the spans of this page of the trace.`)
    expect(addressNamed(second, 'First page')).to.equal(`/app/trace/${traceIdOf('t')}`)
    await site.index(logs(2, { trace: 'u', spanId: spanIdOf('lost') }))
    const { text } = await browser.get(`/app/trace/${traceIdOf('u')}?span=${spanIdOf('lost')}`)
    expect(text, 'also where none of the trace was received').to.include('is not among the spans')
  })

  /** The lists of a page: `(name)` for what stands below a name, `[name]` where that is folded; and that each is closed where it ends. */
  const outlineOf = (text: string): string => {
    const pieces = text
      .slice(text.indexOf('class="waterfall"'), text.indexOf('<details id="figures"'))
      .matchAll(
        /<\/strong>\s+operation (\w+)|<em class="name"\s*>Span|<details class="below"( open)?|<\/ul\s*><\/details\s*><\/li\s*>/g,
      )
    const ends: string[] = []
    const outline = [...pieces].map(([piece, name, isOpen]) => {
      if (name !== undefined) return ` ${name}`
      if (piece.startsWith('</ul')) return ends.pop() ?? 'closed twice'
      if (piece.startsWith('<em')) return ' missing'
      ends.push(isOpen === undefined ? ']' : ')')
      return isOpen === undefined ? ' [' : ' ('
    })
    return outline.concat(ends).join('').trim()
  }
  const tree = [
    { id: 'a', forMs: 100 },
    { id: 'b', parent: 'a', atMs: 1 },
    { id: 'c', parent: 'b', atMs: 2 },
    { id: 'd', parent: 'c', atMs: 3 },
    { id: 'e', parent: 'a', atMs: 4 },
    { id: 'f', parent: 'e', atMs: 5 },
    { id: 'g', parent: 'lost', atMs: 6 },
  ]

  it('has lists in lists, each to be folded and said to be so long', async () => {
    const text = await pageOf(...tree)
    expect(outlineOf(text)).to.equal('a ( b ( c ( d)) e ( f)) missing ( g)')
    expect([...text.matchAll(/aria-label="(\d+ spans? below [^"]*)"/g)].map(([, words]) => words)).to.deep.equal([
      '5 spans below checkout operation a',
      '2 spans below checkout operation b',
      '1 span below checkout operation c',
      '1 span below checkout operation e',
      `1 span below the missing span ${spanIdOf('lost')}`,
    ])
  })

  it('is folded by its address but for what is looked for', async () => {
    const whole = await pageOf(...tree)
    const path = `/app/trace/${traceIdOf('t')}`
    const address = addressNamed(whole, 'Fold spans')
    expect(address).to.equal(`${path}?folded=1`)
    const { text } = await browser.get(address)
    expect(outlineOf(text)).to.equal('a ( b [ c [ d]] e [ f]) missing ( g)')
    expect(addressNamed(text, 'Unfold all spans')).to.equal(path)
    const asked = (await browser.get(`${path}?span=${spanIdOf('d')}&folded=1`)).text
    expect(outlineOf(asked)).to.equal('a ( b ( c ( d)) e [ f]) missing ( g)')
    expect(addressNamed(asked, 'Unfold all spans')).to.equal(`${path}?span=${spanIdOf('d')}`)
  })

  it('nests no deeper than a parser of HTML does, and shows what lies deeper', async () => {
    const chain = Array.from({ length: 300 }, (_, n) => ({ id: n, atMs: n, ...(n === 0 ? {} : { parent: n - 1 }) }))
    const outline = outlineOf(await pageOf(...chain))
    expect(outline.match(/\(/g)).to.have.length(100)
    expect(outline)
      .to.match(/ 98 \( 99 \( 100 101 102 /)
      .and.match(/ 299\){100}$/)
  })

  it('leads to its first error and to what lies below its spans', async () => {
    await site.index(
      spans(1, { id: 'a', forMs: 100, sessionId: 's' }, { id: 'b', parent: 'a', atMs: 1, status: 'error' }),
      logs(2, { message: 'one', trace: 't' }, { message: 'two', trace: 't' }),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const nav = /<nav class="tabs" aria-label="On this page">([^]*?)<\/nav>/.exec(text)?.[1] ?? ''
    expect(linksOfPage(nav)).to.deep.equal([
      { name: 'First error', address: `#span-${spanIdOf('b')}` },
      { name: 'Where the time went', address: '#own-times' },
      { name: 'Compare', address: `/app/compare?trace_id=${traceIdOf('t')}` },
      { name: 'Timeline', address: '#timeline' },
      { name: 'Logs (2)', address: '#logs' },
      { name: 'Sessions (1)', address: '#sessions' },
      { name: 'Resources and scopes', address: '#origins' },
      { name: 'As JSON', address: `/app/json?trace_id=${traceIdOf('t')}` },
    ])
    for (const [, place] of nav.matchAll(/href="#([^"]*)"/g)) expect(text).to.include(` id="${place}"`)
  })

  it('says of a span and of its events when they were, in which zone, and how long after the beginning', async () => {
    const event = { timeNs: noonNs + 1_250_000n, name: 'exception', attributes: {}, droppedAttributesCount: 0 }
    const text = await pageOf({ id: 'a', forMs: 100, spanEvents: [event] }, { id: 'b', parent: 'a', atMs: 20 })
    expect(text).to.match(/Start <time>2026-11-21 12:00:00\.020000000 UTC<\/time> \(\+20\.0 ms in its trace\)</)
    expect(text).to.match(/12:00:00\.001 UTC<\/time> \(\+1\.25 ms\) <strong>exception</)
  })

  it('says once what spans have in common, and leads to it from each', async () => {
    const [one, other] = [{ 'host.name': 'host of both' }, { 'host.name': 'another host' }]
    const text = await pageOf(
      { id: 'a', resource: one },
      { id: 'b', parent: 'a', resource: one },
      { id: 'c', parent: 'a', resource: other },
    )
    expect(text.split('<td>host of both')).to.have.length(2)
    const toResources = linksOfPage(text).filter(({ address }) => address.startsWith('#resource-'))
    expect(toResources.map(({ name, address }) => [name, address])).to.deep.equal([
      ['Resource 1', '#resource-1'],
      ['Resource 1', '#resource-1'],
      ['Resource 2', '#resource-2'],
    ])
    const [, folded = ''] =
      /<h2>Resources and scopes<\/h2> <details> <summary>([^<]*)<\/summary> <div id="origins">/.exec(text) ?? []
    expect(folded).to.equal('2 resources, 1 scope')
    const [, second = ''] = text.split('id="resource-2"')
    expect(second).to.include('another host').and.not.include('host of both')
    expect(linksOfPage(text).filter(({ address }) => address === '#scope-1')).to.have.length(3)
    expect(text.split('id="scope-1"')).to.have.length(2)
  })

  it('is below one and three quarters of a megabyte with a thousand spans, of which the one looked for has links', async () => {
    const resource = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`resource.name.${n}`, `its value ${n}`]))
    const attributes = Object.fromEntries(
      Array.from({ length: 6 }, (_, n) => [`http.some.name.${n}`, `/its/value/${n}`]),
    )
    const many = Array.from({ length: 1_000 }, (_, n) => {
      return { id: n, parent: n === 0 ? null : Math.floor((n - 1) / 3), atMs: n, resource, attributes }
    })
    await site.index(spans(1, ...many))
    const address = `/app/trace/${traceIdOf('t')}?span=${spanIdOf(999)}`
    const { text } = await browser.get(address)
    expect(text.length).to.be.within(500_000, 1_750_000)
    const linked = linksOfPage(text).map(({ name }) => name)
    expect(linked).to.include('only spans with operation: operation 999')
    expect(linked).to.include('only spans with resource.name.9: its value 9')
    expect(linked).to.not.include('only spans with operation: operation 998')
  })

  it('leads from a span to its logs, where some name it', async () => {
    const named = { message: 'of b', trace: 't', spanId: spanIdOf('b') }
    await site.index(
      spans(1, { id: 'a' }, { id: 'b', parent: 'a' }),
      logs(2, named, { message: 'of none', trace: 't' }),
    )
    const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
    const found = linksOfPage(text).filter(({ name }) => name === 'Its logs')
    expect(found).to.have.length(1)
    const page = await browser.get(found[0]?.address ?? '')
    expect(page.text).to.include('of b').and.not.include('of none')
  })

  it('says what the sender of a span has left out, and nothing of what it has not', async () => {
    const whole = await pageOf({ id: 'a' })
    expect(whole).to.include('scope.name').and.not.include('dropped by the sender')
    const given = { droppedAttributesCount: 3, droppedEventsCount: 1_200, droppedLinksCount: 1 }
    await site.index(spans(2, { trace: 'u', id: 'b', ...given }))
    const { text } = await browser.get(`/app/trace/${traceIdOf('u')}`)
    expect(text).to.match(/dropped by the sender<\/th>\s*<td>3 attributes, 1,200 events, 1 link</)
  })

  it('has one colour for a service, beside a list of traces with others too', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `service ${n + 10}`)
    const alike = (name: string): string | undefined =>
      names.find((other) => other < name && serviceColours([other])(other) === serviceColours([name])(name))
    const service = names.find((name) => alike(name) !== undefined) ?? ''
    const session = { sessionId: 's 1' }
    const two = [
      { ...session, id: 'a', service: alike(service) ?? '' },
      { ...session, trace: 'u', id: 'b', service, atMs: 10 },
    ]
    await site.index(spans(1, ...two))
    const { text: page } = await browser.get('/app/find?id=s%201')
    const text = page.replaceAll(/\s+/g, ' ')
    const chips = [...text.matchAll(/<span class="mark (s\d)" ?>([^<]*) 1</g)].filter(([, , name]) => name === service)
    const bars = [...text.matchAll(/<rect class="(s\d)"/g)]
    const expected = serviceColours(two.map((span) => span.service))(service)
    expect([...chips, ...bars].map(([, colour]) => colour)).to.deep.equal([expected, expected, expected])
    expect(expected).to.not.equal(serviceColours([service])(service))
  })
})
