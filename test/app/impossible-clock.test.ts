import { expect } from 'chai'
import { limits } from '../directory/harness.ts'
import { createBrowser, createPerson, openSite, password, type Answer, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'

describe('the pages behind a clock that was set back to a time before this program', () => {
  let site: Site
  let ann: Browser
  let keyId: string

  beforeEach(async () => {
    site = await openSite({ ticks: () => 0 })
    const { workspace } = await createPerson(site.directory, email, 'Acme')
    ann = createBrowser(site)
    await ann.post('/app/sign-in', { email, password })
    const created = await site.directory.createKey({ workspaceId: workspace.id, kind: 'logs', name: 'a' })
    if (!created.ok) throw new Error(created.error.detail)
    keyId = created.value.key.id
  })
  afterEach(() => site.close())

  const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.get('/who')).status === 200
  const isPage = ({ status, headers, text, location }: Answer): void => {
    expect([status, location, headers.getSetCookie()]).to.deep.equal([503, null, []])
    expect(Number(headers.get('retry-after'))).to.be.within(1, 4)
    expect(headers.get('content-type')).to.include('text/html')
    expect(text).to.include('<h1>Unavailable for the moment</h1>').and.include('nothing is wrong with the request')
    expect(text).not.to.match(/ at \w+ \(|1970/)
  }

  it('change nothing, and say so: no session begins or ends, and no key or password is another', async () => {
    const right = site.clock()
    const newcomer = createBrowser(site)
    site.clock.advance(60_000 - right)
    isPage(await newcomer.post('/app/sign-in', { email, password }))
    isPage(await ann.post('/app/sign-out', {}))
    for (const action of ['revoke', 'rotate', 'origins']) isPage(await ann.post('/app/keys', { action, key: keyId }))
    isPage(await ann.post('/app/keys', { action: 'create', kind: 'logs', name: 'b' }))
    isPage(await ann.post('/app/password', { current: password, password: 'another long one' }))
    expect((await newcomer.post('/app/sign-in', { email, password: 'not the password' })).status).to.equal(401)
    expect([await isSignedIn(ann), await isSignedIn(newcomer)]).to.deep.equal([true, false])
    const [said] = new Set(site.failures.map(String))
    expect(said).to.include('write to the directory with a clock that says 1970-01-01T00:01:00.000Z (set it first)')
    for (const page of ['/app', '/app/keys', '/app/audit', '/app/usage'])
      expect((await ann.get(page)).status, page).to.equal(200)

    site.clock.advance(right + limits.sessionIdleMs / 2 - site.clock())
    expect((await newcomer.post('/app/sign-in', { email, password })).status).to.equal(303)
    expect((await ann.post('/app/keys', { action: 'revoke', key: keyId })).status).to.equal(303)
    expect((await ann.post('/app/sign-out', {})).status).to.equal(303)
    expect([await isSignedIn(ann), await isSignedIn(newcomer)]).to.deep.equal([false, true])
  })

  it('answer a program with a problem document', async () => {
    site.clock.advance(limits.clockMinMs - 1 - site.clock())
    const headers = { accept: '*/*', 'sec-fetch-mode': 'cors' }
    const answer = await createBrowser(site).post('/app/sign-in', { email, password }, headers)
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([503, 'application/problem+json'])
    expect(JSON.parse(answer.text)).to.include({ code: 'unavailable' })
  })
})
