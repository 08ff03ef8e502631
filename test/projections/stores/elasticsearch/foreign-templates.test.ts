import { expect } from 'chai'
import { describe, it } from 'mocha'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, day, everything, index, lineEntry, scopeOf, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'

/** What a template of somebody else may say of indices whose names it matches. */
const templates: Readonly<Record<string, object>> = {
  'are kept as logs with a field of their own for the time': { settings: { 'index.mode': 'logsdb' } },
  'keep no documents': { settings: { 'index.mapping.source.mode': 'disabled' } },
  'leave long values out': { settings: { 'index.mapping.ignore_above': 3 } },
  'index nothing': { mappings: { enabled: false } },
}

describe('a template of somebody else that matches the names of our indices', () => {
  const { url, prefix, openWriter, makeReader } = useElasticsearchStores()
  const page = { orderBy: 'timeNs', direction: 'asc', limit: 9 } as const
  const line = (position: number) => lineEntry({ service: ['checkout'], text: 'paid' }, position)

  async function under<T>(template: object, task: () => Promise<T>): Promise<T> {
    const path = `/_index_template/${prefix()}-of-somebody-else`
    const body = JSON.stringify({ index_patterns: [`${prefix()}-*`], priority: 1e6, template })
    expect(await askElasticsearch(url(), path, { method: 'PUT', body })).to.not.have.property('error')
    try {
      return await task()
    } finally {
      await askElasticsearch(url(), path, { method: 'DELETE' })
    }
  }

  async function written() {
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    await write(writer, [line(1), line(2), thingEntry('a thing', {}, 2)], 2)
    await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
    return writer
  }

  for (const [what, template] of Object.entries(templates)) {
    it(`does not say that they ${what}: all is found`, () =>
      under(template, async () => {
        await written()
        const filter = { kind: 'keyword', field: 'service', values: ['checkout'] } as const
        const found = await makeReader().search(scopeOf('lines'), { ...page, filter })
        expect(found.map(({ document }) => document)).to.have.deep.members([line(1).document, line(2).document])
      }))
  }

  it('and leaves a part out of documents is named to whoever searches or folds, which no event is at fault for', () =>
    under({ mappings: { _source: { excludes: ['b'] } } }, async () => {
      const writer = await written()
      const key = { workspaceId: acme, collection: 'things', id: 'a thing', day }
      for (const task of [
        () => writer.load(index, [key]),
        () => makeReader().search(scopeOf('lines'), { ...page, filter: everything }),
      ]) {
        const failure = await rejection(task())
        expect(failure.name, failure.message).to.equal('PermanentError')
        expect(failure.message).to.match(/mapping or settings are not as they were made: rebuild the projection/)
      }
    }))
})
