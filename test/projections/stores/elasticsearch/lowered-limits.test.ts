import { expect } from 'chai'
import { describe, it } from 'mocha'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { everything, index, lineEntry, scopeOf, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'

describe('a limit that somebody has lowered in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader } = useElasticsearchStores()
  const lower = (name: string, value: number | null) =>
    askElasticsearch(url(), `/${name}/_settings`, {
      method: 'PUT',
      body: JSON.stringify({ 'index.max_result_window': value }),
    })

  it('is named to whoever searches, with what to do', async () => {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    await lower(`${prefix()}-*`, 10)
    const asked = { filter: everything, orderBy: 'timeNs', direction: 'desc', limit: 100 } as const
    const failure = await rejection(makeReader().search(scopeOf('lines'), asked))
    expect(failure.name).to.equal('PermanentError')
    expect(failure.message).to.match(/\[index\.max_result_window\].*set what it names back/)
  })

  it('is waited for by whoever folds, and is no reason to stop', async () => {
    const writer = await openWriter()
    await lower(`${prefix()}-state`, 10)
    const failure = await rejection(writer.builds('fixture'))
    expect(failure.name, failure.message).to.equal('TransientError')
    expect(failure.message).to.match(/\[index\.max_result_window\].*set what it names back/)
    await lower(`${prefix()}-state`, null)
    expect((await writer.builds('fixture')).map((build) => build.index)).to.deep.equal([index])
  })
})
