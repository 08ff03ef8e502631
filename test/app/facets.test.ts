import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const odd = 'a "b" & <c>, d'

describe('the most frequent values above search results', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })

  const open = async (address: string): Promise<string> => {
    const { status, text } = await browser.get(address)
    expect(status, address).to.equal(200)
    return text
  }
  const rowOf = (text: string): string => /<nav class="facets"[\s\S]*?<\/nav>/.exec(text)?.[0] ?? ''
  const allNamesIn = (text: string): readonly string[] => linksOfPage(rowOf(text)).map(({ name }) => name)
  const isLeftOut = (name: string): boolean => name.startsWith('Not ')
  const namesIn = (text: string): readonly string[] => allNamesIn(text).filter((name) => !isLeftOut(name))
  const follow = (text: string, name: string): Promise<string> =>
    open(
      present(
        linksOfPage(rowOf(text)).find((link) => link.name === name),
        name,
      ).address,
    )

  it('narrow a log search, say what it is narrowed to, and take that away', async () => {
    await site.index(
      logs(
        1,
        { message: 'one', level: 'error', service: odd },
        { message: 'two', level: 'error' },
        { message: 'three', level: 'warn' },
        { message: 'four', level: 'info', service: null },
        { message: 'five other', level: 'info' },
      ),
    )
    const all = await open('/app/logs?q=-other')
    expect(namesIn(all)).to.have.members(['error 2', 'warn 1', 'info 1', 'checkout 2', `${odd} 1`])
    const errors = await follow(all, 'error 2')
    expect(namesIn(errors)).to.have.members(['error 2 ✕', 'checkout 1', `${odd} 1`])
    expect(errors).to.include('<strong>2 records</strong>').and.include('value="-other"')
    const both = await follow(errors, `${odd} 1`)
    expect(namesIn(both)).to.deep.equal(['error 1 ✕', `${odd} 1 ✕`])
    expect(both)
      .to.match(/<summary>one<\/summary>/)
      .and.include('<strong>1 record</strong>')
    expect(namesIn(await follow(both, 'error 1 ✕'))).to.have.members([`${odd} 1 ✕`, 'error 1'])
    expect(namesIn(await follow(await follow(both, `${odd} 1 ✕`), 'error 2 ✕'))).to.have.members(namesIn(all))
  })

  it('are left out of a log search, one after the other, beside what else it asks for', async () => {
    await site.index(
      logs(
        1,
        { message: 'one', level: 'error', service: odd },
        { message: 'two', level: 'info' },
        { message: 'three', level: 'debug' },
        { message: 'four other', level: 'error' },
      ),
    )
    const all = await open('/app/logs?q=-other&from=2026-11-21')
    const offered = ['Level: error', 'Level: info', 'Level: debug', 'Service: checkout', `Service: ${odd}`]
    expect(allNamesIn(all).filter(isLeftOut)).to.have.members(offered.map((words) => `Not ${words}`))
    const rest = await follow(await follow(all, 'Not Level: info'), `Not Service: ${odd}`)
    expect(rest)
      .to.include('<strong>1 record</strong>')
      .and.match(/<summary>three<\/summary>/)
    expect(rest).to.match(/name="from"\s+value="2026-11-21"/)
    const chosen = await follow(all, 'error 1')
    expect(allNamesIn(chosen)).to.deep.equal(['error 1 ✕', `${odd} 1`, `Not Service: ${odd}`])
    await site.index(spans(2, { id: 'a', status: 'error' }))
    expect(allNamesIn(await open('/app/traces')).filter(isLeftOut)).to.deep.equal([])
  })

  it('have the others than the eight most frequent values behind a fold', async () => {
    const services = Array.from({ length: 9 }, (_, n) => ({ service: `service ${n}` }))
    await site.index(logs(1, ...services))
    const all = await open('/app/logs')
    const [shown = '', folded = ''] = rowOf(all).split(/<summary[^>]*aria-label="and others: Service">and others</)
    const countIn = (text: string): number => text.match(/title="Only Service: /g)?.length ?? 0
    expect([countIn(shown), countIn(folded)]).to.deep.equal([8, 1])
    const last = namesIn(all).findLast((name) => name.startsWith('service')) ?? ''
    expect(rowOf(await follow(all, last))).to.include(`aria-current="true"`)
    expect(rowOf(await open('/app/logs?service=service+0'))).not.to.include('and others')
  })

  it('may be more than are counted, which the fold says', async () => {
    const words = 'and perhaps others, less frequent'
    const servicesOf = (count: number) => Array.from({ length: count }, (_, n) => ({ service: `service ${n}` }))
    await site.index(logs(1, ...servicesOf(19)))
    expect(rowOf(await open('/app/logs'))).to.not.include(words)
    await site.index(logs(2, ...servicesOf(21)))
    const row = rowOf(await open('/app/logs'))
    expect(row.match(/title="Only Service: /g)).to.have.length(20)
    expect(row).to.include(words)
  })

  it('are left as they are chosen by the way on from a refused cursor', async () => {
    const { text } = await browser.get('/app/logs?level=error&cursor=altered')
    const found = linksOfPage(text).find(({ name }) => name === 'Begin again at the first page')
    expect(found?.address).to.equal('/app/logs?level=error')
  })

  it('take away one of several levels', async () => {
    await site.index(logs(1, { level: 'error' }, { level: 'warn' }, { level: 'info' }))
    for (const conditions of ['level=error&level=warn', 'level=error,warn']) {
      const text = await open(`/app/logs?${conditions}`)
      expect(namesIn(text), conditions).to.deep.equal(['error 1 ✕', 'warn 1 ✕', 'checkout 2'])
      expect(namesIn(await follow(text, 'warn 1 ✕')), conditions).to.deep.equal(['error 1 ✕', 'checkout 1'])
    }
  })

  it('know the words of a choice in capitals, as the search does', async () => {
    await site.index(
      logs(1, { level: 'error' }, { level: 'info' }),
      spans(2, { id: 'a', status: 'error' }, { trace: 'u', id: 'b', kind: 'client' }),
    )
    const records = await open('/app/logs?level=ERROR&order=ASC')
    expect(namesIn(records)).to.deep.equal(['error 1 ✕', 'checkout 1'])
    expect(records)
      .to.match(/value="error" checked/)
      .and.match(/value="asc" selected/)
      .and.not.include('data-tail')
    expect(namesIn(await follow(records, 'error 1 ✕'))).to.include.members(['error 1', 'info 1'])
    const traces = await open('/app/traces?has=ERROR&status=Error&order=Longest')
    expect(namesIn(traces)).to.include.members(['error 1 ✕', 'errors ✕'])
    expect(traces)
      .to.match(/value="error" selected/)
      .and.match(/value="error" checked/)
      .and.match(/value="longest" selected/)
    expect(await open('/app/traces?kind=CLIENT')).to.match(/name="kind"\s*value="client"/)
  })

  it('stay to be taken away where nothing is counted', async () => {
    const records = Array.from({ length: 150 }, (_, n) => ({ message: `n${n}`, level: 'warn' as const }))
    await site.index(logs(1, ...records))
    expect(namesIn(await open('/app/logs?service=nobody&level=warn'))).to.deep.equal(['warn ✕', 'nobody ✕'])
    const first = await open('/app/logs?level=warn')
    const next = /rel="next" href="([^"]*)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const second = await open(next)
    expect(namesIn(second)).to.deep.equal(['warn ✕'])
    expect(await follow(second, 'warn ✕')).to.include('<strong>150 records</strong>')
    expect(rowOf(await open('/app/logs?q=nothing'))).to.equal('')
  })

  it('narrow a trace search by service, operation, status and what traces have', async () => {
    await site.index(
      spans(
        1,
        { id: 'a', name: 'POST /orders' },
        { id: 'b', parent: 'a', name: 'charge', service: 'payments', status: 'error' },
        { trace: 'u', id: 'c', name: 'GET /orders' },
        { trace: 'v', id: 'd', parent: 'lost', name: 'consume', service: 'worker' },
      ),
    )
    const all = await open('/app/traces')
    const ofTraces = ['checkout 2', 'payments 1', 'worker 1', 'POST /orders 1', 'GET /orders 1']
    expect(namesIn(all)).to.have.members([...ofTraces, 'errors 1', 'missing spans 1'])
    expect(rowOf(all)).to.include('by number of traces')
    const shown = (text: string): readonly boolean[] =>
      ['t', 'u', 'v'].map((trace) => text.includes(`href="/app/trace/${traceIdOf(trace)}"`))
    expect(shown(await follow(all, 'errors 1'))).to.deep.equal([true, false, false])
    expect(shown(await follow(all, 'missing spans 1'))).to.deep.equal([false, false, true])
    expect(shown(await follow(all, 'GET /orders 1'))).to.deep.equal([false, true, false])
    const payments = await follow(all, 'payments 1')
    expect(namesIn(payments)).to.deep.equal(['payments 1 ✕', 'charge 1', 'error 1'])
    expect(rowOf(payments)).to.include('by number of spans')
    const failed = await follow(await follow(payments, 'error 1'), 'charge 1')
    expect(namesIn(failed)).to.deep.equal(['payments 1 ✕', 'charge 1 ✕', 'error 1 ✕'])
    expect(shown(failed)).to.deep.equal([true, false, false])
    await site.index(logs(2, { trace: 't' }))
    const withErrors = await follow(await open('/app/traces'), 'errors 1')
    expect(namesIn(await follow(withErrors, 'logs 1'))).to.include.members(['errors 1 ✕', 'logs 1 ✕'])
    expect(namesIn(await open('/app/traces?has=error,missing_spans'))).to.deep.equal(['errors ✕', 'missing spans ✕'])
    expect(namesIn(await follow(await open('/app/traces?has=error,missing_spans'), 'missing spans ✕'))).to.include(
      'errors 1 ✕',
    )
  })

  it('are not there, and it is said why, where spans are not counted: too many would have to be looked at', async () => {
    const failed = (n: number) => ({ trace: `t${n}`, id: `s${n}`, status: 'error' as const })
    await site.index(spans(1, ...Array.from({ length: 1_001 }, (_, n) => failed(n))))
    const words = 'The spans that fit are not counted'
    const { text } = await browser.get('/app/traces?has=error&service=checkout')
    expect(text).to.include(words).and.include('Next page')
    expect((await browser.get('/app/traces?has=error')).text).to.not.include(words)
  })

  it('are few, short, and none that a search does not take', async () => {
    const services = ['s'.repeat(100), 't'.repeat(300), ...Array.from({ length: 15 }, (_, n) => `service ${n}`)]
    await site.index(
      logs(1, ...services.flatMap((service, index) => Array.from({ length: 20 - index }, () => ({ service })))),
    )
    const [, ...names] = namesIn(await open('/app/logs'))
    expect(names[0]).to.equal(`${'s'.repeat(60)} … (40 more characters) 20`)
    expect(names.slice(1)).to.deep.equal(Array.from({ length: 15 }, (_, n) => `service ${n} ${18 - n}`))
  })
})
