import { expect } from 'chai'
import type { Condition } from '#src/app/search/clause.ts'
import { createNarrow, queryCharactersMax } from '#src/app/search/narrow.ts'
import { createValueLinks } from '#src/app/search/value-links.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { givenSpan, noonNs, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { valueLinksOf } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const dayNs = 86_400_000_000_000n

describe('links beside values', () => {
  it('are not made of a value that is longer than an address', () => {
    const given: string[] = []
    const conditionOf = (field: string, text: string): Condition => {
      given.push(text)
      return { field, operator: '=', text }
    }
    const narrow = createNarrow({ path: '/app/logs', conditions: new URLSearchParams(), normalized: '' })
    const linksOf = createValueLinks({ narrow, noun: 'logs', conditionOf })
    expect(linksOf('stack', 'x'.repeat(1_000_000))).to.equal(undefined)
    expect(linksOf('state', 'ready')?.markup).to.include('state=ready')
    expect(given).to.deep.equal(['ready'])
  })

  it('are not made where the search would be longer than one may be', () => {
    expect(queryCharactersMax).to.equal(limits.queryCharactersMax)
    const most = queryCharactersMax - 'f='.length
    const narrow = createNarrow({ path: '/app/logs', conditions: new URLSearchParams(), normalized: '' })
    expect(narrow(`f=${'x'.repeat(most)}`)).to.have.length('/app/logs?q='.length + queryCharactersMax)
    expect(narrow(`f=${'x'.repeat(most + 1)}`)).to.equal(undefined)
    const within = createNarrow({ path: '/app/logs', conditions: new URLSearchParams(), normalized: 'a OR b' })
    const before = '(a OR b) AND '.length
    expect(within(`f=${'x'.repeat(most - before)}`)).to.be.a('string')
    expect(within(`f=${'x'.repeat(most - before + 1)}`)).to.equal(undefined)
  })

  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  /** Where a link of a page leads. */
  const linkIn = (text: string, words: string, verb = 'only'): string =>
    present(
      valueLinksOf(text).find((link) => link.verb === verb && link.words === words),
      `${verb} ${words}`,
    ).address
  const wordsIn = (text: string): readonly string[] =>
    valueLinksOf(text)
      .filter(({ verb }) => verb === 'only')
      .map(({ words }) => words)
  const searchIn = (address: string): URLSearchParams => new URL(address, site.url).searchParams
  const follow = async (address: string): Promise<string> => {
    const { status, text } = await browser.get(address)
    expect(status, address).to.equal(200)
    return text
  }

  it('lead to no search that is refused for its length', async () => {
    const long = 'x'.repeat(5_000)
    await site.index(logs(1, { message: 'one', fields: { long, state: 'ready' } }))
    expect(wordsIn(await follow('/app/logs'))).to.deep.equal(['state: ready'])
    expect(wordsIn(await follow(`/app/logs?q=one+-${'x'.repeat(4_085)}`))).to.deep.equal([])
  })

  it('compare the whole value', async () => {
    await site.index(
      logs(
        1,
        { message: 'one', fields: { state: 'ready' } },
        { message: 'two', fields: { state: 'Ready' } },
        { message: 'three', fields: { state: 'not ready' } },
        { message: 'four', fields: { other: 'ready' } },
      ),
    )
    const text = await follow('/app/logs?q=one')
    const [only, not] = [linkIn(text, 'state: ready'), linkIn(text, 'state: ready', 'not')]
    expect([searchIn(only).get('q'), searchIn(not).get('q')]).to.deep.equal([
      'one AND state=ready',
      'one AND state!=ready',
    ])
    const all = await follow('/app/logs')
    const messages = async (verb: string): Promise<readonly (string | undefined)[]> => {
      const found = await follow(linkIn(all, 'state: ready', verb))
      return [...found.matchAll(/<td>\s*<details>\s*<summary>(\w+)<\/summary>/g)].map(([, message]) => message)
    }
    expect(await messages('only')).to.have.members(['one', 'two'])
    expect(await messages('not')).to.have.members(['four', 'three'])
  })

  it('do not stand beside the time of a log, which no search finds as text', async () => {
    const timestamp = '2026-11-21T12:00:00Z'
    await site.index(logs(1, { message: 'one', fields: { timestamp, date: timestamp } }))
    expect(wordsIn(await follow('/app/logs?q=one')).filter((words) => words.includes(timestamp))).to.deep.equal([
      `date: ${timestamp}`,
    ])
  })

  it('keep the conditions of the search, and what it means', async () => {
    const records = Array.from({ length: 120 }, (_, n) => {
      return { message: 'red', level: 'warn', fields: { n, both: n < 110 } } as const
    })
    await site.index(logs(1, ...records, { message: 'red', level: 'info', fields: { both: true } }))
    const conditions = 'q=red+or+green&level=warn,error&service=checkout&order=asc'
    const first = await follow(`/app/logs?${conditions}`)
    const next = /rel="next" href="([^"]*)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const address = linkIn(await follow(next), 'both: true')
    expect([...searchIn(address)]).to.have.deep.members([
      ['q', '(red OR green) AND both=true'],
      ['level', 'warn,error'],
      ['service', 'checkout'],
      ['order', 'asc'],
    ])
    const narrowed = await follow(address)
    expect(narrowed).to.include('<strong>110 records</strong>')
    expect(searchIn(linkIn(narrowed, 'n: 7')).get('q')).to.equal('(red OR green) AND both=true AND n=7')
  })

  it('are added behind a search that ends in half an escape', async () => {
    await site.index(logs(1, { message: 'folder\\', fields: { f: 'x y' } }))
    const text = await follow(`/app/logs?q=${encodeURIComponent('folder\\')}`)
    expect(await follow(linkIn(text, 'f: x y'))).to.include('<strong>1 record</strong>')
    expect(await follow(linkIn(text, 'f: x y', 'not'))).to.include('<strong>0 records</strong>')
  })

  it('are about all of a search, also where an expression hides that it is one of two', async () => {
    await site.index(logs(1, { message: 'ax', fields: { f: 'v' } }, { message: 'cd', fields: { f: 'w' } }))
    const text = await follow(`/app/logs?q=${encodeURIComponent('/a"?x/ or /c"?d/')}`)
    expect(searchIn(linkIn(text, 'f: v')).get('q')).to.equal('(/a"?x/ OR /c"?d/) AND f=v')
    expect(await follow(linkIn(text, 'f: v'))).to.include('<strong>1 record</strong>')
  })

  it('are not there where a search compares what the field does not say', async () => {
    await site.index(
      logs(1, {
        message: 'one',
        level: 'fatal',
        service: 'checkout',
        trace: 't',
        sessionId: 's',
        fields: { level: 'error', Level: 'critical', service: 'other one', trace_id: traceIdOf('u'), session_id: 'z' },
      }),
      spans(2, {
        id: 'x',
        attributes: { kind: 'client', status: 'fine', service: 'other', trace_id: 'u', duration: '5', session_id: 's' },
        resource: { kind: 'client', duration: 5 },
      }),
    )
    const text = await follow('/app/logs')
    expect(wordsIn(text)).to.deep.equal(['Level: critical', 'service: other one', 'session_id: z'])
    for (const words of wordsIn(text)) expect(await follow(linkIn(text, words)), words).to.include('1 record')
    const trace = await follow(`/app/trace/${traceIdOf('t')}`)
    expect(wordsIn(trace).filter((words) => !/^(operation|level|Level|session_id)/.test(words))).to.deep.equal([
      'service: checkout',
      'kind: server',
      'status: unset',
      'status: fine',
      'service: other',
      'service: other one',
      'service.name: checkout',
      'kind: client',
      'duration: 5',
      'scope.name: instrumentation',
      'scope.version: 1.0',
    ])
    const own = valueLinksOf(trace).filter(
      ({ words, address }) => address.includes('traces') && words !== 'kind: client',
    )
    for (const { verb, words, address } of own) {
      const found = (await follow(address)).includes(`href="/app/trace/${traceIdOf('t')}"`)
      expect(found, `${verb} ${words}`).to.equal(verb === 'only')
    }
    expect(searchIn(linkIn(trace, 'kind: client')).get('q')).to.equal('resource.kind=client')
  })

  it('are beside what the scope of a span says', async () => {
    const attributes = { kind: 'client', name: 'mine', library: 'x' }
    const span = givenSpan({ id: 'x' })
    const given = { ...span, scope: { ...span.scope, attributes } }
    await site.index(givenEvent('spans.received', 1, { spans: [given] }, { workspace }))
    const trace = await follow(`/app/trace/${traceIdOf('t')}`)
    const words = ['scope.name: instrumentation', 'scope.version: 1.0', 'kind: client', 'name: mine', 'library: x']
    expect(wordsIn(trace)).to.include.members(words)
    for (const [verb, isFound] of [
      ['only', true],
      ['not', false],
    ] as const) {
      for (const one of words) {
        const found = (await follow(linkIn(trace, one, verb))).includes(`href="/app/trace/${traceIdOf('t')}"`)
        expect(found, `${verb} ${one}`).to.equal(isFound)
      }
    }
  })

  it('reach records of any age, where no search is shown', async () => {
    const old = { trace: 'old', timeNs: noonNs - 5n * dayNs, message: 'of old', fields: { f: 'x' } }
    await site.index(
      logs(1, old, { message: 'of today', fields: { f: 'x' } }),
      spans(
        2,
        { trace: 'old', id: 'a', atMs: -5 * 86_400_000, attributes: { g: 'y' } },
        { id: 'b', attributes: { g: 'y' } },
      ),
    )
    const text = await follow(`/app/trace/${traceIdOf('old')}`)
    const log = await follow(linkIn(text, 'f: x'))
    expect(log).to.include('of old').and.not.include('of today')
    expect(await follow(linkIn(text, 'g: y'))).to.include(`href="/app/trace/${traceIdOf('old')}"`)
    const around = /href="(\/app\/logs\?around=[^"]*)"/.exec(log)?.[1] ?? ''
    const links = valueLinksOf(await follow(around)).filter(({ verb, words }) => verb === 'only' && words === 'f: x')
    const [today, long] = await Promise.all(links.map(({ address }) => follow(address)))
    expect([today?.includes('of today'), long?.includes('of old')]).to.deep.equal([true, true])
    for (const { address } of links) expect([...searchIn(address).keys()]).to.not.include('around')
    const recent = linkIn(await follow(`/app/trace/${traceIdOf('t')}`), 'g: y')
    expect([...searchIn(recent)]).to.deep.equal([['q', 'g=y']])
  })

  it('are in the rows that arrive later', async () => {
    const address = '/app/logs/rows?limit=100&q=late&service=checkout&cursor='
    const page = await follow('/app/logs?q=late&service=checkout')
    const cursor = /data-cursor="([^"]*)"/.exec(page)?.[1] ?? ''
    await site.index(logs(1, { message: 'late', fields: { f: 'x y' } }))
    const { text, headers } = await browser.get(address + encodeURIComponent(cursor))
    const { rows } = JSON.parse(text) as { rows: string }
    expect([headers.get('cache-control'), headers.get('content-type')]).to.deep.equal([
      'no-store',
      'application/json; charset=utf-8',
    ])
    expect([...searchIn(linkIn(rows, 'f: x y'))]).to.have.deep.members([
      ['service', 'checkout'],
      ['q', 'late AND f="x y"'],
    ])
  })

  it('do not make a page of what they repeat', async () => {
    const fields = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`field${n}`, n]))
    await site.index(logs(1, { message: 'one', fields }))
    const long = await follow(`/app/logs?q=${encodeURIComponent(`one ${'-x '.repeat(90)} -${'y'.repeat(1_500)}`)}`)
    expect(wordsIn(long).length).to.be.within(5, 20)
    expect(long).to.include('field249')
    const ideographs = String.fromCharCode(...Array.from({ length: 1_000 }, (_, n) => 0x4e00 + n))
    const beyond = await follow(`/app/logs?q=${encodeURIComponent(`one -"${ideographs}"`)}`)
    expect(wordsIn(beyond)).to.deep.equal([])
  })

  it('end where the page of a large trace would become too large', async () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`name${n}`, `${'value '.repeat(20)}${n}`]),
    )
    const many = Array.from({ length: 150 }, (_, n) => ({ id: n, parent: n === 0 ? null : 0, atMs: n, attributes }))
    await site.index(spans(1, ...many))
    const text = await follow(`/app/trace/${traceIdOf('t')}`)
    expect(wordsIn(text)).to.include('operation: operation 0').and.not.include('operation: operation 149')
    expect(text)
      .to.include('the values of its last spans have theirs where')
      .and.match(/<\/strong>\s+operation 149[\s<]/)
    expect(text.length).to.be.below(2_000_000)
  })

  it('end where the index of a record ends', async () => {
    const many = Array.from({ length: 4_096 }, (_, n) => ({ n }))
    await site.index(logs(1, { message: 'one', fields: { before: 'x', many, after: 'x' } }))
    expect(wordsIn(await follow('/app/logs'))).to.deep.equal(['before: x'])
  })
})
