import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { OneOfSeveral } from '#projections/stores/elasticsearch/nodes.ts'

const lostMs = 5_000

describe('a node of Elasticsearch that may have stood still until the cluster went on without it', () => {
  let later = 0
  const { now } = performance
  const servers: Server[] = []
  beforeEach(() => {
    later = 0
    isHung = false
    mock.method(performance, 'now', () => now.call(performance) + later)
  })
  afterEach(() => {
    mock.restoreAll()
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  type Fake = { url: string; own: number; isOutside: boolean; asked: string[]; onAsk: () => void }
  const master = 9
  let isHung = false
  const isVersion = (path: string): boolean => path.startsWith('/_cluster/state/version')
  /** A node that has applied version `own` of the cluster's state, and says in its answers which it is. */
  const startNode = async (): Promise<Fake> => {
    const node: Fake = { url: '', own: master, isOutside: false, asked: [], onAsk: () => undefined }
    const server = createServer(({ url = '' }, response) => {
      node.asked.push(url)
      if (url === '/it') node.onAsk()
      if (isHung && isVersion(url) && !url.includes('local=true')) return
      const body = url.startsWith('/_cluster/state/version')
        ? { version: url.includes('local=true') ? node.own : master }
        : { own: node.own }
      const status = node.isOutside && isVersion(url) ? 503 : 200
      response.writeHead(status, { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return node
  }
  const call = { operation: 'look at', subject: 'it', method: 'GET', path: '/it' } as const

  /** Of two nodes, the one that is asked, with what asks. */
  const startBoth = async () => {
    const both = [await startNode(), await startNode()]
    const elasticsearch = connectElasticsearch(both.map(({ url }) => url).join())
    const read = async () => (await elasticsearch.send(call)).body['own']
    await read()
    const used = both.find(({ asked }) => asked.includes('/it'))
    const other = both.find((node) => node !== used)
    if (used === undefined || other === undefined) throw new Error('one is asked')
    for (const { asked } of both) asked.length = 0
    return { elasticsearch, read, used, other }
  }

  for (const [when, isOutside] of [
    ['knows only what was before', false],
    ['reaches no master, as another does', true],
  ] as const)
    it(`is not asked first while it ${when}`, async () => {
      const both = [await startNode(), await startNode()]
      const [late] = both
      Object.assign(late ?? {}, { own: master - 1, isOutside })
      for (let clients = 0; clients < 8; clients++) {
        const elasticsearch = connectElasticsearch(both.map(({ url }) => url).join())
        expect((await elasticsearch.send(call)).body['own']).to.equal(master)
        await elasticsearch.close()
      }
    })

  it('is asked what it knows where nothing was heard of it for so long, and only then', async () => {
    const { elasticsearch, read, used, other } = await startBoth()
    for (let times = 0; times < 2; times++) {
      later += 9_000
      await read()
    }
    expect([...used.asked, ...other.asked].filter(isVersion), 'heard of just before').to.deep.equal([])
    used.own--
    later += 11_000
    // What must not be done twice as well: nothing was sent yet.
    const once = { ...call, method: 'POST' } as const
    expect((await elasticsearch.send(once)).body['own']).to.equal(master)
    expect(await read()).to.equal(master)
    await elasticsearch.close()
  })

  it('is asked again once it knows the same as the others', async () => {
    const { elasticsearch, read, used, other } = await startBoth()
    mock.timers.enable({ apis: ['Date'], now: Date.now() })
    used.own--
    later += 11_000
    await read()
    const untilLooked = async (): Promise<void> => {
      used.asked.length = 0
      mock.timers.tick(lostMs)
      while (used.asked.filter(isVersion).length < 2) await read()
    }
    await untilLooked()
    used.own = master
    await untilLooked()
    other.asked.length = 0
    while (!used.asked.includes('/it')) await read()
    mock.timers.reset()
    await elasticsearch.close()
  })

  it('is asked all the same where its master hangs, which leaves nobody out', async () => {
    const { elasticsearch, read, used, other } = await startBoth()
    isHung = true
    later += 11_000
    expect(await read()).to.equal(master)
    expect([used, other].map(({ asked }) => asked.includes('/it'))).to.deep.equal([true, false])
    await elasticsearch.close()
  })

  it('is believed however long its answer takes, as long as it says meanwhile that it is there, and asked no more after it', async () => {
    const node = await startNode()
    const slow = Promise.withResolvers<void>()
    node.onAsk = slow.resolve
    const answers: (() => void)[] = []
    const heads = (): number => node.asked.filter((url) => url === '/').length
    const [server] = servers
    server?.prependListener('request', ({ url }: IncomingMessage, response: ServerResponse) => {
      if (url !== '/it') return
      const end = response.end.bind(response)
      Object.assign(response, { end: (body: string) => void answers.push(() => end(body)) })
    })
    const connection = new OneOfSeveral({ url: new URL(node.url) })
    const options = { requestId: 1, name: 'test', context: null }
    mock.timers.enable({ apis: ['setInterval'] })
    const answered = connection.request({ method: 'GET', path: '/it' }, options)
    await slow.promise
    for (let looks = 1; looks <= 8; looks++) {
      later += 2_000
      mock.timers.tick(2_000)
      while (heads() < looks) await new Promise((turn) => setImmediate(turn))
      // Until its answer was heard: of looks that overlap, one asks.
      await connection.request({ method: 'GET', path: '/' }, options)
    }
    const before = heads()
    for (const answer of answers) answer()
    await answered
    mock.timers.tick(20_000)
    // What it would be asked would arrive meanwhile.
    for (let others = 0; others < 5; others++) await connection.request({ method: 'GET', path: '/other' }, options)
    expect(heads()).to.equal(before)
    mock.timers.reset()
    await connection.close()
  })

  it('is not believed where this process stood still while it was asked, maybe with it', async () => {
    const { elasticsearch, read, used } = await startBoth()
    used.own--
    used.onAsk = () => void (later += 40_000)
    expect(await read()).to.equal(master)
    await elasticsearch.close()
  })
})
