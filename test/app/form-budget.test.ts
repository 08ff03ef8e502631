import { request } from 'node:http'
import { expect } from 'chai'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'

describe('forms that are held at once', () => {
  let site: Site
  let ann: Browser
  beforeEach(async () => {
    site = await openSite({ limits: { formsInFlightBytesMax: 8_000 } })
    await createPerson(site.directory, email, 'Acme')
    ann = createBrowser(site)
    await ann.post('/app/sign-in', { email, password })
  })
  afterEach(() => site.close())

  /** Begins a form that never ends, and nearly fills half of what there is. */
  function stall(address: string, path = '/app/sign-in', cookie = ''): void {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': 60_000,
      'x-forwarded-for': address,
      cookie,
    }
    const outgoing = request(site.url + path, { method: 'POST', headers })
    outgoing.on('error', () => undefined)
    outgoing.write('x'.repeat(3_990))
  }
  const isFullFor = async (browser: Browser): Promise<void> => {
    while ((await browser.post('/app/sign-out', { more: 'than the bytes that are left' })).status !== 503);
  }
  const signIn = async (from: string): Promise<number> =>
    (await createBrowser(site, from).post('/app/sign-in', { email, password })).status

  for (const pair of [
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:1::1', '2001:db8:1:2::1'],
  ]) {
    it(`leave half to others, whatever one sends: ${pair.join(', ')}`, async () => {
      for (const address of pair) stall(address)
      await isFullFor(createBrowser(site, pair[0]))
      expect(await signIn('192.0.2.7')).to.equal(303)
    })
  }

  it('of strangers leave those of people who are signed in alone', async () => {
    for (const address of ['198.51.100.1', '198.51.100.2']) stall(address)
    await isFullFor(createBrowser(site, '198.51.100.3'))
    expect((await ann.post('/app/keys', { action: 'create', kind: 'api', name: 'new' })).status).to.equal(200)
  })

  it('of somebody who is signed in leave half to others who are', async () => {
    await createPerson(site.directory, 'eve@other.example', 'Other')
    const eve = createBrowser(site, '198.51.100.1')
    await eve.post('/app/sign-in', { email: 'eve@other.example', password })
    const cookie = [...eve.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const path of ['/app/keys', '/app/password']) stall('198.51.100.1', path, cookie)
    while ((await eve.post('/app/keys', { action: 'nothing of that name' })).status !== 503);
    expect((await ann.post('/app/keys', { action: 'create', kind: 'api', name: 'new' })).status).to.equal(200)
  })
})
