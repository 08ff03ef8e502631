import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { withPlainTimes } from '#test/support/plain-times.ts'
import { valueOf } from '../directory/harness.ts'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'

describe('audit page', () => {
  let site: Site
  let browser: Browser
  let workspace: WorkspaceId
  let userId: string
  beforeEach(async () => {
    site = await openSite()
    const made = await createPerson(site.directory, email, 'Acme')
    workspace = made.workspace.id
    userId = made.user.id
    browser = createBrowser(site)
    await browser.post('/app/sign-in', { email, password })
  })
  afterEach(async () => {
    await site.close()
    expect(site.failures).to.deep.equal([])
  })

  /** Who and what of each row, the newest first. */
  const rowsOf = (text: string): readonly string[] =>
    [...text.matchAll(/<tr>\s*<td class="time"[^>]*>[\s\S]*?<\/tr>/g)].map(([row]) =>
      [...row.matchAll(/<td data-head="Wh(?:o|at)">([\s\S]*?)<\/td>/g)].map(([, cell = '']) => cell.trim()).join(': '),
    )
  const audit = async (who = browser) => rowsOf(withPlainTimes((await who.get('/app/audit')).text))

  it('tells of a secret key that somebody’s browser has shown, which nobody has done by name', async () => {
    const { key } = valueOf(await site.directory.createKey({ workspaceId: workspace, kind: 'logs', name: 'api' }))
    await site.directory.flagExposed(key, '/api/rum/v1/ingest')
    expect((await audit())[0]).to.equal(
      `somebody’s browser: The secret key lt_…${key.last4} (api) was seen in a browser’s request to /api/rum/v1/ingest.`,
    )
  })

  it('tells what was done in the workspace, by whom, the newest first', async () => {
    const bob = valueOf(
      await site.directory.createUser({ email: 'bob@acme.example', password, workspaceId: workspace }),
    )
    await browser.post('/app/keys', {
      action: 'create',
      kind: 'publishable',
      name: 'shop',
      origins: 'https://a.example',
    })
    const nameOf = (place: number): string => `pk_live_…${site.directory.keys(workspace)[place]?.last4} (shop)`
    const key = site.directory.keys(workspace)[0]?.id ?? ''
    for (const origins of ['https://b.example', ''])
      await browser.post('/app/keys', { action: 'origins', key, origins })
    await browser.post('/app/keys', { action: 'rotate', key, hours: '24' })
    await browser.post('/app/keys', { action: 'revoke', key })
    await site.directory.changePlan(workspace, 'free')
    const query = 'q=%22card+declined%22&level=warn&level=error&from=2026-11-21T10%3A00Z&format=csv'
    for (const each of ['q=', query]) {
      await site.directory.recordExport({ workspaceId: workspace, userId, query: each, format: 'csv' })
    }
    await createBrowser(site, '192.0.2.9').post('/app/sign-in', { email, password: 'a wrong password' })
    const elsewhere = createBrowser(site, '192.0.2.7')
    await elsewhere.post('/app/sign-in', { email, password })
    await elsewhere.post('/app/sign-out', {})
    await site.directory.removeMember({ workspaceId: workspace, userId: bob.id, by: userId })
    expect(await audit()).to.deep.equal([
      `${email}: bob@acme.example was removed.`,
      `${email}: Signed out.`,
      `${email}: Signed in from 192.0.2.7.`,
      `${email}: A sign-in failed from 192.0.2.9.`,
      `${email}: Logs were exported as csv: q=&quot;card declined&quot;, level=warn, level=error, from=2026-11-21T10:00Z`,
      `${email}: Logs were exported as csv: all of the last 24 hours`,
      'the operator: The plan was changed from pro to free.',
      `${email}: The key ${nameOf(0)} was revoked.`,
      `${email}: The key ${nameOf(0)} was rotated to ${nameOf(1)}; it works until 2026-11-22 00:00 UTC.`,
      `${email}: The key ${nameOf(1)} was created.`,
      `${email}: The key ${nameOf(0)} may be used from any page.`,
      `${email}: The key ${nameOf(0)} may be used only from https://b.example.`,
      `${email}: The key ${nameOf(0)} was created.`,
      'the operator: bob@acme.example became a member (member).',
      `${email}: Signed in from 192.0.2.1.`,
      `the operator: ${email} became a member (owner).`,
      'the operator: The workspace was created with the plan pro.',
    ])
  })

  it('tells who has changed their password from whom the operator has given another', async () => {
    await site.directory.createUser({ email: 'bob@acme.example', password, workspaceId: workspace, role: 'owner' })
    const bob = createBrowser(site)
    await bob.post('/app/sign-in', { email: 'bob@acme.example', password })
    await bob.post('/app/password', { current: password, password: 'another password', repeated: 'another password' })
    valueOf(await site.directory.changePassword({ userId, password: 'set by the operator' }))
    const told = (await audit(bob)).filter((row) => row.includes('password'))
    expect(told).to.deep.equal([
      `the operator: The password of ${email} was changed.`,
      'bob@acme.example: The password of bob@acme.example was changed.',
    ])
  })

  it('tells who has gone to another workspace from who has signed out', async () => {
    const { workspace: second } = await createPerson(site.directory, 'bob@second.example', 'Second')
    await site.directory.addMember({ workspaceId: second.id, userId })
    await browser.post('/app/workspace', { choice: second.id })
    await browser.post('/app/workspace', { choice: workspace })
    const { text } = await browser.get(`/app/audit?shown_in=${workspace}`)
    expect(rowsOf(text).slice(0, 3)).to.deep.equal([
      `${email}: Came from another workspace, or an unknown address.`,
      `${email}: The session was replaced by another.`,
      `${email}: Signed in from 192.0.2.1.`,
    ])
  })

  it('is for owners: members are refused, and see no link to it', async () => {
    await site.directory.createUser({ email: 'bob@acme.example', password, workspaceId: workspace })
    const bob = createBrowser(site)
    await bob.post('/app/sign-in', { email: 'bob@acme.example', password })
    expect((await bob.get('/app/audit')).status).to.equal(403)
    expect((await bob.get('/app')).text).to.not.include('/app/audit')
    expect((await browser.get('/app')).text).to.include('/app/audit')
  })

  it('tells nothing of another workspace', async () => {
    const { workspace: other } = await createPerson(site.directory, 'eve@other.example', 'Other')
    await site.directory.createKey({ workspaceId: other.id, kind: 'logs', name: 'of the other' })
    const eve = createBrowser(site)
    await eve.post('/app/sign-in', { email: 'eve@other.example', password })
    expect((await browser.get('/app/audit')).text)
      .to.not.include('of the other')
      .and.not.include('eve@')
    expect(await audit(eve)).to.have.length(4)
  })

  it('goes on page by page, each deed once, and ends with a page that is full', async () => {
    for (let n = 0; n < 97; n++) {
      await site.directory.recordExport({ workspaceId: workspace, userId, query: `q=n${n}`, format: 'csv' })
    }
    const seen: string[] = []
    let path: string | undefined = '/app/audit'
    const sizes: number[] = []
    while (path !== undefined) {
      const { text } = await browser.get(path)
      const rows = rowsOf(text)
      sizes.push(rows.length)
      seen.push(...rows)
      path = /rel="next" href="([^"]*)"/.exec(text)?.[1]
    }
    expect(sizes).to.deep.equal([50, 50])
    for (const none of ['', 'x', '-1', '1'.repeat(16)]) {
      expect(rowsOf((await browser.get(`/app/audit?before=${none}`)).text), none).to.deep.equal(seen.slice(0, 50))
    }
    const exports = seen.flatMap((row) => /q=n(\d+)$/.exec(row)?.[1] ?? [])
    expect(exports.map(Number)).to.deep.equal(Array.from({ length: 97 }, (_, n) => 96 - n))
  })

  it('shows hostile text as text', async () => {
    const attack = '<script>alert(1)</script>'
    await site.directory.createKey({ workspaceId: workspace, kind: 'logs', name: attack })
    await site.directory.recordExport({ workspaceId: workspace, userId, query: attack, format: 'csv' })
    const { text } = await browser.get('/app/audit')
    expect(text).to.include('&lt;script&gt;').and.not.include('<script>')
  })
})
