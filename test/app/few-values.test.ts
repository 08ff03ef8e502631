import { expect } from 'chai'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search by a level, a status or a kind that there is not', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })
  beforeEach(() =>
    site.index(
      logs(1, { message: 'declined', level: 'error', service: 'web' }),
      spans(2, { id: 'a', status: 'error', kind: 'server', service: 'web' }),
    ),
  )

  /** The search that a page says may have been meant; it finds something. */
  async function meantBy(path: string, typed: string): Promise<string> {
    const { text } = await browser.get(`${path}?q=${encodeURIComponent(typed)}`)
    const [, meant] = /Did you mean <a [^>]*>([^<]*)</.exec(text) ?? []
    if (meant === undefined) return ''
    const link = linksOfPage(text).find(({ name }) => name === meant)
    const led = (await browser.get(link?.address ?? '')).text
    expect(led, typed)
      .to.match(/<strong>1 (?:record|pattern|service)<|\/app\/trace\//)
      .and.not.include('Did you mean')
    return meant
  }

  it('leads to the nearest of them', async () => {
    for (const [path, typed, meant] of [
      ['/app/logs', 'level:eror', 'level:error'],
      ['/app/logs', 'declined Level="ERORR"', 'declined AND level=error'],
      ['/app/logs', 'level:(wran OR erro)', 'level:warn OR level:error'],
      ['/app/patterns', 'level:erro', 'level:error'],
      ['/app/logs', 'message:/(de)clined/ level:eror', 'message:/(de)clined/ AND level:error'],
      ['/app/traces', 'status:failed', 'status=error'],
      ['/app/traces', 'status=eror kind:srever', 'status=error AND kind:server'],
      ['/app/map', 'status:eror', 'status:error'],
    ] as const) {
      expect(await meantBy(path, typed), `${path} ${typed}`).to.equal(meant)
    }
  })

  it('leads nowhere where it is one, nothing is like it, it is of another field, or in quotes', async () => {
    for (const typed of ['level:fatal', 'level:notice', 'level:high', 'my.level:eror', '"level:eror"', 'level:er0r']) {
      expect(await meantBy('/app/logs', typed), typed).to.equal('')
    }
    for (const typed of ['message:/(level:eror)/', 'message:/see[ ]a.ts:12/', 'declined /(level:eror|x)/']) {
      expect(await meantBy('/app/logs', typed), typed).to.equal('')
    }
    for (const typed of [
      'status:ok',
      'status:up',
      'kind:consumer',
      '"status:eror"',
      'name:/(status:404)/',
      'level:eror',
    ]) {
      expect(await meantBy('/app/traces', typed), typed).to.equal('')
    }
  })
})
