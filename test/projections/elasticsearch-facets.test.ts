import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { everything, index, scopeOf } from '#test/support/index-fixture.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

type Search = Readonly<{ aggs: Readonly<Record<string, Readonly<{ terms: Readonly<{ shard_size: number }> }>>> }>

describe('the most frequent values of a field in Elasticsearch', () => {
  let server: Server
  const sizes: number[] = []

  /** Days that have so many values that the smallest answer leaves out some of them. */
  const countsOf = ({ aggs }: Search) => {
    const size = aggs['level']?.terms.shard_size ?? 0
    sizes.push(size)
    const isWhole = size >= 100_000
    const buckets = [{ key: 'warn', doc_count: isWhole ? 7 : 3 }]
    return { aggregations: { level: { doc_count_error_upper_bound: isWhole ? 0 : 4, buckets } } }
  }

  before(async () => {
    server = createServer((request, response) => {
      response.setHeader('x-elastic-product', 'Elasticsearch').setHeader('content-type', 'application/json')
      const answer = async (): Promise<object> => {
        if (request.url?.startsWith('/_nodes') === true) return { nodes: { a: { version: '9.0.0' } } }
        return request.method === 'GET' ? { _source: { live: index } } : countsOf((await json(request)) as Search)
      }
      void answer().then((body) => response.end(JSON.stringify(body)))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => server.close())

  it('are asked for again, more of each day, until no day leaves out what might matter', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const reader = createElasticsearchIndexReader({ url, prefix: 'test', partition: 0, limits })
    const [facet] = await reader.facets(scopeOf('lines'), { filter: everything }, ['level'], 5)
    expect(facet).to.deep.equal({ field: 'level', values: [{ value: 'warn', count: 7 }] })
    expect(sizes).to.deep.equal([10_000, 100_000])
    await reader.close()
  })
})
