import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createPlainServer, type AddressInfo, type Socket } from 'node:net'
import { mock } from 'node:test'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { isUnsent } from '#projections/stores/elasticsearch/connection-errors.ts'
import { HeardConnection, Nodes, OneOfSeveral } from '#projections/stores/elasticsearch/nodes.ts'
import { makeCertificate } from '#test/support/certificate.ts'
import { freePort } from '#test/support/free-port.ts'
import { rejection } from '#test/support/read-all.ts'

const lostMs = 5_000

describe('the choice among nodes of Elasticsearch', () => {
  let server: Server
  let address = ''
  const pools: Nodes[] = []
  beforeEach(async () => {
    const answer = ({ url = '' }: IncomingMessage, response: ServerResponse) =>
      response.writeHead(url.endsWith('/full') ? 429 : 200).end('{}')
    server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.empty()
    server.closeAllConnections()
    server.close()
  })

  const makePool = (...paths: readonly string[]): Nodes => {
    const pool = new Nodes({ Connection: OneOfSeveral })
    pool.addConnection(paths.map((path) => `${address}${path}`))
    pools.push(pool)
    return pool
  }
  const chosen = (pool: Nodes): string | undefined =>
    pool.getConnection({ now: 0, requestId: 1, name: 'test', context: null })?.url.pathname

  it('is another for each of us, so that all have some to do, and stays the same', () => {
    const firsts = Array.from({ length: 50 }, () => {
      const pool = makePool('/one', '/two')
      const first = chosen(pool)
      expect(chosen(pool)).to.equal(first)
      return first
    })
    expect(new Set(firsts)).to.deep.equal(new Set(['/one', '/two']))
  })

  it('goes round where all are lost', () => {
    const pool = makePool('/one', '/two')
    for (const node of pool.connections) pool.markDead(node)
    expect([chosen(pool), chosen(pool), chosen(pool)]).to.deep.equal(['/one', '/two', '/one'])
  })

  it('passes over one that has no room for a while, and takes one that has none where no other has', async () => {
    let later = 0
    const { now } = performance
    mock.method(performance, 'now', () => now.call(performance) + later)
    const pool = makePool('/one', '/two')
    const first = chosen(pool)
    const refuse = async (path = ''): Promise<void> => {
      const node = pool.connections.find(({ url }) => url.pathname === path)
      await node?.request({ method: 'GET', path: '/full' }, { requestId: 1, name: 'test', context: null })
    }
    await refuse(first)
    const second = chosen(pool)
    expect(second).not.to.equal(first)
    await refuse(second)
    expect(chosen(pool), 'none has room').to.equal(first)
    later += lostMs
    expect(chosen(pool)).to.equal(first)
    await refuse(first)
    expect(chosen(pool), 'it has some again').to.equal(second)
    mock.restoreAll()
  })

  it('asks one that is lost whether it is back as soon where many requests to it failed at once', async () => {
    const pool = makePool('/one')
    for (const node of pool.connections) for (let failed = 0; failed < 6; failed++) pool.markDead(node)
    // Later, it would be asked at once: as where the clock was set back.
    for (const { resurrectTimeout } of pool.connections)
      expect(resurrectTimeout).to.be.within(Date.now(), Date.now() + lostMs)
    const asked = once(server, 'request')
    pool.resurrect({ now: Date.now() + lostMs, requestId: 1, name: 'test', context: null })
    await asked
  })

  it('asks one that is lost whether it is back also where the clock was set back since', async () => {
    const pool = makePool('/one')
    for (const node of pool.connections) pool.markDead(node)
    const asked = once(server, 'request')
    pool.resurrect({ now: Date.now() - 3_600_000, requestId: 1, name: 'test', context: null })
    await asked
  })
})

describe('a request to a node of Elasticsearch', () => {
  for (const [what, address, why] of [
    ['refuses it, at each address of its name', async () => `http://localhost:${await freePort()}`, /ECONNREFUSED/],
    ['has a name that is not known', async () => 'http://nowhere.invalid:9200', /getaddrinfo/],
  ] as const) {
    it(`is known not to have been sent where it ${what}, and says why`, async () => {
      const node = new HeardConnection({ url: new URL(await address()) })
      const asking = node.request({ method: 'PUT', path: '/' }, { requestId: 1, name: 'test', context: null })
      const failure = await rejection(asking)
      expect(isUnsent(failure), failure.message).to.equal(true)
      expect(failure.message).to.match(why)
      await node.close()
    })
  }
})

