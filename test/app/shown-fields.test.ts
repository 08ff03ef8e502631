import { expect } from 'chai'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('fields in each line of a list of logs', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site } = signedIn)
  })

  const linesOf = (text: string): readonly string[] =>
    [...text.matchAll(/<summary>([^]*?)<\/summary>/g)]
      .map(([, line = '']) => textOf(line))
      .filter((line) => /(one|two)$/.test(line))
  const namesOf = (text: string): readonly string[] => {
    const [, nav = ''] = /<nav class="tabs" aria-label="Fields in each line">([^]*?)<\/nav>/.exec(text) ?? []
    return linksOfPage(nav).map(({ name }) => name)
  }
  const addressNamed = (text: string, name: string): string =>
    linksOfPage(text)
      .find((link) => link.name === name)
      ?.address.replace(/#results$/, '') ?? ''
  const show = (name: string): string => `show ${name} in each line`

  it('are chosen beside their values and taken away above the list, and the search stays as it is', async () => {
    const fields = { status: 500n, user: { id: 'u1' }, 'a,"b': [1n, 2n], message: 'one' }
    await site.index(logs(1, { message: 'one', fields }, { message: 'two', fields: { status: 200n } }))
    const bare = (await browser.get('/app/logs?q=one+OR+two&level=info')).text
    expect([linesOf(bare), namesOf(bare)]).to.deep.equal([['two', 'one'], []])
    expect(addressNamed(bare, show('message'))).to.equal('')

    const { text: first } = await browser.get(addressNamed(bare, show('status')))
    expect(linesOf(first)).to.deep.equal(['status 200 two', 'status 500 one'])
    const { text: second } = await browser.get(addressNamed(first, show('user.id')))
    const third = await browser.get(addressNamed(second, show('a,"b')))
    expect(third.status).to.equal(200)
    expect(linesOf(third.text)).to.deep.equal(['status 200 two', 'status 500 user.id u1 a,&quot;b [1,2] one'])
    expect(namesOf(third.text)).to.deep.equal(['status ✕', 'user.id ✕', 'a,"b ✕'])
    expect(addressNamed(third.text, show('status')), 'of what is shown').to.equal('')
    // All fields are in the records still, and the export has what the list shows.
    expect(third.text).to.match(/user\.id<\/th>/)
    const exported = new URLSearchParams(addressNamed(third.text, 'Export as CSV').split('?')[1])
    expect(Object.fromEntries(exported)).to.deep.equal({
      q: 'one OR two',
      level: 'info',
      from: '2026-11-20T13:00:00.000000000Z',
      fields: 'status,user.id,"a,\\"b"',
      format: 'csv',
    })
    const { text: fewer } = await browser.get(addressNamed(third.text, 'status ✕'))
    expect(linesOf(fewer)).to.deep.equal(['two', 'user.id u1 a,&quot;b [1,2] one'])
  })

  it('are those of records that arrive later too', async () => {
    await site.index(logs(1, { message: 'one', fields: { status: 1n } }))
    const { text } = await browser.get('/app/logs?fields=status')
    const [, address = '', cursor = ''] = /data-tail="([^"]*)" data-cursor="([^"]*)"/.exec(text) ?? []
    await site.index(logs(2, { message: 'two', fields: { status: 2n, other: 3n } }))
    const { status, text: rows } = await browser.get(
      `${address.replaceAll('&amp;', '&')}&cursor=${encodeURIComponent(cursor)}`,
    )
    expect(status).to.equal(200)
    expect(linesOf((JSON.parse(rows) as { rows: string }).rows)).to.deep.equal(['status 2 two'])
  })

  it('are the text they are, as far as a line goes, and no more than an export takes', async () => {
    const attack = '<img src=x onerror=alert(1)>"\''
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`f${n}`, `v${n}`]))
    await site.index(logs(1, { message: 'one', fields: { [attack]: attack + 'x'.repeat(1_000), ...many } }))
    const { text } = await browser.get('/app/logs')
    const { text: shown } = await browser.get(addressNamed(text, show(attack)))
    expect(shown).to.not.include('<img')
    expect(linesOf(shown)[0]).to.match(/^&lt;img .*&lt;img .*x{20,60} … \([\d,]+ more characters\) one$/)
    const all = (await browser.get(`/app/logs?fields=${Object.keys(many).join(',')}`)).text
    expect(namesOf(all)).to.have.length(64)
    expect(addressNamed(all, show('f69'))).to.equal('')
  })

  it('are counted on the page, and narrow the search to a value or leave it out', async () => {
    const values = [
      ...['/pay', '/pay', '/pay', '/<b>"cart'].map((route) => ({ http: { route } })),
      { http: { route: 7n } },
      { http: { route: ['/pay', '/pay', 'x'] } },
      { other: 1n },
    ]
    await site.index(logs(1, ...values.map((fields, n) => ({ message: `${n} one`, fields }))))
    const countsOf = (text: string) =>
      linksOfPage(/<nav class="facets" aria-label="Shown fields of this page">[^]*?<\/nav>/.exec(text)?.[0] ?? '')
    const namesIn = (text: string) =>
      countsOf(text)
        .map(({ name }) => name)
        .filter((name) => !name.startsWith('Not '))
    const bare = (await browser.get('/app/logs?q=one')).text
    expect(countsOf(bare)).to.deep.equal([])
    const { text } = await browser.get(addressNamed(bare, show('http.route')))
    expect(namesIn(text)).to.have.members(['/pay 4', '/<b>"cart 1', '7 1', 'x 1'])
    expect(namesIn(text)[0]).to.equal('/pay 4')
    const linked = async (name: string): Promise<readonly string[]> => {
      const address = countsOf(text).find((link) => link.name === name)?.address ?? ''
      return linesOf((await browser.get(address)).text).map((line) => / ?(\d) one$/.exec(line)?.[1] ?? line)
    }
    expect(await linked('/<b>"cart 1')).to.deep.equal(['3'])
    expect(await linked('7 1')).to.deep.equal(['4'])
    expect(await linked('/pay 4')).to.have.members(['0', '1', '2', '5'])
    expect(await linked('Not http.route: /pay')).to.have.members(['3', '4', '6'])
  })

  it('are not counted where that would narrow nothing, or among the neighbours of a record', async () => {
    await site.index(logs(1, ...['one', 'two'].map((message) => ({ message, fields: { env: 'prod' } }))))
    const { text } = await browser.get('/app/logs?q=one+OR+two&fields=env,none')
    expect(linesOf(text).slice(-2)).to.deep.equal(['env prod two', 'env prod one'])
    expect(text).to.not.include('Shown fields of this page')
    const context =
      linksOfPage(text)
        .find(({ name }) => name === 'In context')
        ?.address.replace('#here', '') ?? ''
    expect((await browser.get(`${context}&fields=env`)).text).to.not.include('Shown fields of this page')
  })

  it('are said to be in no record, where they are in none', async () => {
    await site.index(logs(1, { message: 'one', fields: { status: 500n, http: { route: null } } }, { message: 'two' }))
    const lacking = async (search: string): Promise<readonly string[]> => {
      const { text } = await browser.get(`/app/logs?fields=status,http.route,message,level,staus,http&${search}`)
      return [...text.matchAll(/([\w.]+) ✕<\/a\s*>\s*<small>in no record here/g)].map(([, name = '']) => name)
    }
    expect(await lacking('')).to.deep.equal(['staus', 'http'])
    expect(await lacking('q=two')).to.deep.equal(['status', 'http.route', 'staus', 'http'])
    expect(await lacking('q=three'), 'of no records').to.deep.equal([])
  })

  it('are as many as an address can bear: no more are offered then', async () => {
    await site.index(logs(1, { message: 'one', fields: { status: 500n } }))
    const offers = async (count: number, characters: number): Promise<boolean> => {
      const names = Array.from({ length: count }, (_, n) => `${n}`.padStart(characters, 'f'))
      const { status, text } = await browser.get(`/app/logs?fields=${names.join()}`)
      expect(status).to.equal(200)
      return text.includes(show('status'))
    }
    expect([await offers(63, 3), await offers(64, 3)]).to.deep.equal([true, false])
    expect([await offers(30, 256), await offers(32, 256)]).to.deep.equal([true, false])
  })
})
