import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { startNatsCluster, type NatsCluster } from '../../infra/engines/nats.ts'
import { limits } from '#src/config.ts'
import { partitionNumber } from '#src/events/partition.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { askApi } from '#streams/jetstream/api.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { expectFound, type Told } from '../support/audit.ts'
import { cli } from '../support/cli.ts'
import { listOf } from '../support/client.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '../support/engines.ts'
import { startLoad } from '../support/load.ts'
import { createFleet, type Fleet } from './fleet.ts'

const rounds = process.env['SOAK'] === '1' ? 10 : 1
const nodesCount = 3
/** Requests between two faults. */
const some = 40

type Replicas = Readonly<{ leader: string; others: readonly Readonly<{ name: string; current: boolean }>[] }>

describe('a cluster on three NATS servers', function () {
  this.timeout(600_000 * rounds)
  let servers: NatsCluster
  let fleet: Fleet
  let nats: Nats
  let streams: readonly string[]
  /** Of these, the one that the senders' telemetry goes to. */
  let stream: string
  const told: Told = { logs: new Set(), spans: new Map() }

  before(async function () {
    this.timeout(enginesTimeoutMs)
    const [started, elasticsearchUrl] = await Promise.all([startNatsCluster(nodesCount), elasticsearchEngine()])
    servers = started
    fleet = await createFleet({ ingest: 2, project: 1, query: 1 }, { on: { natsUrl: servers.url, elasticsearchUrl } })
    nats = await connectNats({ url: servers.url })
    const [workspace] = listOf(await cli(fleet, 'workspace', 'list'), 'workspaces')
    const { indexPrefix, partitions } = fleet.test.cluster.config
    const telemetry = Array.from({ length: partitions }, (_, partition) => `${indexPrefix}-TELEMETRY_${partition}`)
    streams = [...telemetry, `${indexPrefix}-DIRECTORY`, `${indexPrefix}-LEASES`]
    stream = telemetry[partitionNumber(workspaceIdOf(String(workspace?.['id'])), partitions)] ?? ''
  })
  after(async () => {
    await nats.close()
    await fleet.remove()
    await servers.remove()
  })

  async function replicasOf(name: string): Promise<Replicas | undefined> {
    const info = await askApi(nats, `STREAM.INFO.${name}`).catch(() => undefined)
    if (info === undefined || 'error' in info) return undefined
    const { leader = '', replicas = [] } = info.answer['cluster'] as Readonly<{
      leader?: string
      replicas?: readonly Readonly<{ name: string; current: boolean }>[]
    }>
    return { leader, others: replicas }
  }
  /** The leader of a stream, once all three servers have all of it. */
  async function leaderOf(name: string): Promise<string> {
    for (;;) {
      const found = await replicasOf(name)
      const isWhole = found?.others.length === nodesCount - 1 && found.others.every(({ current }) => current)
      if (isWhole && found.leader !== '') return found.leader
      await pause(20)
    }
  }
  /** Until any one server can be lost; the leader of the senders' stream. */
  async function untilWhole(): Promise<string> {
    await Promise.all(streams.map(leaderOf))
    return leaderOf(stream)
  }

  async function lose(choose: (leader: number) => number): Promise<void> {
    const target = { baseUrl: fleet.baseUrl, keys: fleet.firstRun.keys }
    const load = startLoad(target, { name: `load-${told.logs.size}`, senders: 6, restMs: 40, told })
    await load.more(some)
    const leader = Number(/\d+$/.exec(await untilWhole())?.[0])
    const node = servers.nodes[choose(leader)]
    const killedAt = performance.now()
    await node?.kill()
    await load.more(1)
    console.log(`      acknowledged again ${Math.round(performance.now() - killedAt)} ms after a server was lost`)
    await load.more(some)
    await node?.start()
    await untilWhole()
    await load.more(some)
    await load.end()
    await expectFound(fleet, told)
  }

  it('keeps three copies of what it takes in', async () => {
    await untilWhole()
  })

  it('is waited for by who begins while nobody leads', async () => {
    const { indexPrefix: prefix } = fleet.test.cluster.config
    const leader = Number(/\d+$/.exec(await leaderOf(`${prefix}-DIRECTORY`))?.[0])
    const left = servers.nodes[(leader + 1) % nodesCount]
    const lost = servers.nodes.filter((node) => node !== left)
    await Promise.all(lost.map((node) => node.kill()))
    const alone = await connectNats({ url: left?.url ?? '', timeoutMs: 2_000 })
    const asked: string[] = []
    const counted: Nats = {
      ...alone,
      request: (...request) => {
        asked.push(request[0])
        return alone.request(...request)
      },
    }
    const opening = openJetStream(counted, { partition: directoryPartition, prefix, limits })
    const untilAskedAgain = async (): Promise<void> => {
      while (asked.length < 3) await pause(5)
    }
    await Promise.race([opening, untilAskedAgain()])
    expect(asked, 'while nobody could answer').to.have.length.at.least(3)
    await Promise.all(lost.map((node) => node.start()))
    const log = await opening
    expect(await log.head()).to.be.above(0)
    await log.close()
    await alone.close()
    await untilWhole()
  })

  it('goes on when the one that leads is killed, and loses nothing', async () => {
    for (let round = 0; round < rounds; round++) await lose((leader) => leader)
  })

  it('goes on when one that follows is killed, and loses nothing', async () => {
    for (let round = 0; round < rounds; round++) await lose((leader) => (leader + 1 + (round % 2)) % nodesCount)
  })
})
