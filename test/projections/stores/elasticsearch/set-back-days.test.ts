import { expect } from 'chai'
import { describe, it } from 'mocha'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { index, lineEntry, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'

describe('settings of an index that somebody has changed in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, count, dayIndex } = useElasticsearchStores()
  const ask = (path: string, method: string, body?: object) =>
    askElasticsearch(url(), path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const change = (name: string, settings: object) => ask(`/${name}/_settings`, 'PUT', settings)
  const piped = (pipeline: string) => change(dayIndex('lines'), { 'index.final_pipeline': pipeline })

  async function opened() {
    let now = 0
    const told: (readonly [string, ...string[]])[] = []
    const hear =
      (what: string) =>
      (names: readonly string[]): void =>
        void told.push([what, ...names])
    const hearing = { onPiped: hear('piped'), onLazy: hear('lazy'), onLost: hear('lost'), onClosed: hear('closed') }
    const writer = await openWriter({ now: () => now, ...hearing })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
    const beat = () => {
      now += 5_000
      return writer.heartbeat(index, { position: 1, head: 1, at: 1, caughtUpAt: 1 })
    }
    return { writer, told, beat }
  }

  it('a pipeline that drops what is written is taken away within seconds, which is told', async () => {
    const { writer, told, beat } = await opened()
    await ask(`/_ingest/pipeline/${prefix()}`, 'PUT', { processors: [{ drop: {} }] })
    try {
      await piped(prefix())
      for (let times = 0; times < 2; times++) await beat()
      expect(told).to.deep.equal([['piped', dayIndex('lines')]])
      await write(writer, [lineEntry({}, 2)], 2)
      expect(await count(makeReader())).to.equal(2)
    } finally {
      await piped('_none')
      await ask(`/_ingest/pipeline/${prefix()}`, 'DELETE')
    }
  })

  it('one that may not be changed keeps nobody from setting back the others', async () => {
    const { told, beat } = await opened()
    const lazy = { 'index.translog.durability': 'async' }
    await change(dayIndex('lines'), { ...lazy, 'index.blocks.read_only': true })
    await change(dayIndex('things'), lazy)
    await beat()
    expect(told).to.deep.equal([['lazy', dayIndex('things')]])
    await change(dayIndex('lines'), { 'index.blocks.read_only': false })
    await beat()
    expect(told.slice(1)).to.deep.equal([['lazy', dayIndex('lines')]])
  })
})