describe('a node of Elasticsearch, or what stands before it, that closes a connection before TLS is agreed on', () => {
  it('has been sent nothing, so that another may be asked', async () => {
    const server = createPlainServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end(),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const elasticsearch = connectElasticsearch(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const call = { operation: 'write', subject: 'it', method: 'POST', path: '/it' } as const
    const failure = await rejection(elasticsearch.send(call))
    expect(failure.name).to.equal('TransientError')
    expect(isUnsent(failure.cause), failure.message).to.equal(true)
    await elasticsearch.close()
    server.close()
  })
})

describe('a node of Elasticsearch whose certificate is not taken', () => {
  it('has been sent nothing, so that another may be asked, and is said to be that and not away', async () => {
    const { certificate, key } = makeCertificate()
    const server = createSecureServer({ cert: certificate, key }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const call = { operation: 'write', subject: 'it', method: 'POST', path: '/it' } as const
    for (const addresses of [['127.0.0.1'], ['127.0.0.1', 'localhost']]) {
      const elasticsearch = connectElasticsearch(addresses.map((host) => `https://${host}:${port}`).join())
      const failure = await rejection(elasticsearch.send(call))
      expect(failure.name).to.equal('TransientError')
      expect(isUnsent(failure.cause), failure.message).to.equal(true)
      expect(failure.message).to.match(/self-signed certificate.*its certificate is not taken here/)
      await elasticsearch.close()
    }
    server.close()
  })
})

describe('a kept connection to Elasticsearch that is closed in the moment when it is used again', () => {
  for (const [how, close] of [
    ['ends', (socket: Socket) => void socket.end()],
    ['is reset', (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    it(`is passed over where it ${how}, by what may be asked twice alone`, async () => {
      const used = new Set<Socket>()
      const closings: (typeof close)[] = []
      const server = createServer(({ socket }, response) => {
        const closing = used.has(socket) ? closings.pop() : undefined
        if (closing === undefined) response.setHeader('x-elastic-product', 'Elasticsearch').end()
        else closing(socket)
        used.add(socket)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const elasticsearch = connectElasticsearch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const call = { operation: 'write', subject: 'it', method: 'POST', path: '/it' } as const
      const untilOneIsClosed = async (mayRepeat: boolean): Promise<void> => {
        closings.push(close)
        while (closings.length > 0) await elasticsearch.send({ ...call, mayRepeat })
      }
      await untilOneIsClosed(true)
      expect((await rejection(untilOneIsClosed(false))).name).to.equal('TransientError')
      await elasticsearch.close()
      server.close()
    })
  }
})

describe('a kept connection to Elasticsearch that is reset before what is sent on it leaves', () => {
  it('is passed over by what may be asked twice', async () => {
    const kept: Socket[] = []
    const server = createServer((_, response) => response.setHeader('x-elastic-product', 'Elasticsearch').end())
      .on('connection', (socket) => kept.push(socket))
      .listen(0, '127.0.0.1')
    await once(server, 'listening')
    const elasticsearch = connectElasticsearch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const send = () => elasticsearch.send({ operation: 'look at', subject: 'it', method: 'GET', path: '/it' })
    await send()
    /** The driver is about to write on the connection: it cannot hear of the reset before it does. */
    const reset = (): void => {
      unsubscribe('undici:client:sendHeaders', reset)
      for (const socket of kept.splice(0)) socket.resetAndDestroy()
    }
    subscribe('undici:client:sendHeaders', reset)
    expect((await send()).status).to.equal(200)
    expect(kept, 'made since').to.have.length(1)
    await elasticsearch.close()
    server.close()
  })

  it('does not make the node one that hangs, where it was asked whether it does', async () => {
    const used = new Set<Socket>()
    const answers: ServerResponse[] = []
    const asked: boolean[] = []
    const server = createServer({ keepAliveTimeout: 0 }, ({ method, url, socket }, response) => {
      const isDropped = method === 'HEAD' && used.has(socket) && asked.length === 0
      used.add(socket)
      if (method === 'HEAD') asked.push(isDropped)
      if (isDropped) socket.resetAndDestroy()
      else if (url === '/slow') answers.push(response)
      else response.end()
      // Once it has said that it is there.
      if (method === 'HEAD' && !isDropped) for (const answer of answers) answer.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const node = new OneOfSeveral({ url })
    const options = { requestId: 1, name: 'test', context: null }
    const slow = node.request({ method: 'GET', path: '/slow' }, options)
    // Another connection, which is then kept.
    await node.request({ method: 'GET', path: '/' }, options)
    await slow
    expect(asked).to.deep.equal([true, false])
    await node.close()
    server.close()
  })
})

describe('a kept connection to Elasticsearch that was not used for half a minute', () => {
  afterEach(() => mock.timers.reset())

  // A proxy may keep it longer, and tells only of its own side.
  for (const said of [undefined, 'timeout=300'])
    it(`is closed here, before anybody between forgets it (${said ?? 'nothing is said'})`, async () => {
      mock.timers.enable({ apis: ['setTimeout'] })
      const server = createServer({ keepAliveTimeout: 0 }, (_, response) => {
        if (said !== undefined) response.setHeader('Keep-Alive', said)
        response.end()
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const node = new HeardConnection({ url, timeout: 3_600_000 })
      let connections = 0
      server.on('connection', () => connections++)
      const ask = () => node.request({ method: 'GET', path: '/' }, { requestId: 1, name: 'test', context: null })
      for (const after of [29_000, 30_000]) {
        await ask()
        // The driver notes only in another turn that the connection is idle.
        await new Promise((noted) => setImmediate(noted))
        mock.timers.tick(after)
      }
      expect(connections).to.equal(1)
      await ask()
      expect(connections).to.equal(2)
      await node.close()
      server.close()
    })
})

describe('a question to Elasticsearch that is cut off', () => {
  let later = 0
  const { now } = performance
  beforeEach(() => {
    later = 0
    mock.method(performance, 'now', () => now.call(performance) + later)
  })
  afterEach(() => mock.restoreAll())

  for (const [when, cut] of [
    [
      'after a while, as by what stands before it and waits no longer',
      ({ socket }: ServerResponse) => {
        later += 55_000
        socket?.resetAndDestroy()
      },
    ],
    [
      'while its answer comes',
      (response: ServerResponse) => {
        response.writeHead(200, { 'x-elastic-product': 'Elasticsearch', 'content-length': '9' })
        response.write('{', () => response.socket?.end())
      },
    ],
  ] as const) {
    it(`${when} is not asked again: it would take as long, and be cut off as well`, async () => {
      let asked = 0
      const server = createServer(({ url }, response) => {
        if (url === '/slow') asked++
        if (url === '/slow') cut(response)
        else response.setHeader('x-elastic-product', 'Elasticsearch').end()
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const elasticsearch = connectElasticsearch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const send = (path: string) => elasticsearch.send({ operation: 'ask', subject: 'it', method: 'GET', path })
      await send('/it')
      expect((await rejection(send('/slow'))).name).to.equal('TransientError')
      expect(asked).to.equal(1)
      await elasticsearch.close()
      server.close()
    })
  }
})

describe('nodes of Elasticsearch that reach no master', () => {
  const says = { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' }
  let servers: readonly Server[] = []
  let answer: object = {}
  let asked: string[] = []
  beforeEach(async () => {
    asked = []
    servers = [1, 2].map(() =>
      createServer(({ url = '' }, response) => {
        asked.push(url)
        const isThere = ['/', '/found'].includes(url) || url.startsWith('/_nodes')
        response.writeHead(isThere ? 200 : 503, says).end(JSON.stringify(isThere ? {} : { error: answer, status: 503 }))
      }).listen(0, '127.0.0.1'),
    )
    await Promise.all(servers.map((server) => once(server, 'listening')))
  })
  afterEach(() => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })

  it('are asked all the same once that is known: what needs no master they answer, and what may not be done twice is sent to one', async () => {
    const nodes = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const elasticsearch = connectElasticsearch(nodes.join())
    const call = { operation: 'look at', subject: 'it', method: 'GET', path: '/found' } as const
    expect(isUnsent((await rejection(elasticsearch.send(call))).cause), 'each might have known another').to.equal(true)
    expect((await elasticsearch.send(call)).status).to.equal(200)
    const write = elasticsearch.send({ ...call, method: 'POST', path: '/it' })
    expect(isUnsent((await rejection(write)).cause)).to.equal(false)
    expect(asked.filter((url) => url === '/it')).to.have.length(1)
    await elasticsearch.close()
  })

  it('are said to, be it one or several, and not to be away, or to have a block that somebody could lift', async () => {
    const nodes = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    for (const error of [
      { type: 'master_not_discovered_exception', reason: null },
      { type: 'cluster_block_exception', reason: 'blocked by: [SERVICE_UNAVAILABLE/2/no master];' },
    ]) {
      answer = error
      for (const addresses of [nodes.slice(1), nodes]) {
        const elasticsearch = connectElasticsearch(addresses.join())
        const call = { operation: 'look at', subject: 'it', method: 'GET', path: '/it' } as const
        const failure = await rejection(elasticsearch.send(call))
        await elasticsearch.close()
        expect(failure.name).to.equal('TransientError')
        expect(failure.message).to.match(/no master|master_not_discovered/)
        expect(failure.message).to.include('enough of the nodes that may lead must be there')
        expect(failure.message).not.to.match(/lift the block|is Elasticsearch running/)
      }
    }
  })
})
