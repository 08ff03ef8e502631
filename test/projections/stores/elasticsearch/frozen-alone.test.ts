import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { JsonObject } from '#src/lib/json.ts'
import type { Answer, Call, Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { freezeBuild } from '#projections/stores/elasticsearch/frozen-build.ts'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import { createRecords } from '#projections/stores/elasticsearch/records.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { rejection } from '#test/support/read-all.ts'

type Search = Readonly<{ pit: { id: string }; size: number; search_after?: readonly [string, number] }>

describe('a build in Elasticsearch that is to be read as of one moment', () => {
  /** Freezes a build of one index, whose refresh is answered so. */
  const freeze = (refreshed: JsonObject, opened: JsonObject = {}) => {
    const names = createNames('x')
    const elasticsearch = answering(({ path }): JsonObject => {
      if (path.includes('/_doc/')) return { _source: { index: 'logs-v1-001', shapes: '{}' } }
      if (path.startsWith('/_cluster/state')) return { metadata: { indices: { 'x-logs-v1-001-logs-2026.11.21': {} } } }
      return path.endsWith('/_refresh') ? refreshed : { id: 'moment', ...opened }
    })
    const records = createRecords(elasticsearch, names)
    return freezeBuild({ elasticsearch, names, records, stateVersion: async () => 1, partition: 0 }, 'logs-v1-001')
  }

  it('is not, where a shard could not show what was written: an erasure would leave it', async () => {
    expect([...(await freeze({ _shards: { failed: 0 } })).indices]).to.have.length(1)
    expect((await rejection(freeze({ _shards: { failed: 1 } }))).name).to.equal('TransientError')
  })

  it('is not, where the user may not read it: an erasure would find nothing', async () => {
    expect([...(await freeze({}, { _shards: { total: 1 } })).indices]).to.have.length(1)
    const failure = await rejection(freeze({}, { _shards: { total: 0 } }))
    expect(failure.message).to.match(/^freeze logs-v1-001: .*lacks a right/)
  })

  it('tells each document once, where its last page ended at one that stands elsewhere in the next moment', async () => {
    const [day, names] = ['x-logs-v1-001-logs-2026.11.21', createNames('x')]
    const hit = (id: string, place: number): JsonObject => ({ _id: id, _version: 1, sort: [id, place] })
    const ids = Array.from({ length: 33 }, (_, order) => String.fromCharCode(65 + order))
    let moments = 0
    const send: Elasticsearch['send'] = async ({ method, path, body }) => {
      if (method === 'POST' && path.endsWith('/_pit')) return { status: 200, body: { id: `moment ${++moments}` } }
      if (path.includes('/_doc/')) return { status: 200, body: { _source: { index: 'logs-v1-001', shapes: '{}' } } }
      if (path.startsWith('/_cluster/state')) return { status: 200, body: { metadata: { indices: { [day]: {} } } } }
      if (path !== '/_search') return { status: 200, body: {} }
      const { pit, size, search_after: [id = '', place = 0] = [] } = body as Search
      if (pit.id === 'moment 1' && id !== '') return { status: 404, body: {} }
      // After a merge each stands further on than before.
      const all = ids.map((each, order) => ({ each, at: order + (pit.id === 'moment 1' ? 0 : 100) }))
      const rest = all.filter(({ each, at }) => each > id || (each === id && at > place))
      return { status: 200, body: { hits: { hits: rest.slice(0, size).map(({ each, at }) => hit(each, at)) } } }
    }
    const elasticsearch = { send, close: async () => undefined }
    const records = createRecords(elasticsearch, names)
    const place = { elasticsearch, names, records, stateVersion: async () => 1, partition: 0 }
    const told: string[] = []
    for await (const { key } of (await freezeBuild(place, 'logs-v1-001')).documents(day, { match_all: {} }))
      told.push(key)
    expect(moments).to.equal(2)
    expect(told).to.deep.equal(ids)
  })

  const [day, ids] = ['x-logs-v1-001-logs-2026.11.21', Array.from({ length: 33 }, (_, order) => `id ${10 + order}`)]

  /** Freezes a build of these documents. Its moment is lost with the second page, so many times; and each page gives it another name. */
  async function freezeWithLosses(losses: number) {
    const names = createNames('x')
    let [moments, now] = [0, '']
    const [queries, released]: [Call['query'][], unknown[]] = [[], []]
    const search = (body: Search): Answer => {
      const [, place = 0] = body.search_after ?? []
      if (body.pit.id !== now || (moments <= losses && place > 0)) return { status: 404, body: {} }
      now += '+'
      const hits = ids.map((id, order): JsonObject => ({ _id: id, sort: [id, order + 1] }))
      return { status: 200, body: { pit_id: now, hits: { hits: hits.slice(place, place + body.size) } } }
    }
    const send: Elasticsearch['send'] = async ({ method, path, query, body }) => {
      if (method === 'POST' && path.endsWith('/_pit'))
        return { status: 200, body: { id: (now = `moment ${++moments}`) } }
      if (method === 'DELETE') released.push((body as Search['pit']).id)
      if (path.includes('/_doc/')) return { status: 200, body: { _source: { index: 'logs-v1-001', shapes: '{}' } } }
      if (path.startsWith('/_cluster/state')) return { status: 200, body: { metadata: { indices: { [day]: {} } } } }
      if (path !== '/_search') return { status: 200, body: {} }
      if (queries.push(query) > 100) throw new Error('it is asked without an end')
      return search(body as Search)
    }
    const elasticsearch = { send, close: async () => undefined }
    const records = createRecords(elasticsearch, names)
    const place = { elasticsearch, names, records, stateVersion: async () => 1, partition: 0 }
    const build = await freezeBuild(place, 'logs-v1-001')
    const visited: string[][] = []
    const visit = () =>
      build.visit(day, { match_all: {} }, () => {
        const mine: string[] = []
        visited.push(mine)
        return ({ key }) => void mine.push(key)
      })
    return { visit, visited, queries, released }
  }

  it('is visited anew from its first document where its moment is lost on the way, and keeps none that are lost', async () => {
    const { visit, visited, released } = await freezeWithLosses(1)
    await visit()
    expect(visited).to.have.length(2)
    expect(visited[0]?.length).to.be.within(1, 32)
    expect(visited[1]).to.deep.equal(ids)
    expect(released).to.deep.equal(['moment 1+'])
  })

  it('is read whole or not at all, and not for ever where each moment is lost', async () => {
    const { visit, queries } = await freezeWithLosses(15)
    expect((await rejection(visit())).name).to.equal('TransientError')
    for (const query of queries) expect(query).to.deep.equal({ allow_partial_search_results: false })
  })
})
