import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { describe, it } from 'mocha'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { reasonOf } from '#projections/stores/elasticsearch/reasons.ts'
import { openDriver } from '#projections/stores/elasticsearch/driver.ts'
import { LateError, TransientError } from '#src/lib/failure.ts'
import { startAnsweringElasticsearch } from '#test/support/answering-elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { rejection } from '#test/support/read-all.ts'

describe('a connection to Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, closeLater } = useElasticsearchStores()

  it('says in one line that the password is wrong, without it', async () => {
    const wrong = new URL(url())
    wrong.username = 'elastic'
    wrong.password = 'not-the-password'
    const failure = await rejection(makeReader(0, wrong.href).progress('fixture'))
    expect(failure.name).to.equal('PermanentError')
    expect(failure.message).to.match(/check user and password in ELASTICSEARCH_URL/)
    expect(failure.message).to.not.match(/not-the-password|\n/)
  })

  it('says where nothing answers, and that it may pass, and asks again when it is asked', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const address = `http://elastic:secret@127.0.0.1:${port}`
    const reader = makeReader(0, address)
    const failure = await rejection(reader.progress('fixture'))
    expect(failure.name).to.equal('TransientError')
    expect(failure.message).to.contain(`is Elasticsearch running at 127.0.0.1:${port}?`)
    expect(failure.message).to.not.match(/secret|\n/)
    const later = await startAnsweringElasticsearch(() => ({}), port)
    closeLater({ close: async () => later.close() })
    expect(await reader.progress('fixture')).to.equal(undefined)
  })

  /** Only what a server says of itself: of this age none can be had. */
  const saying = async (headers: Record<string, string>, body: object, task: (address: string) => Promise<void>) => {
    const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      await task(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  it('names the queue that is full, and nothing that differs each time', () => {
    // As 8.19.21 answered a search with `thread_pool.search.queue_size: 1`.
    const task =
      'TimedRunnable{original=ActionRunnable#wrap[org.elasticsearch.search.SearchService$$Lambda$5782@4cec6700]}'
    const queue =
      'TaskExecutionTimeTrackingEsThreadPoolExecutor[name = node-0/search, queue capacity = 1, pool size = 1]]'
    const reason = { type: 'es_rejected_execution_exception', reason: `rejected execution of ${task} on ${queue}` }
    const error = { type: 'search_phase_execution_exception', failed_shards: [{ shard: 2, reason }] }
    expect(reasonOf({ error })).to.equal('es_rejected_execution_exception: the queue of node-0/search is full')
  })

  it('takes it for something that passes that another writer was first', async () => {
    await openWriter()
    const elasticsearch = connectElasticsearch(url())
    closeLater(elasticsearch)
    const call = { operation: 'make', subject: 'a record', method: 'PUT', body: {} } as const
    const make = () => elasticsearch.send({ ...call, path: `/${prefix()}-state/_create/one` })
    await make()
    expect((await rejection(make())).name).to.equal('TransientError')
  })

  it('does not wait longer than the time that it has, and says that it was that', async () => {
    const hasty = openDriver(url(), 100)
    closeLater(hasty)
    // Answered when there are so many nodes, or after a minute.
    const query = { wait_for_nodes: '>=9', timeout: '60s' }
    const call = { operation: 'look at', subject: 'all', method: 'GET', path: '/_cluster/health', query } as const
    const failure = await rejection(hasty.send(call))
    // Nobody can ask for less.
    expect(failure).to.be.instanceOf(TransientError).and.not.instanceOf(LateError)
    const why = `not answered in 0.1 s: ${new URL(url()).host}, or another node that it waits for, is busy or hangs`
    expect(failure.message)
      .to.match(/^look at all: /)
      .and.include(`(${why})`)
  })

  it('says of a search that was not answered in time that it may be too broad', async () => {
    const silent = await startAnsweringElasticsearch(() => new Promise(() => undefined))
    const hasty = openDriver(silent.url, 100)
    closeLater({ close: () => hasty.close().then(silent.close) })
    const call = { operation: 'search', subject: 'all', method: 'POST', path: '/lines/_search' } as const
    const failure = await rejection(hasty.send(call))
    expect(failure).to.be.instanceOf(LateError)
    expect(failure.message).to.match(/^search all: .*\(not answered in 0\.1 s: 127.* too broad for it\)$/)
  })

  it('refuses a server that is too old, and says which is needed', async () => {
    const nodes = { a: { version: '8.19.21' }, b: { version: '8.9.1' } }
    await saying({ 'x-elastic-product': 'Elasticsearch' }, { nodes }, async (address) => {
      const failure = await rejection(makeReader(0, address).progress('fixture'))
      expect(failure.name).to.equal('PermanentError')
      expect(failure.message).to.match(/Elasticsearch 8\.9\.1 .*8\.19 or later is needed/)
    })
  })

  it('takes an answer that was cut off, or comes from something before it, for something that passes', async () => {
    const says = { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' }
    let answer: readonly [number, Readonly<Record<string, string>>, string] = [200, says, '{}']
    const server = createServer({ keepAliveTimeout: 0 }, ({ url: path }, response) => {
      const [status, headers, body] = path?.startsWith('/_nodes') === true ? [200, says, '{}'] : answer
      response.writeHead(status, headers).end(body)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    closeLater({ close: async () => void server.close() })
    const reader = makeReader(0, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const page = { 'content-type': 'text/html' }
    for (const given of [
      [200, says, '{"_source":{"live":"x'],
      [404, page, 'default backend'],
      [404, { 'content-type': 'application/json' }, '{}'],
      [200, page, 'under maintenance'],
      [500, page, 'sorry'],
    ] as const) {
      answer = given
      const failure = await rejection(reader.progress('fixture'))
      expect(failure.name, given.join()).to.equal('TransientError')
      expect(failure.message).to.match(/cut off, or is none of Elasticsearch's: look at what stands before 127.0.0.1:/)
    }
    // An index that is not there is told by Elasticsearch alone.
    answer = [404, says, '{}']
    expect(await reader.progress('fixture')).to.equal(undefined)
  })

  // The Elasticsearch of tests can keep no users: it lacks what their index is made of.
  it('says what is refused, which passes only where it has answered before', async () => {
    const says = { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' }
    let [status, type] = [200, '']
    const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
      response.writeHead(status, says).end(JSON.stringify(status === 200 ? {} : { error: { type, reason: 'x' } }))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    closeLater({ close: async () => void server.close() })
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const known = connectElasticsearch(address)
    closeLater(known)
    const call = { operation: 'look at', subject: 'it', method: 'GET', path: '/it' } as const
    await known.send(call)
    for (const [refused, reason, unknown, hint] of [
      [401, 'security_exception', 'PermanentError', 'check user and password'],
      [403, 'security_exception', 'PermanentError', 'the user of ELASTICSEARCH_URL lacks a right: give it monitor and'],
      [403, 'cluster_block_exception', 'TransientError', 'it is blocked'],
      [400, 'index_closed_exception', 'TransientError', 'it is closed'],
      [429, 'es_rejected_execution_exception', 'TransientError', 'it has no room for more now'],
    ] as const) {
      ;[status, type] = [refused, reason]
      const first = connectElasticsearch(address)
      closeLater(first)
      const failures = await Promise.all([known, first].map((one) => rejection(one.send(call))))
      expect(failures.map(({ name }) => name)).to.deep.equal(['TransientError', unknown])
      for (const { message } of failures) expect(message).to.contain(hint)
    }
  })

  it('refuses what is no Elasticsearch', async () => {
    await saying({}, { version: { number: '2.19.0', distribution: 'opensearch' } }, async (address) => {
      const failure = await rejection(makeReader(0, address).progress('fixture'))
      expect(failure.name).to.equal('PermanentError')
      expect(failure.message).to.contain('is not Elasticsearch')
    })
  })
})
