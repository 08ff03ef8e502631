import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Call, Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import type { JsonObject } from '#src/lib/json.ts'

export type Asked = Readonly<{ method: string; path: string; body: unknown }>

/** A server that answers as Elasticsearch does where the real one would have to hold more than a test can write. */
export async function startAnsweringElasticsearch(answerTo: (asked: Asked) => object, port = 0) {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { method = '', url: path = '' } = request
    const answer = async (): Promise<object> => {
      if (path.startsWith('/_nodes')) return { nodes: { a: { version: '9.0.0' } } }
      const sent = await text(request)
      return answerTo({ method, path, body: sent === '' ? {} : JSON.parse(sent) })
    }
    response.setHeader('x-elastic-product', 'Elasticsearch').setHeader('content-type', 'application/json')
    void answer().then((body) => response.end(JSON.stringify(body)))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: (): void => void server.close(),
  }
}

export type Answering = (call: Call) => JsonObject | Promise<JsonObject>

/** The same without a server: a client of one that answers so. */
export const answering = (answer: Answering): Elasticsearch => ({
  send: async (call) => ({ status: 200, body: await answer(call) }),
  close: async () => undefined,
})
