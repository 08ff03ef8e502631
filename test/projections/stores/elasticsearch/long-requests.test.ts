import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { index, lineEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'

/** Of a request, as nginx allows unless it is told otherwise. */
const bytesMax = 1024 * 1024

describe('a proxy before Elasticsearch that takes no long requests', () => {
  const { url, openWriter, makeReader, count } = useElasticsearchStores()
  let proxy: Server
  let [limit, refused] = [bytesMax, 0]

  before(async () => {
    proxy = createServer((request, response) => {
      const pass = async (): Promise<void> => {
        const body = await buffer(request)
        if (body.length > limit) {
          refused++
          return void response.writeHead(413, { 'content-type': 'text/html' }).end('<html>')
        }
        const { origin, username, password } = new URL(url())
        const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
        const { method = 'GET', headers } = request
        const { 'content-type': type, accept } = headers
        const answer = await fetch(new URL(request.url ?? '/', origin), {
          method,
          headers: { authorization, ...(accept && { accept }), ...(type && { 'content-type': type }) },
          ...(body.length === 0 ? {} : { body }),
        })
        const told = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' }
        response.writeHead(answer.status, told).end(Buffer.from(await answer.arrayBuffer()))
      }
      pass().catch(() => response.destroy())
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => proxy.once('listening', resolve))
  })
  after(() => {
    proxy.close()
    proxy.closeAllConnections()
  })

  it('is sent less at once, and one document that is too long alone is waited for, by its name', async () => {
    const writer = await openWriter({ url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` })
    await promote(writer, 'fixture', index)
    const entries = Array.from({ length: 40 }, (_, n) => lineEntry({ text: 'some words '.repeat(2_000) }, n + 1))
    await write(writer, entries, 40)
    expect(refused).to.be.above(0)
    expect(await count(makeReader())).to.equal(40)
    const long = lineEntry({ text: 'some words '.repeat(60_000) }, 41)
    const failure = await rejection(write(writer, [long, lineEntry({}, 42)], 42))
    expect(failure.name).to.equal('TransientError')
    expect(failure.message)
      .to.contain(long.id)
      .and.to.match(/raise its http\.max_content_length, or the limit of what stands before it/)
    limit = Infinity
    await write(writer, [long, lineEntry({}, 42)], 42)
    expect(await count(makeReader())).to.equal(42)
  })
})
