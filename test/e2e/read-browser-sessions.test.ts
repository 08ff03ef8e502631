import { expect } from 'chai'
import { signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { linksOfPage } from '../support/page-links.ts'
import { createTenant } from '../support/tenant.ts'
import { sendingTo } from '../support/workspace.ts'

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()

describe('browser sessions', () => {
  let server: LentServer
  let mine: Reader
  let theirs: Reader

  before(async () => {
    server = await borrowServer()
    const other = await createTenant(server, `of-theirs-${server.firstRun.workspace}`, 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    theirs = await signIn(server.baseUrl, other.sign_in)
    const send = sendingTo(server, server.firstRun.keys)
    const meta = (id: string, url: string) => ({
      ...{ app: { name: 'shop' }, page: { url }, session: { id } },
      user: { id: '7', email: `${id}@shop.example` },
    })
    await send.rum({
      meta: meta('broken', 'https://shop.example/cart'),
      events: [{ name: 'checkout', timestamp: ago(60) }],
      exceptions: [{ type: 'TypeError', value: 'boom', timestamp: ago(59) }],
      logs: [{ level: 'error', message: 'not paid', timestamp: ago(58) }],
      measurements: [{ type: 'web-vitals', values: { lcp: 2_400 }, timestamp: ago(57) }],
    })
    await send.rum({
      meta: meta('fine', 'https://shop.example/paid'),
      events: [{ name: 'paid', timestamp: ago(50) }],
    })
    // As navigator.sendBeacon sends it.
    await send.rum({
      ...{ session_id: 'plain', service: 'desk' },
      events: [{ type: 'error', message: 'no such button', timestamp: ago(40), url: 'https://shop.example/desk' }],
    })
    const many = Array.from({ length: 3_000 }, (_, n) => ({ name: 'scroll', timestamp: ago(4_000 + n) }))
    for (const half of [many.slice(0, 1_500), many.slice(1_500)])
      await send.rum({ meta: meta('long', 'https://shop.example/list'), events: half })
    const theirSend = sendingTo(server, other.keys)
    await theirSend.rum({
      meta: meta('of-theirs', 'https://theirs.example/'),
      events: [{ name: 'secret', timestamp: ago(30) }],
    })
    await theirSend.rum({
      meta: meta('fine', 'https://theirs.example/fine'),
      events: [{ name: 'secret', timestamp: ago(30) }],
    })
    await untilIndexed(server)
  })
  after(() => server.giveBack())

  const pageOf = async (reader: Reader, search = ''): Promise<string> => {
    const response = await reader.raw(`/app/sessions${search}`)
    expect(response.status, search).to.equal(200)
    return response.text()
  }
  const rowsOf = (page: string): readonly (readonly [string, number, number])[] =>
    page
      .split('<tr>')
      .filter((row) => row.includes('<th scope="row">'))
      .map((row) => {
        const countOf = (noun: string): number =>
          Number(
            new RegExp(`([\\d,]+) ${noun}s?<|([\\d,]+) ${noun}s?\\s`)
              .exec(row)
              ?.slice(1)
              .find(Boolean)
              ?.replace(',', '') ?? 0,
          )
        return [/find\?id=([^"&]*)/.exec(row)?.[1] ?? '', countOf('event'), countOf('error')]
      })

  it('are listed with what they sent, and with their errors counted', async () => {
    const page = await pageOf(mine)
    expect(rowsOf(page)).to.deep.equal([
      ['plain', 1, 1],
      ['fine', 1, 0],
      ['broken', 4, 2],
      ['long', 1_994, 0],
    ])
    for (const said of [
      'https://shop.example/cart',
      'broken@shop.example',
      'https://shop.example/desk',
      'shop',
      'desk',
    ])
      expect(page).to.include(said)
  })

  it('go on behind the newest two thousand events', async () => {
    const { address = '' } = linksOfPage(await pageOf(mine)).find(({ name }) => name === 'Next page') ?? {}
    const next = await pageOf(mine, address.slice('/app/sessions'.length).split('#')[0])
    expect(rowsOf(next)).to.deep.equal([['long', 1_006, 0]])
    expect(linksOfPage(next).some(({ name }) => name === 'Next page')).to.equal(false)
    // A cursor is of the workspace that it was made for.
    expect((await theirs.raw(address.split('#')[0] ?? '')).status).to.equal(400)
  })

  it('are found by words, fields, service, time and errors', async () => {
    const idsBy = async (search: string): Promise<readonly string[]> =>
      rowsOf(await pageOf(mine, search)).map(([id]) => id)
    expect(await idsBy('?q=boom')).to.deep.equal(['broken'])
    expect(await idsBy('?q=web-vitals')).to.deep.equal(['broken'])
    expect(await idsBy('?q=values.lcp%3E2000')).to.deep.equal(['broken'])
    expect(await idsBy('?q=user.email%3Dfine@shop.example')).to.deep.equal(['fine'])
    expect(await idsBy('?q=scroll+-page.url:list')).to.deep.equal([])
    expect(await idsBy('?service=desk')).to.deep.equal(['plain'])
    expect(await idsBy('?q=service:desk')).to.deep.equal(['plain'])
    expect(await idsBy('?has=error')).to.deep.equal(['plain', 'broken'])
    expect(await idsBy('?from=-15m&service=shop')).to.deep.equal(['fine', 'broken'])
    expect(await idsBy('?to=-15m')).to.deep.equal(['long'])
  })

  it('are of the workspace that is signed in, also where ids are the same', async () => {
    const page = await pageOf(theirs)
    expect(
      rowsOf(page)
        .map(([id]) => id)
        .toSorted(),
    ).to.deep.equal(['fine', 'of-theirs'])
    expect(page).to.not.include('shop.example/paid')
    const { workspace } = server.firstRun
    for (const search of ['', `?workspace=${workspace}`, '?q=secret', '?from=-7d'])
      expect(await pageOf(mine, search), search).to.not.include('theirs.example')
  })
})
