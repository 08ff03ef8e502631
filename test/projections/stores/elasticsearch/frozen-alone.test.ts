import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { JsonObject } from '#src/lib/json.ts'
import { freezeBuild } from '#projections/stores/elasticsearch/frozen-build.ts'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import { createRecords } from '#projections/stores/elasticsearch/records.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { rejection } from '#test/streams/read-all.ts'

describe('a build in Elasticsearch that is to be read as of one moment', () => {
  /** Freezes a build of one index, whose refresh is answered so. */
  const freeze = (refreshed: JsonObject) => {
    const names = createNames('x')
    const elasticsearch = answering(({ path }): JsonObject => {
      if (path.includes('/_doc/')) return { _source: { index: 'logs-v1-001', shapes: '{}' } }
      if (path.startsWith('/_cluster/state')) return { metadata: { indices: { 'x-logs-v1-001-logs-2026.11.21': {} } } }
      return path.endsWith('/_refresh') ? refreshed : { id: 'moment' }
    })
    const records = createRecords(elasticsearch, names)
    return freezeBuild({ elasticsearch, names, records, stateVersion: async () => 1, partition: 0 }, 'logs-v1-001')
  }

  it('is not, where a shard could not show what was written: an erasure would leave it', async () => {
    expect([...(await freeze({ _shards: { failed: 0 } })).indices]).to.have.length(1)
    expect((await rejection(freeze({ _shards: { failed: 1 } }))).name).to.equal('TransientError')
  })
})
