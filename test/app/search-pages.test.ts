import { expect } from 'chai'
import { givenEvent } from '#test/support/fold-harness.ts'
import { givenRumEvent, msNs, noonNs, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { createBrowser, createPerson, faultIn, password } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const attack = '<img src=x onerror=alert(1)>"\'</td><script>alert(2)</script>'

/** The markup without what stands in quoted attribute values, where `<` and `>` are escaped and harmless. */
const tagsOf = (text: string): string => text.replaceAll(/"[^"]*"/g, '""')

const linkNamed = (text: string, name: string): string | undefined =>
  new RegExp(`<a[^>]*href="([^"]*)"[^>]*>${name}</a>`).exec(text)?.[1]?.replaceAll('&amp;', '&')

/** The text fields of a form, with what stands in them. */
const fieldsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<input\s+name="([^"]*)"\s+value="([^"]*)"/g)].map(([, name, value]) => `${name}=${value}`)

describe('search pages', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  describe('logs', () => {
    it('are found, with what was searched marked, their fields and their trace', async () => {
      await site.index(
        logs(
          1,
          {
            message: 'payment declined for order 7',
            level: 'error',
            trace: 't',
            sessionId: 's 1',
            fields: { amount: 12n },
          },
          { message: 'all is well', level: 'info', service: 'shop' },
        ),
      )
      const { status, text } = await browser.get('/app/logs?q=declined')
      expect(status).to.equal(200)
      expect(text).to.include('payment <mark>declined</mark> for order 7').and.not.include('all is well')
      expect(text).to.include('<strong>1 record</strong>')
      expect(linkNamed(text, 'Trace')).to.equal(`/app/trace/${traceIdOf('t')}`)
      expect(linkNamed(text, 'Session')).to.equal('/app/find?id=s%201')
      expect(text).to.match(/amount<\/th>\s*<td>12</)
      // How much a page shows is nothing that an export takes.
      const { text: short } = await browser.get('/app/logs?q=declined&limit=5&include=facets')
      expect(linkNamed(short, 'Export as CSV')).to.match(/^\/app\/logs\/export\?q=declined&from=[^&]*&format=csv$/)
      const [address = '', place] = (linkNamed(text, 'In context') ?? '').split('#')
      const around = await browser.get(address)
      expect(around.text).to.include('payment declined for order 7').and.include('all is well')
      const rows = around.text.split('<tr ').filter((row) => row.includes(' aria-current="true"'))
      expect(rows).to.have.length(1)
      expect(rows[0]).to.include(`id="${place}"`).and.include('payment declined for order 7')
      expect(text).to.not.include('id="here"')
      const well = await browser.get('/app/logs?level=info&service=shop&q=')
      expect(well.text).to.include('all is well').and.not.include('declined')
      expect((await browser.get('/app/logs?q=nothing')).text).to.include('No log records match.')
    })

    it('go from page to page and back to the same records', async () => {
      const records = Array.from({ length: 250 }, (_, index) => {
        return { message: `line ${index} end`, timeNs: noonNs + BigInt(index) * msNs }
      })
      await site.index(logs(1, ...records))
      const numbers = (text: string): number[] => [...text.matchAll(/line (\d+) end/g)].map(([, n]) => Number(n))
      const down = (from: number, count: number) => Array.from({ length: count }, (_, index) => from - index)
      const first = (await browser.get('/app/logs?service=checkout')).text
      const second = (await browser.get(linkNamed(first, 'Next page') ?? '')).text
      const third = (await browser.get(linkNamed(second, 'Next page') ?? '')).text
      expect([first, second, third].map(numbers)).to.deep.equal([down(249, 100), down(149, 100), down(49, 50)])
      expect([linkNamed(third, 'Next page'), linkNamed(first, 'First page')]).to.deep.equal([undefined, undefined])
      expect(second, 'that is not followed').to.not.include('data-tail')
      const back = (await browser.get(linkNamed(third, 'Previous page') ?? '')).text
      expect(numbers(back)).to.deep.equal(down(149, 100))
      expect(numbers((await browser.get(linkNamed(back, 'First page') ?? '')).text)).to.deep.equal(down(249, 100))
    })

    it('say what is wrong with a search, where, and keep it in the form', async () => {
      const { status, text } = await browser.get('/app/logs?q=%28timeout')
      expect(status).to.equal(400)
      expect(text).to.include('value="(timeout"').and.include('(timeout\n        ^')
      expect([faultIn(text), faultIn((await browser.get('/app/logs?to=later')).text)]).to.deep.equal(['q', 'to'])
      // Of a long search only what is beside the place: the sign is on a line of its own, which must not wrap.
      const long = `${'word '.repeat(40)}level: ${'word '.repeat(40)}`
      const { text: cut } = await browser.get(`/app/logs?q=${encodeURIComponent(`${long}AND`)}`)
      const [, shown = ''] = /<pre class="place">([^]*?)<\/pre>/.exec(cut) ?? []
      const [line = '', sign = ''] = shown.split('\n')
      expect(line.length).to.be.below(65)
      expect([line.startsWith('…'), sign.trim()]).to.deep.equal([true, '^'])
      expect(sign.length).to.be.at.most(line.length + 1)
      expect((await browser.get('/app/logs?from=yesterdayish')).text).to.include('not a time')
      expect((await browser.get('/app/logs?colour=red')).status).to.equal(400)
    })

    it('keep the lines of a stack trace apart, in the message and in fields', async () => {
      const lines = 'Error: no\n    at pay (shop.js:1:1)'
      await site.index(logs(1, { message: lines, fields: { stack: `${lines} `, one: 'line\n' } }))
      const { text } = await browser.get('/app/logs')
      expect(text.split(`<pre>${lines}`)).to.have.length(3)
      expect(text).to.not.match(/<pre>\s*line/)
    })

    it('read a message that was coloured for a terminal', async () => {
      await site.index(logs(1, { message: '\u001b[31mRed\u001b[0m alert' }))
      const { text } = await browser.get('/app/logs?q=red')
      expect(text).to.include('<mark>Red</mark> alert')
    })

    it('show a long message once, whichever field it came in, and what has it and has it not', async () => {
      const long = `far ${'x'.repeat(400)} away`
      await site.index(logs(1, { message: long, fields: { msg: long, short: 'one' } }))
      const { text } = await browser.get('/app/logs')
      expect(text.split(`${long}<`)).to.have.length(2)
      const [, row = ''] = /<tr><th>msg<\/th><td>(.*?)<\/td><\/tr>/s.exec(text) ?? []
      expect(row).to.include('the text above').and.include('>only</a>').and.include('>not</a>')
      await site.index(logs(2, { message: 'near', fields: { msg: 'near' } }))
      expect((await browser.get('/app/logs?q=near')).text).to.match(/<tr><th>msg<\/th><td>near</)
    })

    it('written from right to left turn nothing beside them', async () => {
      const [arabic, spoof] = ['\u0645\u0631\u062D\u0628\u0627', 'turned \u202Egnp.exe']
      await site.index(logs(1, { message: `${arabic} 42`, service: arabic, fields: { spoof } }))
      const { text } = await browser.get(`/app/logs?q=42`)
      expect(text).to.include(`<summary><bdi>${arabic} <mark>42</mark></bdi></summary>`)
      expect(text).to.include(`<td><bdi>${spoof}</bdi><span`)
      expect(text).to.include(`><bdi>${arabic}</bdi> <small>1</small>`)
      await site.index(logs(2, { message: 'left to right' }))
      expect((await browser.get('/app/logs?q=left')).text).to.not.include('<bdi>')
    })

    it('without a message are told by their fields', async () => {
      await site.index(logs(1, { message: '', fields: { order: 7n, paid: false } }))
      const [, rows = ''] = (await browser.get('/app/logs')).text.split('<table class="logs">')
      const [, summary] = /<summary>([\s\S]*?)<\/summary>/.exec(rows) ?? []
      expect(summary).to.include('{&quot;order&quot;:7,&quot;paid&quot;:false}')
    })

    it('that are not found are looked for further back', async () => {
      await site.index(logs(1, { message: 'long ago', timeNs: noonNs - 72n * 3_600_000n * msNs }))
      const none = (await browser.get('/app/logs?q=ago&from=-1h&to=now')).text
      expect(none).to.include('No log records match.').and.include('href="/app/connect"')
      const wider = linkNamed(none, 'Search the last 30 days') ?? ''
      expect((await browser.get(wider)).text).to.include('long <mark>ago</mark>')
    })

    it('that arrive later come as rows, once each', async () => {
      await site.index(logs(1, { message: 'early' }))
      const { text } = await browser.get('/app/logs')
      const [, address = '', cursor = ''] = /data-tail="([^"]*)" data-cursor="([^"]*)"/.exec(text) ?? []
      const rowsAfter = async (place: string) => {
        const answer = await browser.get(`${address.replaceAll('&amp;', '&')}&cursor=${encodeURIComponent(place)}`)
        expect(answer.status).to.equal(200)
        return JSON.parse(answer.text) as { cursor: string; rows: string }
      }
      expect((await rowsAfter(cursor)).rows).to.equal('')
      await site.index(logs(2, { message: `late ${attack}`, timeNs: noonNs - msNs }))
      const late = await rowsAfter(cursor)
      expect(late.rows).to.include('late &lt;img').and.not.include('early').and.not.include('<img')
      expect((await rowsAfter(late.cursor)).rows).to.equal('')
    })

    it('that arrive later by the hundreds say that there is more to ask for at once', async () => {
      await site.index(logs(1, { message: 'early' }))
      const { text } = await browser.get('/app/logs?q=line')
      const [, address = '', start = ''] = /data-tail="([^"]*)" data-cursor="([^"]*)"/.exec(text) ?? []
      await site.index(logs(2, ...Array.from({ length: 1_130 }, (_, n) => ({ message: `line ${n}` }))))
      const answers: unknown[] = []
      for (let cursor = start; answers.length < 4;) {
        const answer = await browser.get(`${address.replaceAll('&amp;', '&')}&cursor=${encodeURIComponent(cursor)}`)
        const { more, rows, ...next } = JSON.parse(answer.text) as { cursor: string; rows: string; more: boolean }
        answers.push([rows.split('<tr').length - 1, more])
        ;({ cursor } = next)
      }
      expect(answers).to.deep.equal([
        [500, true],
        [500, true],
        [130, false],
        [0, false],
      ])
    })

    it('around one say whose neighbours they are, and lead to those of its service, and to more', async () => {
      const timeAt = (n: number): bigint => noonNs + BigInt(n) * msNs
      const others = Array.from({ length: 300 }, (_, n) => ({
        message: `other ${n}`,
        service: 'web',
        timeNs: timeAt(n),
      }))
      await site.index(logs(1, ...others, { message: 'asked for', timeNs: timeAt(300) }, { message: 'near' }))
      const open = async (address = ''): Promise<string> =>
        (await browser.get(address.replace(/#.*/, ''))).text.replaceAll(/\s+/g, ' ')
      const around = await open(linkNamed(await open('/app/logs?q=asked'), 'In context'))
      const record = /Before and after <a href="#here">the record of <time [^>]*>2026-11-21 12:00:00\.300 UTC</
      expect(around).to.match(record)
      expect(around).to.include('of all services.').and.include('other 299').and.not.include('near')
      const own = await open(linkNamed(around, 'Only checkout'))
      expect(own).to.include('of the service checkout.').and.include('near').and.not.include('other 2')
      expect(linkNamed(own, 'All services')).to.equal(
        linkNamed(around, 'Only checkout')?.replace('&service=checkout', ''),
      )
      const more = await open(linkNamed(around, 'More of them'))
      expect(more).to.include('other 50').and.not.include('other 49')
      const all = await open(linkNamed(more, 'More of them'))
      expect(all).to.include('other 0').and.include('near')
      expect(linkNamed(all, 'More of them')).to.equal(undefined)
    })

    it('can be followed only where the newest are shown', async () => {
      await site.index(logs(1, { message: 'one' }))
      expect((await browser.get('/app/logs')).text).to.include('data-tail')
      for (const search of ['order=asc', 'to=now', 'from=-1d&to=2026-11-22T00:00:00Z']) {
        expect((await browser.get(`/app/logs?${search}`)).text, search).to.not.include('data-tail')
      }
    })
  })

  describe('traces', () => {
    it('are found with their root, services, errors and what is missing', async () => {
      await site.index(
        spans(
          1,
          { id: 'root', name: 'POST /orders', forMs: 100 },
          { id: 'pay', parent: 'root', service: 'payments', status: 'error', forMs: 40 },
          { trace: 'u', id: 'orphan', parent: 'lost', name: 'consume' },
        ),
      )
      const { text } = await browser.get('/app/traces')
      expect(text)
        .to.match(/<strong>checkout<\/strong> POST \/orders/)
        .and.include('100 ms')
        .and.include('1 error<')
      expect(text).to.include('root span not received').and.include('1 parent missing')
      expect(text).to.include(`/app/trace/${traceIdOf('u')}`)
      expect(text).to.include('<strong>2 traces</strong> over time')
      const failed = (await browser.get('/app/traces?status=error&min_duration=20ms')).text
      expect(failed).to.include('<strong>1 span that fits</strong> over time')
      expect(failed).to.include(traceIdOf('t')).and.not.include(traceIdOf('u'))
      expect(failed).to.include('operation pay 40.0 ms')
      expect((await browser.get('/app/traces?min_duration=fast')).status).to.equal(400)
      expect((await browser.get('/app/traces?service=nobody')).text).to.include('No traces match.')
    })

    it('show each span under its parent, missing ones as missing, and what shares their ids', async () => {
      const refused = { traceId: traceIdOf('t'), spanId: spanIdOf('refused'), reason: 'rejected_allowance' } as const
      await site.index(
        spans(
          1,
          { id: 'leaf', parent: 'middle', atMs: 20 },
          { id: 'root', atMs: 0, forMs: 100, attributes: { 'http.route': attack } },
          { id: 'middle', parent: 'root', atMs: 10, forMs: 50 },
          { id: 'orphan', parent: 'lost', atMs: 30 },
        ),
        givenEvent(
          'spans.refused',
          2,
          { refusedSpans: [refused] },
          { workspace, counts: { spans: 0, logs: 0, rumEvents: 0, refused: 1, bytes: 0 } },
        ),
        logs(3, { message: 'inside the trace', trace: 't', sessionId: 's-1' }),
        givenEvent(
          'rum.received',
          4,
          { rumEvents: [givenRumEvent({ trace: 't', name: 'clicked', sessionId: 's-1' })] },
          { workspace },
        ),
      )
      const { status, text } = await browser.get(`/app/trace/${traceIdOf('t').toUpperCase()}`)
      expect(status).to.equal(200)
      const order = [...text.matchAll(/<li class="\w+ d(\d+)">([\s\S]*?)class="timeline/g)].map(
        ([, depth, cell = '']) =>
          `${depth} ${/operation \w+|Span <code>\w+<\/code> is missing: [^.]*/.exec(cell)?.[0]}`,
      )
      const lost = `Span <code>${spanIdOf('lost')}</code> is missing: it was not received`
      const rejected = `Span <code>${spanIdOf('refused')}</code> is missing: it was rejected: the monthly span allowance was used up`
      expect(order).to.deep.equal([
        '0 operation root',
        '1 operation middle',
        '2 operation leaf',
        `0 ${lost}`,
        '1 operation orphan',
        `0 ${rejected}`,
      ])
      expect(text).to.include('inside the trace').and.include('clicked')
      expect(text).to.include('&lt;img src=x').and.not.include('<img').and.not.include('<script>')
      const session = await browser.get(linkNamed(text, 's-1') ?? '')
      expect(session.text).to.include('inside the trace').and.include('clicked').and.include(traceIdOf('t'))
    })

    it('keep the conditions of their address in the form', async () => {
      await site.index(spans(1, { id: 'one', sessionId: 's-1' }))
      const given = { kind: 'server', trace_id: traceIdOf('t'), session_id: 's-1' }
      const { text } = await browser.get(`/app/traces?${new URLSearchParams(given).toString()}`)
      expect(text).to.include(`href="/app/trace/${traceIdOf('t')}"`)
      for (const [name, value] of Object.entries(given)) {
        expect(text).to.match(new RegExp(`<input\\s+name="${name}"\\s+value="${value}"`))
        expect((await browser.get('/app/traces')).text, name).to.not.include(`name="${name}"`)
      }
    })

    it('keep whatever else their address says in the form, but for what is of one page', async () => {
      await site.index(logs(1, { message: 'one', fields: { order: 7n, paid: false }, trace: 't' }))
      const given = 'trace_id=' + traceIdOf('t') + '&fields=order,paid&session_id=&limit=5&include=count'
      const { text } = await browser.get(`/app/logs?${given}`)
      expect(fieldsOf(text)).to.include.members([`trace_id=${traceIdOf('t')}`, 'fields=order,paid'])
      expect(fieldsOf(text).filter((each) => /^(?:session_id|limit|include)=/.test(each))).to.deep.equal([])
      for (const path of ['/app/logs', '/app/traces']) {
        const refused = await browser.get(`${path}?nonsense=1&nonsense=2&service=api`)
        expect(refused.status, path).to.equal(400)
        expect(fieldsOf(refused.text), path).to.include.members(['nonsense=1', 'nonsense=2'])
        expect(
          fieldsOf(refused.text).filter((each) => each.startsWith('service=')),
          path,
        ).to.deep.equal(['service=api'])
      }
    })

    it('draw a circle of parents and a deep chain, each span once', async () => {
      const chain = Array.from({ length: 60 }, (_, index) => {
        return { trace: 'deep', id: `c${index}`, parent: index === 0 ? null : `c${index - 1}`, atMs: index }
      })
      await site.index(
        spans(1, { id: 'a', parent: 'b' }, { id: 'b', parent: 'a', atMs: 1 }, { id: 'self', parent: 'self' }, ...chain),
      )
      const circle = (await browser.get(`/app/trace/${traceIdOf('t')}`)).text
      for (const id of ['a', 'b', 'self'])
        expect(circle.match(new RegExp(`</strong>\\s+operation ${id}\\s*</span`, 'g')), id).to.have.length(1)
      const deep = (await browser.get(`/app/trace/${traceIdOf('deep')}`)).text
      expect([...deep.matchAll(/<\/strong>\s+operation c\d+\s*<\/span/g)]).to.have.length(60)
    })

    it('of which no span came have no timeline, and say who names them', async () => {
      await site.index(logs(1, { message: 'alone', trace: 't' }))
      const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
      expect(text).to.include('no span received').and.include('alone').and.not.include('class="waterfall"')
    })

    it('are told from each other by their tabs, as searches and ids are', async () => {
      await site.index(spans(1, { id: 'one', name: 'GET <b>', sessionId: 's-1' }))
      const titleOf = async (path: string) => /<title>([^<]*)/.exec((await browser.get(path)).text)?.[1]
      expect(await titleOf(`/app/trace/${traceIdOf('t')}`)).to.equal('checkout GET &lt;b&gt; · Trace · Throughline')
      expect(await titleOf('/app/logs?q=declined')).to.equal('declined · Logs · Throughline')
      expect(await titleOf('/app/traces')).to.equal('Traces · Throughline')
      expect(await titleOf('/app/find?id=nobody')).to.equal('nobody · Not found · Throughline')
      expect((await browser.get('/app/find?id=s-1')).text).to.include('By the id <code>s-1</code>')
    })

    it('have names that leave room for others', async () => {
      await site.index(spans(1, { id: 'one', name: 'n'.repeat(500) }))
      const { text } = await browser.get(`/app/trace/${traceIdOf('t')}`)
      expect(/<summary>([\s\S]*?)<\/summary>/.exec(text)?.[1]).to.include(`${'n'.repeat(120)} … (380 more characters)`)
      expect(text).to.include('n'.repeat(500))
    })

    it('that nobody has seen are not found, and nonsense is no id', async () => {
      await site.index(spans(1, { id: 'one' }))
      const never = await browser.get(`/app/trace/${traceIdOf('never')}`)
      expect(never.status).to.equal(404)
      expect(never.text).to.include('has never seen').and.include('href="/app/usage"').and.include('<h1>Not found</h1>')
      for (const path of ['/app/trace/xyz', `/app/trace/${'1'.repeat(32)}`]) {
        expect((await browser.get(path)).text, path).to.match(/action="\/app\/find"[^]*value="(xyz|1{32})"/)
      }
      expect((await browser.get('/app/find?id=mistyped')).text).to.match(/<input name="id"[^>]* value="mistyped"/)
      const tooLong = await browser.get(`/app/find?id=${'x'.repeat(3_000)}`)
      expect([tooLong.status, /<h1>(.*?)<\/h1>/.exec(tooLong.text)?.[1]]).to.deep.equal([400, 'Find'])
      expect((await browser.get('/app/trace/nonsense')).status).to.equal(400)
      expect((await browser.get('/app/find')).text).to.include('name="id"')
    })
  })

  it('show hostile names and messages as text', async () => {
    await site.index(
      spans(1, { id: 'x', name: attack, service: attack, sessionId: attack, resource: { [attack]: attack } }),
      logs(2, {
        message: attack,
        service: attack,
        trace: 't',
        sessionId: attack,
        fields: { [attack]: { deep: attack } },
      }),
      givenEvent(
        'rum.received',
        3,
        { rumEvents: [givenRumEvent({ name: attack, type: attack, url: attack, trace: 't' })] },
        { workspace },
      ),
    )
    const paths = ['/app/logs', '/app/logs?q=img', `/app/logs?q=${encodeURIComponent(attack)}`, '/app/traces']
    const more = [`/app/traces?service=${encodeURIComponent(attack)}`, `/app/trace/${traceIdOf('t')}`]
    for (const path of [...paths, ...more, `/app/find?id=${encodeURIComponent(attack)}`]) {
      const { text } = await browser.get(path)
      expect(text, path).to.include('&lt;img')
      expect(tagsOf(text), path).to.not.match(/<img|<script>|<[^>]* (?:on\w+|style)=/)
    }
  })

  it('show one workspace to its own people only', async () => {
    await site.index(logs(1, { message: 'secret of acme', trace: 't' }), spans(2, { id: 'x' }))
    await createPerson(site.directory, 'eve@other.example', 'Other')
    const eve = createBrowser(site)
    expect((await eve.post('/app/sign-in', { email: 'eve@other.example', password })).status).to.equal(303)
    const theirs = /secret of acme|checkout/
    const pages = { '/app/logs': 200, '/app/traces': 200, [`/app/trace/${traceIdOf('t')}`]: 404 }
    for (const [path, status] of Object.entries({ ...pages, [`/app/logs?workspace=${workspace}`]: 200 })) {
      expect((await browser.get(path)).text, path).to.match(theirs)
      const seen = await eve.get(path)
      expect([seen.status, theirs.test(seen.text)], path).to.deep.equal([status, false])
    }
    expect((await browser.get('/app/logs')).text).to.include('secret of acme')
  })

  it('are by the plan', async () => {
    await site.directory.changePlan(workspace, 'tracing-only')
    const answer = await browser.get('/app/logs')
    expect(answer.status).to.equal(403)
    expect(answer.text).to.include('does not include logs')
    await site.directory.changePlan(workspace, 'logs-only')
    expect((await browser.get('/app/traces')).status).to.equal(403)
    expect((await browser.get('/app/logs')).status).to.equal(200)
  })

  it('draw when records came, each bar leading to its own time', async () => {
    await site.index(logs(1, { message: 'a' }, { message: 'b', level: 'error', timeNs: noonNs + 1_000n * msNs }))
    const { text } = await browser.get('/app/logs?from=2026-11-21T11:00:00Z')
    const address = /<svg\s+class="histogram"[\s\S]*?href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect((await browser.get(address)).text).to.include('<strong>2 records</strong>')
  })
})
