import { expect } from 'chai'
import type { Engine } from '../../infra/engines/engine.ts'
import { startElasticsearch } from '../../infra/engines/elasticsearch.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { failureOf } from './failure-of.ts'
import { isGone } from './is-gone.ts'

describe('the Elasticsearch that we bring', function () {
  this.timeout(enginesTimeoutMs)
  let engine: Engine
  before(async () => {
    engine = await startElasticsearch({ isBrief: true })
  })
  after(() => engine.remove())

  async function ask(path: string, options: Readonly<{ password?: string; method?: string; body?: string }> = {}) {
    const { origin, username, password } = new URL(engine.url)
    const credentials = Buffer.from(`${username}:${options.password ?? password}`).toString('base64')
    const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' }
    const { method = 'GET', body = null } = options
    const response = await fetch(`${origin}${path}`, { method, body, headers })
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
  }

  it('is the pinned version, and refuses a wrong password', async () => {
    const { answer } = await ask('/_nodes/_local')
    expect(Object.values(answer['nodes'] as object)[0]).to.include({ version: '8.19.21' })
    expect((await ask('/_cluster/health', { password: 'wrong' })).status).to.equal(401)
  })

  it('keeps its data and its address when it is killed and started again', async () => {
    expect((await ask('/kept/_doc/1', { method: 'PUT', body: '{"a":1}' })).status).to.equal(201)
    await engine.kill()
    expect(engine.group()).to.equal(undefined)
    expect(await failureOf(ask('/kept/_doc/1'))).to.equal('fetch failed')
    await engine.start()
    expect((await ask('/kept/_doc/1')).answer).to.deep.include({ _source: { a: 1 } })
  })

  it('leaves no process when it is stopped', async () => {
    const group = engine.group()
    expect(isGone(group)).to.equal(false)
    await engine.stop()
    expect(isGone(group)).to.equal(true)
  })
})
