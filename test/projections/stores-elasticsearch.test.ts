import { randomBytes } from 'node:crypto'
import { before, describe } from 'mocha'
import { createElasticsearchIndexReader } from '#projections/stores/elasticsearch/reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { indexStoreContract } from '#test/contracts/index-store.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import { removeIndices } from '#test/support/elasticsearch.ts'

const limits = { patternExpansionsMax: 1_000 }

describe('Elasticsearch', () => {
  let url = ''
  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
  })

  indexStoreContract('elasticsearch', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const place = { url, prefix, partition: 0 }
    return {
      open: async () => ({
        writer: createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0 }),
        reader: createElasticsearchIndexReader({ ...place, limits }),
      }),
      remove: () => removeIndices(url, prefix),
    }
  })
})
