import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import type { Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { LateError, TransientError } from '#src/lib/failure.ts'
import { rejection } from '#test/support/read-all.ts'

const says = { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' }
const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** A network before a server that takes all packets and delivers none of them, while it is a hole: no connection is refused, or ends. */
async function startHole(target: number) {
  const ways: (readonly [Socket, Socket])[] = []
  let isHole = false
  const forward = (way: readonly [Socket, Socket]): void => {
    const [from, to] = way
    if (way.some((end) => end.destroyed)) for (const end of way) end.destroy()
    else from.pipe(to).pipe(from)
  }
  const server = createTcpServer((from) => {
    const way = [from, connect(target, '127.0.0.1')] as const
    ways.push(way)
    for (const end of way) end.on('error', () => undefined).on('close', () => isHole || forward(way))
    if (!isHole) forward(way)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    begin: () => {
      isHole = true
      for (const end of ways.flat()) end.unpipe().pause()
    },
    heal: () => {
      isHole = false
      for (const way of ways) forward(way)
    },
    close: () => {
      server.close()
      for (const end of ways.flat()) end.destroy()
    },
  }
}

describe('the only node of Elasticsearch', () => {
  const asked = new EventEmitter()
  let answersHead = true
  let server: Server
  let hole: Awaited<ReturnType<typeof startHole>>
  let elasticsearch: Elasticsearch

  beforeEach(async () => {
    answersHead = true
    asked.removeAllListeners()
    const node = createServer({ keepAliveTimeout: 0 }, ({ method, url }, response) => {
      response.writeHead(200, says)
      asked.emit(`${method} ${url}`, response)
      if (method === 'HEAD' ? answersHead : url !== '/slow') response.end('{}')
    })
    server = node.listen(0, '127.0.0.1')
    await once(server, 'listening')
    hole = await startHole(portOf(server))
    elasticsearch = connectElasticsearch(hole.url)
  })
  afterEach(async () => {
    hole.close()
    await elasticsearch.close()
    server.close()
  })

  const send = (path: string) => elasticsearch.send({ operation: 'look at', subject: 'it', method: 'GET', path })
  const slow = async () => {
    const arrives = once(asked, 'GET /slow') as Promise<[ServerResponse]>
    const answer = send('/slow')
    const [response] = await arrives
    return { answer, finish: () => response.end('{"took":1}') }
  }

  it('that nothing comes from is said to be away, and not to be asked for too much, and is asked again at once when it is back', async () => {
    await send('/one')
    const { answer } = await slow()
    hole.begin()
    const failures = await Promise.all([answer, send('/two')].map((waiting) => rejection(waiting)))
    for (const failure of failures) {
      expect(failure).to.be.instanceOf(TransientError).and.not.instanceOf(LateError)
      expect(failure.message).to.match(/answers nothing.*is Elasticsearch running at 127\.0\.0\.1/)
    }
    hole.heal()
    expect((await send('/three')).status).to.equal(200)
  })

  it('is waited for as long as it says that it is there', async () => {
    const { answer, finish } = await slow()
    for (let pings = 0; pings < 3; pings++) await once(asked, 'HEAD /')
    finish()
    expect((await answer).body).to.deep.equal({ took: 1 })
  })

  it('is waited for as long as it answers anything else, though it is too busy to say so', async () => {
    answersHead = false
    const { answer, finish } = await slow()
    for (let pings = 0; pings < 3; pings++) {
      await once(asked, 'HEAD /')
      await send('/quick')
    }
    finish()
    expect((await answer).body).to.deep.equal({ took: 1 })
  })
})
