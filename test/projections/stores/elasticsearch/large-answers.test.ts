import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { LargeAnswerError } from '#projections/stores/elasticsearch/call.ts'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { searchPages } from '#projections/stores/elasticsearch/search.ts'
import { createSeenSizes } from '#projections/stores/elasticsearch/seen-sizes.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const recordsMax = 180
/** The first records are small: whoever goes by their size asks for many of the others at once. */
const smallMax = 150
const text = 'x'.repeat(1024 * 1024)

const hitOf = (n: number) => ({
  _source: { i: `id ${n}`, t: n, p: 1, b: JSON.stringify({ text: n < smallMax ? '' : text }) },
  sort: [n, `id ${n}`, 1],
})

describe('answers of Elasticsearch', () => {
  let server: Server
  let url = ''
  /** How many hits were asked for, and how many bytes of each answer were read. */
  const asked: number[] = []
  const read: number[] = []

  before(async () => {
    server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      response.setHeader('x-elastic-product', 'Elasticsearch')
      response.setHeader('content-type', 'application/json')
      const answer = async (): Promise<void> => {
        // Also HEAD, by which a client asks one that is silent for seconds, as on a busy machine.
        if (request.method !== 'POST') return void response.end('{"nodes":{"a":{"version":"9.0.0"}}}')
        const { size, search_after: after = [-1] } = (await json(request)) as { size: number; search_after?: number[] }
        asked.push(size)
        const at = (after[0] ?? -1) + 1
        const hits = Array.from({ length: Math.min(size, recordsMax - at) }, (_, n) => hitOf(at + n))
        const parts = ['{"hits":{"hits":[', ...hits.map((hit, n) => (n > 0 ? ',' : '') + JSON.stringify(hit)), ']}}']
        // With the length of the answer before it.
        if (request.url?.startsWith('/whole')) return void response.end(parts.join(''))
        const before = request.socket.bytesWritten
        response.on('close', () => read.push(request.socket.bytesWritten - before))
        for (const part of parts) {
          if (!response.write(part)) await new Promise((resolve) => setTimeout(resolve, 2))
          if (response.destroyed) return
        }
        response.end()
      }
      void answer()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => server.close())
  beforeEach(() => {
    asked.length = 0
    read.length = 0
  })

  it('are not read where the length that they announce is beyond that, and nothing else comes of it', async () => {
    const elasticsearch = connectElasticsearch(url)
    const call = { operation: 'search', subject: 'test', method: 'POST', path: '/whole/_search' } as const
    const ask = (bytesMax: number) =>
      elasticsearch.send({ ...call, body: { size: 4, search_after: [smallMax] }, bytesMax })
    expect(await ask(2 * 1024 * 1024).catch((error: unknown) => error)).to.be.instanceOf(LargeAnswerError)
    expect((await ask(8 * 1024 * 1024)).status).to.equal(200)
    await elasticsearch.close()
  })

  it('are not read beyond what the call lets them have', async () => {
    const elasticsearch = connectElasticsearch(url)
    const call = { operation: 'search', subject: 'test', method: 'POST', path: '/test/_search' } as const
    const ask = (size: number, bytesMax: number) =>
      elasticsearch.send({ ...call, body: { size, search_after: [smallMax] }, bytesMax })
    expect((await ask(4, 8 * 1024 * 1024)).status).to.equal(200)
    const failure = await ask(100, 8 * 1024 * 1024).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(LargeAnswerError)
    await elasticsearch.close()
  })

  it('come to some megabytes where a search is bounded, however many hits it may have', async () => {
    const elasticsearch = connectElasticsearch(url)
    const target = {
      elasticsearch,
      indices: 'test',
      workspaceId: workspaceIdOf('acme'),
      fromDay: undefined,
      seen: createSeenSizes(),
    }
    const query = {
      filter: { kind: 'all' },
      orderBy: 'timeNs',
      direction: 'asc',
      limit: 1_000,
      charactersMax: 8 * 1024 * 1024,
    } as const
    const ids: string[] = []
    let after: { value: bigint; id: string } | undefined
    for (;;) {
      const place = after === undefined ? {} : { after }
      const hits = await searchPages(target, { match_all: {} }, { ...query, ...place })
      ids.push(...hits.map(({ id }) => id))
      after = hits.at(-1)?.sort
      if (hits.at(-1)?.endsForSize !== true) break
    }
    expect(ids).to.deep.equal(Array.from({ length: recordsMax }, (_, n) => `id ${n}`))
    expect(Math.max(...read)).to.be.below(24 * 1024 * 1024)
    await elasticsearch.close()
  })
})
