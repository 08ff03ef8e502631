import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
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
import { cli } from '../support/cli.ts'
import { sendOnce, type Post } from '../support/sender.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

const isSoak = process.env['SOAK'] === '1'
const replacements = isSoak ? 100 : 12

/** Workers that may still have connections before a further replacement hurries the oldest. */
const drainingMax = 3
const idleMs = 2_000

const spansPerRequest = 211
const spanClients = 4
const spansMax = plans['free']?.spansPerMonth ?? 0
/** So many requests between two replacements that the allowance is used up a little after the middle. */
const requestsPerRound = Math.ceil(spansMax / spansPerRequest / (0.6 * replacements) / spanClients)

describe(`${replacements} planned replacements under looping clients`, function () {
  this.timeout(isSoak ? 900_000 : 180_000)

  let server: Server
  const told: Told = { logs: new Set(), spans: new Map() }
  const failures: string[] = []
  const connections = new Set<string | undefined>()
  const rounds = new EventEmitter().setMaxListeners(0)
  const over = new AbortController()
  let round = 0
  const nextRound = (): Promise<unknown> => once(rounds, 'next')

  async function deliver(name: string, post: Omit<Post, 'key'>): Promise<void> {
    const { keys } = server.firstRun
    try {
      const answer = await sendOnce(server, { ...post, key: post.path === logsPath ? keys.logs : keys.tracing })
      if (answer.status !== 200) failures.push(`${name} in round ${round}: ${answer.status} ${answer.body}`)
      else if (post.path === logsPath) told.logs.add(name)
      else told.spans.set(auditedTrace(name), acceptedSpans(answer, spansPerRequest))
      connections.add(answer.connection)
    } catch (error) {
      failures.push(`${name} in round ${round}: ${String(error)}`)
    }
  }
  const deliverLog = (name: string, agent: Post['agent']): Promise<void> =>
    deliver(name, { path: logsPath, body: auditedLog(name), agent })

  async function logClient(client: string, agent: Post['agent']): Promise<void> {
    for (let request = 0; !over.signal.aborted; request++) await deliverLog(`${client} ${request}`, agent)
  }
  async function idleClient(agent: http.Agent): Promise<void> {
    for (let request = 0; !over.signal.aborted; request++) {
      await deliverLog(`idle ${request}`, agent)
      await pause(idleMs)
    }
  }
  async function spanClient(client: number, agent: Post['agent']): Promise<void> {
    while (!over.signal.aborted) {
      const begun = nextRound()
      for (let request = 0; request < requestsPerRound; request++) {
        const name = `spans ${client} ${round} ${request}`
        await deliver(name, { path: otlpPath, body: auditedSpans(name, spansPerRequest), agent })
      }
      await begun
    }
  }
  /** Begins its body before the replacement and ends it after: the worker that was replaced has to store it. */
  async function slowClient(): Promise<void> {
    while (!over.signal.aborted) {
      const name = `slow ${round}`
      const body = auditedSpans(name, spansPerRequest)
      await deliver(name, { path: otlpPath, body, agent: false, until: nextRound })
    }
  }

  before(async () => {
    server = await startServer()
    await cli(server, 'workspace', 'plan', 'default', 'free')
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('refuse none, reset none, lose nothing, and keep the span allowance to the span', async () => {
    const agent = new http.Agent({ keepAlive: true })
    const idleAgent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const clients = [
      logClient('kept', agent),
      logClient('new', false),
      idleClient(idleAgent),
      slowClient(),
      ...Array.from({ length: spanClients }, (_, client) => spanClient(client, client % 2 === 0 && agent)),
    ]
    const count = (pattern: RegExp): number => server.output.filter((line) => pattern.test(line)).length
    const draining = (): number => count(/has taken over/) - count(/has answered its last request/)
    for (; round < replacements && failures.length === 0; round++) {
      while (draining() >= drainingMax) await server.printed(/has answered its last request/)
      await server.replace()
      rounds.emit('next')
    }
    over.abort()
    rounds.emit('next')
    await Promise.all(clients)
    agent.destroy()
    idleAgent.destroy()

    expect(failures).to.deep.equal([])
    expect(count(/has taken over/)).to.equal(replacements)
    expect(count(/ended unexpectedly|given up/), server.output.join('\n')).to.equal(0)
    expect(connections, 'workers that were replaced send their senders away').to.include('close')
    expect(told.spans.values().reduce((sum, spans) => sum + spans, 0)).to.equal(spansMax)
    await expectFound(server, told)
  })
})
