import { EventEmitter, once } from 'node:events'
import http from 'node:http'
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
import { createTenant } from '../support/tenant.ts'
import { cutOff, sendOnce, type Post } from '../support/sender.ts'
import { patientWithBodies, removeFolder, startServer, type Server } from '../support/server.ts'

const crashes = process.env['SOAK'] === '1' ? 20 : 5
const spansPerRequest = 7
/** Crashes fall this many acknowledgements after the last one was survived, spread unevenly. */
const acksBetween = (crash: number): number => 30 + ((crash * 37) % 61)

describe(`${crashes} crashes of the worker under looping clients`, () => {
  let server: Server
  const told: Told = { logs: new Set(), spans: new Map() }
  const failures: string[] = []
  const acks = new EventEmitter().setMaxListeners(0)
  const over = new AbortController()
  let killed = 0
  /** Crashes that the parent has seen. Who connects from then on must not notice any. */
  let seen = 0

  /** Sends it again until it is acknowledged; how often it was cut off. */
  async function deliver(name: string, post: Omit<Post, 'key'>): Promise<number> {
    const { keys } = server.firstRun
    for (let cuts = 0; ; cuts++) {
      const before = { killed, seen }
      try {
        const answer = await sendOnce(server, { ...post, key: post.path === logsPath ? keys.logs : keys.tracing })
        if (answer.status !== 200) failures.push(`${name}: ${answer.status} ${answer.body}`)
        if (post.path === logsPath) told.logs.add(name)
        else told.spans.set(auditedTrace(name), acceptedSpans(answer.body, spansPerRequest))
        acks.emit('ack')
        return cuts
      } catch (error) {
        const crashedMeanwhile = before.killed > before.seen || killed > before.killed
        const mayFail = post.agent !== false || crashedMeanwhile
        if (!mayFail || !cutOff.test(String(error))) failures.push(`${name}: ${String(error)}`)
        if (failures.length > 0) {
          over.abort()
          acks.emit('ack')
        }
        if (over.signal.aborted) return cuts
      }
    }
  }

  async function client(name: string, agent: Post['agent']): Promise<void> {
    let cuts = 0
    for (let request = 0; !over.signal.aborted; request++) {
      const id = `${name} ${request}`
      if (request % 2 === 0) {
        cuts += await deliver(id, { path: otlpPath, body: auditedSpans(id, spansPerRequest), agent })
      } else {
        const headers = { 'idempotency-key': id }
        cuts += await deliver(id, { path: logsPath, body: auditedLog(id), headers, agent })
      }
    }
    if (cuts > killed) failures.push(`${name} was cut off ${cuts} times by ${killed} crashes`)
  }

  before(async () => {
    server = await startServer({ environment: patientWithBodies })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('refuse none, cut off only what was in flight, and lose nothing acknowledged', async () => {
    const agent = new http.Agent({ keepAlive: true })
    const clients = Array.from({ length: 6 }, (_, index) => client(`client ${index}`, index % 2 === 0 && agent))
    for (let crash = 0; crash < crashes && !over.signal.aborted; crash++) {
      for (let due = acksBetween(crash); due > 0 && !over.signal.aborted; due--) await once(acks, 'ack')
      const ended = server.printed(/ended unexpectedly \(SIGKILL\)/)
      const serves = server.printed(/^worker \d+ serves/)
      killed++
      process.kill(server.workerPid(), 'SIGKILL')
      await ended
      seen++
      await serves
    }
    over.abort()
    await Promise.all(clients)
    agent.destroy()
    expect(failures).to.deep.equal([])
    await expectFound(server, told)
  })

  it('leave a replaced worker with the allowance of the next', async () => {
    const tenant = await createTenant(server, 'near-the-limit', 'free')
    const send = (name: string, spans: number, until?: Post['until']) =>
      sendOnce(server, {
        path: otlpPath,
        key: tenant.keys.tracing,
        body: auditedSpans(name, spans),
        agent: false,
        ...(until === undefined ? {} : { until }),
      })
    const spansMax = plans['free']?.spansPerMonth ?? 0
    for (let sent = 0; sent < spansMax - 50;) {
      const spans = Math.min(9_000, spansMax - 50 - sent)
      expect(acceptedSpans((await send(`filler ${sent}`, spans)).body, spans)).to.equal(spans)
      sent += spans
    }
    const finish = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = send('slow', 80, () => {
      begun.resolve()
      return finish.promise
    })
    await begun.promise
    await server.replace()
    const serves = server.printed(/^worker \d+ serves/)
    process.kill(server.workerPid(), 'SIGKILL')
    await serves
    finish.resolve()
    const answer = await slow
    expect(answer.status, answer.body).to.equal(200)
    expect(answer.connection).to.equal('close')
    expect(acceptedSpans(answer.body, 80)).to.equal(50)
    expect(acceptedSpans((await send('beyond', 10)).body, 10)).to.equal(0)
  })
})
