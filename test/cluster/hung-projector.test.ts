import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { expectFound, type Told } from '../support/audit.ts'
import { untilIndexed } from '../support/client.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { startLoad } from '../support/load.ts'
import { runProgram } from '../support/run-program.ts'
import { createFleet, type Fleet, type Place } from './fleet.ts'
import { openLeases, type Lease } from './leases.ts'

/** Requests between two steps: some seconds of load. */
const some = 60

describe('a projector that stands still for longer than its lease', function () {
  this.timeout(600_000)
  let fleet: Fleet

  before(async function () {
    this.timeout(enginesTimeoutMs)
    fleet = await createFleet({ ingest: 1, project: 2, query: 1 })
  })
  after(() => fleet.remove())

  /** To the worker and to its parent. */
  const signal = (place: Place, name: NodeJS.Signals): void =>
    void process.kill(-(place.process().child.pid as number), name)

  it('spoils nothing when it goes on, in the midst of what another has folded meanwhile', async () => {
    const leases = await openLeases(fleet.test.cluster.config)
    const untilHeldBy = async (holders: number): Promise<readonly Lease[]> => {
      for (;;) {
        const all = await leases.read()
        const held = new Set(all.map(({ holder }) => holder))
        if (!held.has('') && held.size === holders) return all
        await pause(20)
      }
    }
    const told: Told = { logs: new Set(), spans: new Map() }
    const target = { baseUrl: fleet.baseUrl, keys: fleet.firstRun.keys }
    const load = startLoad(target, { name: 'load', senders: 6, restMs: 40, told })
    const place = fleet.places('project')[0] as Place
    const before = await untilHeldBy(2)
    await load.more(some)
    signal(place, 'SIGSTOP')
    try {
      const after = await untilHeldBy(1)
      expect(before.map(({ holder }) => holder)).to.include(after[0]?.holder)
      await load.more(some)
      // All that came until now is folded by the other one.
      await untilIndexed(fleet)
    } finally {
      signal(place, 'SIGCONT')
    }
    await load.more(some)
    // It folds again.
    await untilHeldBy(2)
    await load.more(some)
    await load.end()
    await leases.close()
    await expectFound(fleet, told)
    // Fails unless all are equal.
    const verify = ['src/main.ts', 'verify', 'all', '--data', fleet.dataFolder]
    await runProgram(process.execPath, verify, fleet.test.cluster)
  })
})
