import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { acme, day, epoch, everything, fixture, index, lineEntry, scopeOf, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { limits } from '#test/support/sqlite-fixture.ts'
import type { Engine } from '../../../../infra/engines/engine.ts'
import { startElasticsearch } from '../../../../infra/engines/elasticsearch.ts'

const count = 10
const prefix = 'unsynced'
const lines = `${prefix}-${index}-lines-${day.replaceAll('-', '.')}`

describe('an index that somebody has set to answer before it syncs', function () {
  this.timeout(enginesTimeoutMs)
  let engine: Engine
  before(async () => {
    engine = await startElasticsearch({ isBrief: true })
  })
  after(() => engine.remove())

  it('is set back within seconds, which is told, and lacks nothing of what is told as folded after a crash', async () => {
    let now = 0
    const told: (readonly string[])[] = []
    const { url } = engine
    const writer = createElasticsearchIndexWriter({
      url,
      prefix,
      partition: 0,
      refreshEveryMs: 0,
      now: () => now,
      onLazy: (names) => void told.push(names),
    })
    await writer.open(index, fixture, epoch)
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    const lazy = { 'index.translog.durability': 'async', 'index.translog.sync_interval': '1h' }
    await askElasticsearch(url, `/${lines}/_settings`, { method: 'PUT', body: JSON.stringify(lazy) })
    for (let position = 2; position <= count; position++) await write(writer, [lineEntry({}, position)], position)
    for (let times = 0; times < 2; times++) {
      now += 5_000
      await writer.heartbeat(index, { position: count, head: count, at: 1, caughtUpAt: 1 })
    }
    expect(told).to.deep.equal([[lines]])
    await writer.close()
    await engine.kill()
    await engine.start()
    const reader = createElasticsearchIndexReader({ url, prefix, partition: 0, limits })
    const found = async (): Promise<number> => {
      try {
        return await reader.count(scopeOf('lines', acme), { filter: everything })
      } catch {
        // Its shards are not back yet.
        return found()
      }
    }
    expect(await found()).to.equal(count)
    expect((await reader.progress('fixture'))?.position).to.equal(count)
    await reader.close()
  })
})
