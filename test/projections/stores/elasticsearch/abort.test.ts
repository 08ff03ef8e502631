import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { ElasticsearchIndexReader } from '#projections/stores/elasticsearch/reader.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { freePort } from '#test/support/free-port.ts'

const limits = { patternExpansionsMax: 1 }

describe('a request to Elasticsearch that nobody waits for any more', () => {
  let server: Server
  let url = ''
  const readers: ElasticsearchIndexReader[] = []

  before(async () => {
    server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      response.setHeader('x-elastic-product', 'Elasticsearch')
      response.setHeader('content-type', 'application/json')
      // All else gets no answer.
      if (request.url?.startsWith('/_nodes') === true) response.end('{"nodes":{"a":{"version":"9.0.0"}}}')
      else if (request.url?.startsWith('/_cluster/state/version') === true) response.end('{"version":1}')
      else if (request.method === 'HEAD') response.end()
      else server.emit('asked', response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(async () => {
    for (const reader of readers) await reader.close()
    server.closeAllConnections()
    server.close()
  })

  for (const [what, others] of [
    ['of one node', async () => []],
    ['of several', async () => [`http://127.0.0.1:${await freePort()}`]],
  ] as const) {
    it(`is broken off there, alone, and rejects with the reason; no other is sent: ${what}`, async () => {
      const urls = [url, ...(await others())].join()
      const reader = createElasticsearchIndexReader({ url: urls, prefix: 'test', partition: 0, limits })
      readers.push(reader)
      const gone = new AbortController()
      const own = reader.readerFor(gone.signal)
      const failed = own.progress('logs').catch((error: unknown) => error)
      const [response] = (await once(server, 'asked')) as [ServerResponse]
      const waiting = reader.progress('logs')
      const [theirs] = (await once(server, 'asked')) as [ServerResponse]
      gone.abort('gone')
      expect(await failed).to.equal('gone')
      if (!response.closed) await once(response, 'close')
      expect(response.writableFinished).to.equal(false)
      server.once('asked', () => expect.fail('nothing more is asked'))
      expect(await own.progress('logs').catch((error: unknown) => error)).to.equal('gone')
      theirs.statusCode = 404
      theirs.end('{}')
      expect(await waiting).to.equal(undefined)
      server.removeAllListeners('asked')
    })
  }
})
