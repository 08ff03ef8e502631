import { expect } from 'chai'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a search that finds nothing', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, spans } = signedIn)
  })

  it('by a name of other tools leads to the name that finds it', async () => {
    const attributes = {
      'http.response.status_code': 500n,
      'url.path': '/orders',
      'db.system.name': 'postgresql',
      'db.query.text': 'SELECT 1',
      'db.namespace': 'shop',
      'server.address': 'db1',
      'deployment.environment.name': 'production',
    }
    await site.index(
      logs(1, { message: 'declined', level: 'error', service: 'web' }),
      spans(2, { id: 'a', status: 'error', service: 'web', attributes }),
    )
    const meantBy = async (path: string, typed: string): Promise<string> => {
      const { text } = await browser.get(`${path}?service=web&q=${encodeURIComponent(typed)}`)
      const [, address] = /Did you mean <a href="([^"]*)"/.exec(text) ?? []
      if (address === undefined) return ''
      const led = (await browser.get(address.replaceAll('&amp;', '&'))).text
      expect(led, typed)
        .to.match(/<strong>1 record<|\/app\/trace\//)
        .and.not.include('Did you mean')
      return /Did you mean <a [^>]*>([^<]*)</.exec(text)?.[1] ?? ''
    }
    for (const [typed, meant] of [
      ['status:error', 'level:error'],
      ['@severity_text=ERROR', 'level=ERROR'],
      ['declined log.level:error', 'declined AND level:error'],
      ['severity:eror', 'level:error'],
      ['@log.level="eror"', 'level=error'],
      ['lvl=err', 'level=err'],
      ['status:err', 'level:err'],
      ['status:fail', ''],
      ['constructor:eror', ''],
      ['message:"severity:error"', ''],
      ['"msg:declined"', ''],
      ['severity:error -"status:error"', 'level:error AND NOT &quot;status:error&quot;'],
      ['service.name=web msg:declined', 'service=web AND message:declined'],
      ['status:500', ''],
      ['http.status:error', ''],
      ['level:error', ''],
      ['absent', ''],
    ] as const) {
      expect(await meantBy('/app/logs', typed), typed).to.equal(meant)
    }
    for (const [typed, meant] of [
      ['error=true', 'status=error'],
      ['status.code=ERROR', 'status=ERROR'],
      ['span.http.status_code>=500', 'span.http.response.status_code:&gt;=500'],
      ['my.error=true', ''],
      ['otel.status_code:eror', 'status:error'],
      ['name:"error=true"', ''],
      ['"a \\"error=true"', ''],
      ['status:500', 'http.response.status_code:500'],
      ['status:5*', 'http.response.status_code:5*'],
      ['status:[500 TO 599]', 'http.response.status_code:[500 TO 599]'],
      ['status_code:500', 'http.response.status_code:500'],
      ['@status_code>=500', 'http.response.status_code:&gt;=500'],
      ['my.status_code:500', ''],
      ['status:15', ''],
      ['my.status:500', ''],
      ['status=ok', ''],
      ['http.target:orders', 'url.path:orders'],
      ['db.system=postgresql', 'db.system.name=postgresql'],
      ['@db.statement:SELECT', 'db.query.text:SELECT'],
      ['db.name:shop', 'db.namespace:shop'],
      ['span.db.name:shop', 'span.db.namespace:shop'],
      ['app.db.name:shop', ''],
      ['my.http.method:GET', ''],
      ['net.peer.name=db1', 'server.address=db1'],
      ['env:production', 'deployment.environment.name:production'],
      ['deployment.environment=production', 'deployment.environment.name=production'],
      ['my.env:production', ''],
      ['name:"env:production"', ''],
      ['resource_name:operation', 'name:operation'],
      ['kind=SPAN_KIND_SERVER', 'kind=SERVER'],
      ['>1ns', 'duration:&gt;1ns'],
      ['status=error AND (>=1ns OR absent)', 'status=error AND (duration:&gt;=1ns OR absent)'],
      ['minDuration=1ns', 'duration:&gt;=1ns'],
      ['max_duration:1h', 'duration:&lt;=1h'],
      ['"took >1ns"', ''],
    ] as const) {
      expect(await meantBy('/app/traces', typed), typed).to.equal(meant)
    }
  })

  it('for a line of a source or a port, read as a field, leads to those who say it', async () => {
    await site.index(
      logs(
        1,
        { message: 'at shop.Cart.add(Cart.java:15)' },
        { message: 'at src/cart.ts:15:3' },
        { message: 'refused by localhost:8080' },
      ),
      spans(2, { id: 'a', attributes: { 'exception.stacktrace': 'at shop.Cart.add(Cart.java:15)' } }),
    )
    const meantBy = async (path: string, typed: string): Promise<string> => {
      const { text } = await browser.get(`${path}?q=${encodeURIComponent(typed)}`)
      return /Did you mean <a [^>]*>([^<]*)</.exec(text)?.[1]?.replaceAll('&quot;', '"') ?? ''
    }
    for (const [typed, meant] of [
      ['Cart.java:15', '"Cart.java:15"'],
      ['shop.Cart.add (Cart.java:15)', 'shop.Cart.add AND "Cart.java:15"'],
      ['"absent at Cart.java:15" Cart.java:15', '"absent at Cart.java:15" AND "Cart.java:15"'],
      ['src/cart.ts:15:3', '"src/cart.ts:15:3"'],
      ['localhost:8080', '"localhost:8080"'],
      ['"Cart.java:16"', ''],
      ['Cart.java:[15 TO 16]', ''],
      ['status:15', ''],
    ] as const) {
      expect(await meantBy('/app/logs', typed), typed).to.equal(meant)
      const found = (await browser.get(`/app/logs?q=${encodeURIComponent(meant)}`)).text
      if (meant !== '' && !typed.includes('absent')) expect(found, meant).to.include('<strong>1 record<')
    }
    expect(await meantBy('/app/traces', 'Cart.java:15')).to.equal('"Cart.java:15"')
  })

  it('in a form of another tool leads to the same as it is written here, where this finds something', async () => {
    const attributes = { 'http.response.status_code': 500n, 'http.route': '/api/orders', 'a.b': 'x' }
    await site.index(
      logs(1, {
        message: 'payment timeout',
        level: 'error',
        service: 'payments',
        fields: { status: 500, path: '/api/orders', user: 'ann' },
      }),
      spans(2, { id: 'a', status: 'error', service: 'payments', attributes }),
    )
    const meantBy = async (path: string, typed: string): Promise<string> => {
      const { text } = await browser.get(`${path}?from=-3h&q=${encodeURIComponent(typed)}`)
      const [, address, meant = ''] = /Did you mean <a href="([^"]*)">([^<]*)</.exec(text) ?? []
      if (address === undefined) return ''
      expect(text.match(/Did you mean/g), typed).to.have.length(1)
      const led = (await browser.get(address.replaceAll('&amp;', '&'))).text
      expect(led, typed)
        .to.match(/<strong>1 record<|\/app\/trace\//)
        .and.not.include('Did you mean')
      return meant.replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
    }
    for (const [typed, meant] of [
      ['severity IN (err, warn)', 'level=(err OR warn)'],
      ['level in [error, warn]', 'level=(error OR warn)'],
      ['level:error|warn', 'level=(error OR warn)'],
      ["path LIKE '/api/%'", 'path:\\/api\\/*'],
      ["service = 'payments' AND status > 3", 'service="payments" AND status > 3'],
      ['status:400..599', 'status:[400 TO 599]'],
      ['status:[400..599]', 'status:[400 TO 599]'],
      ['status => 400', 'status>=400'],
      ['"timeout payment"~5', '(timeout payment)'],
      ['timeout~2', 'timeout'],
      ['message =~ /pay.*/', 'message:/pay.*/'],
      ['service~pay', 'service:*pay*'],
      ['message:~"tim"', 'message:*tim*'],
      ['user contains "an"', 'user:*an*'],
      ['has:user', 'user:*'],
      ['index=main timeout | stats count', 'timeout'],
      ['index=main timeout', 'timeout'],
      ['logs | where service == "payments"', 'service == "payments"'],
      ['service!==orders payment', ''],
      ['service IN (absent, other)', ''],
      ['absent~2', ''],
      ['payment timeout', ''],
    ] as const) {
      expect(await meantBy('/app/logs', typed), typed).to.equal(meant)
    }
    for (const [typed, meant] of [
      ['http.route =~ "/api/.*"', 'http.route:/\\/api\\/.*/'],
      ['status_code IN (500, 502)', 'http.response.status_code=(500 OR 502)'],
      ["a.b IN ('x')", 'a.b=x'],
      ['{ rootServiceName = "payments" && nestedSetParent < 0 }', 'service="payments" && -parent_span_id:*'],
      ['rootName:a', 'name:a'],
      ['root:true', '-parent_span_id:*'],
      ['{ span:status = error && trace:duration > 1ns }', 'status=error && duration>1ns'],
      ['traceDuration>1ns', 'duration:>1'],
      ['status => 500', 'http.response.status_code>=500'],
      ['service~pay', 'service:*pay*'],
    ] as const) {
      expect(await meantBy('/app/traces', typed), typed).to.equal(meant)
    }
  })

  it('by a name of another convention leads to the one that finds it, whichever is older', async () => {
    const event = { 'http.status_code': 502n, 'http.request.method': 'GET', 'enduser.id': 'u1' }
    await site.index(
      logs(
        1,
        { message: 'declined', service: 'web', fields: { err: { type: 'TypeError' }, usr: { id: 'u1' } } },
        { message: 'refused', service: 'api', fields: { 'error.type': 'SyntaxError', res: { statusCode: 502 } } },
      ),
      spans(2, { id: 'a', service: 'web', attributes: event }),
    )
    const meantBy = async (path: string, typed: string): Promise<string> => {
      const { text } = await browser.get(`${path}?from=-3h&q=${encodeURIComponent(typed)}`)
      const [, address, meant = ''] = /Did you mean\s+<a href="([^"]*)">([^<]*)</.exec(text) ?? []
      if (address === undefined) return ''
      const led = (await browser.get(address.replaceAll('&amp;', '&'))).text
      expect(led, typed)
        .to.match(/<strong>1 record<|\/app\/trace\//)
        .and.not.include('Did you mean')
      return meant.replaceAll('&quot;', '"').replaceAll('&gt;', '>')
    }
    for (const [typed, meant] of [
      ['exception.type:TypeError', 'err.type:TypeError'],
      ['err.type:SyntaxError', 'error.type:SyntaxError'],
      ['error.type:TypeError user.id=u1', 'err.type:TypeError AND usr.id=u1'],
      ['http.response.status_code>=500', 'res.statusCode:>=500'],
      ['exception.type:Absent', ''],
      ['"exception.type:TypeError"', ''],
      ['absent -exception.type:TypeError', ''],
    ] as const) {
      expect(await meantBy('/app/logs', typed), typed).to.equal(meant)
    }
    for (const [typed, meant] of [
      ['http.response.status_code>=500', 'http.status_code:>=500'],
      ['span.http.response.status_code=502', 'span.http.status_code=502'],
      ['http.method=GET http.response.status_code=502', 'http.request.method=GET AND http.status_code=502'],
      ['usr.id:u1', 'enduser.id:u1'],
      ['http.response.status_code IN (502, 503)', 'http.status_code=(502 OR 503)'],
      ['status:502', 'http.status_code:502'],
      ['db.statement:SELECT', ''],
      ['http.response.status_code=404', ''],
      ['my.http.method:GET', ''],
    ] as const) {
      expect(await meantBy('/app/traces', typed), typed).to.equal(meant)
    }
  })
})
