import { expect } from 'chai'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { noCounts } from '#src/events/envelope.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { withPlainTimes } from '#test/support/plain-times.ts'
import { newStream, openDirectory, valueOf } from '../directory/harness.ts'
import { attacks } from './attacks.ts'
import { createBrowser, createPerson, openSite, password, slowToRead, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'
const everyPage = [
  ...[
    '/app',
    '/app/traces',
    '/app/logs',
    '/app/patterns',
    '/app/map',
    '/app/find',
    '/app/connect',
    '/app/usage',
    '/app/keys',
  ],
  ...['/app/members', '/app/password', '/app/workspace', '/app/audit'],
]

describe('pages', () => {
  let site: Site
  let browser: Browser
  let workspaceId: Awaited<ReturnType<typeof createPerson>>['workspace']['id']
  let userId: string
  beforeEach(async () => {
    site = await openSite()
    const { workspace, user } = await createPerson(site.directory, email, 'Acme')
    workspaceId = workspace.id
    userId = user.id
    browser = createBrowser(site)
    await browser.post('/app/sign-in', { email, password })
  })
  afterEach(async () => {
    await site.close()
    expect(site.failures).to.deep.equal([])
  })

  it('are for signed-in people: others are led to sign-in and back, programs get 401', async () => {
    const stranger = createBrowser(site)
    for (const path of everyPage) {
      const answer = await stranger.get(path)
      expect([answer.status, answer.location], path).to.deep.equal([
        303,
        `/app/sign-in?next=${encodeURIComponent(path)}`,
      ])
      const program = await stranger.get(path, { accept: '*/*', 'sec-fetch-mode': 'cors' })
      expect(program.status, path).to.equal(401)
      expect(program.headers.get('content-type')).to.include('application/problem+json')
    }
    expect((await stranger.get('/app/sign-in?next=%2Fapp%2Fkeys')).text).to.include('name="next" value="/app/keys"')
  })

  it('are marked in the menu, by themselves or by what they are below', async () => {
    const markedOn = ({ text }: Readonly<{ text: string }>): readonly (string | undefined)[] => {
      const menu = /<nav aria-label="Pages">[^]*?<\/nav>/.exec(text)?.[0] ?? ''
      return [...menu.matchAll(/aria-current="(\w+)"[^>]*>([^<]*)/g)].flatMap(([, is, name]) => [is, name])
    }
    const made = await browser.post('/app/connect', { what: 'logs', guide: 'curl' })
    expect(made.text).to.include('<h1>Connect: logs</h1>')
    expect(markedOn(made)).to.deep.equal(['page', 'Connect'])
    for (const [path, marked] of [
      ['/app/logs?q=x', ['page', 'Logs']],
      ['/app/patterns?q=x', ['true', 'Logs']],
      ['/app/sessions?q=x', ['page', 'Sessions']],
      ['/app/trace/5b8efff798038103d269b633813fc60c', ['true', 'Traces']],
      ['/app/compare', ['true', 'Traces']],
      ['/app/find', []],
    ] as const) {
      expect(markedOn(await browser.get(path)), path).to.deep.equal(marked)
    }
  })

  it('begin at the bare address of the server', async () => {
    for (const someone of [browser, createBrowser(site)]) {
      const answer = await someone.get('/')
      expect([answer.status, answer.location]).to.deep.equal([303, '/app'])
    }
  })

  it('say so as a page where there is none, and to programs as a problem document', async () => {
    for (const path of ['/app/nowhere', '/app/trace/a/b', '/app/%E0%A4%A']) {
      const answer = await browser.get(path)
      expect(answer.status, path).to.equal(404)
      expect(answer.headers.get('content-type'), path).to.equal('text/html; charset=utf-8')
      expect(answer.text, path).to.include(`There is nothing at ${path}.`).and.include('<a href="/app">')
      const program = await browser.get(path, { accept: '*/*' })
      expect([program.status, program.headers.get('content-type')], path).to.deep.equal([
        404,
        'application/problem+json',
      ])
    }
    // Some programs name text/html among all that they accept: no address of the API answers with a page.
    expect((await browser.get('/api/nowhere')).headers.get('content-type')).to.equal('application/problem+json')
  })

  it('have a style sheet, scripts and an icon that are sent again only when they have changed', async () => {
    const scripts = ['connect', 'copy', 'histogram', 'remember', 'shortcuts', 'tail', 'times'].map(
      (name) => `${name}.js`,
    )
    for (const path of ['style.css', 'icon.svg', ...scripts].map((name) => `/app/${name}`)) {
      const { headers, text } = await browser.get(path)
      expect(headers.get('cache-control'), path).to.equal('no-cache')
      expect(text, path).to.not.equal('')
      const again = await browser.get(path, { 'if-none-match': headers.get('etag') ?? '' })
      expect([again.status, again.text], path).to.deep.equal([304, ''])
      const changed = await browser.get(path, { 'if-none-match': '"of the version before"' })
      expect([changed.status, changed.text], path).to.deep.equal([200, text])
    }
  })

  it('have one style sheet, and nothing from elsewhere', async () => {
    const sheet = await browser.get('/app/style.css')
    expect(sheet.headers.get('content-type')).to.include('text/css')
    for (const path of everyPage) {
      const page = await browser.get(path)
      expect(page.status, path).to.equal(200)
      expect(page.headers.get('cache-control'), path).to.equal('no-store')
      expect(
        [...page.text.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, to]) => to?.[0]),
        path,
      ).to.satisfy((starts: string[]) => starts.every((start) => start === '/' || start === '#'))
      expect(page.text).to.not.match(/<script(?! type="module" src="\/app\/\w+\.js"><\/script>)| style="| on\w+="/)
      expect(page.headers.get('content-security-policy')).to.include("default-src 'none'").and.not.include('unsafe')
    }
  })

  it('show the workspace, its plan, its use and where to send', async () => {
    expect((await browser.get('/app')).text).to.include('not counted yet')
    const counts = { ...noCounts, spans: 12_345, bytes: 6_789_012 }
    await site.index(givenEvent('spans.received', 1, {}, { workspace: workspaceId, counts }))
    const { text } = await browser.get('/app')
    for (const part of ['Acme', 'pro', '12,345', '1,000,000', '6.79 MB', '2026-12-01 00:00 UTC'])
      expect(text).to.include(part)
    for (const path of ['/api/traces/v1/otlp', '/api/logs/v1/ingest', '/api/rum/v1/ingest'])
      expect(text).to.include(site.url + path)
    expect((await browser.get('/app', { host: 'a b' })).text, 'no address').to.include(
      '<code>http://localhost/api/traces/v1/otlp</code>',
    )
  })

  it('show the overview when the count cannot be had', async () => {
    const lame = await openSite({
      opened: { ...site, ...(await openDirectory({ stream: site.stream, clock: site.clock })) },
      reader: { ...createMemoryIndexStore().reader, progress: () => Promise.reject(new Error('no index yet')) },
    })
    const other = createBrowser(lame)
    await other.post('/app/sign-in', { email, password })
    expect((await other.get('/app')).text).to.include('not counted yet')
    await lame.close()
  })

  it('list members', async () => {
    const { text } = await browser.get('/app/members')
    expect(text).to.include('data-filter="Find a member"').and.include('src="/app/filter.js"')
    expect(text).to.include(email).and.include('owner').and.include('(you)')
  })

  describe('keys', () => {
    const secretIn = (text: string): string => /<pre data-secret>([^<]+)<\/pre>/.exec(text)?.[1] ?? ''

    it('are made, shown once, and revoked', async () => {
      expect((await browser.get('/app/keys')).text)
        .to.include('There are no keys yet.')
        .and.not.include('<table')
      for (const kind of ['publishable', 'logs', 'tracing', 'api']) {
        const made = await browser.post('/app/keys', { action: 'create', kind, name: `my ${kind} key` })
        expect(made.status, kind).to.equal(200)
        const secret = secretIn(made.text)
        const key = site.directory.findKey(secret)
        expect(key, kind).to.deep.include({ kind, name: `my ${kind} key`, workspaceId, revokedAt: null })
        const list = (await browser.get('/app/keys')).text
        expect(list).to.include(`${key?.prefix}…${key?.last4}`).and.include(`my ${kind} key`).and.not.include(secret)
        // It cannot be taken back: the button is not on the page until its reader has opened what says so, and names its key.
        expect(list).to.match(/>Revoke<\/summary\s*>\s*<p>At once/)
        expect(list).to.include(`aria-label="Revoke it: ${key?.prefix}…${key?.last4} my ${kind} key"`)
        const revoked = await browser.post('/app/keys', { action: 'revoke', key: key?.id ?? '' })
        expect([revoked.status, revoked.location]).to.deep.equal([303, '/app/keys'])
        expect(site.directory.findKey(secret)?.revokedAt).to.not.equal(null)
        expect(withPlainTimes((await browser.get('/app/keys')).text)).to.include('revoked 2026-')
      }
      const events = await site.stream.read(0, 1_000)
      const by = events
        .filter(({ type }) => type.startsWith('directory.key.'))
        .map(({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as { by: string }).by)
      expect(by).to.deep.equal(Array.from({ length: 8 }, () => userId))
    })

    it('are told from each other by whoever hears the name of what they press', async () => {
      for (const name of ['one', 'two']) await site.directory.createKey({ workspaceId, kind: 'publishable', name })
      const { text } = await browser.get('/app/keys')
      const names = [...text.matchAll(/<summary\b[^>]*aria-label="([^"]*)"/g)].map(([, name]) => name)
      const told = site.directory.keys(workspaceId).map(({ last4, name }) => `pk_live_…${last4} ${name}`)
      const words = ['any page', 'Rotate', 'Revoke']
      expect(names).to.have.members(told.flatMap((key) => words.map((word) => `${word}: ${key}`)))
      expect(text.match(/<summary\b/g)).to.have.length(names.length)
    })

    it('take origins and scopes', async () => {
      const origins = 'https://shop.example, https://www.shop.example'
      await browser.post('/app/keys', { action: 'create', kind: 'publishable', origins })
      await browser.post('/app/keys', { action: 'create', kind: 'api', writeLogs: '1' })
      const other = await browser.post('/app/keys', { action: 'create', kind: 'tracing', writeLogs: '1' })
      expect(other.status, 'which says nothing of other keys').to.equal(200)
      const [publishable, api] = site.directory.keys(workspaceId)
      expect(publishable?.origins).to.deep.equal(['https://shop.example', 'https://www.shop.example'])
      expect(api?.scopes).to.deep.equal(['traces:read', 'logs:write'])
    })

    it('are rotated: the successor is shown once, and until when the old one works', async () => {
      const made = await site.directory.createKey({ workspaceId, kind: 'tracing', name: 'of checkout' })
      const old = made.ok ? made.value : undefined
      for (const hours of ['721', '12345', '1.5', '-1', 'a day', ' ']) {
        const refused = await browser.post('/app/keys', { action: 'rotate', key: old?.key.id ?? '', hours })
        expect([refused.status, refused.text.includes('for at most 30 days')], hours).to.deep.equal([400, true])
      }
      const rotated = await browser.post('/app/keys', { action: 'rotate', key: old?.key.id ?? '', hours: '72' })
      expect(rotated.status).to.equal(200)
      const secret = secretIn(rotated.text)
      expect(site.directory.findKey(secret)).to.deep.include({ kind: 'tracing', name: 'of checkout', workspaceId })
      expect(withPlainTimes(rotated.text)).to.include('works until 2026-11-24 00:00 UTC')
      const list = withPlainTimes((await browser.get('/app/keys')).text)
      expect(list).to.include('rotated, works until 2026-11-24 00:00 UTC').and.not.include(secret)
      site.clock.advance(72 * 3_600_000)
      expect(withPlainTimes((await browser.get('/app/keys')).text)).to.include('revoked 2026-11-24 00:00 UTC')
      const again = await browser.post('/app/keys', { action: 'rotate', key: old?.key.id ?? '', hours: '1' })
      expect([again.status, again.text.includes('This key is revoked')]).to.deep.equal([400, true])
      expect((await browser.post('/app/keys', { action: 'rotate', key: 'k0' })).status).to.equal(404)
    })

    it('say when they were used last, and by whom that cannot be told', async () => {
      const wanted = [
        { kind: 'logs', name: 'busy' },
        { kind: 'logs', name: 'idle' },
        { kind: 'api', name: 'reader' },
      ] as const
      const ids: string[] = []
      for (const key of wanted) {
        const made = await site.directory.createKey({ workspaceId, ...key })
        if (made.ok) ids.push(made.value.key.id)
      }
      const header = { workspace: workspaceId, keyId: ids[0] ?? '', receivedAt: Date.UTC(2026, 10, 20, 7, 30) }
      await site.index(givenEvent('logs.received', 1, {}, header))
      const { text } = await browser.get('/app/keys')
      const rowWith = (name: string): string =>
        text.split('<tr>').find((row) => new RegExp(`>\\s*${name} `).test(row)) ?? ''
      expect(rowWith('busy')).to.include('2026-11-20 07:30 UTC')
      expect(rowWith('idle')).to.match(/<td data-head="Last used">\s*never\b/)
      expect(rowWith('reader')).to.include('reading is not recorded')
      // Who has made a key wants to see that something arrives by it.
      const waiting = /<a href="([^"]*)" aria-label="Wait for it: ([^"]*)"/.exec(rowWith('idle'))
      expect(waiting?.[2]).to.match(/^lt_…\w{4} idle$/)
      expect((await browser.get(waiting?.[1] ?? '')).text).to.include('Waiting for the first log record')
      expect([rowWith('busy'), rowWith('reader')].join('')).to.not.include('Wait for it')
      await browser.post('/app/keys', { action: 'revoke', key: ids[1] ?? '' })
      expect((await browser.get('/app/keys')).text).to.not.include('Wait for it')
    })

    it('that may be used by pages are bound to other origins', async () => {
      const made = await site.directory.createKey({ workspaceId, kind: 'publishable' })
      const key = made.ok ? made.value.key.id : ''
      const change = (origins: string) => browser.post('/app/keys', { action: 'origins', key, origins })
      expect((await change('https://shop.example')).status).to.equal(303)
      expect(site.directory.key(key)?.origins).to.deep.equal(['https://shop.example'])
      expect((await browser.get('/app/keys')).text).to.include('only https://shop.example')
      const wrong = await change('shop')
      expect([wrong.status, wrong.text.includes('is not an origin')]).to.deep.equal([400, true])
      expect((await change('')).status).to.equal(303)
      expect(site.directory.key(key)?.origins).to.deep.equal([])
      expect((await browser.post('/app/keys', { action: 'origins', key: 'k0' })).status).to.equal(404)
      const isOffered = async () => (await browser.get('/app/keys')).text.includes('name="action" value="origins"')
      expect(await isOffered()).to.equal(true)
      await browser.post('/app/keys', { action: 'revoke', key })
      expect(await isOffered(), 'of one that is revoked').to.equal(false)
    })

    it('that were seen in a browser say so, and what to do', async () => {
      const made = await site.directory.createKey({ workspaceId, kind: 'tracing' })
      if (made.ok) await site.directory.flagExposed(made.value.key, '/api/rum/v1/ingest')
      expect((await browser.get('/app/keys')).text)
        .to.include('Seen in a browser’s request')
        .and.include('Rotate it')
    })

    const outOfReach = [
      ['fails', () => Promise.reject(new Error('no index'))],
      ['does not answer', () => new Promise<never>(() => undefined)],
    ] as const
    for (const [what, get] of outOfReach)
      it(`can be revoked while the index ${what}, which is not said to be a key without use`, async () => {
        const made = await site.directory.createKey({ workspaceId, kind: 'logs', name: 'leaked' })
        const lame = await openSite({
          opened: { ...site, ...(await openDirectory({ stream: site.stream, clock: site.clock })) },
          reader: { ...createMemoryIndexStore().reader, get },
        })
        const other = createBrowser(lame)
        await other.post('/app/sign-in', { email, password })
        const { text } = await other.get('/app/keys')
        expect(text).to.include('leaked').and.include('not known at the moment')
        expect(text).to.not.match(/<td data-head="Last used">\s*never/)
        const key = made.ok ? made.value.key.id : ''
        expect((await other.post('/app/keys', { action: 'revoke', key })).status).to.equal(303)
        await lame.close()
      })

    it('say what is wrong with a form', async () => {
      const wrong = await browser.post('/app/keys', { action: 'create', kind: 'publishable', origins: 'nonsense' })
      expect(wrong.status).to.equal(400)
      expect(wrong.text).to.include('is not an origin')
      for (const name of ['x'.repeat(81), 'two\nlines']) {
        const refused = await browser.post('/app/keys', { action: 'create', kind: 'logs', name })
        expect([refused.status, refused.text.includes('The name of a key m')], name).to.deep.equal([400, true])
      }
      expect((await browser.post('/app/keys', { action: 'create', kind: 'master' })).status).to.equal(400)
      expect((await browser.post('/app/keys', { action: 'destroy' })).status).to.equal(400)
      expect(site.directory.keys(workspaceId)).to.deep.equal([])
    })

    it('of another workspace are unknown, whatever the form says', async () => {
      const { workspace } = await createPerson(site.directory, 'eve@other.example', 'Other')
      const made = await site.directory.createKey({ workspaceId: workspace.id, kind: 'logs', name: 'canary-key' })
      const key = made.ok ? made.value.key.id : ''
      const extra = { workspace: workspace.id, workspace_id: workspace.id, workspaceId: workspace.id }
      const foreign = await browser.post('/app/keys', { action: 'revoke', key, ...extra })
      const absent = await browser.post('/app/keys', { action: 'revoke', key: 'k0000000000000000', ...extra })
      expect([foreign.status, absent.status]).to.deep.equal([404, 404])
      expect(foreign.text.replace(/Request [^<]+/, '')).to.equal(absent.text.replace(/Request [^<]+/, ''))
      expect(site.directory.keys(workspace.id)[0]?.revokedAt).to.equal(null)
      expect((await browser.get(`/app/keys?workspace=${workspace.id}`)).text).to.not.include('canary-key')
      const created = await browser.post('/app/keys', { action: 'create', kind: 'logs', ...extra })
      expect(site.directory.findKey(secretIn(created.text))?.workspaceId).to.equal(workspaceId)
    })
  })

  it('take no form from another site', async () => {
    for (const path of ['/app/connect', '/app/keys']) {
      const fields = { action: 'create', kind: 'logs', what: 'logs', guide: 'curl' }
      const answer = await browser.post(path, fields, { 'sec-fetch-site': 'cross-site' })
      expect(answer.status, path).to.equal(403)
    }
    expect(site.directory.keys(workspaceId)).to.deep.equal([])
  })

  it('tell what arrives by a key that another process made just now', async () => {
    const stream = newStream()
    const [here, there] = [await openDirectory({ stream: slowToRead(stream) }), await openDirectory({ stream })]
    const behind = await openSite({ opened: here })
    const { workspace } = await createPerson(there.directory, email, 'Acme')
    const visitor = createBrowser(behind)
    await visitor.post('/app/sign-in', { email, password })
    const made = valueOf(await there.directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
    expect((await visitor.get(`/app/connect/${made.key.id}/arrival`)).status).to.equal(200)
    await behind.close()
    await there.directory.close()
  })

  it('say to come back, not that a key is unknown, while it cannot be told', async () => {
    const stream = newStream()
    let isAway = false
    const head = (): ReturnType<typeof stream.head> => (isAway ? Promise.reject(new Error('away')) : stream.head())
    const alone = await openSite({ opened: await openDirectory({ stream: { ...stream, head } }) })
    await createPerson(alone.directory, email, 'Acme')
    const visitor = createBrowser(alone)
    await visitor.post('/app/sign-in', { email, password })
    const unknown = '/app/connect/k0000000000000000/arrival'
    expect((await visitor.get(unknown)).status).to.equal(404)
    isAway = true
    expect((await visitor.get(unknown)).status).to.equal(503)
    await alone.close()
  })

  it('tell nothing of what arrives by keys of another workspace', async () => {
    const { workspace } = await createPerson(site.directory, 'eve@other.example', 'Other')
    const made = await site.directory.createKey({ workspaceId: workspace.id, kind: 'logs', name: 'of the other' })
    const foreign = made.ok ? made.value.key.id : ''
    const own = await site.directory.createKey({ workspaceId, kind: 'api' })
    for (const key of [foreign, own.ok ? own.value.key.id : '', 'k0']) {
      expect((await browser.get(`/app/connect/${key}`)).status, key).to.equal(404)
      expect((await browser.get(`/app/connect/${key}/arrival`)).status, key).to.equal(404)
    }
  })

  it('show hostile text in every field as text', async () => {
    for (const [at, attack] of attacks.entries()) {
      const name = `${attack}${at}`
      const created = await site.directory.createWorkspace({ name, plan: 'pro' })
      const workspace = created.ok ? created.value : undefined
      expect(workspace, attack).to.not.equal(undefined)
      await site.directory.addMember({ workspaceId: workspace!.id, userId })
      await site.directory.createUser({
        email: `${attack.replaceAll(/[\s@]/g, '')}${at}@x.example`,
        password,
        workspaceId: workspace!.id,
      })
      await browser.post('/app/workspace', { choice: workspace!.id })
      const pages = [
        await browser.post('/app/keys', { action: 'create', kind: 'logs', name }),
        await browser.post('/app/keys', { action: 'create', kind: 'publishable', origins: attack }),
        await browser.post('/app/connect', { what: 'traces', guide: 'node', name }),
        await browser.post('/app/connect', { what: attack, guide: attack }),
        await browser.get(`/app/usage?month=${encodeURIComponent(attack)}`),
        await browser.post('/app/keys', { action: attack, key: attack }),
        await browser.get('/app', { host: 'x', 'x-forwarded-host': attack.replaceAll(/[^\x20-\x7e]/g, '') }),
        await browser.get('/app/members'),
        await browser.get('/app/workspace'),
        await createBrowser(site, `192.0.2.${at}`).post('/app/sign-in', {
          email: attack,
          password: attack,
          next: attack,
        }),
        await createBrowser(site).get(`/app/sign-in?next=${encodeURIComponent(`/app/${attack}`)}`),
      ]
      for (const { text } of pages) {
        expect(text.includes(attack) && /[<>"']/.test(attack), attack).to.equal(false)
        const own = /<script type="module" src="\/app\/\w+\.js"><\/script>/g
        expect(text.replaceAll(own, ''), attack).to.not.match(/<script|<img|<svg|<b>|<!--/i)
      }
    }
  })
})
