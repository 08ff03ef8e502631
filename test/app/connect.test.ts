import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
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

  it('says that a form was not sent where it is filled in by an address, and nowhere else', async () => {
    const says = async (address: string) => (await browser.get(address)).text.includes('This was not sent')
    expect(await says('/app/connect?what=logs')).to.equal(false)
    expect(await says('/app/connect?what=logs&guide=curl')).to.equal(true)
  })
})
