import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import { expect } from 'chai'
import {
  acceptedSpans,
  auditedLog,
  auditedSpans,
  auditedTrace,
  expectFound,
  logsPath,
  otlpPath,
  type Told,
} from '../support/audit.ts'
import { cutOff, sendOnce, type Post } from '../support/sender.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

const silenceMs = 4_000
const spansPerRequest = 7

describe('a worker that gives no answer, under looping clients', () => {
  let server: Server
  let told: Told
  let over: AbortController
  let acks: EventEmitter
  let failures: string[]
  let clients: readonly Promise<void>[]
  const agent = new http.Agent({ keepAlive: true })

  /** Sends it again until it is acknowledged. */
  async function deliver(name: string, post: Omit<Post, 'key'>): Promise<void> {
    const { keys } = server.firstRun
    const key = post.path === logsPath ? keys.logs : keys.tracing
    for (;;) {
      try {
        const answer = await sendOnce(server, { ...post, key })
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
        if (post.path === logsPath) told.logs.add(name)
        else told.spans.set(auditedTrace(name), acceptedSpans(answer.body, spansPerRequest))
        acks.emit('ack')
        return
      } catch (error) {
        if (cutOff.test(String(error))) continue
        failures.push(`${name}: ${String(error)}`)
        over.abort()
        acks.emit('ack')
        return
      }
    }
  }
  async function client(name: string, of: Post['agent']): Promise<void> {
    for (let request = 0; !over.signal.aborted; request++) {
      const id = `${name} ${request}`
      if (request % 2 === 0) {
        await deliver(id, { path: otlpPath, body: auditedSpans(id, spansPerRequest), agent: of })
      } else {
        await deliver(id, { path: logsPath, body: auditedLog(id), headers: { 'idempotency-key': id }, agent: of })
      }
    }
  }
  const someAcks = async (): Promise<void> => {
    for (let due = 40; due > 0 && !over.signal.aborted; due--) await once(acks, 'ack')
  }
  const everythingIsKept = async (): Promise<void> => {
    over.abort()
    await Promise.all(clients)
    expect(failures).to.deep.equal([])
    await expectFound(server, told)
  }

  beforeEach(async () => {
    told = { logs: new Set(), spans: new Map() }
    over = new AbortController()
    acks = new EventEmitter().setMaxListeners(0)
    failures = []
    server = await startServer({ environment: { WORKER_SILENCE_MS: String(silenceMs) } })
    clients = Array.from({ length: 4 }, (_, index) => client(`client ${index}`, index % 2 === 0 && agent))
  })
  afterEach(async () => {
    over.abort()
    await server.kill()
    await removeFolder(server.dataFolder)
  })
  after(() => agent.destroy())

  it('is killed and replaced, and nothing acknowledged is lost', async () => {
    for (let times = 0; times < 2; times++) {
      await someAcks()
      const worker = server.workerPid()
      const from = server.output.length
      process.kill(worker, 'SIGSTOP')
      const line = await server.printed(new RegExp(`^worker ${worker} `), from)
      expect(line).to.equal(`worker ${worker} has given no answer for 4 s and is killed`)
      await server.printed(/^worker \d+ serves$/, from)
      expect(server.output.slice(from).join('\n')).not.to.include('ended unexpectedly')
      expect(() => process.kill(worker, 0)).to.throw('ESRCH')
      await someAcks()
    }
    await everythingIsKept()
  })

  it('is not what a worker is whose parent was asleep', async () => {
    await someAcks()
    const worker = server.workerPid()
    const from = server.output.length
    server.process.kill('SIGSTOP')
    // The clients are answered meanwhile.
    const since = performance.now()
    while (performance.now() - since < 2 * silenceMs) await someAcks()
    server.process.kill('SIGCONT')
    await server.replace()
    await someAcks()
    expect(server.output.slice(from).filter((line) => /no answer|unexpectedly/.test(line))).to.deep.equal([])
    expect(server.output.slice(from)).to.include(`worker ${server.workerPid()} has taken over from ${worker}`)
    await everythingIsKept()
  })
})
