import { expect } from 'chai'
import { fromGrafana } from '#src/app/search/meant/grafana-words.ts'
import { traceIdOf } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search in words of Grafana', () => {
  it('has words here, as far as it finds what a search finds', () => {
    for (const [typed, here] of [
      ['{ .http.response.status_code = 500 }', 'http.response.status_code=500'],
      ['{duration>1s}', 'duration>1s'],
      ['{ resource.service.name = "a b" && .x != 2 || .y>=3 }', 'resource.service.name="a b" && x!=2 || y>=3'],
      ['{ .http.route =~ "/api/.*" }', 'http.route:/\\/api\\/.*/'],
      ['(.a=1 || .b > 2)', '(a=1 || b>2)'],
      ['.a = "b  = c" && .d', 'a="b  = c" && .d'],
      [`{a="${'b'.repeat(4_090)}"}`, `a="${'b'.repeat(4_090)}"`],
      ['{app="a,b  c",level!="info"}', 'app="a,b  c" level!="info"'],
      ['{app!~"x|y"}', '-app:/x|y/'],
      ['{app="x"} |= "a \\"b" != "c" |~ `d.*e` !~ "f"', 'app="x" "a \\"b" -"c" /d.*e/ -/f/'],
      ['{app="x"} |~ "(?i)error|fail"', 'app="x" /error|fail/'],
      ['{app=~"a{2,3} b = \\"c\\", d" , e="f"}', 'app:/a{2,3} b = "c", d/ e="f"'],
      ['{} | app=~"a, b"', 'app:/a, b/'],
      ['{app=~"", a!~"" , b = "", c!=""} |~ "" |= ""', '-app:* a:* -b:* c:*'],
      ['{app=~".+", pod=~".*", a!~".+", b="x"} |~ ".+"', 'app:* -a:* b="x"'],
      ['{ .a =~ ".*" && .b = "" }', 'a:* && -b:*'],
      ['{app="x=~", b="y" , c !~ "z"}', 'app="x=~" b="y" -c:/z/'],
      ['{app=~"a\\\\.b\\\\\\\\/c"}', 'app:/a\\.b\\\\\\/c/'],
      ['{app=`x`} |= `a "b" \\d` |~ `c "d" \\d/`', 'app="x" "a \\"b\\" \\\\d" /c "d" \\d\\//'],
      ['{ .a = nil || span.b.c != nil && .d = "= nil" }', '-a:* || span.b.c:* && d="= nil"'],
      ['{ $.level = "error" && $.a.b > 3 }', 'level="error" && a.b>3'],
      ['{} |= "x" | json | logfmt | status >= 500 | level=~"err.*"', '"x" status>=500 level:/err.*/'],
    ] as const) {
      expect(fromGrafana(typed), typed).to.equal(here)
    }
  })

  it('has none where it is something else, or asks for what is not there', () => {
    for (const typed of [
      '',
      '{}',
      'a.b=1',
      'waiting ...',
      '"{a}" .b',
      '"of .a=1"',
      '{a="b"',
      '{"level":"a=b"}',
      '{app="x"} | line_format "{{.a}}"',
      '{app=~".*"}',
      '{app="x"} != ""',
      '{a=1} >> {b=2}',
      `{a="${'b'.repeat(4_096)}"}`,
    ]) {
      expect(fromGrafana(typed), typed).to.equal(undefined)
    }
  })

  describe('typed on a page', () => {
    let browser: SignedIn['browser']
    let logs: SignedIn['logs']
    let site: SignedIn['site']
    let spans: SignedIn['spans']
    eachSignedIn((signedIn) => {
      ;({ browser, logs, site, spans } = signedIn)
    })

    it('leads to what it means, where it is refused and where it finds nothing', async () => {
      await site.index(
        logs(1, { message: 'payment timeout', service: 'web' }),
        spans(2, { id: 'a', service: 'web', attributes: { 'http.response.status_code': 500n, 'http.route': '/a/b' } }),
      )
      const found = `/app/trace/${traceIdOf('t')}`
      for (const [page, typed, status, finds] of [
        ['/app/logs', '{service_name="web"} |= "timeout"', 400, '<strong>1 record<'],
        ['/app/logs', '{service_name=~"w.*"} |~ `time.*`', 400, '<strong>1 record<'],
        ['/app/patterns', '{service_name="web"} |= "timeout"', 400, '<strong>1 pattern<'],
        ['/app/traces', '{.http.response.status_code=500}', 200, found],
        ['/app/traces', '.http.status_code = 500', 200, found],
        ['/app/map', '.http.status_code = 500', 200, '<strong>1 service<'],
        ['/app/traces', '{ resource.service.name = "web" && .http.route = "/a/b" }', 200, found],
      ] as const) {
        const answer = await browser.get(`${page}?from=-3h&q=${encodeURIComponent(typed)}`)
        expect([answer.status, answer.text.match(/Did you mean/g)?.length], typed).to.deep.equal([status, 1])
        const [, part = ''] = /Did you mean ([^]*?)<\/p>/.exec(answer.text) ?? []
        const address = linksOfPage(part)[0]?.address ?? ''
        expect(address).to.include('from=-3h')
        expect((await browser.get(address)).text, address)
          .to.include(finds)
          .and.not.include('Did you mean')
      }
    })

    it('leads nowhere where something else is wrong with the search', async () => {
      const { status, text } = await browser.get(`/app/logs?from=never&q=${encodeURIComponent('{a="b"}')}`)
      expect(status).to.equal(400)
      expect(text).to.not.include('Did you mean')
    })
  })
})
