import { expect } from 'chai'
import { nearFields } from '#src/app/search/meant/near-fields.ts'
import { ok } from '#src/lib/result.ts'
import { noonNs } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search of logs by a field that no record has', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site } = signedIn)
  })
  beforeEach(() => {
    const fields = { os: 'linux', err: { type: 'SyntaxError' }, 'http.status_code': 502, userId: 'u1' }
    return site.index(logs(1, { message: 'declined', service: 'checkout', timeNs: noonNs, fields }))
  })

  /** What a page says may have been meant, and the page that this leads to. */
  async function meantBy(address: string): Promise<Readonly<{ said: string; led: string }>> {
    const { text } = await browser.get(address)
    const [part = ''] = /<p>\s*No record of this time[^]*?<\/p>/.exec(text) ?? []
    const [link] = linksOfPage(part)
    return {
      said: textOf(part).replaceAll('&gt;', '>').replaceAll('&quot;', '"'),
      led: link === undefined ? '' : (await browser.get(link.address)).text,
    }
  }

  it('leads to the field that is nearest, or ends so, on each page of logs', async () => {
    for (const [page, found] of [
      ['/app/logs', '<strong>1 record<'],
      ['/app/patterns', '<strong>1 pattern<'],
    ] as const) {
      for (const [typed, field, meant] of [
        ['err.typ:SyntaxError', 'err.typ', 'err.type:SyntaxError'],
        ['declined (type=SyntaxError OR x)', 'type', 'declined AND (err.type=SyntaxError OR x)'],
        ['status_code:>=500', 'status_code', 'http.status_code:>=500'],
        ['"a:b" OR usrId:*', 'usrId', '"a:b" OR userId:*'],
        ['message:/(a:b)/ OR usrId:*', 'usrId', 'message:/(a:b)/ OR userId:*'],
      ] as const) {
        const { said, led } = await meantBy(`${page}?from=-2h&q=${encodeURIComponent(typed)}`)
        expect(said).to.equal(`No record of this time has a field ${field}. Did you mean ${meant}?`)
        expect(led, typed).to.include(found).and.include('from=-2h').and.not.include('Did you mean')
      }
    }
  })

  it('is not said to be meant otherwise where the field is there, nothing is like it, or it is not asked for', async () => {
    for (const typed of [
      'err.type:TypeError',
      'absent',
      'warehouse:x',
      'absent -err.typ:x',
      'absent NOT (a b err.typ:x)',
      '"err.typ:SyntaxError"',
      'message:/(err.typ:SyntaxError)/',
      'message:/x[ err.typ:]/',
      'level:fatal',
      'x:1',
      'foo:1',
      'err.typ:SyntaxError OR declined',
    ]) {
      expect((await meantBy(`/app/logs?q=${encodeURIComponent(typed)}`)).said, typed).to.equal('')
    }
    expect((await meantBy('/app/logs?to=-3h&q=err.typ:x')).said).to.equal('')
    expect((await browser.get('/app/traces?q=err.typ:x')).text).to.not.include('Did you mean')
  })
  it('is compared with so many names that this takes no time of others', async () => {
    const meant = async (others: number) => {
      const names = [...Array.from({ length: others }, (_, n) => `f${n}`), 'userId']
      const records = [{ fields: Object.fromEntries(names.map((name) => [name, 1])) }]
      const find = async (search: string) => ok({ logs: search.includes('q=') ? [] : records })
      return (await nearFields({ path: '/app/logs', conditions: new URLSearchParams(), normalized: 'usrId:1' }, find))
        .markup
    }
    expect(await meant(1_999)).to.include('userId:1')
    expect(await meant(2_000)).to.equal('')
  })
})
