import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Json, JsonObject } from '#src/lib/json.ts'
import { LargeAnswerError, type Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { lookUp } from '#projections/stores/elasticsearch/look-up.ts'
import { find, searchPages } from '#projections/stores/elasticsearch/search.ts'
import { createSeenSizes } from '#projections/stores/elasticsearch/seen-sizes.ts'
import { expandPatterns } from '#projections/stores/elasticsearch/expand.ts'
import { selectionQuery } from '#projections/stores/elasticsearch/filter.ts'
import { ask as search, type Target } from '#projections/stores/elasticsearch/ask.ts'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import { forbiddenHint } from '#projections/stores/elasticsearch/reasons.ts'
import { createRecords } from '#projections/stores/elasticsearch/records.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { acme } from '#test/support/index-fixture.ts'
import { rejection } from '#test/support/read-all.ts'

describe('documents that are looked up in Elasticsearch', () => {
  const placeOf = (key: string) => ({ index: 'lines-1', key, workspaceId: acme })
  const ask = (keys: readonly string[], answerTo: (key: string) => JsonObject) => {
    const elasticsearch = answering(({ body }) => ({
      docs: (body as { docs: readonly { _id: string }[] }).docs.map(({ _id }) => answerTo(_id)),
    }))
    return lookUp(elasticsearch, keys.map(placeOf), [])
  }

  it('come in the order asked, however many they are', async () => {
    const numbers = Array.from({ length: 2_500 }, (_, number) => number)
    const found = await ask(numbers.map(String), (key) => ({ found: true, _version: Number(key), _source: {} }))
    expect(found.map((document) => document?.version)).to.deep.equal(numbers)
  })

  it('are asked for few at first, fewer where they are too large together, and one alone whatever its size', async () => {
    const asked: number[] = []
    const elasticsearch = answering(({ body, bytesMax }) => {
      const { docs } = body as { docs: readonly { _id: string }[] }
      asked.push(docs.length)
      if (bytesMax !== undefined && docs.length * 8 * 1024 * 1024 > bytesMax) throw new LargeAnswerError('documents')
      return { docs: docs.map(({ _id }) => ({ found: true, _version: Number(_id), _source: {} })) }
    })
    const numbers = Array.from({ length: 300 }, (_, number) => number)
    const found = await lookUp(elasticsearch, numbers.map(String).map(placeOf), [])
    expect(found.map((document) => document?.version)).to.deep.equal(numbers)
    expect(asked.slice(0, 5)).to.deep.equal([32, 8, 2, 3, 1])
    const huge = answering(({ bytesMax }) => {
      if (bytesMax !== undefined) throw new LargeAnswerError('documents')
      return { docs: [{ found: true, _version: 7, _source: {} }] }
    })
    expect(await lookUp(huge, ['a', 'b', 'c'].map(placeOf), [])).to.have.length(3)
  })

  it('are not there where the index is not, and are not known where it cannot be asked', async () => {
    let asked = 0
    const failed = (type: string) => {
      asked = 0
      return ask(['a'], () => {
        asked++
        return { error: { type } }
      })
    }
    expect(await failed('index_not_found_exception')).to.deep.equal([undefined])
    expect((await rejection(failed('no_shard_available_action_exception'))).name).to.equal('TransientError')
    expect(asked, 'for three seconds').to.equal(7)
    expect((await rejection(failed('index_closed_exception'))).name).to.equal('TransientError')
    expect(asked, 'it stays closed').to.equal(1)
  })
})

describe('searches in Elasticsearch', () => {
  /** How often it was asked, and the answer, where the queue of searches is full so many times. */
  async function searched(timesFull: number) {
    let asked = 0
    const send: Elasticsearch['send'] = async () => {
      asked++
      const error = { type: 'es_rejected_execution_exception', reason: 'rejected' }
      return asked <= timesFull ? { status: 429, body: { error } } : { status: 200, body: { took: 1 } }
    }
    const elasticsearch = { send, close: async () => undefined }
    const answer = await search({ elasticsearch, indices: 'lines-*', workspaceId: acme }, {}).catch(
      (error: Error) => error,
    )
    return { asked, answer }
  }

  /** Small documents were found there before. */
  const seenSmall = (indices: string): Target['seen'] => {
    const seen = createSeenSizes()
    seen.saw(`${indices} ${acme}`, 10)
    return seen
  }

  /** The sizes of the pages of searches one after the other, each for documents of so many characters, and what they find. */
  async function pageSizes(searches: readonly Readonly<{ characters: number; limit: number }>[]) {
    const pages: (readonly number[])[] = []
    const found: number[] = []
    const target = { indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    for (const { characters, limit } of searches) {
      const sizes: number[] = []
      const b = JSON.stringify({ m: 'x'.repeat(characters - 8) })
      const elasticsearch = answering(({ body }) => {
        const { size, search_after: after } = body as { size: number; search_after?: readonly [number] }
        const first = after === undefined ? 0 : after[0] + 1
        sizes.push(size)
        const hits = Array.from({ length: size }, (_, at) => first + at).map((t): Json => {
          const i = String(t).padStart(6, '0')
          return { _source: { i, t, p: 1, b }, sort: [t, i, 1] }
        })
        return { hits: { hits } }
      })
      const page = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit } as const
      const hits = await searchPages({ ...target, elasticsearch }, {}, { ...page, charactersMax: 4_000_000 })
      pages.push(sizes)
      found.push(hits.length)
    }
    return { pages, found }
  }

  it('ask for no more than fits, if documents are as large as those found there before', async () => {
    const large = { characters: 900_000, limit: 101 }
    expect(await pageSizes([large, large])).to.deep.equal({ pages: [[16], [6]], found: [4, 4] })
  })

  it('for small documents are one request each, but for the first one there', async () => {
    const small = { characters: 500, limit: 101 }
    expect(await pageSizes([small, small])).to.deep.equal({ pages: [[16, 85], [101]], found: [101, 101] })
  })

  it('ask for more and more small documents, up to two thousand at once', async () => {
    const { pages } = await pageSizes([{ characters: 20, limit: 5_000 }])
    expect(pages).to.deep.equal([[16, 128, 256, 512, 1_024, 2_000, 1_064]])
  })

  it('learn nothing of the size of documents where they find none', async () => {
    const sizes: number[] = []
    const elasticsearch = answering(({ body }) => {
      sizes.push((body as { size: number }).size)
      return { hits: { hits: [] } }
    })
    const target = { elasticsearch, indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    const page = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 100 } as const
    for (let times = 0; times < 2; times++) await searchPages(target, {}, { ...page, charactersMax: 1_000 })
    expect(sizes).to.deep.equal([16, 16])
  })

  it('do not take documents for small again because one search has found small ones', async () => {
    const [large, small] = [
      { characters: 900_000, limit: 101 },
      { characters: 500, limit: 101 },
    ]
    const { pages } = await pageSizes([large, small, large])
    expect(pages).to.deep.equal([[16], [6, 95], [6]])
  })

  it('ask for fewer hits where a circuit breaker stops them', async () => {
    const sizes: number[] = []
    const hit = { _source: { i: 'a', t: 1, p: 1, b: '{}' }, sort: [1, 'a', 1] }
    const send: Elasticsearch['send'] = async ({ body }) => {
      const { size } = body as { size: number }
      sizes.push(size)
      const error = { type: 'circuit_breaking_exception', reason: 'Data too large' }
      return size > 10 ? { status: 429, body: { error } } : { status: 200, body: { hits: { hits: [hit] } } }
    }
    const target = { elasticsearch: { send, close: async () => undefined }, indices: 'lines-*', workspaceId: acme }
    const page = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 100 } as const
    const where = { ...target, fromDay: undefined, seen: seenSmall('lines-*') }
    const hits = await searchPages(where, {}, { ...page, charactersMax: 1_000 })
    expect(hits.map(({ id }) => id)).to.deep.equal(['a'])
    expect(sizes).to.deep.equal([100, 25, 7])
    sizes.length = 0
    await find(
      where,
      Array.from({ length: 100 }, (_, number) => String(number)),
    )
    expect(sizes.slice(0, 3)).to.deep.equal([32, 8, 10])
  })

  it('go on after a page for which there was room only when it was smaller', async () => {
    const send: Elasticsearch['send'] = async ({ body }) => {
      const { size, search_after: after = [-1] } = body as { size: number; search_after?: readonly [number] }
      const error = { type: 'circuit_breaking_exception', reason: 'Data too large' }
      if (size > 10) return { status: 429, body: { error } }
      const hits = Array.from({ length: size }, (_, at) => after[0] + 1 + at).map((t): Json => {
        return { _source: { i: String(t), t, p: 1, b: '{}' }, sort: [t, String(t), 1] }
      })
      return { status: 200, body: { hits: { hits } } }
    }
    const target = { elasticsearch: { send, close: async () => undefined }, indices: 'lines-*', workspaceId: acme }
    const page = { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 40 } as const
    const where = { ...target, fromDay: undefined, seen: seenSmall('lines-*') }
    const hits = await searchPages(where, {}, { ...page, charactersMax: 1_000 })
    expect(hits.map(({ timeNs }) => Number(timeNs))).to.deep.equal(Array.from({ length: 40 }, (_, at) => at))
  })

  it('find nothing where there is no index, and fail where there is one that the user may not read, which wildcards pass over', async () => {
    const stored = {
      metadata: { indices: { 'lines-2026.11.21': { state: 'open' }, 'lines-2026.11.22': { state: 'close' } } },
    }
    const searched = (total: number, there: JsonObject) => {
      const elasticsearch = answering(({ path }) =>
        path.startsWith('/_cluster/state') ? there : { _shards: { total } },
      )
      return search({ elasticsearch, indices: 'lines-*', workspaceId: acme }, {})
    }
    const failure = await rejection(searched(0, stored))
    expect([failure.name, failure.message]).to.deep.equal([
      'TransientError',
      `search lines-*: not all of its indices may be read (${forbiddenHint})`,
    ])
    for (const [total, there] of [
      [1, stored],
      [0, {}],
    ] as const)
      expect(await searched(total, there)).to.deep.equal({ _shards: { total } })
    const first = [0, 1]
    const elasticsearch = answering(({ path }) =>
      path.startsWith('/_cluster/state') ? stored : { _shards: { total: first.shift() ?? 1 } },
    )
    const answer = await search({ elasticsearch, indices: 'lines-*', workspaceId: acme }, {})
    expect(answer, 'it was made just now').to.deep.equal({ _shards: { total: 1 } })
  })

  it('are asked again where one of their indices was dropped just now', async () => {
    const error = { type: 'index_not_found_exception', reason: 'no such index' }
    const answers = [{ status: 404, body: { error } }]
    const send: Elasticsearch['send'] = async () => answers.pop() ?? { status: 200, body: { took: 1 } }
    const elasticsearch = { send, close: async () => undefined }
    expect(await search({ elasticsearch, indices: 'lines-*', workspaceId: acme }, {})).to.deep.equal({ took: 1 })
  })

  it('are asked again while its queue is full, for a while, and then say so', async () => {
    expect(await searched(2)).to.deep.equal({ asked: 3, answer: { took: 1 } })
    const { answer } = await searched(Infinity)
    expect(answer).to.include({ name: 'TransientError' })
    expect(String(answer)).to.include('it has no room for more now')
  })
})

