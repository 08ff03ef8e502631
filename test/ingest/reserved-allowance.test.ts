import { expect } from 'chai'
import { expectCounted, expectExact, simulateAllowance, type Scenario } from './allowance-simulation.ts'

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

  /** Senders repeat requests over hours, and an index that goes wrong in many ways says what counts. */
  const repeated: Omit<Scenario, 'seed'> = {
    ...busy,
    limit: 500,
    processes: 3,
    senders: 8,
    requestsOfEach: 16,
    crashes: 0.1,
    index: { rests: 0.1, loses: 0.1, poison: 0.02 },
  }

  it(`is spent to the span that counts, where requests are repeated after hours, by an index that lacks some now and then (${seeds} seeds)`, async () => {
    let corrected = 0
    for (let seed = 1; seed <= seeds; seed++) {
      const outcome = await simulateAllowance({ ...repeated, seed })
      expectCounted({ ...repeated, seed }, outcome, `seed ${seed}`)
      corrected += outcome.corrected
    }
    expect(corrected).to.be.above(0)
  })

  for (const hides of ['lost days', 'dead letters', 'how far it is'] as const) {
    it(`would be overspent if the index did not tell of ${hides}: the simulation can fail`, async () => {
      let most = 0
      for (let seed = 1; seed <= 20 && most <= repeated.limit; seed++)
        most = Math.max(most, (await simulateAllowance({ ...repeated, seed, hides })).counted)
      expect(most).to.be.above(repeated.limit)
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
