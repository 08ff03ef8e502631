import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

type ReceivedRequest = Readonly<{ headers: IncomingHttpHeaders; body: Buffer }>

/** A server that takes what published senders post, so that their bodies are real. Bodies are kept decompressed. */
export type Receiver = Readonly<{
  url: string
  requests: readonly ReceivedRequest[]
  /** Resolves with the first request, by now or later, that the test is looking for. */
  request(isWanted: (request: ReceivedRequest) => boolean): Promise<ReceivedRequest>
  close(): Promise<void>
}>

export async function startReceiver(status: number): Promise<Receiver> {
  const requests: ReceivedRequest[] = []
  let arrived = Promise.withResolvers<void>()
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const sent = Buffer.concat(chunks)
      const body = incoming.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      requests.push({ headers: incoming.headers, body })
      response.writeHead(status).end()
      arrived.resolve()
      arrived = Promise.withResolvers<void>()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    async request(isWanted) {
      for (;;) {
        const found = requests.find(isWanted)
        if (found !== undefined) return found
        await arrived.promise
      }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