describe('what stands before a search in Elasticsearch', () => {
  /** What a task gives, and how often it asks, where a circuit breaker stops its first request, and no shard answers the second. */
  async function stopped<T>(answer: JsonObject, task: (elasticsearch: Elasticsearch) => Promise<T>) {
    let asked = 0
    const error = { type: 'circuit_breaking_exception', reason: 'Data too large' }
    const send: Elasticsearch['send'] = async ({ accept = [] }) => {
      const status = [429, 503][asked++] ?? 200
      if (status !== 200 && !accept.includes(status)) throw new Error('it is not asked again')
      return { status, body: status === 200 ? answer : { error } }
    }
    return { given: await task({ send, close: async () => undefined }), asked }
  }

  it('is asked for again where there is no room for it, as the search is', async () => {
    const record = await stopped({ _source: { a: 1 } }, (elasticsearch) =>
      createRecords(elasticsearch, createNames('x')).read('roster:logs:0'),
    )
    expect([record.given?.source, record.asked]).to.deep.equal([{ a: 1 }, 3])
    const place = { index: 'lines-1', key: 'a', workspaceId: acme }
    const document = await stopped({ docs: [{ found: true, _version: 7 }] }, (elasticsearch) =>
      lookUp(elasticsearch, [place], []),
    )
    expect(document.asked).to.equal(3)
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a.*' } as const
    const target = { indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    const words = await stopped({ _shards: { failed: 0 }, explanations: [] }, (elasticsearch) =>
      expandPatterns(
        { ...target, elasticsearch },
        { filter: pattern },
        {
          patternExpansionsMax: 9,
        },
      ),
    )
    expect(words.asked).to.equal(3)
  })

  it('is asked for again where a shard has not told its words', async () => {
    const explained = (index: string, words: string) => ({
      index: `lines-${index}`,
      valid: true,
      explanation: words,
    })
    const [some, all] = [[explained('2026.11.21', 'x_message:a1')], [explained('2026.11.22', 'x_message:a2')]]
    const answers = [{ _shards: { failed: 1 }, explanations: some }]
    const whole = { _shards: { failed: 0 }, explanations: [...some, ...all] }
    const elasticsearch = answering(() => answers.pop() ?? whole)
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a.*' } as const
    const target = { elasticsearch, indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    const expansions = await expandPatterns(target, { filter: pattern }, { patternExpansionsMax: 9 })
    expect(expansions.get(pattern)?.get('message')).to.deep.equal(['a1', 'a2'])
  })

  it('is not called too complex where Elasticsearch takes no patterns at all', async () => {
    // As 8.19.21 answers with `search.allow_expensive_queries: false`.
    const error =
      "QueryShardException: failed to create query: [regexp] queries cannot be executed when 'search.allow_expensive_queries' is set to false."
    const explanations = [{ index: 'lines-2026.11.21', valid: false, error }]
    const elasticsearch = answering(() => ({ _shards: { failed: 0 }, explanations }))
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a.*' } as const
    const target = { elasticsearch, indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    const expanding = expandPatterns(target, { filter: pattern }, { patternExpansionsMax: 9 })
    const failure = await rejection(expanding)
    expect(failure.name).to.equal('PermanentError')
    expect(failure.message).to.match(/take the cluster setting search\.allow_expensive_queries back/)
  })

  it('is not called too broad where somebody has lowered how many buckets there may be', async () => {
    // As 8.19.21 answers with `search.max_buckets: 3`.
    const reason =
      'Trying to create too many buckets. Must be less than or equal to: [3] but was [4]. This limit can be set by changing the [search.max_buckets] cluster level setting.'
    const error = { type: 'too_many_buckets_exception', reason }
    const send: Elasticsearch['send'] = async () => ({ status: 400, body: { error } })
    const elasticsearch = { send, close: async () => undefined }
    const failure = await rejection(search({ elasticsearch, indices: 'lines-*', workspaceId: acme }, {}))
    expect(failure.name).to.equal('PermanentError')
    expect(failure.message).to.match(/search\.max_buckets.*set what it names back/)
  })

  it('asks once for the days that a range of time touches, for all patterns of a search', async () => {
    const explanations = [{ index: 'lines-2026.11.21', valid: true, explanation: 'x_message:a1 x_message:a2' }]
    let asked = 0
    const elasticsearch = answering(({ path, body }) => {
      if (path.endsWith('/_search') && 'aggs' in (body as object)) asked++
      return { _shards: { failed: 0 }, explanations, hits: { hits: [] } }
    })
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a.*' } as const
    const filter = { kind: 'or', of: [1, 2, 3].map(() => ({ ...pattern })) } as const
    const target = { elasticsearch, indices: 'lines-*', workspaceId: acme, fromDay: undefined, seen: createSeenSizes() }
    await expandPatterns(target, { filter, fromNs: 0n }, { patternExpansionsMax: 1 })
    expect(asked).to.equal(1)
  })

  it('has as many lists of words as the server takes them in, a thousand words of each of a hundred days', () => {
    const pattern = { kind: 'pattern', fields: ['message'], prefix: '', regex: '.*' } as const
    const words = Array.from({ length: 100_000 }, (_, n) => `w${n}`)
    const query = selectionQuery(acme, { filter: pattern }, new Map([[pattern, new Map([['message', words]])]]))
    const lists = [words.slice(0, 65_536), words.slice(65_536)].map((some) => ({ terms: { x_message: some } }))
    expect(query).to.deep.equal({ bool: { filter: [{ term: { _routing: acme } }, { bool: { should: lists } }] } })
  })

  it('is looked for in the documents of its own workspace, of those days that are asked for', async () => {
    const days = ['18', '19', '20'].map((each) => `lines-2026.11.${each}`)
    const explanation = 'x_message:a1 x_message:a2'
    const explanations = days.map((name) => ({ index: name, valid: true, explanation }))
    const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a.*' } as const
    for (const fromDay of [undefined, '2026-11-19']) {
      const inDays = { terms: { _index: fromDay === undefined ? days : days.slice(1) } }
      const queries: string[] = []
      const elasticsearch = answering(({ path, body }) => {
        if (path.endsWith('/_search')) queries.push(JSON.stringify((body as { query: unknown }).query))
        return { _shards: { failed: 0 }, explanations, hits: { hits: [] } }
      })
      const target = { elasticsearch, indices: 'lines-*', workspaceId: acme, fromDay, seen: createSeenSizes() }
      await expandPatterns(target, { filter: pattern }, { patternExpansionsMax: 1 })
      expect(queries).to.have.length(1)
      expect(queries[0])
        .to.include(JSON.stringify({ term: { _routing: acme } }))
        .and.include('regexp')
        .and.include(JSON.stringify(inDays))
    }
  })

  it('is looked for in the documents where all words are more than may be told, though few of those that were match', async () => {
    const expanded = async (explanation: string) => {
      const asked: string[] = []
      const explanations = [{ index: 'lines-2026.11.21', valid: true, explanation }]
      const elasticsearch = answering(({ path }) => {
        asked.push(path)
        return { _shards: { failed: 0 }, explanations, hits: { hits: [] } }
      })
      const pattern = { kind: 'pattern', fields: ['message'], prefix: 'a', regex: 'a1' } as const
      const target = {
        elasticsearch,
        indices: 'lines-*',
        workspaceId: acme,
        fromDay: undefined,
        seen: createSeenSizes(),
      }
      await expandPatterns(target, { filter: pattern }, { patternExpansionsMax: 1 })
      return asked
    }
    const places = '/lines-*,-lines-*-*,-lines-*_*,-lines-*.*.*.*'
    expect(await expanded('x_message:a1')).to.deep.equal([`${places}/_validate/query`])
    expect(await expanded('x_message:a1 x_message:a2')).to.deep.equal([
      `${places}/_validate/query`,
      `${places}/_search`,
    ])
  })
})
