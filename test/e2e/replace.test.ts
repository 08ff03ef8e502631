import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import { acceptedSpans, auditedLog, auditedSpans, expectFound, logsPath, otlpPath, spansOf } from '../support/audit.ts'
import { createSpanWorkspace } from '../support/cli.ts'
import { untilIndexed } from '../support/client.ts'
import { sendOnce, type Post, type Posted } from '../support/sender.ts'
import { patientWithBodies, removeFolder, startServer, type Server } from '../support/server.ts'

const isSoak = process.env['SOAK'] === '1'
const replacements = isSoak ? 102 : 6

/** Workers that may still have connections before a further replacement hurries the oldest. */
const drainingMax = 3
const idleMs = 2_000

/**
 * A workspace lasts for so many replacements. In all but the last, large requests leave little of its allowance; during the last
 * many small ones use it up, so that the edge is met while the allowance moves from process to process.
 */
const roundsPerWorkspace = 3
const spanClients = 4
const spansMax = plans['free']?.spansPerMonth ?? 0
const largeRequest = 5_625
const smallRequest = 11

type Workspace = Readonly<{ workspace: string; key: string }>

/**
 * What is left of a month may be another process's for seconds, as after any reservation, and for longer where the machine is slow:
 * its sender is not refused, it is told to send the same again.
 */
const isHeldByOthers = ({ status, body }: Posted): boolean =>
  status === 503 && body.includes('is held by requests that are not decided yet')

describe(`${replacements} planned replacements under looping clients`, function () {
  this.timeout(isSoak ? 900_000 : 600_000)

  let server: Server
  const workspaces: Workspace[] = []
  const told = { logs: new Set<string>(), spans: new Map<string, number>() }
  /** Spans that senders were told are stored, by workspace. */
  const accepted = new Map<string, number>()
  const failures: string[] = []
  const connections = new Set<string | undefined>()
  const over = new AbortController()
  const agent = new http.Agent({ keepAlive: true })
  let round = 0

  /** The answer's body; undefined after a failure, which ends everything. */
  async function deliver(name: string, post: Post): Promise<string | undefined> {
    try {
      let answer = await sendOnce(server, post)
      while (isHeldByOthers(answer)) answer = await sendOnce(server, post)
      const { status, body, connection } = answer
      connections.add(connection)
      if (status === 200) return body
      failures.push(`${name} in round ${round}: ${status} ${body}`)
    } catch (error) {
      failures.push(`${name} in round ${round}: ${String(error)}`)
    }
    over.abort()
    return undefined
  }
  async function deliverLog(name: string, agent: Post['agent']): Promise<void> {
    const post = { path: logsPath, key: server.firstRun.keys.logs, body: auditedLog(name), agent }
    if ((await deliver(name, post)) !== undefined) told.logs.add(name)
  }
  /** How many of the spans were stored. */
  async function deliverSpans(
    { workspace, key }: Workspace,
    name: string,
    spans: number,
    more: Pick<Post, 'agent' | 'until'>,
  ): Promise<number> {
    const body = await deliver(name, { path: otlpPath, key, body: auditedSpans(name, spans), ...more })
    const stored = body === undefined ? 0 : acceptedSpans(body, spans)
    accepted.set(workspace, (accepted.get(workspace) ?? 0) + stored)
    return stored
  }

  async function logClient(client: string, agent: Post['agent']): Promise<void> {
    for (let request = 0; !over.signal.aborted; request++) await deliverLog(`${client} ${request}`, agent)
  }
  async function idleClient(agent: http.Agent): Promise<void> {
    for (let request = 0; !over.signal.aborted; request++) {
      await deliverLog(`idle ${request}`, agent)
      await pause(idleMs)
    }
  }
  async function spanClient(workspace: Workspace, client: number): Promise<void> {
    const over = { agent: client % 2 === 0 && agent }
    if (round % roundsPerWorkspace < roundsPerWorkspace - 1) {
      await deliverSpans(workspace, `large ${round} ${client}`, largeRequest, over)
      return
    }
    for (let request = 0; ; request++) {
      if ((await deliverSpans(workspace, `small ${round} ${client} ${request}`, smallRequest, over)) === 0) return
    }
  }

  /** One replacement, with requests for spans from before it begins until after it has ended. */
  async function replaceOnce(workspace: Workspace): Promise<void> {
    const replaced = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    // The worker that is replaced has to store it: its body ends when another serves.
    const slow = deliverSpans(workspace, `slow ${round}`, smallRequest, {
      agent: false,
      until: () => {
        begun.resolve()
        return replaced.promise
      },
    })
    await begun.promise
    const clients = Array.from({ length: spanClients }, (_, client) => spanClient(workspace, client))
    await server.replace()
    replaced.resolve()
    await Promise.all([slow, ...clients])
  }

  before(async () => {
    server = await startServer({ environment: patientWithBodies })
    for (let index = 0; index < replacements / roundsPerWorkspace; index++) {
      workspaces.push(await createSpanWorkspace(server, `workspace-${index}`, 'free'))
    }
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('refuse none, reset none, lose nothing, and keep the span allowance to the span', async () => {
    const idleAgent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const clients = [logClient('kept', agent), logClient('new', false), idleClient(idleAgent)]
    const count = (pattern: RegExp): number => server.output.filter((line) => pattern.test(line)).length
    const draining = (): number => count(/has taken over/) - count(/has answered its last request/)
    for (; round < replacements && !over.signal.aborted; round++) {
      while (draining() >= drainingMax) await server.printed(/has answered its last request/)
      await replaceOnce(workspaces[Math.floor(round / roundsPerWorkspace)] as Workspace)
    }
    over.abort()
    await Promise.all(clients)
    agent.destroy()
    idleAgent.destroy()

    expect(failures).to.deep.equal([])
    expect(count(/has taken over/)).to.equal(replacements)
    expect(count(/ended unexpectedly|given up/), server.output.join('\n')).to.equal(0)
    expect(connections, 'workers that were replaced send their senders away').to.include('close')
    await untilIndexed(server)
    for (const { workspace } of workspaces) {
      expect(accepted.get(workspace)).to.equal(spansMax)
      expect(await spansOf(server, workspace)).to.deep.equal({ counted: spansMax, found: spansMax })
    }
    await expectFound(server, told)
  })
})
