import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { startElasticsearch } from '../../infra/engines/elasticsearch.ts'
import { startTogether, type Engine } from '../../infra/engines/engine.ts'
import { startNats } from '../../infra/engines/nats.ts'
import type { Role } from '../../infra/cluster/member.ts'
import type { DirectoryEventType } from '#src/events/directory.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { expectSpentToTheSpan } from '../support/allowance-driver.ts'
import { expectFound, logsPath, type Told } from '../support/audit.ts'
import { cli } from '../support/cli.ts'
import { at, signIn, untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { openInstallation } from '../support/installation.ts'
import { startLoad, type Load } from '../support/load.ts'
import { createFleet, type Fleet, type Place } from './fleet.ts'
import { openLeases, type Lease } from './leases.ts'

const isLong = process.env['SOAK'] === '1'
const rounds = isLong ? 10 : 1
const outageMs = isLong ? 60_000 : 10_000
const takeOverMsMax = 10_000
/** Requests between two faults: some seconds of load. */
const some = 60

/** How long a process may still let in what another has shut out. */
const hearMsMax = 1_000
const refusalsInARow = 20
/** What is promised in seconds is measured so often at most: a machine that stood still is no reason, a promise broken each time is. */
const measuresMax = 3

const seeds = isLong ? 50 : 1

describe('a cluster under load', function () {
  // A minute each in the short form; starting an engine takes minutes where many others work.
  this.timeout(600_000 * rounds)
  let nats: Engine
  let elasticsearch: Engine
  let fleet: Fleet
  /** Of all tests: what was acknowledged in one of them must be there after all others. */
  const told: Told = { logs: new Set(), spans: new Map() }
  let loads = 0

  before(async function () {
    this.timeout(enginesTimeoutMs)
    const engines = await startTogether([startNats(), startElasticsearch({ isBrief: true })])
    ;[nats, elasticsearch] = engines as [Engine, Engine]
    fleet = await createFleet(
      { ingest: 2, project: 2, query: 2 },
      { on: { natsUrl: nats.url, elasticsearchUrl: elasticsearch.url }, partitions: 4 },
    )
  })
  after(async () => {
    await fleet.remove()
    await Promise.all([nats.remove(), elasticsearch.remove()])
  })

  async function expectCaughtUp(): Promise<void> {
    await untilIndexed(fleet)
    const reader = await signIn(fleet.baseUrl, fleet.firstRun.sign_in)
    for (;;) {
      const { body } = await reader.get('/api/app/logs/search?limit=1')
      if (at(body, 'index', 'complete') === true && at(body, 'index', 'lag_ms') === 0) return
      await pause(20)
    }
  }

  /** Does something to the cluster in the midst of its load; all that was acknowledged must be found, once, and nothing else. */
  async function underLoad(act: (load: Load) => Promise<void>, restMs = 40): Promise<void> {
    const target = { baseUrl: fleet.baseUrl, keys: fleet.firstRun.keys }
    const load = startLoad(target, { name: `load-${loads++}`, senders: 6, restMs, told })
    await load.more(some)
    await act(load)
    await load.more(some)
    await load.end()
    await expectFound(fleet, told)
    await expectCaughtUp()
  }

  const turnOf = (role: Role, round: number): Place => fleet.places(role)[round % 2] as Place

  for (const role of ['ingest', 'query'] as const) {
    it(`loses nothing when one process of two that ${role} is killed`, async () => {
      for (let round = 0; round < rounds; round++) {
        await underLoad(async (load) => {
          await turnOf(role, round).kill()
          await load.more(some)
          await turnOf(role, round).refill()
        })
      }
    })
  }

  /** Fails unless one of some measures, one after the other, is within what is promised. */
  async function expectWithin(msMax: number, measure: () => Promise<number>): Promise<void> {
    const tookMs: number[] = []
    while (tookMs.length < measuresMax && !tookMs.some((each) => each <= msMax)) tookMs.push(await measure())
    expect(Math.min(...tookMs), `the least of ${tookMs.join(', ')} ms`).to.be.within(0, msMax)
  }

  it('folds on with the other projector, within 10 seconds', async () => {
    const leases = await openLeases(fleet.test.cluster.config)
    const until = async (isSo: (all: readonly Lease[]) => boolean): Promise<readonly Lease[]> => {
      for (;;) {
        const all = await leases.read()
        if (isSo(all)) return all
        await pause(20)
      }
    }
    /** So many hold all of them, each as many as the others. */
    const areHeldBy = (holders: number) => (all: readonly Lease[]) => {
      const shares = [...Map.groupBy(all, ({ holder }) => holder)]
      const isShare = ([holder, own]: (typeof shares)[number]): boolean =>
        holder !== '' && own.length === all.length / holders
      return shares.length === holders && shares.every(isShare)
    }
    /** How long the partitions of one that is killed are nobody's. */
    const lose = async (place: Place): Promise<number> => {
      const before = await until(areHeldBy(2))
      const killedAt = Date.now()
      await place.kill()
      const after = await until(areHeldBy(1))
      const taken = after.filter(({ holder }, partition) => holder !== before[partition]?.holder)
      expect(taken.length, 'partitions that were the lost one’s').to.equal(2)
      const tookMs = Math.max(...taken.map((lease) => lease.at)) - killedAt
      console.log(`      a lost projector's partitions were taken over within ${tookMs} ms`)
      await place.refill()
      return tookMs
    }
    for (let round = 0; round < rounds; round++) {
      await underLoad(() => expectWithin(takeOverMsMax, () => lose(turnOf('project', round))))
    }
    await leases.close()
  })

  it('goes on after a restart of NATS', async () => {
    for (let round = 0; round < rounds; round++) {
      await underLoad(async () => {
        await nats.kill()
        await nats.start()
      })
    }
  })

  it(`takes in without Elasticsearch for ${outageMs / 1_000} seconds, and folds that after its restart`, async () => {
    const lose = async (load: Load): Promise<void> => {
      const until = performance.now() + outageMs
      await elasticsearch.kill()
      while (performance.now() < until) await load.more(1)
      await elasticsearch.start()
    }
    // Not too dense: it may take long to start, and all that comes meanwhile is waited for.
    await underLoad(lose, 250)
  })

  async function untilLetIn(ask: () => Promise<number>): Promise<void> {
    while ((await ask()) !== 200) await pause(5)
  }
  /** Asks again and again until it is refused and stays so: when it was let in last. */
  async function lastLetIn(ask: () => Promise<number>): Promise<number> {
    let letInAt = Date.now()
    for (let refusals = 0; refusals < refusalsInARow; await pause(5)) {
      const askedAt = Date.now()
      const status = await ask()
      // Who is told to come back is neither let in nor refused.
      if (status === 503) continue
      expect(status).to.be.oneOf([200, 401, 403])
      refusals = status === 200 ? 0 : refusals + 1
      if (status === 200) letInAt = askedAt
    }
    return letInAt
  }

  /** When the newest event of that type was made in the directory. */
  async function madeAt(type: DirectoryEventType): Promise<number> {
    const { directory, close } = await openInstallation(fleet)
    const events = await directory.read(beforeAll, 10_000)
    await close()
    return events.findLast((event) => event.type === type)?.receivedAt ?? Number.NaN
  }

  it('knows of another plan and of a revoked key within a second, in each of its processes', async () => {
    const { id } = (await cli(fleet, 'workspace', 'create', 'changing', '--plan', 'pro')) as { id: string }
    const create = ['key', 'create', '--workspace', id, '--kind', 'api', '--scope', 'traces:read']
    const createKey = async () =>
      (await cli(fleet, ...create, '--scope', 'logs:write')) as { id: string; secret: string }
    let key = await createKey()
    const statusOf = async (url: string, init: RequestInit): Promise<number> => {
      const headers = { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' }
      const answer = await fetch(url, { ...init, headers })
      await answer.body?.cancel()
      return answer.status
    }
    const asks = [
      ...fleet
        .places('ingest')
        .map(
          (place) => () =>
            statusOf(`${place.process().baseUrl}${logsPath}`, { method: 'POST', body: '{"message":"x"}' }),
        ),
      ...fleet.places('query').map((place) => () => statusOf(`${place.process().baseUrl}/api/v1/traces`, {})),
    ]
    /** How long any process lets in after a change that shuts out. */
    const heardAfter = async (type: DirectoryEventType, ...change: readonly string[]): Promise<number> => {
      await Promise.all(asks.map(untilLetIn))
      const [letInAt] = await Promise.all([Promise.all(asks.map(lastLetIn)), cli(fleet, ...change)])
      const since = await madeAt(type)
      const lateMs = letInAt.map((each) => Math.max(0, each - since))
      console.log(`      ${type}: let in last ${lateMs.join(', ')} ms after it`)
      return Math.max(...lateMs)
    }
    await expectWithin(hearMsMax, async () => {
      await cli(fleet, 'workspace', 'plan', 'changing', 'pro')
      // It has neither logs nor access to the API.
      return heardAfter('directory.workspace.planChanged', 'workspace', 'plan', 'changing', 'tracing-only')
    })
    await cli(fleet, 'workspace', 'plan', 'changing', 'pro')
    await expectWithin(hearMsMax, async () => {
      key = await createKey()
      return heardAfter('directory.key.revoked', 'key', 'revoke', key.id)
    })
  })

  it('spends an allowance to the span over four processes that are killed', async () => {
    await Promise.all([fleet.add('ingest'), fleet.add('ingest')])
    for (let seed = 1; seed <= seeds; seed++) await spend(seed)
  })

  async function spend(seed: number): Promise<void> {
    let last: Promise<void> = Promise.resolve()
    const kill = (process: number): Promise<void> => {
      const place = fleet.places('ingest')[process] as Place
      last = last.then(() => place.kill()).then(() => place.refill())
      return last
    }
    const processes = fleet.places('ingest').map((place) => place.process().baseUrl)
    await expectSpentToTheSpan({ server: fleet, urls: [fleet.baseUrl], processes, seed, kill })
  }
})
