import { expect } from 'chai'
import { cut, formatBytes, formatDuration, percentOf } from '#src/app/format.ts'
import { noCounts } from '#src/events/envelope.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { givenRumEvent, msNs, noonNs, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { createBrowser } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('the way on', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  const namesIn = (text: string): readonly string[] =>
    linksOfPage(/<nav aria-label="Pages">([^]*?)<\/nav>/.exec(text)?.[1] ?? '').map(({ name }) => name)

  it('is on pages that refuse somebody who is signed in, and not shown to others', async () => {
    for (const path of ['/app/nowhere', '/app/usage?month=never', '/app/connect/nokey']) {
      const { status, text } = await browser.get(path)
      expect(status, path).to.be.within(400, 404)
      expect(namesIn(text), path).to.include.members(['Overview', 'Traces', 'Logs', 'Keys', 'Audit'])
      expect(linksOfPage(text), path).to.deep.include({ name: 'Workspace Acme', address: '/app/workspace' })
      for (const { name } of linksOfPage(text)) expect(name, path).to.not.equal('')
    }
    const stranger = await createBrowser(site).get('/app/nowhere')
    expect([stranger.status, namesIn(stranger.text)]).to.deep.equal([404, []])
    const { status, text } = await createBrowser(site).post('/app/sign-in', {}, { 'sec-fetch-site': 'cross-site' })
    expect([status, namesIn(text)]).to.deep.equal([403, []])
  })

  it('from page to page of a search begins at the results, below the form', async () => {
    await site.index(
      logs(1, ...Array.from({ length: 101 }, (_, n) => ({ message: `line ${n}` }))),
      spans(2, ...Array.from({ length: 51 }, (_, n) => ({ id: n, trace: n }))),
    )
    for (const path of ['/app/logs', '/app/traces']) {
      const linkIn = (text: string, wanted: string): string =>
        linksOfPage(text).find(({ name }) => name === wanted)?.address ?? ''
      const first = (await browser.get(path)).text
      const second = (await browser.get(linkIn(first, 'Next page'))).text
      for (const [text, name] of [
        [first, 'Next page'],
        [second, 'First page'],
      ] as const) {
        expect(linkIn(text, name), path).to.match(/#results$/)
        expect(text, path).to.include('id="results"')
      }
    }
  })

  describe('from a search for nothing but an id', () => {
    const paths = ['/app/logs', '/app/traces']
    const sessionId = 'aB3-visit.7'
    const parent = `00-${traceIdOf('t')}-${spanIdOf('a')}-01`
    const addressOf = (path: string, typed: string, more = ''): string =>
      `${path}?q=${encodeURIComponent(typed)}${more}`

    it('is to what has it, of whatever age', async () => {
      const old = { sessionId, message: 'said', timeNs: noonNs - 72n * 3_600_000n * msNs }
      await site.index(spans(1, { id: 'a' }), logs(2, old))
      const [, logId = ''] = /around=([^"#]*)/.exec((await browser.get('/app/logs?q=said&from=-7d')).text) ?? []
      for (const path of paths) {
        const ofSpan = [spanIdOf('a').toUpperCase(), `0x${traceIdOf('t')}`, `0X${spanIdOf('a')}`]
        for (const typed of [traceIdOf('t'), ...ofSpan, parent, sessionId, logId]) {
          const { status, location } = await browser.get(addressOf(path, ` ${typed} `, '&from=-6h&order='))
          expect([status, location], `${path} ${typed}`).to.deep.equal([
            303,
            `/app/find?id=${encodeURIComponent(typed)}`,
          ])
          const { text } = await browser.get(location ?? '')
          expect(text, `${path} ${typed}`).to.include(
            typed.startsWith('0') ? `id="span-${spanIdOf('a')}"` : 'By the id',
          )
        }
      }
    })

    it('is to why nothing has it, also where it is behind 0x', async () => {
      await site.index(spans(1, { id: 'a' }), logs(2, { message: 'said' }))
      for (const path of paths) {
        const { text } = await browser.get(addressOf(path, `0x${traceIdOf('nothing')}`))
        expect(text, path).to.include('of no trace, span, session or log record')
      }
    })

    it('is to the session of what it finds', async () => {
      await site.index(
        spans(1, { id: 'a', sessionId, attributes: { 'session.id': sessionId } }),
        logs(2, { sessionId, message: `of ${sessionId}` }, { message: 'of s2' }),
      )
      const location = `/app/find?id=${sessionId}`
      for (const path of paths) {
        const answer = await browser.get(addressOf(path, sessionId))
        expect([answer.status, answer.location], path).to.deep.equal([303, location])
        expect((await browser.get(location)).text).to.include('<h1>Session</h1>')
      }
      const word = await browser.get('/app/logs?q=s2')
      expect(word.status).to.equal(200)
    })

    it('is one link away where it is in quotes or beside other conditions', async () => {
      await site.index(spans(1, { id: 'a' }), logs(2, { message: traceIdOf('t'), level: 'error' }))
      const asked = [
        ...paths.map((path) => addressOf(path, `"${traceIdOf('t')}"`)),
        addressOf('/app/logs', traceIdOf('t'), '&level=error'),
        addressOf('/app/traces', traceIdOf('t'), '&status=ok'),
      ]
      for (const address of asked) {
        const { status, text } = await browser.get(address)
        expect(status, address).to.equal(200)
        const found = linksOfPage(text).find(({ name }) => name === 'Open what has it')?.address ?? ''
        expect((await browser.get(found)).text, address).to.include(`id="span-${spanIdOf('a')}"`)
      }
    })

    it('is not from another page of what it finds', async () => {
      const uuid = '3b1b0d25-baa6-47a3-89bd-fbaf98165fc9'
      await site.index(logs(1, ...Array.from({ length: 101 }, () => ({ message: `order ${uuid}` }))))
      const { text } = await browser.get(addressOf('/app/logs', uuid))
      const { address = '' } = linksOfPage(text).find(({ name }) => name === 'Next page') ?? {}
      await site.index(logs(2, { sessionId: uuid }))
      expect((await browser.get(addressOf('/app/logs', uuid))).status).to.equal(303)
      expect((await browser.get(address.replace(/#.*/, ''))).status).to.equal(200)
    })

    it('is to why nothing has it, and a search for words stays one', async () => {
      const uuid = '3b1b0d25-baa6-47a3-89bd-fbaf98165fc9'
      await site.index(logs(1, { message: `order ${uuid} declined`, sessionId: 'declined' }))
      for (const path of paths) {
        const { status, text } = await browser.get(addressOf(path, uuid))
        expect([status, text.includes(`<mark>${uuid}</mark>`)]).to.deep.equal([200, path === '/app/logs'])
        const why = linksOfPage(text).find(({ name }) => name === 'Why that may be')?.address ?? ''
        expect((await browser.get(why)).text).to.include('What was just sent is found a moment after')
        for (const typed of ['', 'deadbeef', `${traceIdOf('t')} declined`]) {
          const page = await browser.get(addressOf(path, typed))
          expect(page.status, typed).to.equal(200)
          expect(page.text, typed).to.not.include('looks like an id')
        }
      }
    })
  })

  it('from a list of logs to its export begins where the list does, however long its page stays open', async () => {
    await site.index(logs(1, { message: 'one', trace: 't' }))
    const exported = async (address: string) => {
      const links = linksOfPage((await browser.get(address)).text)
      const [, search] = links.find(({ name }) => name === 'Export as CSV')?.address.split('?') ?? []
      return Object.fromEntries(new URLSearchParams(search))
    }
    const format = 'csv'
    const [now, start, end] = ['2026-11-21T13:00', '2026-11-21T11:00', '2026-11-21T12:30'].map(
      (t) => `${t}:00.000000000Z`,
    )
    expect(await exported('/app/logs?from=-2h&to=-30m')).to.deep.equal({ from: start, to: end, format })
    expect(await exported('/app/logs?from=-2h&to=now')).to.deep.equal({ from: start, to: now, format })
    expect(await exported('/app/logs?from=-2h')).to.deep.equal({ from: start, format })
    const traceId = traceIdOf('t')
    expect(await exported(`/app/logs?trace_id=${traceId}`)).to.deep.equal({ trace_id: traceId, format })
  })

  it('from the page of an id leads to all that belongs to it as JSON', async () => {
    await site.index(spans(1, { id: 'a', trace: 't', sessionId: 's 1' }, { id: 'b', trace: 'u', sessionId: 's 1' }))
    const links = linksOfPage((await browser.get('/app/find?id=s+1')).text)
    const { address = '' } = links.find(({ name }) => name === 'As JSON') ?? {}
    expect((await browser.get(address)).location).to.equal('/api/app/correlation?id=s+1')
  })

  it('from a search that finds nothing leads further back, unless it has been there', async () => {
    const offered = async (page: string, from: string): Promise<boolean> => {
      const { text } = await browser.get(`/app/${page}?q=never&from=${from}`)
      expect(text).to.include('href="/app/connect"')
      return linksOfPage(text).some(({ name }) => name === 'Search the last 30 days')
    }
    for (const page of ['logs', 'traces']) {
      for (const from of ['', '-29d', '-90d&to=-31d'])
        expect(await offered(page, from), `${page} ${from}`).to.equal(true)
      for (const from of ['-30d', '-90d', 'now-31d', '2020-01-01T00:00Z']) {
        expect(await offered(page, from), `${page} ${from}`).to.equal(false)
      }
    }
  })

  it('leads no further back than the plan keeps anything', async () => {
    const namesOn = async (path: string): Promise<readonly string[]> =>
      linksOfPage((await browser.get(path)).text).map(({ name }) => name)
    for (const path of ['/app/logs', '/app/traces']) {
      expect(await namesOn(`${path}?q=never`)).to.include.members(['7 days', '30 days', 'Search the last 30 days'])
    }
    await site.directory.changePlan(workspace, 'free')
    for (const path of ['/app/logs', '/app/traces']) {
      const names = await namesOn(`${path}?q=never`)
      expect(names).to.include.members(['24 hours', '7 days', 'Search the last 7 days'])
      expect(names.filter((name) => name.includes('30 days'))).to.deep.equal([])
      expect((await browser.get(path)).text).to.not.include('value="-30d"')
      expect(await namesOn(`${path}?q=never&from=-7d`)).to.not.include('Search the last 7 days')
    }
  })

  it('from an id that nothing has is to what says it', async () => {
    const odd = 'user "7" & co'
    await site.index(
      logs(1, { message: `of ${odd} 1` }, { message: 'of user-8' }, { message: 'of nobody' }),
      spans(
        2,
        { id: 'a', attributes: { 'user.id': odd } },
        { id: 'b', trace: 'u', attributes: { 'user.id': 'user-8' } },
      ),
    )
    for (const [id, message, trace] of [
      [odd, '</mark> 1', 't'],
      ['user-8', '<mark>user-8</mark>', 'u'],
    ] as const) {
      const links = linksOfPage((await browser.get(`/app/find?id=${encodeURIComponent(id)}`)).text)
      const open = async (name: string) =>
        (await browser.get(links.find((link) => link.name === name)?.address ?? '')).text
      const [ofLogs, ofTraces] = [await open('logs'), await open('traces')]
      expect(ofLogs).to.include(message).and.include('<strong>1 record</strong>')
      expect(ofTraces.match(/\/app\/trace\/[\da-f]{32}(?=")/g)).to.deep.equal([`/app/trace/${traceIdOf(trace)}`])
    }
  })

  it('from the overview is to what was wrong in the last hour, as far as the plan goes', async () => {
    const [atMs, timeNs] = [3_000_000, noonNs + 3_000_000n * msNs]
    const old = { timeNs: noonNs - msNs, level: 'error' as const }
    await site.index(
      spans(
        1,
        { id: 1, trace: 'failed', atMs, forMs: 2, status: 'error' },
        { id: 2, trace: 'long', atMs, forMs: 900 },
        { id: 3, trace: 'cut', atMs, forMs: 1, parent: 4 },
        { id: 5, trace: 'old', atMs: -1, status: 'error', parent: 6 },
      ),
      logs(
        2,
        { message: 'bad', level: 'error', timeNs },
        { message: 'worse', level: 'fatal', timeNs },
        { message: 'fine', level: 'warn', timeNs },
        { message: 'ended', ...old },
      ),
      givenEvent(
        'rum.received',
        3,
        {
          rumEvents: [
            givenRumEvent({ sessionId: 'broken', type: 'error', timeNs }),
            givenRumEvent({ ordinal: 1, sessionId: 'whole', timeNs }),
            givenRumEvent({ ordinal: 2, sessionId: 'before', type: 'error', timeNs: noonNs - msNs }),
          ],
        },
        { workspace },
      ),
    )
    const marks = [
      ...['failed', 'long', 'cut', 'old'].map((name) => [name, `href="/app/trace/${traceIdOf(name)}"`] as const),
      ...['bad', 'worse', 'fine', 'ended'].map((name) => [name, `<summary>${name}`] as const),
      ...['broken', 'whole', 'before'].map((name) => [name, `href="/app/find?id=${name}"`] as const),
    ]
    const wordsOn = async (address: string): Promise<readonly string[]> => {
      const { status, text } = await browser.get(address)
      expect(status, address).to.equal(200)
      const places = marks
        .map(([name, mark]) => ({ name, place: text.indexOf(mark) }))
        .filter(({ place }) => place >= 0)
      return places.toSorted((a, b) => a.place - b.place).map(({ name }) => name)
    }
    const found = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      const [, nav = ''] =
        /<nav class="tabs" aria-label="The last hour">([^]*?)<\/nav>/.exec((await browser.get('/app')).text) ?? []
      const words = linksOfPage(nav).map(async ({ name, address }) => [name, await wordsOn(address)] as const)
      return Object.fromEntries(await Promise.all(words))
    }
    const ofLogs = { 'Logs of errors': ['worse', 'bad'] }
    const ofTraces = {
      'Traces with errors': ['failed'],
      'Longest traces': ['long', 'failed', 'cut'],
      'Traces with missing spans': ['cut'],
    }
    const ofBrowsers = { 'Browser sessions with errors': ['broken'] }
    expect(await found()).to.deep.equal({ ...ofLogs, ...ofTraces, ...ofBrowsers })
    await site.directory.changePlan(workspace, 'logs-only')
    expect(await found()).to.deep.equal({ ...ofLogs, ...ofBrowsers })
  })

  it('is told on the overview while nothing has arrived', async () => {
    const hint = /Nothing has arrived this month\. <a href="\/app\/connect">/
    await site.index()
    expect((await browser.get('/app')).text).to.match(hint)
    site.clock.advance(70_000)
    const behind = (await browser.get('/app')).text
    expect(behind).to.include('What has just arrived is not counted yet').and.not.match(hint)
    const counts = { ...noCounts, rumEvents: 1 }
    await site.index(givenEvent('rum.received', 1, {}, { workspace, counts }))
    expect((await browser.get('/app')).text).to.not.match(hint)
  })
})

describe('bytes', () => {
  it('have three digits and a unit', () => {
    const words = [0, 1, 999, 1_000, 12_345, 734_296, 5e9, 123_456_789_012, 2.5e12].map(formatBytes)
    expect(words.slice(0, 4)).to.deep.equal(['0 bytes', '1 byte', '999 bytes', '1.00 kB'])
    expect(words.slice(4)).to.deep.equal(['12.3 kB', '734 kB', '5.00 GB', '123 GB', '2.50 TB'])
    const edges = [9_994, 9_999, 99_960, 999_499, 999_500, 999_999, 999_999_999, 1_234.5e12].map(formatBytes)
    expect(edges.slice(0, 4)).to.deep.equal(['9.99 kB', '10.0 kB', '100 kB', '999 kB'])
    expect(edges.slice(4)).to.deep.equal(['1.00 MB', '1.00 MB', '1.00 GB', '1235 TB'])
  })
})

describe('long texts', () => {
  it('are cut by whole characters, and only where they are too long', () => {
    expect(['abc', 'abcd', 'abcde', 'ab😀'].map((text) => cut(text, 3))).to.deep.equal([
      ...['abc', 'abc … (1 more character)', 'abc … (2 more characters)', 'ab\ufffd … (1 more character)'],
    ])
  })
})

describe('shares', () => {
  it('are never none of what there is, and never all of what is less', () => {
    const given = [1, 2, 15, 994, 9_000, 99_999, 100_000].map((count) => percentOf(count, 100_000))
    expect(given).to.deep.equal(['< 0.1 %', '< 0.1 %', '< 0.1 %', '1.0 %', '9.0 %', '99.9 %', '100 %'])
    expect([percentOf(1, 3), percentOf(199, 200)]).to.deep.equal(['33 %', '99.5 %'])
  })
})

describe('durations', () => {
  it('have three digits and a unit', () => {
    const seconds = [0.0000009, 1.25, 59.94, 602, 3_599, 3_600, 266_112, -90]
    expect(seconds.map((each) => formatDuration(BigInt(Math.round(each * 1e9))))).to.deep.equal([
      '900 ns',
      '1.25 s',
      '59.9 s',
      '10.0 min',
      '1.00 h',
      '1.00 h',
      '3.08 d',
      '-1.50 min',
    ])
    const edges = [
      999n,
      9_999n,
      999_499n,
      999_500n,
      59_949_999_999n,
      59_950_000_000n,
      86_399_000_000_000n,
      0n,
      -999_999n,
    ]
    expect(edges.map(formatDuration)).to.deep.equal([
      ...['999 ns', '10.0 µs', '999 µs', '1.00 ms', '59.9 s', '1.00 min', '1.00 d', '0 ns', '-1.00 ms'],
    ])
  })
})
