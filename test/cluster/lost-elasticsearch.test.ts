import { expect } from 'chai'
import { startElasticsearch } from '../../infra/engines/elasticsearch.ts'
import type { Engine } from '../../infra/engines/engine.ts'
import { cookieOf, untilIndexed, untilServed } from '../support/client.ts'
import { enginesTimeoutMs, natsEngine } from '../support/engines.ts'
import { hex } from '../support/telemetry.ts'
import { sendingTo } from '../support/workspace.ts'
import { createFleet, type Fleet } from './fleet.ts'

const traceId = hex(32, 'seen before')
const spanId = hex(16, 'seen before')

const endpoints = [
  '/api/app/traces/search',
  `/api/app/traces/search?trace_id=${traceId}&include=histogram,facets`,
  '/api/app/logs/search',
  '/api/app/logs/search?q=seen&include=histogram,facets,count',
  `/api/app/correlation?trace_id=${traceId}`,
  '/api/app/correlation?session_id=seen',
  `/api/app/correlation?span_id=${spanId}`,
  '/app/logs/export',
  '/app/logs/export?format=csv',
  '/api/v1/traces',
]
/** No more than a workspace may have under way: each waits for as long as an answer may take, and none of them for its turn. */
const atOnce = [
  '/api/app/traces/search',
  '/api/app/logs/search',
  `/api/app/correlation?trace_id=${traceId}`,
  '/api/v1/traces',
  '/app/logs/export',
]
const pages = [
  '/app/traces',
  '/app/logs',
  '/app/logs/rows',
  '/app/sessions',
  '/app/map',
  '/app/patterns',
  '/app/find?id=seen',
  `/app/trace/${traceId}`,
  `/app/compare?trace_id=${traceId}`,
  '/app/usage',
]
const retryAfters = ['1', '2', '3', '4']

describe('readers of a cluster whose Elasticsearch', function () {
  this.timeout(600_000)
  let elasticsearch: Engine
  let fleet: Fleet
  let headers: Readonly<Record<string, string>>

  before(async function () {
    this.timeout(enginesTimeoutMs)
    const [natsUrl, own] = await Promise.all([natsEngine(), startElasticsearch({ isBrief: true })])
    elasticsearch = own
    const on = { natsUrl, elasticsearchUrl: own.url }
    fleet = await createFleet({ ingest: 1, project: 1, query: 1 }, { on })
    const to = sendingTo(fleet, fleet.firstRun.keys)
    await to.logs([{ message: 'seen before', trace_id: traceId, session_id: 'seen' }])
    await to.spans([{ traceId, spanId }])
    await to.rum({ session_id: 'seen', events: [{ type: 'click', name: 'pay', trace_id: traceId }] })
    await untilIndexed(fleet)
    const { sign_in: account, keys } = fleet.firstRun
    headers = { cookie: await cookieOf(fleet.baseUrl, account), authorization: `Bearer ${keys.api}` }
  })
  after(async () => {
    await fleet.remove()
    await elasticsearch.remove()
  })

  const ask = (path: string): Promise<Response> => fetch(fleet.baseUrl + path, { headers, redirect: 'manual' })

  async function expectToldToComeBack(path: string): Promise<void> {
    const answer = await ask(path)
    const text = await answer.text()
    expect(answer.status, `${path}: ${text}`).to.equal(503)
    expect(answer.headers.get('retry-after'), path).to.be.oneOf(retryAfters)
  }
  const expectAllTold = async (paths: readonly string[]): Promise<void> =>
    void (await Promise.all(paths.map(expectToldToComeBack)))

  /** Nothing of ours is started again. */
  async function expectServed(): Promise<void> {
    for (const path of [...endpoints, ...pages]) {
      const answer = await untilServed(() => ask(path))
      const text = await answer.text()
      expect(answer.status, `${path}: ${text}`).to.equal(200)
      if (path.startsWith('/api/')) expect(text, path).to.include(traceId)
    }
  }

  it('is gone are told to come back, by every endpoint and every page, and find all again when it is there', async () => {
    await expectServed()
    await elasticsearch.kill()
    await expectAllTold(endpoints)
    await expectAllTold(pages)
    // The first page has more to show than what it counts.
    const shown = await ask('/app')
    expect([shown.status, (await shown.text()).includes('Not all is counted')]).to.deep.equal([200, true])
    // What came in meanwhile is not missed afterwards.
    await sendingTo(fleet, fleet.firstRun.keys).logs([{ message: 'meanwhile' }])
    await elasticsearch.start()
    await expectServed()
    await untilIndexed(fleet)
    expect(await (await ask('/api/app/logs/search?q=meanwhile')).text()).to.include('"message":"meanwhile"')
  })

  it('hangs are told so too, and find all again when it goes on', async () => {
    await elasticsearch.pause()
    try {
      await expectAllTold(atOnce)
    } finally {
      await elasticsearch.resume()
    }
    await expectServed()
  })
})
