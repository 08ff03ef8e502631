import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import type { Browser, Site } from './harness.ts'
import { eachSignedIn } from './signed-in.ts'

describe('the page that connects a sender', () => {
  let site: Site
  let browser: Browser
  let workspaceId: WorkspaceId
  eachSignedIn((given) => ({ site, browser, workspace: workspaceId } = given))

  const namesOfKeys = (): readonly string[] => site.directory.keys(workspaceId).map(({ name }) => name)

  it('calls a key as was typed, without what cannot be seen around it, and else by what sends with it', async () => {
    for (const name of ['  my shop ', '   ']) await browser.post('/app/connect', { what: 'logs', guide: 'curl', name })
    const [first, second] = namesOfKeys().toSorted()
    expect([first?.startsWith('curl'), second]).to.deep.equal([true, 'my shop'])
  })

  it('makes no key of what the plan does not include, though its form was open', async () => {
    for (const [plan, allowed, lacking] of [
      ['logs-only', { what: 'logs', guide: 'curl' }, { what: 'traces', guide: 'node' }],
      ['tracing-only', { what: 'traces', guide: 'node' }, { what: 'logs', guide: 'curl' }],
    ] as const) {
      await site.directory.changePlan(workspaceId, plan)
      const before = namesOfKeys().length
      expect((await browser.post('/app/connect', lacking)).status, plan).to.equal(403)
      expect(namesOfKeys(), plan).to.have.length(before)
      expect((await browser.get(`/app/connect?what=${lacking.what}`)).text, plan).to.not.include('name="guide"')
      expect((await browser.post('/app/connect', allowed)).status, plan).to.equal(200)
    }
  })

  it('shows the steps also to whoever has a key, and makes none for that', async () => {
    const before = namesOfKeys().length
    for (const [what, prefix] of [
      ['traces', 'tt_'],
      ['logs', 'lt_'],
      ['browser', 'pk_live_'],
    ]) {
      const { text } = await browser.get(`/app/connect?what=${what}`)
      const [, part = ''] = /aria-label="Steps without a new key">([^]*?)<\/nav>/.exec(text) ?? []
      const links = linksOfPage(part)
      expect(links.length, what).to.equal(text.match(/name="guide"/g)?.length)
      for (const { name, address } of links) {
        const { status, text: steps } = await browser.get(address)
        expect([status, namesOfKeys().length], address).to.deep.equal([200, before])
        expect(steps).to.include(`<h2>${name}</h2>`).and.include('data-step="')
        expect(steps.split(`${prefix}YOUR_KEY`).length, address).to.be.at.least(3)
        expect(linksOfPage(steps).filter((link) => link.address.includes('&steps='))).to.have.length(links.length - 1)
      }
    }
    await site.directory.changePlan(workspaceId, 'logs-only')
    const { text } = await browser.get('/app/connect?what=traces&steps=node')
    expect(text).to.not.include('data-step=').and.not.include('Steps without a new key')
  })

  it('says that a form was not sent where it is filled in by an address, and nowhere else', async () => {
    const says = async (address: string) => (await browser.get(address)).text.includes('This was not sent')
    expect(await says('/app/connect?what=logs')).to.equal(false)
    expect(await says('/app/connect?what=logs&guide=curl')).to.equal(true)
  })
})
