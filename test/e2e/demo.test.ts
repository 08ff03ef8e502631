import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { runProgram } from '../support/run-program.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

const services = ['web', 'orders', 'payments']

/** The services that the spans of a correlation answer come from, each once. */
const servicesOf = (correlation: JsonObject): Set<unknown> =>
  new Set((at(correlation, 'trace', 'spans') as readonly JsonObject[]).map((span) => span['service']))

describe('npm run demo', () => {
  let server: Server
  let reader: Reader
  let output: string

  before(async () => {
    server = await startServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const args = ['infra/demo/demo.ts', '--orders', '5', '--browser', '--data', server.dataFolder]
    output = (await runProgram(process.execPath, args, { environment: { BASE_URL: server.baseUrl } })).join('\n')
    await untilIndexed(server)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  /** What stands behind an address that the demo prints under a name. */
  async function behind(name: string): Promise<JsonObject> {
    const [, url = ''] = new RegExp(`^ +${name} +(http\\S+)$`, 'm').exec(output) ?? []
    const { status, body } = await reader.get(url.slice(server.baseUrl.length))
    expect(status, `${name}: ${url}\n${output}`).to.equal(200)
    return body
  }

  async function expectJoined(correlation: JsonObject): Promise<void> {
    const spans = at(correlation, 'trace', 'spans') as readonly JsonObject[]
    const ids = new Set(spans.map((span) => span['span_id']))
    expect(at(correlation, 'trace', 'missing'), 'missing').to.deep.equal([])
    expect(spans.filter((span) => span['parent_span_id'] === null)).to.have.length(1)
    const logs = listOf(at(correlation, 'logs') as JsonObject, 'items').filter((log) => log['span_id'] !== null)
    for (const log of logs) expect(ids, String(log['message'])).to.include(log['span_id'])
    const loggedBy = new Set(logs.map((log) => log['service']))
    for (const service of services) expect(loggedBy).to.include(service)
  }

  it('says what became of the orders', () => {
    expect(output).to.match(/^5 orders: 3 paid, 1 declined, 1 failed; the slowest took \d+ ms$/m)
  })

  it('has sent as many spans and log lines as its services made', async () => {
    const traces = listOf((await reader.get('/api/app/traces/search?service=web&limit=200')).body, 'traces')
    const counts = services.map((name) =>
      traces
        .flatMap((trace) => listOf(trace, 'services'))
        .filter((service) => service['name'] === name)
        .reduce((sum, service) => sum + Number(service['span_count']), 0),
    )
    const logs = await reader.get('/api/app/logs/search?q=service:(web+OR+orders+OR+payments)&limit=1000')
    const made = services.map((name, index) => `${name} ${counts[index]}`).join(', ')
    const spans = counts.reduce((sum, count) => sum + count, 0)
    const lines = listOf(logs.body, 'logs').length
    expect(output).to.include(`Sent ${spans} spans (${made}) and ${lines} log lines`)
    expect(lines).to.be.at.least(15)
  })

  it('leads to the failure: one trace over three services, the thrown error, and the log lines of its spans', async () => {
    const failed = listOf(await behind('failed payments'), 'traces')
    expect(failed).to.have.length(1)
    const correlation = await behind('one failure, all of it')
    expect(at(correlation, 'trace', 'summary', 'trace_id')).to.equal(failed[0]?.['trace_id'])
    expect(servicesOf(correlation)).to.deep.equal(new Set(services))
    await expectJoined(correlation)
    const spans = at(correlation, 'trace', 'spans') as readonly JsonObject[]
    const redeemed = spans.find((span) => span['name'] === 'redeem gift card')
    const [thrown] = listOf(redeemed ?? {}, 'events')
    expect(at(thrown, 'attributes', 'exception.type')).to.equal('SyntaxError')
    const errors = listOf(at(correlation, 'logs') as JsonObject, 'items').filter((log) => log['level'] === 'error')
    expect(errors.map((log) => [log['service'], log['message']])).to.deep.equal([['payments', 'request failed']])
  })

  it('leads from a shopper to all of the visit', async () => {
    const correlation = await behind('one shopper')
    const traces = listOf(at(correlation, 'traces') as JsonObject, 'items')
    expect(traces.map((trace) => at(trace, 'root', 'operation'))).to.have.members([
      'GET /api/products',
      'POST /api/checkout',
    ])
  })

  it('leads from the browser: page, services and log lines in one trace, and the session beside them', async () => {
    const visit = await behind('the browser visit')
    const names = listOf(at(visit, 'rum_events') as JsonObject, 'items').map((event) => event['name'])
    expect(names.filter((name) => name === 'checkout')).to.have.length(2)
    const [, session, paid] = /^Browser: session (\S+), orders in ([0-9a-f]{32})/m.exec(output) ?? []
    const { body } = await reader.get(`/api/app/correlation?trace_id=${paid}`)
    expect(servicesOf(body)).to.deep.equal(new Set(['shop-page', ...services]))
    await expectJoined(body)
    expect(JSON.stringify(at(body, 'sessions'))).to.include(session)
    const refused = listOf(at(visit, 'logs') as JsonObject, 'items').filter((log) => log['service'] === 'shop-page')
    expect(refused.map((log) => log['message'])).to.satisfy((messages: string[]) =>
      messages.some((message) => message.includes('checkout failed: not a card number')),
    )
  })

  it('every address that it prints shows something', async () => {
    const slowest = listOf(await behind('slowest checkouts'), 'traces').map((trace) =>
      BigInt(String(trace['duration_ns'])),
    )
    expect(slowest).to.have.length.at.least(5)
    expect([...slowest].sort((a, b) => Number(b - a))).to.deep.equal(slowest)
    const warned = listOf(await behind('warnings and errors'), 'logs')
    expect(new Set(warned.map((log) => log['level']))).to.deep.equal(new Set(['warn', 'error']))
  })
})
