import { expect } from 'chai'
import { countsOf, serviceRows } from '#src/app/account/last-hour.ts'
import { msNs, noonNs } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { createBrowser, createPerson, openSite, password } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const facetsOf = (...values: readonly (readonly [string, number])[]) => [
  { field: 'service', values: values.map(([value, count]) => ({ value, count })) },
]
const many = (count: number) => Array.from({ length: count }, (_, n) => [`s${n}`, 100 - n] as const)

describe('counts by service', () => {
  const noErrors = [false, false, false]

  it('are of all services, those with the most first', () => {
    const counted = [
      countsOf(facetsOf(['web', 5], ['pay', 5], ['sync', 5])),
      countsOf(facetsOf(['cron', 9], ['pay', 1])),
    ]
    expect(serviceRows(counted, noErrors)).to.deep.equal([
      { service: 'cron', counts: [0, 9] },
      { service: 'pay', counts: [5, 1] },
      { service: 'sync', counts: [5, 0] },
      { service: 'web', counts: [5, 0] },
    ])
  })

  it('begin with those that have the most errors', () => {
    const counted = [
      countsOf(facetsOf(['web', 50], ['pay', 5], ['cron', 5])),
      countsOf(facetsOf(['pay', 2], ['web', 1])),
    ]
    expect(serviceRows(counted, [false, true]).map(({ service }) => service)).to.deep.equal(['pay', 'web', 'cron'])
  })

  it('do not say nothing of what was not counted', () => {
    const counted = [countsOf(facetsOf(...many(20))), countsOf(facetsOf(['rare', 1])), undefined]
    const rows = new Map(serviceRows(counted, noErrors).map(({ service, counts }) => [service, counts]))
    expect(rows.get('rare')).to.deep.equal([undefined, 1, undefined])
    expect(rows.get('s3')).to.deep.equal([97, 0, undefined])
    expect(countsOf(null)).to.equal(undefined)
  })

  it('leave out what says no service, which counts as one of those that were counted', () => {
    expect(countsOf(facetsOf(...many(19), ['', 1]))).to.deep.include({ isWhole: false })
    expect([...(countsOf(facetsOf(['', 7], ['web', 1]))?.byService ?? [])]).to.deep.equal([['web', 1]])
  })
})

const cellsOf = (text: string): readonly (readonly string[])[] => {
  const [body = ''] = /<tbody>[^]*?<\/tbody>/.exec(text.split('<h2>Find</h2>')[0] ?? '') ?? []
  return [...body.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd]\b[^>]*>([^]*?)<\/t[hd]\s*>/g)].map(([, cell = '']) =>
      cell
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ),
  )
}

