import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { startAnsweringElasticsearch, type Asked } from '#test/support/answering-elasticsearch.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { acme, day, everything, index, other, scopeOf } from '#test/support/index-fixture.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

const place = { prefix: 'test', partition: 0 }

type Facets = Readonly<{ aggs: Readonly<{ level: Readonly<{ terms: Readonly<{ shard_size: number }> }> }> }>
type Places = Readonly<{ aggs: Readonly<{ places: Readonly<{ composite: Readonly<{ after?: object }> }> }> }>

describe('answers of Elasticsearch that are only the first of more', () => {
  it('are asked for again, more of each day, where a day has left out values that might be among the most frequent', async () => {
    const sizes: number[] = []
    const server = await startAnsweringElasticsearch(({ method, body }) => {
      if (method === 'GET') return { _source: { live: index } }
      const { shard_size: size } = (body as Facets).aggs.level.terms
      sizes.push(size)
      const isWhole = size >= 100_000
      const buckets = [{ key: 'warn', doc_count: isWhole ? 7 : 3 }]
      return { aggregations: { level: { doc_count_error_upper_bound: isWhole ? 0 : 4, buckets } } }
    })
    const reader = createElasticsearchIndexReader({ ...place, url: server.url, limits })
    const [facet] = await reader.facets(scopeOf('lines'), { filter: everything }, ['level'], 5)
    expect(facet).to.deep.equal({ field: 'level', values: [{ value: 'warn', count: 7 }] })
    expect(sizes).to.deep.equal([10_000, 100_000])
    await reader.close()
    server.close()
  })

  it('are gone on from, where a build has more parts than come at once', async () => {
    const name = `test-${index}-lines-${day.replaceAll('-', '.')}`
    let moments = 0
    const answerTo = ({ method, path, body }: Asked): object => {
      if (path.includes('/_doc/')) return { _source: { index, epoch: 'e', checkpoint: 9, shapes: '{}' } }
      if (path.startsWith('/_cluster/state')) return { metadata: { indices: { [name]: { state: 'open' } } } }
      if (path.includes('/_pit')) moments += method === 'DELETE' ? -1 : 1
      if (!path.startsWith('/_search')) return { id: 'moment' }
      const { after } = (body as Places).aggs.places.composite
      const key = { name, workspace: after === undefined ? acme : other }
      return { aggregations: { places: { buckets: [{ key }], ...(after === undefined && { after_key: key }) } } }
    }
    const server = await startAnsweringElasticsearch(answerTo)
    const audit = createElasticsearchIndexAudit({ ...place, url: server.url, partitions: 1 })
    expect(await audit.parts(index)).to.deep.equal([acme, other].map((workspaceId) => ({ workspaceId, day })))
    expect(moments, 'given back').to.equal(0)
    await audit.close()
    server.close()
  })
})
