import { expect } from 'chai'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'

describe('pages that search', () => {
  let site: Site
  let browser: Browser

  before(async () => {
    site = await openSite({ limits: { queriesPerWorkspaceAtOnce: 0, queryWaitMs: 1 } })
    await createPerson(site.directory, 'ann@acme.example', 'acme')
    browser = createBrowser(site)
    await browser.post('/app/sign-in', { email: 'ann@acme.example', password })
  })
  after(() => site.close())

  const searching = [
    '/app/logs',
    '/app/patterns',
    '/app/traces',
    '/app/sessions',
    '/app/map',
    '/app/find?id=x',
    '/app/compare?trace_id=x',
  ]
  for (const path of [...searching, `/app/trace/${'ab'.repeat(16)}`]) {
    it(`${path} is a query of its workspace, and says so where there are too many`, async () => {
      const { status, text, headers } = await browser.get(path)
      expect([status, headers.get('retry-after')]).to.deep.equal([429, '1'])
      expect(text).to.include('too many queries').and.include('<html')
    })
  }

  const typed = 'level>=warn "no room"'
  const kept = 'value="level&gt;=warn &quot;no room&quot;"'
  for (const [path, name] of [
    ['/app/logs', 'q'],
    ['/app/patterns', 'q'],
    ['/app/traces', 'q'],
    ['/app/sessions', 'q'],
    ['/app/map', 'q'],
    ['/app/find', 'id'],
    ['/app/compare', 'trace_id'],
  ] as const) {
    it(`${path} keeps what was typed, and says when to try again`, async () => {
      const address = `${path}?${new URLSearchParams({ [name]: typed }).toString()}`
      const { text } = await browser.get(address)
      expect(text).to.include('role="search"').and.include(kept)
      expect(text).to.include(`<a href="${address}">Try again</a> in 1 second.`)
    })
  }

  it('keep the form also where an index does not answer', async () => {
    const noIndex = (): Promise<never> => Promise.reject(new Error('no index'))
    const failing = await openSite({ reader: { ...site.reader, progress: noIndex, search: noIndex } })
    await createPerson(failing.directory, 'ann@acme.example', 'acme')
    const other = createBrowser(failing)
    await other.post('/app/sign-in', { email: 'ann@acme.example', password })
    const { status, text, headers } = await other.get(`/app/logs?${new URLSearchParams({ q: typed }).toString()}`)
    await failing.close()
    expect(status).to.equal(503)
    const seconds = Number(headers.get('retry-after'))
    expect(text).to.include(kept)
    expect(text).to.match(new RegExp(`Try again</a> in ${seconds} seconds?\\.`))
  })

  it('are refused to their scripts as to programs', async () => {
    for (const path of ['/app/logs/rows', '/app/logs']) {
      for (const asked of [{ accept: '*/*' }, { 'sec-fetch-mode': 'cors' }]) {
        const { status, headers } = await browser.get(path, asked)
        expect([status, headers.get('content-type')], path).to.deep.equal([429, 'application/problem+json'])
      }
    }
  })

  it('are not shown in place of a page that there is not', async () => {
    const { status, text } = await browser.get('/app/logs/nowhere')
    expect(status).to.equal(404)
    expect(text).to.include('There is nothing at /app/logs/nowhere.').and.not.include('role="search"')
  })

  it('are no others', async () => {
    for (const path of ['/app', '/app/usage', '/app/keys']) expect((await browser.get(path)).status).to.equal(200)
  })
})
