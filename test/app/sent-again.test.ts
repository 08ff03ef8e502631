import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { createWorkspace, openDirectory, valueOf } from '../directory/harness.ts'
import type { Answer, Browser, Site } from './harness.ts'
import { eachSignedIn } from './signed-in.ts'

describe('a form that makes a key, sent once more as a reload does', () => {
  let site: Site
  let browser: Browser
  let workspaceId: WorkspaceId
  eachSignedIn((given) => ({ site, browser, workspace: workspaceId } = given))

  const secretIn = ({ text }: Answer): string | undefined => /<pre data-secret>([^<]*)<\/pre>/.exec(text)?.[1]
  const onceIn = ({ text }: Answer): string => /name="once" value="([^"]*)"/.exec(text)?.[1] ?? ''

  it('makes no second one, and says which there is', async () => {
    const once = onceIn(await browser.get('/app/keys'))
    expect(once).to.match(/^[\w-]{36}$/)
    const form = { action: 'create', kind: 'logs', name: 'shop', once }
    const first = await browser.post('/app/keys', form)
    const secret = secretIn(first) ?? ''
    expect(secret).to.match(/^lt_/)
    const again = await browser.post('/app/keys', form)
    expect([again.status, secretIn(again)]).to.deep.equal([400, undefined])
    expect(again.text)
      .to.include(`the key lt_…${secret.slice(-4)} already`)
      .and.not.include(secret)
    expect(site.directory.keys(workspaceId)).to.have.length(1)
    const fresh = onceIn(again)
    expect(fresh).to.not.equal(once)
    expect(secretIn(await browser.post('/app/keys', { ...form, once: fresh }))).to.match(/^lt_/)
  })

  it('makes another where something else was typed after going back to it', async () => {
    const form = { action: 'create', kind: 'api', name: 'shop', once: onceIn(await browser.get('/app/keys')) }
    for (const changed of [{}, { name: 'till' }, { kind: 'tracing' }, { writeLogs: '1' }]) {
      expect(secretIn(await browser.post('/app/keys', { ...form, ...changed })), JSON.stringify(changed)).to.be.a(
        'string',
      )
    }
    expect(site.directory.keys(workspaceId)).to.have.length(4)
  })

  it('of a key that takes the place of another makes no second one either, and says which there is', async () => {
    for (const hours of ['24', '0']) {
      const made = await site.directory.createKey({ workspaceId, kind: 'logs', name: `of ${hours}` })
      const form = { action: 'rotate', key: valueOf(made).key.id, hours }
      const secret = secretIn(await browser.post('/app/keys', form)) ?? ''
      const count = site.directory.keys(workspaceId).length
      const again = await browser.post('/app/keys', form)
      expect([again.status, secretIn(again)], hours).to.deep.equal([400, undefined])
      const said = `rotate the one that took its place, lt_…${secret.slice(-4)}.`
      expect(again.text, hours).to.include(said).and.not.include(secret)
      expect(site.directory.keys(workspaceId), hours).to.have.length(count)
    }
  })

  it('leads from the steps to connect a sender to the same without the secret', async () => {
    const form = { what: 'logs', guide: 'curl', name: 'shop', once: onceIn(await browser.get('/app/connect')) }
    const secret = secretIn(await browser.post('/app/connect', form)) ?? ''
    expect(secret).to.match(/^lt_/)
    const again = await browser.post('/app/connect', form)
    const [key, ...others] = site.directory.keys(workspaceId)
    expect([again.status, again.location, others]).to.deep.equal([303, `/app/connect/${key?.id}`, []])
    const { text } = await browser.get(again.location ?? '')
    expect(text).to.include('cannot be shown again').and.include(secret.slice(-4)).and.not.include(secret)
  })

  it('is not held against a program, which sends no such mark', async () => {
    for (const mark of [{}, {}, { once: '' }, { once: '' }])
      expect(secretIn(await browser.post('/app/keys', { action: 'create', kind: 'logs', ...mark }))).to.match(/^lt_/)
    expect(site.directory.keys(workspaceId)).to.have.length(4)
  })

  it('makes another for another person, and in another workspace', async () => {
    const { id: other } = await createWorkspace(site.directory, 'Other')
    const wanted = { workspaceId, kind: 'logs', name: 'shop', by: 'u1', once: 'a form' } as const
    for (const changed of [{}, { by: 'u2' }, { workspaceId: other }]) {
      expect((await site.directory.createKey({ ...wanted, ...changed })).ok, JSON.stringify(changed)).to.equal(true)
    }
  })

  it('makes one key where two processes get it at once; and so does a rotation', async () => {
    const two = await openDirectory({ stream: site.stream, clock: site.clock })
    const directories = [site.directory, two.directory]
    const wanted = { workspaceId, kind: 'logs', name: 'shop', by: 'u1', once: 'a form' } as const
    const made = await Promise.all(directories.map((directory) => directory.createKey(wanted)))
    expect(made.map((done) => (done.ok ? 'made' : done.error.code)).toSorted()).to.deep.equal(['exists', 'made'])
    const { key } = valueOf(made.find(({ ok }) => ok) ?? made[0]!)
    expect(made.map((done) => (done.ok ? done.value.key.id : done.error.keyId))).to.deep.equal([key.id, key.id])
    const rotation = { workspaceId, keyId: key.id, overlapMs: 0 }
    const rotated = await Promise.all(directories.map((directory) => directory.rotateKey(rotation)))
    expect(rotated.map((done) => (done.ok ? 'made' : done.error.detail.slice(0, 34))).toSorted()).to.deep.equal([
      'This key has been rotated already;',
      'made',
    ])
    expect(site.directory.keys(workspaceId)).to.have.length(2)
    await two.directory.close()
  })
})
