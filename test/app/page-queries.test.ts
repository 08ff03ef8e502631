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

  for (const path of ['/app/logs', '/app/traces', '/app/find?id=x', `/app/trace/${'ab'.repeat(16)}`]) {
    it(`${path} is a query of its workspace, and says so where there are too many`, async () => {
      const { status, text, headers } = await browser.get(path)
      expect([status, headers.get('retry-after')]).to.deep.equal([429, '1'])
      expect(text).to.include('too many queries').and.include('<html')
    })
  }

  it('are refused to their scripts as to programs', async () => {
    const { status, headers } = await browser.get('/app/logs/rows', { accept: '*/*', 'sec-fetch-mode': 'cors' })
    expect([status, headers.get('content-type')]).to.deep.equal([429, 'application/problem+json'])
  })

  it('are no others', async () => {
    for (const path of ['/app', '/app/usage', '/app/keys']) expect((await browser.get(path)).status).to.equal(200)
  })
})
