import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { ProjectionFailure } from '#projections/folding/lanes.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { epoch } from '#test/support/index-fixture.ts'
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
