import { expect } from 'chai'
import type { Engine } from '../../infra/engines/engine.ts'
import { startNats } from '../../infra/engines/nats.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { askServer } from '#test/streams/jetstream-log.ts'
import { auditedLog, auditedSpans, auditedTrace, expectFound, logsPath, otlpPath, type Told } from '../support/audit.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '../support/engines.ts'
import { postOnce, untilServed } from '../support/client.ts'
import { createFleet, type Fleet } from './fleet.ts'

const retryAfters = ['1', '2', '3', '4']
/** Of each kind, while NATS takes nothing. */
const requests = 20
const spansEach = 3

describe('senders to a cluster whose NATS', function () {
  this.timeout(600_000)
  let nats: Engine
  let fleet: Fleet
  /** Of all tests: what was acknowledged in one of them must be there after all others. */
  const told: Told = { logs: new Set(), spans: new Map() }

  before(async function () {
    this.timeout(enginesTimeoutMs)
    const [own, elasticsearchUrl] = await Promise.all([startNats(), elasticsearchEngine()])
    nats = own
    const on = { natsUrl: own.url, elasticsearchUrl }
    fleet = await createFleet({ ingest: 1, project: 1, query: 1 }, { on })
  })
  after(async () => {
    await fleet.remove()
    await nats.remove()
  })

  type Send = Readonly<{ once: () => Promise<Response>; acknowledged: () => void }>

  /** Requests that can be sent again: by their key, and by what they hold. */
  const sendsOf = (what: string): readonly Send[] => {
    const { keys } = fleet.firstRun
    const json = { 'content-type': 'application/json' }
    return Array.from({ length: requests }, (_, n) => `${what} ${n}`).flatMap((name) => {
      const spans = auditedSpans(name, spansEach)
      return [
        {
          once: () => postOnce(fleet, logsPath, keys.logs, auditedLog(name), { ...json, 'idempotency-key': name }),
          acknowledged: () => void told.logs.add(name),
        },
        {
          once: () => postOnce(fleet, otlpPath, keys.tracing, spans, json),
          acknowledged: () => void told.spans.set(auditedTrace(name), spansEach),
        },
      ]
    })
  }

  async function expectTold(response: Response): Promise<void> {
    expect(response.status, await response.text()).to.equal(503)
    expect(response.headers.get('retry-after')).to.be.oneOf(retryAfters)
  }

  async function expectTaken(sends: readonly Send[]): Promise<void> {
    const answers = await Promise.all(sends.map(({ once }) => untilServed(once)))
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
    for (const { acknowledged } of sends) acknowledged()
  }

  it('hangs are told to come back, and find all of it once when it goes on, whatever it had taken', async () => {
    await expectTaken(sendsOf('before'))
    const sends = sendsOf('while it hung')
    await nats.pause()
    try {
      await Promise.all(sends.map(async ({ once }) => expectTold(await once())))
    } finally {
      await nats.resume()
    }
    // What it had in its socket it stores now, late; each of these is the same request again.
    await expectTaken(sends)
    await expectFound(fleet, told)
  })

  it('is full are told to come back, and find all of it once when it has room', async () => {
    const { INDEX_PREFIX = '', NATS_URL = '' } = fleet.test.cluster.environment
    const connection = await connectNats({ url: NATS_URL })
    const streams = [`${INDEX_PREFIX}-TELEMETRY_0`, `${INDEX_PREFIX}-TELEMETRY_1`]
    const configs = await Promise.all(
      streams.map(async (name) => (await askServer(connection, `STREAM.INFO.${name}`))['config'] as object),
    )
    const limit = (more: object) =>
      Promise.all(
        streams.map((name, at) => askServer(connection, `STREAM.UPDATE.${name}`, { ...configs[at], ...more })),
      )
    await expectTaken(sendsOf('with room'))
    for (const answer of await limit({ max_bytes: 1 })) expect(answer).to.not.have.property('error')
    const sends = sendsOf('while it was full')
    await Promise.all(sends.map(async ({ once }) => expectTold(await once())))
    for (const answer of await limit({})) expect(answer).to.not.have.property('error')
    await connection.close()
    await expectTaken(sends)
    await expectFound(fleet, told)
  })
})
