import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { cli } from '../support/cli.ts'
import { listOf, signIn, untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import type { FirstRun } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

type Refusal = Readonly<{ status: number; body: object }>
/** What a request is answered with in the place of Elasticsearch; undefined: what Elasticsearch says. */
type Refuse = (path: string, body: string) => Refusal | undefined

const ofOurs = { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' }

/** Stands before Elasticsearch, which cannot be brought to say these things here. */
async function startRefusing(target: string, refuse: Refuse): Promise<Readonly<{ url: string; server: Server }>> {
  const { origin, username, password } = new URL(target)
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const pass = async (): Promise<void> => {
      const { method = '', url: path = '', headers } = request
      const body = await text(request)
      const refused = refuse(path, body)
      if (refused !== undefined) {
        response.writeHead(refused.status, ofOurs).end(JSON.stringify(refused.body))
        return
      }
      const { authorization = '', accept = '*/*', 'content-type': type = '' } = headers
      const sent = body === '' ? {} : { body }
      const kept = { authorization, accept, ...(body !== '' && { 'content-type': type }) }
      const answer = await fetch(origin + path, { method, headers: kept, ...sent })
      response.writeHead(answer.status, ofOurs).end(Buffer.from(await answer.arrayBuffer()))
    }
    pass().catch(() => void response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://${username}:${password}@127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

const security = (reason: string) => ({ type: 'security_exception', reason })
const unknownUser = security('unable to authenticate user [elastic] for REST request [/_bulk]')
const noRight = security('action [indices:data/write/bulk[s]] is unauthorized for user [throughline]')
const noSpace = { type: 'i_o_exception', reason: 'No space left on device' }

/** An answer to writes of one projection, document by document. */
const eachItem =
  (status: number, error: object): Refuse =>
  (path, body) => {
    if (!path.startsWith('/_bulk') || !body.includes('-logs-v')) return undefined
    const items = Array.from(body.matchAll(/^\{"(index|delete)":\{"_index"/gm), ([, kind = '']) => ({
      [kind]: { status, error },
    }))
    return { status: 200, body: { errors: true, items } }
  }
const wholly =
  (status: number, error: object, asks: RegExp): Refuse =>
  (path, body) =>
    asks.test(path) && `${path}\n${body}`.includes('-logs-v') ? { status, body: { error, status } } : undefined

/** As 8.19.21 answered where its disk had no byte left; as one does whose index of users has no shard yet, after a start; where a role was changed. */
const cases: Readonly<Record<string, readonly [Refuse, RegExp]>> = {
  'has no byte left on its disk': [eachItem(500, noSpace), /No space left.*disks/],
  'cannot refresh for want of a byte': [wholly(500, noSpace, /_refresh/), /refresh .*500.*No space left/],
  'does not know its users yet': [wholly(401, unknownUser, /^\/_bulk/), /unable to authenticate.*ELASTICSEARCH_URL/],
  'has taken a right away': [eachItem(403, noRight), /is unauthorized.*lacks a right/],
}

describe('a projector whose Elasticsearch', function () {
  this.timeout(600_000)
  let test: TestCluster
  let [ingest, query, project] = [] as unknown as [RoleProcess, RoleProcess, RoleProcess]
  let firstRun: FirstRun
  let proxy: Awaited<ReturnType<typeof startRefusing>>
  let refuse: Refuse | undefined
  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    proxy = await startRefusing(test.cluster.config.elasticsearchUrl, (path, body) => refuse?.(path, body))
    ;[ingest, query, project] = await Promise.all([
      test.start('ingest'),
      test.start('query'),
      test.start('project', { ELASTICSEARCH_URL: proxy.url }),
    ])
    await cli(test, 'first-run', '--base-url', ingest.baseUrl)
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
  })
  after(async () => {
    await test.remove()
    proxy.server.close()
    proxy.server.closeAllConnections()
  })

  for (const [what, [refusal, said]] of Object.entries(cases)) {
    it(`${what} goes on by itself when that is over, in all of its projections`, async () => {
      const [send, from] = [sendingTo(ingest, firstRun.keys), project.lines.length]
      await send.logs([{ message: `before ${what}` }])
      await untilIndexed({ dataFolder: test.dataFolder, output: project.lines })
      refuse = refusal
      await send.logs([{ message: `while it ${what}` }])
      const line = await project.printed(/^projection logs of partition \d (is tried again|has stopped)/, from)
      expect(line)
        .to.match(/is tried again/)
        .and.to.match(said)
      refuse = undefined
      await untilIndexed({ dataFolder: test.dataFolder, output: project.lines })
      const reader = await signIn(query.baseUrl, firstRun.sign_in)
      const { body } = await reader.get('/api/app/logs/search?limit=1000')
      expect(listOf(body, 'logs').map(({ message }) => message)).to.include(`while it ${what}`)
    })
  }
})
