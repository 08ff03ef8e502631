import { expect } from 'chai'
import { WorkerEnded } from '#src/compose/processes/supervised-worker.ts'
import { watch } from '#src/compose/processes/watch.ts'
import { createRandom } from '#test/support/random.ts'
import {
  promptly,
  silenceMs,
  simulate,
  stopPatienceMs,
  type Reaction,
  type Script,
  type Simulation,
} from './crew-simulation.ts'

const except =
  (exceptions: Readonly<Record<string, Reaction['does']>>): Script =>
  (worker, step) => ({ does: exceptions[`${worker} ${step}`] ?? 'ok', ms: 10 })

async function started(script: Script = promptly): Promise<Simulation> {
  const simulation = simulate(script)
  await simulation.run(1_000)
  expect(simulation.owners()).to.deep.equal([1])
  return simulation
}
const ordersOf = ({ workers }: Simulation, id: number): readonly string[] => workers[id - 1]?.orders ?? []
const aliveOf = ({ workers }: Simulation): readonly number[] =>
  workers.filter((worker) => worker.isAlive()).map(({ id }) => id)

describe('the supervisor of workers', () => {
  it('starts one, and is over when it has stopped', async () => {
    const simulation = await started()
    expect(simulation.reports).to.deep.equal([{ kind: 'serves', pid: 1_001, instead: undefined }])
    simulation.supervisor.stop()
    await simulation.run(1_000)
    expect(await simulation.outcome).to.equal(true)
    expect(ordersOf(simulation, 1)).to.deep.equal(['takeOver', 'stop'])
    expect([simulation.workers.length, simulation.waiting()]).to.deep.equal([1, 0])
  })

  it('prepares while there is no worker, before it starts one again, and tries again when that fails', async () => {
    let prepared = 0
    const prepare = async (): Promise<void> => {
      prepared++
      if (prepared === 1) throw new Error('the disk is full')
    }
    const simulation = simulate(promptly, true, prepare)
    await simulation.run(1_000)
    expect([prepared, simulation.owners()], 'not before the first').to.deep.equal([0, [1]])
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect([prepared, simulation.owners()], 'not beside another').to.deep.equal([0, [2]])
    for (const worker of simulation.workers) worker.crash()
    await simulation.run(0)
    expect(simulation.reports.at(-1)).to.deep.equal({ kind: 'failed', reason: 'the disk is full', serving: undefined })
    expect(simulation.workers).to.have.length(2)
    await simulation.run(10_000)
    expect([prepared, simulation.owners()]).to.deep.equal([2, [3]])
  })

  it('ends replaced workers, which answer still, where none comes up beside them, and prepares then', async () => {
    let prepared = 0
    const untilPrepared: Script = (worker, step) => ({
      does: worker > 2 && step === 'boot' && prepared === 0 ? 'crash' : 'ok',
      ms: 10,
    })
    const simulation = simulate(untilPrepared, true, async () => void prepared++)
    await simulation.run(1_000)
    simulation.supervisor.replace()
    await simulation.run(1_000)
    simulation.workers[1]?.crash()
    await simulation.run(200)
    expect([prepared, aliveOf(simulation)], 'at first it goes on answering').to.deep.equal([0, [1]])
    await simulation.run(10_000)
    expect(ordersOf(simulation, 1).filter((order) => order === 'stop')).to.have.length(1)
    expect(prepared).to.equal(1)
    const last = simulation.workers.length
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[last], [last]])
  })

  it('forgets a new worker that ends while the old one lets go, and prepares when that one crashes too', async () => {
    let prepared = 0
    const slowToLetGo: Script = (_worker, step) => ({ does: 'ok', ms: step === 'letGo' ? 500 : 10 })
    const simulation = simulate(slowToLetGo, true, async () => void prepared++)
    await simulation.run(1_000)
    simulation.supervisor.replace()
    await simulation.run(100)
    simulation.workers[1]?.crash()
    await simulation.run(1_000)
    expect([simulation.kinds(), simulation.owners()]).to.deep.equal([['serves', 'failed'], [1]])
    simulation.workers[0]?.crash()
    await simulation.run(1_000)
    expect([prepared, simulation.owners()]).to.deep.equal([1, [3]])
  })

  it('puts a new worker in the place of the old one, which lets go first and resigns last', async () => {
    const simulation = await started()
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect(simulation.reports.at(-1)).to.deep.equal({ kind: 'serves', pid: 1_002, instead: 1_001 })
    expect(ordersOf(simulation, 1)).to.deep.equal(['takeOver', 'letGo', 'resign'])
    expect(ordersOf(simulation, 2)).to.deep.equal(['takeOver'])
    expect(simulation.owners()).to.deep.equal([2])
    simulation.workers[0]?.finish()
    await simulation.run(1_000)
    expect(simulation.reports.at(-1)).to.deep.equal({ kind: 'ended', pid: 1_001 })
    expect(ordersOf(simulation, 2)).to.deep.equal(['takeOver'])
  })

  it('replaces once more, and not more often, when it is asked again meanwhile', async () => {
    const simulation = await started()
    for (let times = 0; times < 3; times++) {
      simulation.supervisor.replace()
      await simulation.run(5)
    }
    await simulation.run(1_000)
    expect(simulation.owners()).to.deep.equal([3])
  })

  it('leaves the old worker alone when the new one does not come up', async () => {
    const simulation = await started(except({ '2 boot': 'crash' }))
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect(simulation.reports.at(-1)).to.include({ kind: 'failed', serving: 1_001 })
    expect(ordersOf(simulation, 1)).to.deep.equal(['takeOver'])
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect(simulation.owners()).to.deep.equal([3])
  })

  for (const does of ['crash', 'end', 'hang'] as const) {
    it(`lets the old worker take over again when the new one fails to (${does})`, async () => {
      const simulation = await started(except({ '2 takeOver': does }))
      simulation.supervisor.replace()
      await simulation.run(60_000)
      expect(simulation.reports.at(-1)).to.include({ kind: 'failed', serving: 1_001 })
      expect(simulation.kinds(), 'that it has ended is not told beside').to.deep.equal(['serves', 'failed'])
      expect(ordersOf(simulation, 1)).to.deep.equal(['takeOver', 'letGo', 'takeOver'])
      expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[1], [1]])
    })
  }

  it('kills a new worker that does not come up in time', async () => {
    const simulation = await started(except({ '2 boot': 'hang' }))
    simulation.supervisor.replace()
    await simulation.run(200_000)
    expect(simulation.reports.at(-1)).to.include({ kind: 'failed', serving: 1_001 })
    expect(aliveOf(simulation)).to.deep.equal([1])
  })

  it('gives up when the old worker does not let go, which goes on', async () => {
    const simulation = await started(except({ '1 letGo': 'hang' }))
    simulation.supervisor.replace()
    await simulation.run(60_000)
    expect(simulation.reports.at(-1)).to.include({ kind: 'failed', serving: 1_001 })
    expect(ordersOf(simulation, 1)).to.deep.equal(['takeOver', 'letGo', 'resume'])
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[1], [1]])
  })

  it('starts another at once when the worker crashes', async () => {
    const simulation = await started()
    simulation.supervisor.replace()
    await simulation.run(1_000)
    simulation.workers[1]?.crash()
    await simulation.run(50)
    expect(ordersOf(simulation, 1).slice(3)).to.deep.equal(['letGo', 'resign'])
    expect(simulation.owners()).to.deep.equal([3])
    await simulation.run(2 * silenceMs)
    expect(simulation.kinds(), 'whoever has crashed is silent').to.deep.equal(['serves', 'serves', 'crashed', 'serves'])
  })

  it('kills the worker when it gives no answer, says so once, and starts another', async () => {
    const simulation = await started()
    await simulation.run(10 * silenceMs)
    expect(simulation.kinds()).to.deep.equal(['serves'])
    simulation.workers[0]?.hang()
    await simulation.run(0.9 * silenceMs)
    expect(simulation.kinds()).to.deep.equal(['serves'])
    await simulation.run(0.2 * silenceMs)
    expect(simulation.reports.slice(1)).to.deep.equal([
      { kind: 'hangs', pid: 1_001 },
      { kind: 'serves', pid: 1_002, instead: undefined },
    ])
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[2], [2]])
    simulation.workers[1]?.hang()
    await simulation.run(1.2 * silenceMs)
    expect(simulation.owners()).to.deep.equal([3])
  })

  it('kills a replaced worker that gives no answer, and leaves alone the one that serves', async () => {
    const simulation = await started()
    simulation.supervisor.replace()
    await simulation.run(1_000)
    simulation.workers[0]?.hang()
    await simulation.run(1.2 * silenceMs)
    expect(simulation.kinds()).to.deep.equal(['serves', 'serves', 'hangs'])
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[2], [2]])
  })

  it('does not take a sleep of the machine for silence', async () => {
    const simulation = await started()
    for (let times = 0; times < 50; times++) {
      simulation.sleep(8 * 3_600_000)
      await simulation.run(0)
      await simulation.run(((times * 7) % 11) * 500)
    }
    expect(simulation.kinds()).to.deep.equal(['serves'])
  })

  it('asks no worker that is still starting, however long it takes', async () => {
    const simulation = await started((worker, step) => ({
      does: 'ok',
      ms: step === 'boot' && worker === 2 ? 100_000 : 10,
    }))
    simulation.workers[0]?.crash()
    await simulation.run(101_000)
    expect(simulation.kinds()).to.deep.equal(['serves', 'crashed', 'serves'])
    expect(simulation.owners()).to.deep.equal([2])
  })

  it('leaves alone a worker of a program from before, which does not know the question', async () => {
    const simulation = simulate(promptly, false)
    await simulation.run(10 * silenceMs)
    expect([simulation.kinds(), simulation.owners()]).to.deep.equal([['serves'], [1]])
  })

  it('says nothing of a worker that hangs when it is to stop, and ends it all the same', async () => {
    const simulation = await started()
    simulation.workers[0]?.hang()
    await simulation.run(0.8 * silenceMs)
    simulation.supervisor.stop()
    await simulation.run(stopPatienceMs + 9_999)
    expect(aliveOf(simulation), 'its patience, and ten seconds to close').to.deep.equal([1])
    await simulation.run(2)
    expect([await simulation.outcome, simulation.kinds()]).to.deep.equal([false, ['serves']])
  })

  it('kills a replaced worker that does not let go when nobody serves', async () => {
    let isStuck = false
    const simulation = await started((worker, step) => ({
      does: isStuck && worker === 1 && step === 'letGo' ? 'hang' : 'ok',
      ms: 10,
    }))
    simulation.supervisor.replace()
    await simulation.run(1_000)
    isStuck = true
    simulation.workers[1]?.crash()
    await simulation.run(60_000)
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[3], [3]])
  })

  it('goes on with the new worker when the old one crashes while it lets go', async () => {
    const simulation = await started(except({ '1 letGo': 'crash' }))
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect(simulation.reports.at(-1)).to.deep.equal({ kind: 'serves', pid: 1_002, instead: 1_001 })
    expect([simulation.owners(), aliveOf(simulation)]).to.deep.equal([[2], [2]])
  })

  it('tries again after a pause that grows while none comes up, and at once after one has served', async () => {
    let mayBoot = true
    const simulation = await started((_worker, step) => ({ does: step === 'boot' && !mayBoot ? 'crash' : 'ok', ms: 0 }))
    mayBoot = false
    simulation.workers[0]?.crash()
    const attempts: number[] = []
    for (let second = 0; second < 60; second++) {
      await simulation.run(1_000)
      attempts.push(simulation.workers.length - 1)
    }
    expect(attempts[0]).to.be.within(2, 5)
    expect((attempts[59] ?? 0) - (attempts[39] ?? 0)).to.equal(4)
    mayBoot = true
    await simulation.run(5_000)
    const served = simulation.workers.length
    expect(simulation.owners()).to.deep.equal([served])
    simulation.workers.at(-1)?.crash()
    await simulation.run(1)
    expect(simulation.owners()).to.deep.equal([served + 1])
    mayBoot = false
    simulation.workers.at(-1)?.crash()
    await simulation.run(1_000)
    expect(simulation.workers.length - served - 1, 'the pause is short again').to.be.within(2, 5)
  })

  it('stops the oldest replaced worker when there are more than three', async () => {
    const simulation = await started()
    for (let times = 0; times < 4; times++) {
      simulation.supervisor.replace()
      await simulation.run(1_000)
    }
    expect(ordersOf(simulation, 1)).to.include('stop')
    expect(aliveOf(simulation)).to.deep.equal([2, 3, 4, 5])
    expect(ordersOf(simulation, 2)).not.to.include('stop')
  })

  for (const step of ['boot', 'takeOver'] as const) {
    it(`ends with the first worker when that one does not come up (${step})`, async () => {
      const simulation = simulate(except({ [`1 ${step}`]: 'crash' }))
      await simulation.run(1_000)
      expect(await simulation.outcome).to.be.instanceOf(WorkerEnded)
      expect(simulation.workers).to.have.length(1)
    })
  }

  it('stops all workers, those that are starting too, and starts none', async () => {
    const simulation = await started(except({ '3 boot': 'hang' }))
    simulation.supervisor.replace()
    await simulation.run(1_000)
    simulation.supervisor.replace()
    await simulation.run(1_000)
    expect(aliveOf(simulation)).to.deep.equal([1, 2, 3])
    simulation.supervisor.stop()
    await simulation.run(1_000)
    expect(await simulation.outcome).to.equal(true)
    expect([aliveOf(simulation), simulation.workers.length, simulation.waiting()]).to.deep.equal([[], 3, 0])
    expect(simulation.kinds(), 'nothing has failed').to.deep.equal(['serves', 'serves'])
    expect(ordersOf(simulation, 3), 'has done nothing yet, and is not waited for').to.deep.equal([])
  })

  it('is over as well when it is stopped before the first has come up', async () => {
    const simulation = simulate(except({ '1 boot': 'hang' }))
    await simulation.run(1_000)
    simulation.supervisor.stop()
    await simulation.run(50)
    expect(simulation.waiting(), 'before it would try again').to.equal(0)
    expect([await simulation.outcome, aliveOf(simulation), simulation.kinds()]).to.deep.equal([true, [], []])
  })

  it('is over at once when it is stopped in a pause before it tries again', async () => {
    const simulation = await started((worker, step) => ({
      does: worker > 1 && step === 'boot' ? 'crash' : 'ok',
      ms: 10,
    }))
    simulation.workers[0]?.crash()
    await simulation.run(10_000)
    expect(simulation.waiting()).to.equal(1)
    simulation.supervisor.stop()
    expect(simulation.waiting()).to.equal(0)
    expect(await simulation.outcome).to.equal(true)
  })

  it('starts none when it is stopped while it prepares', async () => {
    const prepared = Promise.withResolvers<void>()
    const simulation = simulate(promptly, true, () => prepared.promise)
    await simulation.run(1_000)
    simulation.workers[0]?.crash()
    await simulation.run(1_000)
    simulation.supervisor.stop()
    prepared.resolve()
    await simulation.run(1_000)
    expect([await simulation.outcome, simulation.workers.length]).to.deep.equal([true, 1])
  })

  it('asks nobody where any silence is allowed', () => {
    const asked = (): never => expect.fail('asked')
    watch({ ask: asked, answers: () => 0 }, { silenceMs: 0, after: asked, onSilence: asked })()
  })

  it('kills no worker that is slow to answer, but does', () => {
    let [answers, asked] = [0, 0]
    const due: (() => void)[] = []
    const after = (_ms: number, task: () => void) => (due.push(task), () => undefined)
    const ask = (): void => void (++asked % 10 === 0 && answers++)
    watch({ ask, answers: () => answers }, { silenceMs, after, onSilence: () => expect.fail('silent') })
    for (let turn = 0; turn < 100; turn++) due.shift()?.()
    expect(asked).to.equal(101)
  })

  it('says so when a worker does not end well', async () => {
    const simulation = await started()
    simulation.supervisor.stop()
    simulation.workers[0]?.crash()
    await simulation.run(1_000)
    expect(await simulation.outcome).to.equal(false)
  })

  it('has at most one owner at any time and one in the end, whatever happens when (300 seeds)', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const roll = createRandom(seed).below
      let isCalm = true
      const simulation = simulate(() => {
        const does = isCalm ? 'ok' : (['ok', 'ok', 'ok', 'crash', 'hang'] as const)[roll(5)]
        return { does: does ?? 'ok', ms: roll(50) }
      })
      await simulation.run(1_000)
      isCalm = false
      for (let step = 0; step < 30; step++) {
        const alive = simulation.workers.filter((worker) => worker.isAlive())
        const some = alive[roll(alive.length)]
        if (roll(2) === 0) simulation.supervisor.replace()
        else if (roll(3) === 0) some?.crash()
        else if (roll(4) === 0) some?.hang()
        else if (some?.orders.includes('resign') === true) some.finish()
        await simulation.run(roll(2) === 0 ? roll(60) : roll(40_000))
      }
      isCalm = true
      await simulation.run(400_000)
      expect(simulation.owners(), `seed ${seed}`).to.have.length(1)
      simulation.supervisor.stop()
      await simulation.run(60_000)
      expect(await simulation.outcome, `seed ${seed}`).to.be.a('boolean')
      expect(aliveOf(simulation), `seed ${seed}`).to.deep.equal([])
    }
  })
})
