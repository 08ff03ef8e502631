import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { splitWorkspace } from '#src/app/workspace-links.ts'
import { givenLog, givenSpan, spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { createPerson, password, type Browser, type Site } from './harness.ts'
import { eachSignedIn } from './signed-in.ts'

const email = 'ann@acme.example'

describe('pages of somebody who has several workspaces', () => {
  let site: Site
  let browser: Browser
  let first: WorkspaceId
  let second: WorkspaceId
  let userId: string
  eachSignedIn((given) => ({ site, browser, workspace: first, userId } = given))
  beforeEach(async () => {
    second = (await createPerson(site.directory, 'bob@second.example', 'Second')).workspace.id
  })

  const join = () => site.directory.addMember({ workspaceId: second, userId })
  const goTo = (choice: string, next = '/app') => browser.post('/app/workspace', { choice, next })
  const linksOf = async (path: string): Promise<readonly string[]> =>
    linksOfPage((await browser.get(path)).text).map(({ address }) => address)

  it('say in each link and search which one they show; those of others say nothing', async () => {
    expect((await linksOf('/app/logs')).filter((address) => address.includes('shown_in='))).to.deep.equal([])
    await join()
    const { text } = await browser.get(`/app/logs?q=a%26b&shown_in=${first}`)
    const links = linksOfPage(text).map(({ address }) => address)
    const unmarked = links.filter((address) => !address.includes(`shown_in=${first}`))
    expect(unmarked).to.deep.equal(['#content', '/app/workspace', '#results'])
    const searches = text.match(/<form[^>]*method="get"[^>]*>/g) ?? []
    expect(searches).to.have.length(1)
    expect(text.match(new RegExp(`name="shown_in" value="${first}"`, 'g'))).to.have.length(searches.length)
    expect(links).to.include(`/app/logs?q=a%26b&from=-1h&shown_in=${first}`)
    expect(text).to.include('value="a&amp;b"')
  })

  it('say it behind the whole address, whatever ids and searches hold', async () => {
    await join()
    const odd = `o'brien "x" <y> #1 &#39; 100%? 🎉`
    const record = givenLog({ message: 'odd', sessionId: odd })
    await site.index(givenEvent('logs.received', 1, { logs: [record] }, { workspace: first }))
    const { text } = await browser.get(`/app/logs?q=odd&shown_in=${first}`)
    const session = linksOfPage(text).find(({ name }) => name === 'Session')?.address ?? ''
    const { status, text: found } = await browser.get(session)
    expect([status, found.includes('No log record')], session).to.deep.equal([200, false])
    for (const { address } of [...linksOfPage(text), ...linksOfPage(found)]) {
      if (!address.startsWith('/app/') || address.startsWith('/app/workspace')) continue
      expect(new URL(address, site.url).searchParams.getAll('shown_in'), address).to.deep.equal([first])
    }
  })

  it('say it where a script goes on to a match on another page of a trace', async () => {
    await join()
    const many = Array.from({ length: 1_001 }, (_, n) => givenSpan({ id: n, atMs: n }))
    await site.index(givenEvent('spans.received', 1, { spans: many }, { workspace: first }))
    const of = `/app/trace/${traceIdOf('t')}?find=service%3Dcheckout&span=`
    for (const [kind, id] of [
      ['next', spanIdOf(0)],
      ['previous', spanIdOf(1_000)],
    ] as const) {
      const { text } = await browser.get(`${of}${id}&shown_in=${first}`)
      const [, address = ''] = new RegExp(`data-${kind}="([^"#]+)#span-`).exec(text) ?? []
      expect(address, kind).to.match(new RegExp(`&amp;shown_in=${first}$`))
    }
  })

  it('say it where a script asks whether the first record has arrived', async () => {
    const { text } = await browser.post('/app/connect', { what: 'logs', guide: 'curl' })
    const [, arrival = ''] = /data-arrival="([^"]+)"/.exec(text) ?? []
    const linked = async (): Promise<string> => {
      const answer = await browser.get(arrival, { accept: 'application/json' })
      return (JSON.parse(answer.text) as { link: { path: string } }).link.path
    }
    const page = arrival.replace(/\/arrival$/, '')
    expect(await linked()).to.equal(page)
    await join()
    expect(await linked()).to.equal(`${page}?shown_in=${first}`)
  })

  it('say it in the rows that a page of logs asks for when they have arrived', async () => {
    await join()
    const { text } = await browser.get(`/app/logs?q=acme&shown_in=${first}`)
    const [, address = '', cursor = ''] = /data-tail="([^"]*)" data-cursor="([^"]*)"/.exec(text) ?? []
    await site.index(givenEvent('logs.received', 1, { logs: [givenLog({ message: 'of acme' })] }, { workspace: first }))
    const asked = `${address.replaceAll('&amp;', '&')}&cursor=${encodeURIComponent(cursor)}`
    expect((await browser.get(`${asked}&shown_in=${first}`)).status, 'only pages know it').to.equal(400)
    const answer = await browser.get(asked)
    const { rows } = JSON.parse(answer.text) as { rows: string }
    expect(rows).to.match(new RegExp(`<a href="/app/logs\\?around=[^"#]*&amp;shown_in=${first}#here">`))
  })

  it('are answered in another one with the ways on, and in their own as if nothing were said', async () => {
    await join()
    await site.index(givenEvent('logs.received', 1, { logs: [givenLog({ message: 'of acme' })] }, { workspace: first }))
    const address = `/app/logs?q=acme&shown_in=${first}`
    expect((await browser.get(address)).text).to.include('of <mark>acme</mark>')
    await goTo(second)
    const told = await browser.get(address)
    expect(told.status).to.equal(409)
    expect(told.text).to.include('This is of the workspace <strong>Acme</strong>')
    const [, next = ''] = /name="next" value="([^"]*)"/.exec(told.text) ?? []
    expect(linksOfPage(told.text).find(({ name }) => name === 'Go on in Second')?.address).to.equal(
      `/app/logs?q=acme&shown_in=${second}`,
    )
    const back = await goTo(first, next)
    const { location } = await browser.get(back.location ?? '')
    expect((await browser.get(location ?? '')).text).to.include('of <mark>acme</mark>')
    const traceId = '5b8efff798038103d269b633813fc60c'
    for (const path of ['/app/usage', '/app/keys', `/app/trace/${traceId}`]) {
      expect((await browser.get(`${path}?shown_in=${second}`)).status, path).to.equal(409)
    }
    expect((await browser.get(`/app/json?trace_id=${traceId}&shown_in=${second}`)).status).to.equal(409)
    const own = await browser.get(`/app/json?trace_id=${traceId}&shown_in=${first}`)
    expect(own.location).to.equal(`/api/app/correlation?trace_id=${traceId}`)
  })

  it('are led to from an address that says none, as one that was typed; programs and who has one workspace are not', async () => {
    const typed = '/app/logs?q=%20+a?b'
    expect((await browser.get(typed)).status).to.equal(200)
    await join()
    const { status, location } = await browser.get(typed)
    expect([status, location]).to.deep.equal([303, `${typed}&shown_in=${first}`])
    expect((await browser.get(location ?? '')).status).to.equal(200)
    await goTo(second)
    expect((await browser.get(location ?? '')).status, 'kept, and opened in another one').to.equal(409)
    expect((await browser.get('/app/workspace')).status).to.equal(200)
    expect((await browser.get(typed, { accept: '*/*' })).status).to.equal(200)
    expect((await browser.get(typed, { 'sec-fetch-mode': 'cors' })).status).to.equal(200)
  })

  it('name none of which the person is no member, and say so', async () => {
    await join()
    const { workspace: foreign } = await createPerson(site.directory, 'eve@other.example', 'Foreign')
    for (const asked of [foreign.id, 'w0000000000000000', '%3Cb%3E']) {
      const { status, text } = await browser.get(`/app/logs?shown_in=${asked}`)
      expect([status, text.includes('that you are not in')], asked).to.deep.equal([409, true])
      expect(text).to.not.include('Foreign').and.not.include('name="choice"')
    }
    const program = await browser.get(`/app/logs?shown_in=${second}`, { accept: '*/*' })
    expect([program.status, program.text.includes('Second')]).to.deep.equal([403, false])
  })

  it('lead at sign-in to the one that the address says, where it is theirs', async () => {
    await join()
    await browser.post('/app/sign-out', {})
    const address = `/app/logs?q=x&shown_in=${second}`
    const { location } = await browser.get(address)
    expect(location).to.equal(`/app/sign-in?next=${encodeURIComponent(address)}`)
    expect((await browser.post('/app/sign-in', { email, password, next: address })).location).to.equal(address)
    expect(JSON.parse((await browser.get('/who')).text)).to.include({ workspaceId: second })
    await browser.post('/app/sign-out', {})
    const foreign = await browser.post('/app/sign-in', { email, password, next: '/app/logs?shown_in=w0' })
    expect(foreign.location).to.match(/^\/app\/workspace\?next=/)
  })

  it('keep the rest of an address to the letter', () => {
    expect(splitWorkspace('/app/logs?q=%20+a?b&shown_in=w1&from=')).to.deep.equal({
      workspaceId: 'w1',
      url: '/app/logs?q=%20+a?b&from=',
    })
    expect(splitWorkspace('/app/logs?shown_in=')).to.deep.equal({ workspaceId: undefined, url: '/app/logs' })
  })
})
