import { expect } from 'chai'
import { logForms, sessionForms, spanForms, traceForms } from '#src/app/search/search-help.ts'
import { msNs, noonNs, traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('help on search pages', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })

  it('shows what may be typed, and all of it is understood', async () => {
    await site.index(logs(1, {}))
    for (const [path, forms] of [
      ['/app/logs', logForms],
      ['/app/patterns', logForms],
      ['/app/traces', traceForms],
      ['/app/sessions', sessionForms],
    ] as const) {
      const { text } = await browser.get(path)
      const [, help = ''] = /<summary>How to search<\/summary>([^]*?)<\/details>/.exec(text) ?? []
      const shown = [...help.matchAll(/<code>([^<]*)<\/code>/g)].map(([, typed = '']) => typed)
      for (const query of forms.flatMap(({ typed }) => typed)) {
        const { status, text: found } = await browser.get(`${path}?q=${encodeURIComponent(query)}`)
        expect(status, query).to.equal(200)
        expect(found, query).to.include('Searched: <code>')
      }
      const times = shown.slice(forms.flatMap(({ typed }) => typed).length)
      expect(times).to.include('-15m')
      for (const time of times) {
        expect((await browser.get(`${path}?from=${encodeURIComponent(time)}`)).status, time).to.equal(200)
      }
    }
  })

  it('shows what finds spans in a trace, and all of it is understood', async () => {
    await site.index(spans(1, { id: 'a' }, { id: 'b', parent: 'a' }))
    const path = `/app/trace/${traceIdOf('t')}`
    const { text } = await browser.get(path)
    const [, help = ''] = /<summary>How to search<\/summary>([^]*?)<\/details>/.exec(text) ?? []
    const shown = [...help.matchAll(/<code>([^<]*)<\/code>/g)].map(([, typed = '']) => typed)
    expect(shown).to.have.length(spanForms.flatMap(({ typed }) => typed).length)
    for (const query of spanForms.flatMap(({ typed }) => typed)) {
      const found = await browser.get(`${path}?find=${encodeURIComponent(query)}`)
      expect(found.text || found.location, query)
        .to.be.a('string')
        .and.not.include('role="alert"')
    }
  })

  it('leads to the same search of the usual ranges, from a narrow one too', async () => {
    await site.index(
      logs(1, { message: 'an hour old' }, { message: 'days old', timeNs: noonNs - 72n * 3_600_000n * msNs }),
    )
    const narrow = '/app/logs?q=old&level=info&from=2026-11-21T12:30:00Z&to=2026-11-21T12:31:00Z'
    const navOf = (text: string) => /<nav class="tabs" aria-label="Time range">([^]*?)<\/nav>/.exec(text)?.[1] ?? ''
    const rangesOf = (text: string) => linksOfPage(navOf(text))
    const currentIn = (text: string): readonly string[] =>
      [...navOf(text).matchAll(/aria-current="true"\s*>([^<]*)/g)].map(([, name = '']) => name)
    const { text } = await browser.get(narrow)
    expect(text).to.include('No log records match.')
    expect(currentIn(text)).to.deep.equal([])
    const week = rangesOf(text).find(({ name }) => name === '7 days')
    expect(week?.address).to.equal('/app/logs?q=old&level=info&from=-7d')
    const { text: wide } = await browser.get(week?.address ?? '')
    expect(wide)
      .to.include('<strong>2 records</strong>')
      .and.match(/aria-current="true"\s*>7 days/)
    expect((await browser.get('/app/logs')).text).to.match(/aria-current="true"\s*>24 hours/)
    expect((await browser.get('/app/logs?session_id=s')).text, 'of all times').to.not.match(/aria-current="true"/)
    expect(rangesOf((await browser.get('/app/logs?from=nonsense')).text)).to.have.length(6)
  })

  it('is told once of which field something is wrong', async () => {
    const problemOf = async (path: string) => {
      const [, problem = ''] = /class="problem"[^>]*>([^]*?)<\/div>/.exec((await browser.get(path)).text) ?? []
      return textOf(problem)
    }
    expect(await problemOf('/app/logs?from=-1h&to=-2h')).to.equal('“From” is after “To”')
    expect(await problemOf('/app/traces?min_duration=2s&max_duration=1s')).to.equal('“At least” is above “At most”')
  })

  it('is told by the name that the form has for a field', async () => {
    for (const [path, said] of [
      ['/app/logs?to=noon', '“To”: not a time of the years 1 to 9999'],
      ['/app/traces?min_duration=500', '“At least”: not a duration such as 200ms'],
      ['/app/traces?max_duration=1sec', '“At most”: not a duration such as 200ms'],
      ['/app/traces?kind=nobody', 'kind: '],
      ['/app/logs?q=a%20%7C%20json', 'pipes such as `| stats` are not supported'],
    ] as const) {
      const [, problem = ''] = /class="problem"[^>]*>([^]*?)<\/div>/.exec((await browser.get(path)).text) ?? []
      expect(textOf(problem), path).to.match(new RegExp(`^${said.replace('|', '\\|')}`))
    }
  })

  it('leads past the form to the results, and nowhere where there are none', async () => {
    await site.index(logs(1, {}))
    for (const page of ['logs', 'patterns', 'traces', 'map', 'sessions']) {
      for (const asked of ['', '?q=absent']) {
        const { status, text } = await browser.get(`/app/${page}${asked}`)
        expect(status, page).to.equal(200)
        const [beforeFields = ''] = /<form class="search"[^]*?<input/.exec(text) ?? []
        expect(linksOfPage(beforeFields), page).to.deep.equal([{ name: 'Skip to the results', address: '#results' }])
        expect(text.match(/ id="results"/g), page).to.have.length(1)
      }
      const refused = await browser.get(`/app/${page}?q=%28`)
      expect(refused.status, page).to.equal(400)
      expect(refused.text, page).to.not.include('#results')
    }
  })

  it('leads past the bars, each of which is a link', async () => {
    await site.index(logs(1, { level: 'error' }, { level: 'error' }))
    const { text } = await browser.get('/app/logs?from=2026-11-21T11:00:00Z')
    const [justBefore = ''] = /<a class="skip"[^>]*>[^<]*<\/a>\s*(?=<svg\s+class="histogram")/.exec(text) ?? []
    expect(linksOfPage(justBefore)).to.deep.equal([{ name: 'Skip the bars', address: '#results' }])
    expect(text).to.match(/ id="results"/)
    expect(text).to.match(/<svg\s+class="histogram"[^>]*\srole="group"/)
    expect(text).to.include('<title>2026-11-21 12:00:00 UTC: 2, 2 errors</title>')
    expect(text).to.match(/highest bar: 2 in \d+ (?:s|min)</)
  })
})
