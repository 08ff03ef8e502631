import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import { limits, newStream, openDirectory } from '../directory/harness.ts'
import {
  createBrowser,
  createPerson,
  faultIn,
  openSite,
  password,
  slowToRead,
  type Answer,
  type Browser,
  type Site,
} from './harness.ts'

const email = 'ann@acme.example'

describe('sign-in', () => {
  let site: Site
  let browser: Browser
  beforeEach(async () => {
    site = await openSite({ perMinute: 5 })
    await createPerson(site.directory, email, 'Acme')
    browser = createBrowser(site)
  })
  afterEach(() => site.close())

  const signIn = (from = browser, fields: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    from.post('/app/sign-in', { email, password, ...fields })
  const isSignedIn = async (from = browser): Promise<boolean> => (await from.get('/who')).status === 200

  it('is a page with a form, that no cache keeps and no other site frames', async () => {
    const page = await browser.get('/app/sign-in')
    expect(page.status).to.equal(200)
    expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).to.equal('no-store')
    expect(page.headers.get('x-frame-options')).to.equal('DENY')
    expect(page.headers.get('x-content-type-options')).to.equal('nosniff')
    expect(page.headers.get('cross-origin-opener-policy')).to.equal('same-origin')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy.split('; ')).to.include.members([
      "default-src 'none'",
      "style-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
    expect(policy).to.not.include('unsafe')
    expect(page.text).to.include('<form').and.not.include('<script')
    expect(page.text).to.include('autofocus').and.include('throughline user password')
    expect(page.text).to.not.match(/ style="| on\w+="/)
    expect([...browser.cookies]).to.deep.equal([])
  })

  it('that failed begins again at the password, which is told why', async () => {
    const { text } = await signIn(browser, { password: 'not the password' })
    expect(faultIn(text)).to.equal('password')
    expect(text.match(/autofocus/g)).to.have.length(1)
    expect(text).to.include(`value="${email}"`).and.not.include('not the password')
    expect(faultIn((await browser.get('/app/sign-in')).text)).to.equal(undefined)
  })

  it('sets a cookie that scripts cannot read and other sites do not send, and leads home', async () => {
    const answer = await signIn()
    expect(answer.status).to.equal(303)
    expect(answer.location).to.equal('/app')
    const cookies = answer.headers.getSetCookie()
    expect(cookies.map((cookie) => cookie.split('=')[0])).to.deep.equal(['throughline', 'throughline.sig'])
    for (const cookie of cookies) {
      expect(cookie).to.match(/; path=\//)
      expect(cookie).to.match(/; samesite=lax/i)
      expect(cookie).to.match(/; httponly/i)
      expect(cookie).to.not.match(/; secure/i)
    }
    expect(await isSignedIn()).to.equal(true)
    expect((await browser.get('/app')).text).to.include('Acme')
  })

  it('knows whom another process has made an account for just now', async () => {
    const stream = newStream()
    const [here, there] = [await openDirectory({ stream: slowToRead(stream) }), await openDirectory({ stream })]
    const behind = await openSite({ opened: here })
    await createPerson(there.directory, email, 'Acme')
    expect((await signIn(createBrowser(behind))).status).to.equal(303)
    await behind.close()
    await there.directory.close()
  })

  it('says to come back, and nothing of the password, while it cannot be told who there is', async () => {
    const stream = newStream()
    let isAway = false
    const away = new TransientError({ operation: 'read', subject: 'it' })
    const head = (): ReturnType<typeof stream.head> => (isAway ? Promise.reject(away) : stream.head())
    const alone = await openSite({ opened: await openDirectory({ stream: { ...stream, head } }) })
    isAway = true
    for (const fields of [{}, { email: 'bob@acme.example' }]) {
      const answer = await signIn(createBrowser(alone), fields)
      expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).to.deep.equal([503, true])
    }
    await alone.close()
  })

  it('is answered as ever while the log takes nothing, as on a full disk: in use, and refused', async () => {
    const stream = newStream()
    let isFull = false
    const full = new TransientError({ operation: 'append to', subject: 'it' })
    const append: typeof stream.append = (...given) => (isFull ? Promise.reject(full) : stream.append(...given))
    const alone = await openSite({ opened: await openDirectory({ stream: { ...stream, append } }) })
    await createPerson(alone.directory, email, 'Acme')
    const ann = createBrowser(alone)
    expect((await signIn(ann)).status).to.equal(303)
    alone.clock.advance(limits.sessionIdleMs / 2)
    isFull = true
    // What cannot be written, and nobody waits for, would end the process.
    expect((await ann.get('/who')).status).to.equal(200)
    expect((await signIn(createBrowser(alone), { password: 'not the password' })).status).to.equal(401)
    expect((await ann.get('/who')).status).to.equal(200)
    await alone.close()
  })

  it('takes the address in any case and with blanks around', async () => {
    expect((await signIn(browser, { email: ' ANN@acme.Example ' })).status).to.equal(303)
  })

  it('under https sets cookies that only travel there', async () => {
    const secured = await openSite({ opened: site, baseUrl: 'https://obs.example' })
    const answer = await createBrowser(secured).post('/app/sign-in', { email, password })
    expect(answer.status).to.equal(303)
    for (const cookie of answer.headers.getSetCookie()) {
      expect(cookie).to.match(/^__Host-/)
      expect(cookie).to.match(/; secure/i)
    }
    await secured.close()
  })

  it('answers a wrong password and an unknown person alike: 401 with the page, no cookie', async () => {
    const wrong = await signIn(browser, { password: 'not the password' })
    const unknown = await signIn(browser, { email: 'bob@acme.example', password: 'not the password' })
    for (const answer of [wrong, unknown]) {
      expect(answer.status).to.equal(401)
      expect(answer.text).to.include('E-mail or password is wrong.').and.include('<form')
      expect(answer.headers.getSetCookie()).to.deep.equal([])
    }
    expect(unknown.text.replaceAll('bob@', 'ann@')).to.equal(wrong.text)
    const names = (answer: Answer): string[] => [...answer.headers.keys()]
    expect(names(unknown)).to.deep.equal(names(wrong))
  })

  it('never says the password back', async () => {
    expect((await signIn(browser, { password: 'not the password' })).text).to.not.include('not the password')
  })

  it('refuses what is missing, as wrong', async () => {
    expect((await browser.post('/app/sign-in', {})).status).to.equal(401)
    expect((await browser.post('/app/sign-in', { email })).status).to.equal(401)
  })

  it('refuses a body that is no form, or too large, without a cookie', async () => {
    const json = await fetch(`${site.url}/app/sign-in`, {
      method: 'POST',
      body: JSON.stringify({ email, password }),
      headers: { 'content-type': 'application/json' },
    })
    expect(json.status).to.equal(415)
    expect(json.headers.get('content-type')).to.include('application/problem+json')
    const large = await signIn(browser, { password: 'x'.repeat(100_000) })
    expect(large.status).to.equal(413)
    expect([...browser.cookies]).to.deep.equal([])
  })

  it('comes again a little later where all forms together hold too much', async () => {
    const full = await openSite({ limits: { formsInFlightBytesMax: 8 } })
    const from = createBrowser(full)
    const answer = await signIn(from)
    await full.close()
    expect(answer.status).to.equal(503)
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 4)
    expect([...from.cookies]).to.deep.equal([])
  })

  it('leads to a page of ours that was asked for, and nowhere else', async () => {
    for (const [next, location] of [
      ['/app/keys', '/app/keys'],
      ['/app/logs/export?q=level%3Aerror', '/app/logs/export?q=level%3Aerror'],
      ['//evil.example/app', '/app'],
      ['https://evil.example/app', '/app'],
      ['/\\evil.example', '/app'],
      ['/app/../..//evil.example', '/app'],
      ['/app\\..\\..\\evil', '/app'],
      ['/application', '/app'],
      ['/api/app/logs/search', '/app'],
      ['/app/sign-out', '/app'],
      ['javascript:alert(1)', '/app'],
      ['/app/\r\nSet-Cookie: x=y', '/app/Set-Cookie:%20x=y'],
    ] as const) {
      expect((await signIn(createBrowser(site), { next })).location, next).to.equal(location)
    }
  })

  it('says that a download begins beside it, and where to go on then', async () => {
    const noticeOf = async (next: string): Promise<string> => {
      const { text } = await browser.get(`/app/sign-in?next=${encodeURIComponent(next)}`)
      return /<p class="notice">([^]*?)<\/p>/.exec(text)?.[1] ?? ''
    }
    const asked = '/app/logs/export?q=level%3Aerror+%22a%22&format=csv&shown_in=w1'
    expect(await noticeOf(asked)).to.include('href="/app/logs?q=level%3Aerror+%22a%22&amp;shown_in=w1"')
    expect(await noticeOf('/app/logs?q=export')).to.equal('')
    const failed = await signIn(browser, { password: 'wrong', next: asked })
    expect(failed.text).to.include('<p class="notice">').and.include('E-mail or password is wrong.')
  })

  it('leads to a page asked for as far as our own links go', async () => {
    const page = `/app/logs?q=${'timeout+AND+'.repeat(650)}x%2F%22y%22`
    const asked = await browser.get(page)
    expect(asked.status).to.equal(303)
    const { text } = await browser.get(asked.location ?? '')
    const [, next = ''] = /name="next" value="([^"]*)"/.exec(text) ?? []
    expect(next).to.equal(page)
    expect((await signIn(browser, { next })).location).to.equal(page)
    const long = (characters: number): string => `/app/logs?q=${'x'.repeat(characters - '/app/logs?q='.length)}`
    expect((await signIn(createBrowser(site), { next: long(15_000) })).location).to.equal(long(15_000))
    expect((await signIn(createBrowser(site), { next: long(16_385) })).location).to.equal('/app')
  })

  it('makes a new session each time: none can be planted', async () => {
    await signIn()
    const first = browser.cookies.get('throughline')
    const stolen = createBrowser(site)
    for (const [name, value] of browser.cookies) stolen.cookies.set(name, value)
    await signIn()
    expect(browser.cookies.get('throughline')).to.not.equal(first)
    expect(await isSignedIn()).to.equal(true)
    expect(await isSignedIn(stolen), 'the one before').to.equal(false)
  })

  it('takes no cookie that it did not sign', async () => {
    await signIn()
    const value = browser.cookies.get('throughline') ?? ''
    browser.cookies.set(
      'throughline',
      value.replace(/^./, (first) => (first === 'x' ? 'y' : 'x')),
    )
    expect(await isSignedIn()).to.equal(false)
    browser.cookies.set('throughline', value)
    browser.cookies.delete('throughline.sig')
    expect(await isSignedIn()).to.equal(false)
  })

  it('ends everywhere at sign-out, at once', async () => {
    await signIn()
    const stolen = createBrowser(site)
    for (const [name, value] of browser.cookies) stolen.cookies.set(name, value)
    const answer = await browser.post('/app/sign-out', {})
    expect([answer.status, answer.location]).to.deep.equal([303, '/app/sign-in'])
    expect([...browser.cookies.keys()]).to.not.include('throughline')
    expect(await isSignedIn(stolen)).to.equal(false)
    expect((await browser.post('/app/sign-out', {})).status, 'again').to.equal(303)
  })

  it('is no GET: a link or an image signs nobody out', async () => {
    expect((await browser.get('/app/sign-out')).status).to.equal(405)
  })

  it('ends when it is idle, and lasts while it is used', async () => {
    await signIn()
    const before = await site.stream.head()
    site.clock.advance(limits.sessionIdleMs - 1)
    expect(await isSignedIn()).to.equal(true)
    await site.stream.changed(before, new AbortController().signal)
    await site.directory.followed(await site.stream.head(), 60_000)
    site.clock.advance(limits.sessionIdleMs - 1)
    expect(await isSignedIn()).to.equal(true)
    await site.stream.changed(before, new AbortController().signal)
    site.clock.advance(2 * limits.sessionIdleMs)
    expect(await isSignedIn()).to.equal(false)
  })

  it('is known to a second process at once, and so is its end', async () => {
    const second = await openSite({ opened: { ...site, directory: (await secondView()).directory } })
    await signIn()
    const elsewhere = createBrowser(second)
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value)
    expect(await isSignedIn(elsewhere)).to.equal(true)
    await elsewhere.post('/app/sign-out', {})
    await site.directory.followed(await site.stream.head(), 60_000)
    expect(await isSignedIn()).to.equal(false)
    await second.close()
  })
  const secondView = () => openDirectory({ stream: site.stream, clock: site.clock })

  describe('forms from elsewhere', () => {
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1.evil.example' },
      { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1' },
    ]
    for (const headers of foreign) {
      it(`are refused: ${JSON.stringify(headers)}`, async () => {
        const answer = await browser.post('/app/sign-in', { email, password }, headers)
        expect(answer.status).to.equal(403)
        expect(answer.headers.getSetCookie()).to.deep.equal([])
        await signIn()
        for (const path of ['/app/sign-out', '/app/keys', '/app/password', '/app/workspace']) {
          expect((await browser.post(path, { action: 'create', kind: 'api' }, headers)).status, path).to.equal(403)
        }
        expect(await isSignedIn()).to.equal(true)
      })
    }

    it('are told from our own', async () => {
      const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> =>
        (await browser.post('/app/sign-in', { email, password }, headers)).status
      // `none`: the person did it, as by loading it again after a restart of the browser.
      for (const own of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, { origin: site.url }]) {
        expect(await statusOf(own), JSON.stringify(own)).to.equal(303)
      }
      expect(await statusOf({ origin: site.url.replace(/^http/, 'capacitor') }), 'an app of the same name').to.equal(
        403,
      )
    })

    it('are told by BASE_URL behind a proxy that changes the host', async () => {
      const proxied = await openSite({ opened: site, baseUrl: 'https://obs.example' })
      const headers = { origin: 'https://obs.example' }
      expect((await createBrowser(proxied).post('/app/sign-in', { email, password }, headers)).status).to.equal(303)
      for (const origin of ['https://evil.example', 'https://obs.example.evil.example', 'null']) {
        const answer = await createBrowser(proxied).post('/app/sign-in', { email, password }, { origin })
        expect([answer.status, answer.headers.getSetCookie()], origin).to.deep.equal([403, []])
      }
      await proxied.close()
    })
  })

  describe('throttling', () => {
    const wrong = (from: Browser, who = email): Promise<Answer> =>
      from.post('/app/sign-in', { email: who, password: 'not the password' })

    it('answers 429 with the page and a wait after some failures of an account, known or not', async () => {
      for (const who of [email, 'nobody@acme.example']) {
        const stranger = createBrowser(site, '198.51.100.1')
        for (let failure = 0; failure < 5; failure++) expect((await wrong(stranger, who)).status).to.equal(401)
        const answer = await wrong(stranger, who)
        expect(answer.status).to.equal(429)
        expect(Number(answer.headers.get('retry-after'))).to.equal(12)
        expect(answer.text).to.include('Too many sign-ins failed')
        site.clock.advance(60_000)
      }
    })

    it('lets nobody in while it lasts, and locks nobody out for good', async () => {
      const stranger = createBrowser(site, '198.51.100.1')
      for (let failure = 0; failure < 5; failure++) await wrong(stranger)
      expect((await signIn(stranger)).status).to.equal(429)
      site.clock.advance(12_000)
      expect((await signIn(stranger)).status).to.equal(303)
    })

    it('counts failures only', async () => {
      for (let time = 0; time < 20; time++) expect((await signIn()).status).to.equal(303)
    })

    it('does not keep people out where they have signed in before', async () => {
      await signIn()
      const stranger = createBrowser(site, '198.51.100.1')
      while ((await wrong(stranger)).status !== 429);
      expect((await signIn(createBrowser(site))).status).to.equal(303)
      expect((await signIn(createBrowser(site, '203.0.113.9'))).status).to.equal(429)
    })

    it('counts by address over all accounts', async () => {
      const stranger = createBrowser(site, '198.51.100.1')
      for (let failure = 0; failure < 10; failure++) {
        expect((await wrong(stranger, `person${failure}@acme.example`)).status).to.equal(401)
      }
      expect((await wrong(stranger, 'another@acme.example')).status).to.equal(429)
      expect((await signIn(stranger)).status).to.equal(429)
      expect((await signIn(createBrowser(site, '198.51.100.2'))).status).to.equal(303)
    })

    it('counts by address where a proxy writes its port behind it, another each time, and knows it again', async () => {
      await signIn(createBrowser(site, '203.0.113.9:443'))
      for (let failure = 0; failure < 10; failure++) {
        const stranger = createBrowser(site, `198.51.100.1:${49_152 + failure}`)
        expect((await wrong(stranger, `person${failure}@acme.example`)).status).to.equal(401)
      }
      expect((await signIn(createBrowser(site, '198.51.100.1:50000'))).status).to.equal(429)
      const other = createBrowser(site, '198.51.100.2:50000')
      while ((await wrong(other)).status !== 429);
      expect((await signIn(createBrowser(site, '203.0.113.9:50000'))).status, 'has signed in from there').to.equal(303)
    })

    it('counts by network where an IPv6 one has many addresses, but not where somebody has signed in before', async () => {
      const wide = await openSite({ opened: site, limits: { signInsPerMinutePerNetwork: 6 } })
      const from = (address: string): Browser => createBrowser(wide, address)
      expect((await signIn(from('2001:db8:1:ff::1'))).status).to.equal(303)
      const failed = (subnet: number, network = '2001:db8:1') =>
        wrong(from(`${network}:${subnet}::1`), `person${subnet}@acme.example`)
      for (let subnet = 1; subnet <= 6; subnet++) expect((await failed(subnet)).status).to.equal(401)
      expect((await failed(7)).status).to.equal(429)
      expect((await signIn(from('2001:db8:1:7::1'))).status).to.equal(429)
      expect((await failed(1, '2001:db8:2')).status, 'another network').to.equal(401)
      expect((await signIn(from('2001:db8:1:ff::1'))).status, 'has signed in from there').to.equal(303)
      expect((await signIn(from('2001:db8:1:ff::2'))).status, 'from the same /64, as devices change theirs').to.equal(
        303,
      )
      for (let person = 1; person <= 8; person++)
        expect((await wrong(from('198.51.100.1'), `person${person}@b.example`)).status, 'of IPv4').to.equal(401)
    })

    it('leaves an audit entry of each failure, without what was typed', async () => {
      await wrong(browser)
      await site.directory.followed(await site.stream.head(), 60_000)
      const entries = (await site.stream.read(0, 1_000)).filter(({ type }) => type === 'directory.signIn.failed')
      expect(entries).to.have.length(1)
      const text = Buffer.from(entries[0]!.payload).toString()
      expect(text).to.include('192.0.2.1').and.not.include('not the password')
    })
  })
})
