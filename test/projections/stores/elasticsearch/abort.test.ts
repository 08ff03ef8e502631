import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { ElasticsearchIndexReader } from '#projections/stores/elasticsearch/reader.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'

describe('a request to Elasticsearch that nobody waits for any more', () => {
  let server: Server
  let reader: ElasticsearchIndexReader

  before(async () => {
    server = createServer((request, response) => {
      response.setHeader('x-elastic-product', 'Elasticsearch')
      response.setHeader('content-type', 'application/json')
      // All else gets no answer.
      if (request.url?.startsWith('/_nodes') === true) response.end('{"nodes":{"a":{"version":"9.0.0"}}}')
      else server.emit('asked', response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    reader = createElasticsearchIndexReader({ url, prefix: 'test', partition: 0, limits: { patternExpansionsMax: 1 } })
  })
  after(async () => {
    await reader.close()
    server.closeAllConnections()
    server.close()
  })

  it('is broken off there, alone, and rejects with the reason; no other is sent', async () => {
    const gone = new AbortController()
    const own = reader.readerFor(gone.signal)
    const failed = own.progress('logs').catch((error: unknown) => error)
    const [response] = (await once(server, 'asked')) as [ServerResponse]
    const others = reader.progress('logs')
    const [theirs] = (await once(server, 'asked')) as [ServerResponse]
    gone.abort('gone')
    expect(await failed).to.equal('gone')
    if (!response.closed) await once(response, 'close')
    expect(response.writableFinished).to.equal(false)
    server.once('asked', () => expect.fail('nothing more is asked'))
    expect(await own.progress('logs').catch((error: unknown) => error)).to.equal('gone')
    theirs.statusCode = 404
    theirs.end('{}')
    expect(await others).to.equal(undefined)
  })
})