describe('the last hour on the overview', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans, workspace } = signedIn)
  })

  const index = async () => {
    const timeNs = noonNs + 1_000n * msNs
    await site.index(
      spans(
        1,
        { id: 1, trace: 'a', atMs: 10, service: 'web' },
        { id: 2, trace: 'a', atMs: 11, service: 'pay & ship', parent: 1, status: 'error' },
        { id: 3, trace: 'b', atMs: 20, service: 'web' },
        { id: 4, trace: 'c', atMs: 30, service: 'web' },
        { id: 5, trace: 'before', atMs: -1, service: 'web', status: 'error' },
      ),
      logs(
        2,
        { message: 'bad', level: 'error', service: 'cron', timeNs },
        { message: 'worse', level: 'fatal', service: 'cron', timeNs },
        { message: 'fine', level: 'warn', service: 'cron', timeNs },
        { message: 'of nobody', level: 'error', service: null, timeNs },
        { message: 'before', level: 'error', service: 'old', timeNs: noonNs - msNs },
      ),
    )
  }
  const open = async (): Promise<string> => (await browser.get('/app')).text

  it('has what each service sent, with the share that has errors', async () => {
    await index()
    expect(cellsOf(await open())).to.deep.equal([
      ['cron', '0', '0', '0', '3', '2 67 %'],
      // What failed is above what called it.
      ['pay &amp; ship', '1', '1 100 %', '1', '0', '0'],
      ['web', '3', '1 33 %', '0', '0', '0'],
    ])
  })

  it('leads from each figure to what it counts', async () => {
    await index()
    const figures = linksOfPage(await open()).filter(({ name }) => /^\d+( \d+ %)?$/.test(name))
    expect(figures).to.have.length(7)
    for (const { name, address } of figures) {
      const { text, status } = await browser.get(address)
      const isOfTraces = address.startsWith('/app/traces')
      const found = isOfTraces ? text.match(/<td class="time">/g)?.length : /<strong>(\d+) records?</.exec(text)?.[1]
      expect([status, String(found)], address).to.deep.equal([200, name.split(' ')[0]])
    }
  })

  it('shows a small service that has errors, however many large ones have none', async () => {
    const large = Array.from({ length: 25 }, (_, n) => ({ id: n, trace: `${n}`, atMs: n, service: `large${n % 20}` }))
    const timeNs = noonNs + 1_000n * msNs
    await site.index(
      spans(1, ...large, ...large.map((each, n) => ({ ...each, id: `b${n}`, trace: `b${n}` }))),
      logs(2, { message: 'bad', level: 'error', service: 'small', timeNs }),
    )
    const text = await open()
    expect(cellsOf(text)[0]).to.deep.equal(['small', '–', '0', '0', '1', '1 100 %'])
    expect(text).to.include('There are other services: these are first by errors').and.include('“–” stands for fewer')
    const uncounted = linksOfPage(text).find(({ name }) => name === 'Traces, not counted here')
    expect(uncounted?.address, 'what was not counted is a click away').to.match(/^\/app\/traces\?service=small/)
    expect(linksOfPage(text).find(({ name }) => name === 'Services of this month')?.address).to.equal('/app/usage')
  })

  it('has the first of many, and says so', async () => {
    const given = (n: number) => Array.from({ length: n }, (_, id) => ({ id, trace: `${id}`, service: `s${id}` }))
    await site.index(spans(1, ...given(19)), logs(2, { message: 'bad', service: 'cron' }))
    const whole = await open()
    expect([cellsOf(whole).length, whole.includes('There are other services')]).to.deep.equal([20, false])
    await site.index(logs(3, { message: 'bad', service: 'another' }))
    const part = await open()
    expect([cellsOf(part).length, part.includes('There are other services')]).to.deep.equal([20, true])
  })

  it('leads nowhere by a name that may have been cut where it was counted', async () => {
    await site.index(spans(1, ...[256, 257].map((length, id) => ({ id, trace: id, service: 'x'.repeat(length) }))))
    expect(linksOfPage(await open()).filter(({ name }) => name === '1')).to.have.length(1)
  })

  it('says so while the index is behind', async () => {
    await index()
    expect(await open()).to.not.include('is behind')
    site.clock.advance(70_000)
    expect(textOf(await open())).to.include('The index is behind the log by 70 s')
  })

  it('goes as far as the plan does', async () => {
    await index()
    await site.directory.changePlan(workspace, 'logs-only')
    const text = await open()
    expect(cellsOf(text)).to.deep.equal([['cron', '3', '2 67 %']])
    const offered = (text: string) =>
      ['/app/logs"', '/app/logs/export', '/app/traces"', 'v1/otlp', 'logs/v1', 'rum/v1'].filter((each) =>
        (text.split('</header>')[1] ?? '').includes(each),
      )
    expect(offered(text)).to.deep.equal(['/app/logs"', '/app/logs/export', 'logs/v1', 'rum/v1'])
    await site.directory.changePlan(workspace, 'tracing-only')
    expect(offered(await open())).to.deep.equal(['/app/traces"', 'v1/otlp', 'rum/v1'])
  })

  it('is not counted where too many searches are under way', async () => {
    const busy = await openSite({ limits: { queriesPerWorkspaceAtOnce: 0, queryWaitMs: 1 } })
    await createPerson(busy.directory, 'bob@acme.example', 'Acme')
    const bob = createBrowser(busy)
    await bob.post('/app/sign-in', { email: 'bob@acme.example', password })
    const { status, text } = await bob.get('/app')
    await busy.close()
    expect(status).to.equal(200)
    expect(text).to.include('Too many searches are under way').and.include('<h2>Find</h2>')
  })

  it('says that it is not counted where an index does not answer', async () => {
    const noIndex = (): Promise<never> => Promise.reject(new Error('no index'))
    const failing = await openSite({ reader: { ...site.reader, progress: noIndex, search: noIndex } })
    await createPerson(failing.directory, 'bob@acme.example', 'Acme')
    const bob = createBrowser(failing)
    await bob.post('/app/sign-in', { email: 'bob@acme.example', password })
    const { status, text } = await bob.get('/app')
    await failing.close()
    expect([status, text.includes('Not all is counted')]).to.deep.equal([200, true])
  })
})
