import { expect } from 'chai'
import { expectExact, simulateAllowance, type Scenario } from './allowance-simulation.ts'

const seeds = process.env['SOAK'] === '1' ? 1_000 : 40

const busy: Omit<Scenario, 'seed'> = {
  limit: 2_000,
  processes: 4,
  senders: 16,
  requestsOfEach: 12,
  spansMax: 24,
  knowsDead: false,
  faults: 0.03,
  crashes: 0.2,
  beforeMonthEndMs: 0,
}

describe('the span allowance over several processes', function () {
  this.timeout(seeds * 20_000)

  for (const [name, scenario] of Object.entries({
    'that are spared': { ...busy, faults: 0, crashes: 0 },
    'that crash and sleep, and lose their log now and then': busy,
    'of one machine, where it is known who is gone': { ...busy, knowsDead: true },
    'over the end of a month': { ...busy, limit: 500, senders: 8, beforeMonthEndMs: 5_000 },
    'far from the limit': { ...busy, limit: 50_000 },
    'that all ask for the last few spans': { ...busy, limit: 60, requestsOfEach: 4 },
  })) {
    it(`is spent to the span, and its ledger is the log’s: processes ${name} (${seeds} seeds)`, async () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const outcome = await simulateAllowance({ ...scenario, seed })
        expectExact({ ...scenario, seed }, outcome, `seed ${seed}`)
      }
    })
  }

  it('would be overspent if the log did not refuse what was taken back: the simulation can fail', async () => {
    let exact = 0
    for (let seed = 1; seed <= 10; seed++) {
      const { stored } = await simulateAllowance({
        ...busy,
        seed,
        spoil: (stream) => ({
          ...stream,
          append: (events, expected) =>
            stream.append(events, expected?.subject.startsWith('reservation.') === true ? undefined : expected),
        }),
      })
      if (stored === busy.limit) exact++
    }
    expect(exact).to.be.below(10)
  })
})
