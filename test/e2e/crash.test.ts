import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import { readUsageAt } from '#projections/allowance/query.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { at, listOf, post, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { openInstallation } from '../support/installation.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { hex, otlpJson, type SpanSketch } from '../support/telemetry.ts'

const crashes = process.env['SOAK'] === '1' ? 20 : 8
const spansPerRequest = 7

/** One thing that a sender wants delivered: it repeats the same bytes until they are acknowledged. */
type Delivery = Readonly<{
  path: string
  key: keyof Server['firstRun']['keys']
  body: string
  headers: Record<string, string>
}>

const spansOf = (sender: number, request: number): SpanSketch[] =>
  Array.from({ length: spansPerRequest }, (_, index) => ({
    traceId: hex(32, 'trace', sender, request),
    spanId: hex(16, 'span', sender, request, index),
    service: `sender-${sender}`,
  }))

function delivery(sender: number, request: number): Delivery {
  const name = `${sender}-${request}`
  if (request % 3 === 0) {
    const body = otlpJson(spansOf(sender, request))
    return { path: '/api/traces/v1/otlp', key: 'tracing', body, headers: { 'content-type': 'application/json' } }
  }
  const keyed = request % 3 === 1
  const body = JSON.stringify({ message: `${keyed ? 'keyed' : 'plain'} ${name}`, service: 'crash', name, keyed })
  const headers = { 'content-type': 'application/json', ...(keyed ? { 'idempotency-key': `key-${name}` } : {}) }
  return { path: '/api/logs/v1/ingest', key: 'logs', body, headers }
}

describe('kill -9 under load', function () {
  this.timeout(600_000)
  let server: Server
  let gone = false
  const acknowledged = new Set<string>()
  const progress = new EventEmitter()
  const senders = 6

  /** Sends its deliveries one after the other, each again after every failure, until told to stop after an ack. */
  async function send(sender: number, upTo: () => boolean, cycle: () => Promise<void>): Promise<number> {
    let request = 0
    for (; !upTo(); request++) {
      const { path, key, body, headers } = delivery(sender, request)
      for (;;) {
        const answer = await post(server, path, server.firstRun.keys[key], body, headers).catch(() => undefined)
        const complete = await answer?.text().catch(() => undefined)
        if (answer?.status === 200 && complete !== undefined) break
        await cycle()
      }
      acknowledged.add(`${sender}-${request}`)
      progress.emit('acknowledged')
    }
    return request
  }

  before(async () => {
    server = await startServer()
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it(`loses nothing acknowledged and doubles nothing identified over ${crashes} crashes`, async () => {
    let crashed = 0
    let restarted: Promise<void> = Promise.resolve()
    const { dataFolder } = server
    const crashWhenDue = async (): Promise<void> => {
      // The moments are by acknowledgements, spread unevenly so that they fall into commits, folds and idle gaps alike.
      while (crashed < crashes) {
        const due = acknowledged.size + 20 + ((crashed * 37) % 61)
        while (acknowledged.size < due) await once(progress, 'acknowledged')
        gone = true
        restarted = server.kill().then(async () => {
          server = await startServer({ dataFolder })
          gone = false
        })
        await restarted
        crashed++
      }
    }
    const waitForServer = async (): Promise<void> => {
      if (gone) await restarted
      else await new Promise(setImmediate)
    }
    const crashing = crashWhenDue()
    const counts = await Promise.all(
      Array.from({ length: senders }, (_, sender) => send(sender, () => crashed === crashes, waitForServer)),
    )
    await crashing

    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    await untilIndexed(server)
    const sent = counts.flatMap((count, sender) =>
      Array.from({ length: count }, (_, request) => [sender, request] as const),
    )
    await expectSpans(
      reader,
      sent.filter(([, request]) => request % 3 === 0),
    )
    await expectLogs(
      reader,
      sent.filter(([, request]) => request % 3 !== 0),
    )
    const [workspace] = listOf(await cli(server, 'workspace', 'list'), 'workspaces')
    const workspaceId = workspaceIdOf(String(workspace?.['id']))
    const { indexOf, close } = await openInstallation(server)
    const usage = await readUsageAt(indexOf(workspaceId), workspaceId, Date.now())
    await close()
    expect(usage.spans).to.equal(sent.filter(([, request]) => request % 3 === 0).length * spansPerRequest)
  })

  async function expectSpans(reader: Reader, sent: readonly (readonly [number, number])[]): Promise<void> {
    for (const [sender, request] of sent) {
      const { body } = await reader.get(`/api/app/correlation?trace_id=${hex(32, 'trace', sender, request)}`)
      const spans = at(body, 'trace', 'spans') as readonly JsonObject[]
      const expected = spansOf(sender, request).map(({ spanId }) => spanId)
      expect(spans.map((span) => span['span_id'])).to.have.members(expected)
      expect(at(body, 'trace', 'summary', 'span_count')).to.equal(spansPerRequest)
    }
  }

  async function expectLogs(reader: Reader, sent: readonly (readonly [number, number])[]): Promise<void> {
    const found = new Map<string, number>()
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: JsonObject = (await reader.get(`/api/app/logs/search?service=crash&limit=1000&cursor=${cursor}`)).body
      for (const log of listOf(page, 'logs')) {
        const message = String(log['message'])
        found.set(message, (found.get(message) ?? 0) + 1)
      }
      cursor = page['next_cursor'] as string | null
    }
    for (const [sender, request] of sent) {
      const keyed = request % 3 === 1
      const times = found.get(`${keyed ? 'keyed' : 'plain'} ${sender}-${request}`) ?? 0
      if (keyed) expect(times, `keyed ${sender}-${request}`).to.equal(1)
      else expect(times, `plain ${sender}-${request}`).to.be.at.least(1)
    }
  }
})
