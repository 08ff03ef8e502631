import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Projection } from '#projections/projection.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { epoch } from '#test/support/index-fixture.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append, atHead, start, totals } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

describe('the record of all builds, when somebody has removed it from Elasticsearch', () => {
  const { url, prefix, makeWriter, makeReader } = useElasticsearchStores()
  const removeState = () => askElasticsearch(url(), `/${prefix()}-state`, { method: 'DELETE' })

  it('is missed by who folds, and all is folded anew, into indices that hold nothing yet', async () => {
    const stream = createMemoryStream({ partition: '0', epoch })
    await append(stream, [['a'], ['a', 'b']])
    const failures: ProjectionFailure[] = []
    const run = start({ stream, writer: makeWriter(), failures })
    await run.until(await atHead(stream))
    await removeState()
    run.tick()
    const failure = await run.ended.catch((error: unknown) => error)
    expect(String(failure)).to.match(/fold counting \(the record of its builds was removed.*folded anew/)
    expect(failures.map(({ retried }) => retried)).to.deep.equal([false])
    const writer = makeWriter()
    const again = start({ stream, writer })
    await again.until(await atHead(stream))
    expect(await liveOf(writer, 'counting')).to.equal('counting-v1-002')
    expect(await totals(makeReader())).to.deep.equal({ a: 2, b: 1 })
    await again.stop()
  })

  for (const [what, id] of [
    ['a build', 'build:counting-v1-001:0'],
    ['the builds of one projection', 'roster:counting:0'],
  ] as const) {
    it(`may be that of ${what} alone: who folds begins again, all of its projections, and nothing is double`, async () => {
      const stream = createMemoryStream({ partition: '0', epoch })
      await append(stream, [['a'], ['a', 'b']])
      const projections = [counting, mirror]
      const run = start({ stream, writer: makeWriter(), projections })
      await run.until(await atHead(stream))
      await askElasticsearch(url(), `/${prefix()}-state/_doc/${id}`, { method: 'DELETE' })
      run.tick()
      expect(String(await run.ended.catch((error: unknown) => error))).to.match(/record .*removed.*folded anew/)
      const again = start({ stream, writer: makeWriter(), projections })
      await append(stream, [['b']], 3)
      const isThere = await atHead(stream)
      const until = ({ name }: Projection) =>
        again.until((heartbeat, index) => index.startsWith(name) && isThere(heartbeat))
      await Promise.all(projections.map(until))
      const reader = makeReader()
      for (const { name } of projections) expect(await totals(reader, name), name).to.deep.equal({ a: 2, b: 2 })
      await again.stop()
    })
  }

  it('leaves a name free whose indices another partition has made', async () => {
    const stream = createMemoryStream({ partition: '0', epoch })
    await append(stream, [['a']])
    for (const partition of [0, 1]) {
      const writer = makeWriter({ partition })
      const run = start({ stream, writer })
      await run.until(await atHead(stream))
      expect(await liveOf(writer, 'counting')).to.equal('counting-v1-001')
      await run.stop()
    }
  })
})
