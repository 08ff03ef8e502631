import { expect } from 'chai'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const searches = ['Traces', 'Logs', 'Sessions', 'Map']

describe('the menu of the pages', () => {
  let signedIn: SignedIn
  eachSignedIn((given) => void (signedIn = given))

  it('has the searches that the plan has', async () => {
    const { browser, site, workspace } = signedIn
    const searchesOn = async (path: string): Promise<readonly string[]> => {
      const [, menu = ''] = /<nav aria-label="Pages">([^]*?)<\/nav>/.exec((await browser.get(path)).text) ?? []
      return linksOfPage(menu).flatMap(({ name }) => (searches.includes(name) ? [name] : []))
    }
    expect(await searchesOn('/app')).to.deep.equal(searches)
    for (const [plan, shown] of [
      ['tracing-only', ['Traces', 'Sessions', 'Map']],
      ['logs-only', ['Logs', 'Sessions']],
    ] as const) {
      await site.directory.changePlan(workspace, plan)
      // Also on a page that says what the plan lacks.
      for (const path of ['/app', '/app/logs', '/app/traces'])
        expect(await searchesOn(path), `${plan} ${path}`).to.deep.equal(shown)
    }
  })

  it('is no other than what a page leads to for an id that nothing has', async () => {
    const { browser, site, workspace } = signedIn
    await site.index()
    for (const [plan, shown] of [
      ['free', ['logs', 'traces']],
      ['tracing-only', ['traces']],
      ['logs-only', ['logs']],
    ] as const) {
      await site.directory.changePlan(workspace, plan)
      const { status, text } = await browser.get('/app/find?id=order-7')
      expect(status).to.equal(404)
      const searchesFor = linksOfPage(text).flatMap(({ name, address }) => (address.includes('?q=order') ? [name] : []))
      expect(searchesFor, plan).to.deep.equal(shown)
    }
  })
})
