import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export type RecordingProxy = Readonly<{
  url: string
  /** The requests since the last call, each with its method, path and body. */
  take(): readonly string[]
  close(): Promise<void>
}>

const nothing = async (): Promise<void> => undefined

/**
 * Stands before an HTTP server and writes down what it is asked. `before`: what happens before a request (`GET /path`) is passed on, or the status
 * that it is answered with instead; `after`: before its answer is.
 */
export async function startRecordingProxy(
  target: string,
  before: (line: string) => Promise<unknown> = nothing,
  after: (line: string) => Promise<unknown> = nothing,
): Promise<RecordingProxy> {
  const { origin, username, password } = new URL(target)
  let requests: string[] = []
  // It closes no connection that is idle, as Elasticsearch does not.
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      const line = `${incoming.method} ${incoming.url}`
      requests.push(body.length === 0 ? line : `${line}\n${body.toString().trimEnd()}`)
      const { method, headers } = incoming
      const outgoing = request(new URL(incoming.url ?? '/', origin), { method, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers)
        void after(line).then(
          () => reply.pipe(answer),
          () => answer.destroy(),
        )
      })
      outgoing.on('error', () => answer.headersSent || answer.destroy())
      void before(line).then(
        (instead) => {
          if (typeof instead === 'number') {
            outgoing.destroy()
            answer.writeHead(instead, { 'x-elastic-product': 'Elasticsearch' }).end()
          } else outgoing.end(body)
        },
        () => answer.destroy(),
      )
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const credentials = username === '' ? '' : `${username}:${password}@`
  return {
    url: `http://${credentials}127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = requests
      requests = []
      return taken
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
