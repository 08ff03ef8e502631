import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { answerOf, at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { runProgram } from '../support/run-program.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { newDataFolder, removeFolder } from '../support/server.ts'

const services = ['web', 'orders', 'payments']

/** The services that the spans of a correlation answer come from, each once. */
const servicesOf = (correlation: JsonObject): Set<unknown> =>
  new Set((at(correlation, 'trace', 'spans') as readonly JsonObject[]).map((span) => span['service']))

describe('npm run demo', () => {
  let server: LentServer
  let reader: Reader
  let output: string
  /** With the keys of the workspace, as after a first run. */
  let folder: string

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    folder = await newDataFolder()
    await writeFile(join(folder, 'first-run.json'), JSON.stringify({ ...server.firstRun, base_url: server.baseUrl }))
    const args = ['infra/demo/demo.ts', '--orders', '5', '--browser', '--data', folder]
    // As in a shell that was set up for a program of one's own, which sends elsewhere, and for another server.
    const own = {
      BASE_URL: 'http://127.0.0.1:1',
      TRACES_TOKEN: 'tt_another',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Bearer%20tt_another',
      OTEL_TRACES_SAMPLER: 'always_off',
    }
    output = (await runProgram(process.execPath, args, { environment: own })).join('\n')
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
    await removeFolder(folder)
  })

  /** Addresses of the app's pages that the demo has printed, under their names. */
  const addresses = (): ReadonlyMap<string, string> =>
    new Map(
      [...output.matchAll(/^ {2}(\S.*?) {2,}(http\S+)$/gm)].map(([, name = '', url = '']) => [
        name,
        url.slice(server.baseUrl.length),
      ]),
    )
  /** What the API answers to the question of a page. */
  const questionOf = (address: string): string =>
    address
      .replace(/^\/app\/(traces|logs)\?/, '/api/app/$1/search?')
      .replace('/app/trace/', '/api/app/correlation?trace_id=')
      .replace('/app/find?', '/api/app/correlation?')

  type Behind = Readonly<{ page: string; answer: JsonObject }>
  /** What stands behind an address that the demo prints under a name: the page, and the same as data. */
  async function behind(name: string): Promise<Behind> {
    const address = addresses().get(name) ?? ''
    expect(address, `${name}\n${output}`).to.match(/^\/app\/(traces|logs|trace|find)\b/)
    const response = await reader.raw(address, { headers: { accept: 'text/html' } })
    expect(response.status, address).to.equal(200)
    return { page: await response.text(), answer: await answerOf(reader, questionOf(address)) }
  }
  /** The traces that a page leads to, in its order. */
  const tracesOn = (page: string): readonly string[] =>
    [...page.matchAll(/<td><a href="\/app\/trace\/([0-9a-f]{32})"/g)].map(([, id = '']) => id)
  const idsOf = (traces: readonly JsonObject[]): readonly unknown[] => traces.map((trace) => trace['trace_id'])

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
    const payments = await behind('failed payments')
    const failed = listOf(payments.answer, 'traces')
    expect(failed).to.have.length(1)
    expect(tracesOn(payments.page)).to.deep.equal(idsOf(failed))
    const { page, answer: correlation } = await behind('one failure, all of it')
    for (const words of [...services, 'redeem gift card', 'SyntaxError', 'request failed'])
      expect(page).to.include(words)
    expect(page).to.include('0 known to be missing')
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
    const { page, answer } = await behind('one shopper')
    const traces = listOf(at(answer, 'traces') as JsonObject, 'items')
    expect(tracesOn(page)).to.deep.equal(idsOf(traces))
    expect(traces.map((trace) => at(trace, 'root', 'operation'))).to.have.members([
      'GET /api/products',
      'POST /api/checkout',
    ])
  })

  it('leads from the browser: page, services and log lines in one trace, and the session beside them', async () => {
    const { page, answer: visit } = await behind('the browser visit')
    const names = listOf(at(visit, 'rum_events') as JsonObject, 'items').map((event) => event['name'])
    expect(names.filter((name) => name === 'checkout')).to.have.length(2)
    const [, session, paid] = /^Browser: session (\S+), orders in ([0-9a-f]{32})/m.exec(output) ?? []
    const { body } = await reader.get(`/api/app/correlation?trace_id=${paid}`)
    expect(servicesOf(body)).to.deep.equal(new Set(['shop-page', ...services]))
    await expectJoined(body)
    expect(JSON.stringify(at(body, 'sessions'))).to.include(session)
    expect(tracesOn(page)).to.include(paid)
    for (const words of ['Browser events', 'checkout failed: not a card number']) expect(page).to.include(words)
    const refused = listOf(at(visit, 'logs') as JsonObject, 'items').filter((log) => log['service'] === 'shop-page')
    expect(refused.map((log) => log['message'])).to.satisfy((messages: string[]) =>
      messages.some((message) => message.includes('checkout failed: not a card number')),
    )
  })

  it('every address that it prints shows something', async () => {
    expect([...addresses().keys()].sort()).to.deep.equal([
      'failed payments',
      'one failure, all of it',
      'one shopper',
      'slowest checkouts',
      'the browser visit',
      'warnings and errors',
    ])
    const checkouts = await behind('slowest checkouts')
    const traces = listOf(checkouts.answer, 'traces')
    expect(tracesOn(checkouts.page)).to.deep.equal(idsOf(traces))
    const slowest = traces.map((trace) => BigInt(String(trace['duration_ns'])))
    expect(slowest).to.have.length.at.least(5)
    expect([...slowest].sort((a, b) => Number(b - a))).to.deep.equal(slowest)
    const { page, answer } = await behind('warnings and errors')
    const warned = listOf(answer, 'logs')
    expect(page).to.include(`<strong>${warned.length} records</strong>`)
    expect(new Set(warned.map((log) => log['level']))).to.deep.equal(new Set(['warn', 'error']))
  })
})
