import { request, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { givenSpan, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { createWorkspace, valueOf } from '../directory/harness.ts'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'
import { eachSignedIn } from './signed-in.ts'

const email = 'ann@acme.example'

describe('workspaces of one person', () => {
  let site: Site
  let browser: Browser
  let workspaceId: WorkspaceId
  let userId: string
  eachSignedIn((given) => ({ site, browser, workspace: workspaceId, userId } = given))

  /** A form that is sent half, and to its end when something else has happened. */
  async function sendSlowly(
    path: string,
    fields: Readonly<Record<string, string>>,
    meanwhile: () => Promise<void>,
  ): Promise<IncomingMessage> {
    const body = new URLSearchParams(fields).toString()
    const answered = Promise.withResolvers<IncomingMessage>()
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = {
      ...{ cookie, 'x-forwarded-for': '192.0.2.1', 'content-length': String(body.length), accept: 'text/html' },
      ...{ 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    }
    const sending = request(site.url + path, { method: 'POST', headers }, answered.resolve)
    const lookedUp = Promise.withResolvers<void>()
    const { session } = site.directory
    site.directory.session = (id) => {
      lookedUp.resolve()
      return session(id)
    }
    sending.write(body.slice(0, 5))
    await lookedUp.promise
    await meanwhile()
    sending.end(body.slice(5))
    const answer = await answered.promise
    answer.resume()
    return answer
  }

  it('are chosen at sign-in and later, among their own only', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    const { workspace: foreign } = await createPerson(site.directory, 'eve@other.example', 'Foreign')
    await site.directory.addMember({ workspaceId: second.id, userId })
    const answer = await browser.post('/app/sign-in', { email, password, next: '/app/keys', workspace: foreign.id })
    expect(answer.location).to.equal('/app/workspace?next=%2Fapp%2Fkeys')
    const chooser = await browser.get(answer.location ?? '')
    expect(chooser.text).to.include('Acme').and.include('Second').and.not.include('Foreign')
    const before = browser.cookies.get('throughline')
    const chosen = await browser.post('/app/workspace', { choice: second.id, next: '/app/keys' })
    expect([chosen.status, chosen.location]).to.deep.equal([303, '/app/keys'])
    expect(JSON.parse((await browser.get('/who')).text)).to.include({ workspaceId: second.id, email })
    const now = browser.cookies.get('throughline')
    expect(now).to.not.equal(before)
    expect((await browser.post('/app/workspace', { choice: second.id })).status, 'that one is in').to.equal(303)
    expect(browser.cookies.get('throughline')).to.equal(now)
    expect((await browser.post('/app/workspace', { choice: foreign.id })).status).to.equal(403)
    expect((await browser.post('/app/workspace', { choice: 'w0000000000000000' })).status).to.equal(403)
    expect(JSON.parse((await browser.get('/who')).text)).to.include({ workspaceId: second.id })
  })

  it('are one form, however many they are: an address to go on to, which may be long, is in it once', async () => {
    const names = Array.from({ length: 40 }, (_, each) => `Another ${each}`)
    for (const name of names) {
      const { id } = await createWorkspace(site.directory, name)
      valueOf(await site.directory.addMember({ workspaceId: id, userId }))
    }
    const next = `/app/logs?q=${'word+'.repeat(800)}end`
    const { text } = await browser.get(`/app/workspace?next=${encodeURIComponent(next)}`)
    expect(text.split(next).length - 1, 'how often it is in the page').to.equal(1)
    const form = /<form method="post">[^]*?<\/form>/.exec(text)?.[0] ?? ''
    const choices = [...form.matchAll(/<button type="submit" name="choice" value="(\w+)">([^<]*)</g)]
    expect(choices.map(([, , name]) => name)).to.deep.equal(['Acme', ...names])
    const [, choice = ''] = choices.at(-1) ?? []
    expect((await browser.post('/app/workspace', { next, choice })).location).to.equal(next)
    expect(site.directory.workspace(JSON.parse((await browser.get('/who')).text).workspaceId)?.name).to.equal(
      'Another 39',
    )
  })

  it('get no key from a page of another one, which was opened before', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    const forms = [
      ['/app/keys', { action: 'create', kind: 'logs', name: 'mine' }],
      ['/app/connect', { what: 'logs', guide: 'curl', name: 'mine' }],
    ] as const
    for (const [path, given] of forms) {
      await browser.post('/app/workspace', { choice: workspaceId })
      const [, shown = ''] =
        /name="shown_in" value="([^"]*)"/.exec((await browser.get(`${path}?shown_in=${workspaceId}`)).text) ?? []
      expect(shown, path).to.equal(workspaceId)
      await browser.post('/app/workspace', { choice: second.id })
      const refused = await browser.post(path, { ...given, shown_in: shown })
      expect(refused.status, path).to.equal(400)
      expect(refused.text).to.include('you went to another workspace').and.include('value="mine"')
      expect([...site.directory.keys(second.id), ...site.directory.keys(workspaceId)]).to.deep.equal([])
      expect(refused.text, 'to be sent again').to.include(`name="shown_in" value="${second.id}"`)
    }
    for (const [path, given] of forms) {
      expect((await browser.post(path, { ...given, shown_in: second.id })).status, path).to.equal(200)
    }
    expect(site.directory.keys(second.id)).to.have.length(2)
  })

  it('lead from a link to what one of them has to that, through all of them', async () => {
    const path = `/app/trace/${traceIdOf('t')}?span=${spanIdOf('a')}`
    await site.index()
    const { text: alone } = await browser.get(path)
    expect(alone).to.include('has never seen').and.not.include('of your workspaces')
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    await site.index(givenEvent('spans.received', 1, { spans: [givenSpan({ id: 'a' })] }, { workspace: second.id }))
    const { status, text } = await browser.get((await browser.get(path)).location ?? '')
    expect(status).to.equal(404)
    const link = linksOfPage(text).find(({ name }) => name === 'Look for it there')?.address ?? ''
    const [, next = ''] = /name="next" value="([^"]*)"/.exec((await browser.get(link)).text) ?? []
    expect(next).to.equal(path)
    const chosen = await browser.post('/app/workspace', { choice: second.id, next })
    const { location } = await browser.get(chosen.location ?? '')
    expect((await browser.get(location ?? '')).text).to.include(`id="span-${spanIdOf('a')}" aria-current="true"`)
  })

  it('are over when the password has changed, also for who was choosing meanwhile', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    const answer = await sendSlowly('/app/workspace', { choice: second.id }, async () => {
      valueOf(await site.directory.changePassword({ userId, password: 'another long password' }))
    })
    expect(answer.headers['set-cookie']?.join() ?? '').to.not.match(/throughline=[A-Za-z0-9_-]{20}/)
    expect(answer.statusCode).to.be.oneOf([303, 401])
    expect((await browser.get('/app')).status).to.equal(303)
  })

  it('are over when the session before would be, however often one chooses', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    const dayMs = 86_400_000
    for (let day = 0; day < 28; day += 4) {
      const choice = day % 8 === 0 ? second.id : workspaceId
      expect((await browser.post('/app/workspace', { choice })).status, `day ${day}`).to.equal(303)
      expect((await browser.get('/app/workspace')).status, `day ${day}`).to.equal(200)
      site.clock.advance(4 * dayMs)
    }
    expect((await browser.get('/app/workspace')).status).to.equal(200)
    site.clock.advance(3 * dayMs)
    expect((await browser.get('/app/workspace')).status).to.equal(303)
  })

  it('are changed without a password, so that whoever has stolen a session may guess no faster after it', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    const limited = await openSite({ opened: site, perMinute: 3 })
    const [thief, stranger] = [createBrowser(limited, '198.51.100.1'), createBrowser(limited, '198.51.100.2')]
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
    expect((await thief.post('/app/workspace', { choice: second.id })).status).to.equal(303)
    expect(JSON.parse((await thief.get('/who')).text)).to.include({ workspaceId: second.id })
    const guess = (from: Browser) => from.post('/app/sign-in', { email, password: 'a guess' })
    while ((await guess(stranger)).status !== 429);
    expect((await guess(thief)).status).to.equal(429)
    expect((await createBrowser(limited).post('/app/sign-in', { email, password })).status, 'known').to.equal(303)
    await limited.close()
  })

  it('that they were taken out of are closed to them at once', async () => {
    await site.directory.createUser({ email: 'bob@acme.example', password, workspaceId, role: 'owner' })
    await site.directory.removeMember({ workspaceId, userId })
    expect((await browser.get('/app')).status).to.equal(303)
    const answer = await browser.post('/app/sign-in', { email, password })
    expect(answer.status).to.equal(403)
    expect(answer.text).to.include('a member of no workspace')
  })

  for (const [path, fields] of [
    ['/app/keys', { action: 'create', kind: 'api' }],
    ['/app/connect', { what: 'logs', guide: 'curl' }],
  ] as const) {
    it(`that they were taken out of are closed also to a form that was under way: ${path}`, async () => {
      await site.directory.createUser({ email: 'bob@acme.example', password, workspaceId, role: 'owner' })
      const answer = await sendSlowly(path, fields, async () => {
        valueOf(await site.directory.removeMember({ workspaceId, userId }))
      })
      expect(answer.statusCode).to.equal(401)
      expect(site.directory.keys(workspaceId)).to.deep.equal([])
    })
  }
})
