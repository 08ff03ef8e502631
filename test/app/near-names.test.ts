import { expect } from 'chai'
import { msNs, noonNs, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { createBrowser, createPerson, openSite, password } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search by a name that nothing has', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })
  beforeEach(() =>
    site.index(
      logs(1, { message: 'declined', service: 'checkout', timeNs: noonNs }, { message: 'sent', service: 'mail api' }),
      spans(
        2,
        { id: 'a', service: 'checkout', name: 'POST /api/checkout' },
        { id: 'b', trace: 'u', service: 'mail api', name: 'send' },
      ),
    ),
  )

  /** What a page says may have been meant, and the page that this leads to. */
  async function meantBy(address: string): Promise<Readonly<{ said: string; led: string }>> {
    const { text } = await browser.get(address)
    const [, part = ''] = /<p>((?:(?!<\/p>)[^])*(?:Did you mean|“(?:Operation|Service)” is)[^]*?)<\/p>/.exec(text) ?? []
    const [link] = linksOfPage(part)
    return { said: textOf(part), led: link === undefined ? '' : (await browser.get(link.address)).text }
  }

  it('of a service leads to the service that is nearest, in its field and in what was typed', async () => {
    for (const [page, found] of [
      ['/app/logs', '<strong>1 record<'],
      ['/app/patterns', '<strong>1 pattern<'],
      ['/app/traces', `/app/trace/${traceIdOf('t')}`],
      ['/app/map', '<strong>1 service<'],
    ] as const) {
      for (const conditions of ['service=checkot', 'service=Check', 'q=service:checkot', 'q=service%3D%22checkot%22']) {
        const { said, led } = await meantBy(`${page}?${conditions}`)
        expect(said, `${page} ${conditions}`).to.equal('Did you mean the service checkout?')
        expect(led, `${page} ${conditions}`).to.include(found).and.not.include('Did you mean')
      }
    }
    for (const [typed, meant] of [
      ['sent+AND+service%3D%22mial+api%22', 'sent AND service=&quot;mail api&quot;'],
      ['service%3D%22mial+api%22+AND+sent', 'service=&quot;mail api&quot; AND sent'],
    ] as const) {
      expect((await meantBy(`/app/logs?q=${typed}`)).led)
        .to.include('<strong>1 record<')
        .and.include(meant)
    }
  })

  it('is not said to be meant otherwise where the name is there, is a pattern or left out, or nothing is like it', async () => {
    for (const conditions of [
      'service=checkout&q=absent',
      'q=service:checkout+absent',
      'q=service:CHECKOUT+absent',
      'q=service:mail+absent',
      'q=service:checko?t',
      'q=service:checkot*+absent',
      'q=message:/(service:checkot)/',
      'q=absent+-service:checkot',
      'q=absent+service:(checkot+OR+chekout)',
      'service=warehouse',
      'service=checkot&to=-5h',
      'service=checkot&from=-1s',
      'q=%22all of service=checkot now%22',
      'q=my-service=checkot',
      'q=absent+-(sent+service:checkot)',
    ]) {
      for (const page of ['/app/logs', '/app/traces']) {
        expect((await meantBy(`${page}?${conditions}`)).said, `${page} ${conditions}`).to.equal('')
      }
    }
  })

  it('of an operation leads to the nearest of its service, and to a search by its words', async () => {
    const { said, led } = await meantBy('/app/traces?operation=checkout')
    expect(said).to.equal(
      'Did you mean the operation POST /api/checkout? “Operation” is the whole name of one: name:checkout searches by its words.',
    )
    expect(led).to.include(`/app/trace/${traceIdOf('t')}`)
    const other = await meantBy('/app/traces?operation=checkout&service=mail+api&q=send+OR+receive')
    expect(other.said).to.equal('“Operation” is the whole name of one: name:checkout searches by its words.')
    expect(other.led).to.include('value="(send OR receive) name:checkout"')
    expect((await meantBy('/app/traces?operation=send&q=absent')).said).to.equal('')
    expect((await meantBy('/app/traces?operation=checkout&to=-5h')).said, 'nothing of this time has one').to.equal('')
    const { said: inAnyCase } = await meantBy('/app/traces?operation=post+/API')
    expect(inAnyCase).to.match(/^Did you mean the operation POST \/api\/checkout\?/)
    const { text } = await browser.get('/app/traces?operation=checkout&min_duration=1ms')
    const byWords = linksOfPage(text).find(({ address }) => address.includes('name%3Acheckout'))?.address
    expect(byWords, 'the words are instead of the name').to.include('min_duration=1ms').and.not.include('operation')
  })

  it('is helped before: the form of traces suggests the operations that were found, as it does services', async () => {
    const { text } = await browser.get('/app/traces')
    for (const [list, name] of [
      ['services', 'mail api'],
      ['operations', 'POST /api/checkout'],
    ]) {
      expect(text).to.match(new RegExp(`<input[^>]*\\slist="${list}"`))
      expect(text).to.match(new RegExp(`<datalist id="${list}">[^]*?<option value="${name}">[^]*?</datalist>`))
    }
  })

  it('of a service that is rare among many is not said to be meant otherwise', async () => {
    const many = Array.from({ length: 25 }, (_, at) => `checkout-${at}`)
    const records = many.flatMap((service) => [{ service }, { service }])
    await site.index(
      logs(3, ...records.map((record) => ({ ...record, timeNs: noonNs })), { service: 'check', timeNs: noonNs }),
    )
    expect((await meantBy('/app/logs?service=check&q=absent')).said).to.equal('')
    expect((await meantBy('/app/logs?service=chec&q=absent')).said).to.include('Did you mean the service check')
  })

  it('by a part of the names of many services leads to all of them, also to those that are rare', async () => {
    const many = Array.from({ length: 25 }, (_, at) => [`eu-${at}`, `eu-${at}`]).flat()
    await site.index(
      logs(3, ...[...many, 'pay-api', 'pay-worker'].map((service) => ({ service, timeNs: noonNs }))),
      spans(4, ...[...many, 'pay-api', 'pay-worker'].map((service, id) => ({ id, trace: `many ${id}`, service }))),
    )
    for (const page of ['/app/logs', '/app/traces', '/app/map', '/app/patterns']) {
      for (const typed of ['pay-', 'pay-*', 'PAY']) {
        const address = `${page}?service=${typed}`
        expect((await meantBy(address)).said, address).to.match(
          /“Service” is the whole name of one: service:\*(?:pay-|PAY)\* searches by a part of it\.$/,
        )
        const { text } = await browser.get(address)
        const byPart = linksOfPage(text).find(({ name }) => name.startsWith('service:*'))?.address ?? ''
        const found = (await browser.get(byPart)).text
        expect(found, byPart).to.include('pay-api').and.include('pay-worker')
      }
    }
    expect((await meantBy('/app/logs?service=worker')).said).to.equal('Did you mean the service pay-worker?')
    expect((await meantBy('/app/logs?service=nothing*')).said).to.equal('')
  })

  it('of a browser leads to the service of a session', async () => {
    await site.index(logs(4, { service: 'shop', source: 'rum', sessionId: 's', timeNs: noonNs, message: 'clicked' }))
    const { said, led } = await meantBy('/app/sessions?service=shpo')
    expect(said).to.equal('Did you mean the service shop?')
    expect(led).to.include('<strong>1 session<')
  })

  it('is answered all the same where no names can be had', async () => {
    let asked = 0
    const facets = (): Promise<[]> => (++asked === 1 ? Promise.resolve([]) : Promise.reject(new Error('no index')))
    const failing = await openSite({ reader: { ...site.reader, facets } })
    await createPerson(failing.directory, 'ann@acme.example', 'Acme')
    const other = createBrowser(failing)
    await other.post('/app/sign-in', { email: 'ann@acme.example', password })
    const { status, text } = await other.get('/app/logs?service=checkot')
    await failing.close()
    expect([status, asked]).to.deep.equal([200, 2])
    expect(text).to.include('No log records match.')
  })

  it('asks for names only where nothing was found', async () => {
    const { text } = await browser.get(`/app/logs?service=checkout&from=${Number(noonNs / msNs) - 1}`)
    expect(text).to.include('<strong>1 record<').and.not.include('Did you mean')
  })
})
