import { expect } from 'chai'
import {
  createBrowser,
  createPerson,
  faultIn,
  openSite,
  password,
  type Answer,
  type Browser,
  type Site,
} from './harness.ts'

const email = 'ann@acme.example'

describe('what somebody sends whose session has ended', () => {
  let site: Site
  let browser: Browser
  let keyId: string
  beforeEach(async () => {
    site = await openSite()
    await createPerson(site.directory, email, 'Acme')
    browser = createBrowser(site)
    await browser.post('/app/sign-in', { email, password })
    await browser.post('/app/keys', { action: 'create', kind: 'publishable' })
    const { workspaceIds } = site.directory.userByEmail(email) ?? {}
    keyId = site.directory.keys(workspaceIds?.[0] as never)[0]?.id ?? ''
    browser.cookies.clear()
  })
  afterEach(async () => {
    await site.close()
    expect(site.failures).to.deep.equal([])
  })

  /** Signs in on the page that an answer leads to; the page that this leads to. */
  async function signInAt({ status, location }: Answer): Promise<Answer> {
    expect([status, location?.split('?')[0]]).to.deep.equal([303, '/app/sign-in'])
    const { text } = await browser.get(location ?? '')
    const [, next = ''] = /name="next" value="([^"]*)"/.exec(text) ?? []
    const signedIn = await browser.post('/app/sign-in', { email, password, next: next.replaceAll('&amp;', '&') })
    return browser.get(signedIn.location ?? '')
  }
  const keysMade = (): number =>
    site.directory.keys(site.directory.userByEmail(email)?.workspaceIds[0] as never).length - 1

  it('is in the form again after sign-in, and not done: a new key', async () => {
    const given = {
      action: 'create',
      kind: 'api',
      name: 'for "billing" & co',
      origins: 'https://a.example',
      writeLogs: '1',
    }
    const { text } = await signInAt(await browser.post('/app/keys', given))
    expect(text).to.include('This was not sent').and.include('value="for &quot;billing&quot; &amp; co"')
    expect(text).to.include('<option value="api" selected>').and.include('value="https://a.example"')
    expect(text).to.match(/name="writeLogs"\s+value="1"\s+checked/)
    expect(keysMade()).to.equal(0)
  })

  it('is in the form again after sign-in: origins and the overlap of a key', async () => {
    const origins = 'https://shop.example'
    const workspaceId = site.directory.key(keyId)?.workspaceId as never
    await site.directory.createKey({ workspaceId, kind: 'publishable', name: 'another, whose form stays as it is' })
    const { text } = await signInAt(await browser.post('/app/keys', { action: 'origins', key: keyId, origins }))
    expect(text)
      .to.match(/<details open\s*>\s*<summary[^>]*>any page/)
      .and.include(`value="${origins}"`)
    expect(text.match(/<details open/g)).to.have.length(1)
    browser.cookies.clear()
    const rotated = await signInAt(await browser.post('/app/keys', { action: 'rotate', key: keyId, hours: '72' }))
    expect(rotated.text)
      .to.match(/<details open\s*>\s*<summary[^>]*>Rotate/)
      .and.include('<option value="72" selected>')
    expect(keysMade(), 'but for the other').to.equal(1)
  })

  it('is in the form again after sign-in: what is to be connected', async () => {
    const given = { what: 'browser', guide: 'otel', name: 'shop', origins: 'https://a.example' }
    const { text: plain } = await signInAt(await browser.get('/app/connect?what=browser'))
    expect(plain).to.not.include('This was not sent')
    const guides = [...plain.matchAll(/name="guide" value="([^"]*)"/g)].map(([, guide]) => guide)
    browser.cookies.clear()
    const { text } = await signInAt(await browser.post('/app/connect', { ...given, guide: guides[1] ?? '' }))
    expect(text).to.include('This was not sent').and.include('value="shop"').and.include('value="https://a.example"')
    expect(/value="([^"]*)"\s+checked/.exec(text)?.[1]).to.equal(guides[1])
    expect(keysMade()).to.equal(0)
  })

  it('is said to be not done, and nowhere kept: a new password', async () => {
    const { text: plain } = await signInAt(await browser.get('/app/password'))
    expect(plain).to.not.include('is not changed')
    const [, action = ''] = /name="action" value="([^"]*)"/.exec(plain) ?? []
    browser.cookies.clear()
    const next = 'my next password'
    const given = { action, current: password, password: next, repeated: next }
    const { text } = await signInAt(await browser.post('/app/password', given))
    expect(text).to.match(/role="status">Your password is not changed: you were signed out/)
    expect(text).to.not.include(next)
  })

  it('is as it was for a search', async () => {
    const search = '/app/logs?q=%22a+b%22&level=warn&level=error&fields=a&from=-7d'
    const { text } = await signInAt(await browser.get(search))
    expect(text).to.include('value="&quot;a b&quot;"').and.include('name="fields"')
  })

  it('is never a password, nor what another site has sent, nor more than fits an address', async () => {
    const changed = { current: 'my password', password: 'my next password', repeated: 'my next password' }
    expect((await browser.post('/app/password', changed)).location).to.equal('/app/sign-in?next=%2Fapp%2Fpassword')
    const bare = '/app/sign-in?next=%2Fapp%2Fkeys'
    const form = { action: 'create', kind: 'logs', name: 'x' }
    expect((await browser.post('/app/keys', form, { 'sec-fetch-site': 'cross-site' })).location).to.equal(bare)
    expect((await browser.post('/app/keys', { ...form, name: 'x'.repeat(5_000) })).location).to.equal(bare)
    expect((await browser.post('/app/keys', { password: 'x' })).location).to.equal(bare)
  })

  it('leads to sign-in also where the browser does not say what it is about, as without TLS', async () => {
    const form = { action: 'create', kind: 'logs', name: 'x' }
    expect((await browser.post('/app/keys', form, { 'sec-fetch-mode': '' })).status).to.equal(303)
    const program = await browser.post('/app/keys', form, { 'sec-fetch-mode': '', accept: '*/*' })
    expect(program.status).to.equal(401)
  })
})

describe('a form that is refused', () => {
  let site: Site
  beforeEach(async () => void (site = await openSite()))
  afterEach(() => site.close())

  it('keeps what was typed, and begins in the field that is wrong', async () => {
    const { workspace } = await createPerson(site.directory, email, 'Acme')
    const browser = createBrowser(site)
    await browser.post('/app/sign-in', { email, password })
    const wrong = { name: 'my shop', origins: 'no origin' }
    const keys = await browser.post('/app/keys', { action: 'create', kind: 'publishable', ...wrong })
    const connect = await browser.post('/app/connect', { what: 'browser', guide: 'faro', ...wrong })
    for (const { status, text } of [keys, connect]) {
      expect([status, text.includes('This was not sent')]).to.deep.equal([400, false])
      expect(text).to.include('value="my shop"').and.include('value="no origin"')
      expect(faultIn(text)).to.equal('origins')
    }
    await browser.post('/app/keys', { action: 'create', kind: 'publishable' })
    const key = site.directory.keys(workspace.id)[0]?.id ?? ''
    const changed = await browser.post('/app/keys', { action: 'origins', key, origins: 'none' })
    expect([changed.status, faultIn(changed.text), changed.text.match(/autofocus/g)?.length]).to.deep.equal([
      400,
      'origins',
      1,
    ])
    expect(changed.text).to.match(/<details open/)
  })
})
