import { expect } from 'chai'
import { canaries } from './canaries.ts'
import { calendarScenarioOf, mostOfADayMs, scenarioOf, simulate, type Outcome, type Scenario } from './simulate.ts'
import { createSqliteSimulatedIndex } from './sqlite-index.ts'

const isSoak = process.env['SOAK'] === '1'
const given = process.env['SEED']
const range = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, n) => from + n)
const seeds = given === undefined ? range(1, isSoak ? 10_000 : 200) : [Number(given)]
const calendarSeeds = given === undefined ? range(1, isSoak ? 3_000 : 30) : [Number(given)]
const sqliteSeeds = given === undefined ? range(1, isSoak ? 100 : 3) : seeds
/** Bugs that seeds beyond the first ones have found. */
const onceWrong: Readonly<Record<number, string>> = {
  1594: 'a projector that moves readers from another build than the one it has compared with',
  713: 'a build that is removed when another has its name',
  1192: 'a command that moves readers to where the build they leave is told to be, not to where it is',
  373: 'a rebuild that waits for readers who came, and went on to another candidate',
  41269: 'a command that moves readers from a build that a projector has begun to fold meanwhile',
}
const onceWrongByCalendar: Readonly<Record<number, string>> = {
  77: 'a process that slept over midnight with a request whose sender had sent it again',
}
/** Each canary must be found by one of so many. */
const canarySeedsMax = 150
const sqliteCanarySeedsMax = 15
/** Those that soon show on SQLite files, from this seed on; the others with `SOAK=1`. */
const soonOnFiles: Readonly<Record<string, number>> = {
  'no position guard': 1,
  'repeats forgotten when a projector starts': 1,
  'progress that is told before it is made': 2,
}
const laterOnFiles: Readonly<Record<string, number>> = {
  'a checkpoint ahead of its entries': 1,
  'acknowledged before it is durable': 1,
  'a projection that gives up': 1,
  'progress that leaves out who is behind': 2,
  'a log that keeps what was erased': 2,
  'a build that keeps what was erased': 4,
}
/** Far above what a seed takes: a simulation that hangs is to fail. */
const seedMs = 10_000
const sqliteSeedMs = 120_000

/**
 * There one projector folds at a time: who starts processes sees to that (src/compose/processes/supervisor.ts). Days end, so that their files are
 * tidied.
 */
const sqliteScenarioOf = (seed: number): Scenario => ({
  ...scenarioOf(seed),
  ...(scenarioOf(seed).jumpMs === 0 ? {} : { jumpMs: mostOfADayMs }),
  tearing: 'files',
  zombies: false,
  load: { senders: 2, requestsOfEach: 4, recordsMax: 3, repeats: 0.4, hasLeaving: seed % 2 === 0 },
})

type Options = NonNullable<Parameters<typeof simulate>[1]>
const onFiles = (seed: number): Options => ({
  scenario: sqliteScenarioOf(seed),
  openIndex: createSqliteSimulatedIndex,
})

function told(seed: number, { violations, steps }: Outcome): string {
  return `seed ${seed}: ${violations.slice(0, 3).join('\n')}\n\nthe last steps:\n${steps.join('\n')}\n
SEED=${seed} npm test -- --grep simulation`
}

/** What came of a seed, with which nothing may be wrong. */
async function simulateRight(...[seed, options]: Parameters<typeof simulate>): Promise<Outcome> {
  const outcome = await simulate(seed, options)
  if (outcome.violations.length > 0) expect.fail(told(seed, outcome))
  return outcome
}

describe('simulation', () => {
  it(`comes to the fold of the log and to what senders were told (seeds ${seeds[0]} to ${seeds.at(-1)})`, async function () {
    this.timeout(seeds.length * seedMs)
    let [events, looks] = [0, 0]
    for (const seed of seeds) {
      const outcome = await simulateRight(seed)
      events += outcome.events
      looks += outcome.looks
    }
    expect(events / seeds.length, 'events of a seed').to.be.above(20)
    expect(looks / seeds.length, 'looks of a reader').to.be.above(50)
  })

  it(`comes to the same over the end of a month and midnights (seeds ${calendarSeeds[0]} to ${calendarSeeds.at(-1)})`, async function () {
    this.timeout(calendarSeeds.length * seedMs)
    for (const seed of calendarSeeds) await simulateRight(seed, { scenario: calendarScenarioOf(seed) })
  })

  it(`comes to the same on SQLite files (seeds ${sqliteSeeds[0]} to ${sqliteSeeds.at(-1)})`, async function () {
    this.timeout(sqliteSeeds.length * sqliteSeedMs)
    for (const seed of sqliteSeeds) {
      const outcome = await simulateRight(seed, onFiles(seed))
      expect(outcome.looks).to.be.above(20)
    }
  })

  for (const [seed, what] of Object.entries(onceWrong)) {
    it(`does not find again what it has found: ${what} (seed ${seed})`, () => simulateRight(Number(seed)))
  }

  for (const [seed, what] of Object.entries(onceWrongByCalendar)) {
    it(`does not find again what it has found over midnights: ${what} (seed ${seed})`, () =>
      simulateRight(Number(seed), { scenario: calendarScenarioOf(Number(seed)) }))
  }

  it('does the same again for the same seed', async () => {
    const [first, second] = [await simulate(17), await simulate(17)]
    expect(second).to.deep.equal(first)
  })

  /** Fails unless one of some seeds finds it. */
  async function findsBug(name: string, seeds: readonly number[], optionsOf: (seed: number) => Options): Promise<void> {
    for (const seed of seeds) {
      const spoil = canaries[name]?.() ?? expect.fail(`there is no bug ${name}`)
      const { violations } = await simulate(seed, { ...optionsOf(seed), spoil, endsAtFirst: true })
      if (violations.length > 0) return
    }
    expect.fail(`none of ${seeds.length} seeds finds it`)
  }

  for (const name of Object.keys(canaries)) {
    it(`finds a planted bug: ${name}`, async function () {
      this.timeout(canarySeedsMax * seedMs)
      await findsBug(name, range(1, canarySeedsMax), () => ({}))
    })
  }

  for (const [name, from] of Object.entries({ ...soonOnFiles, ...(isSoak ? laterOnFiles : {}) })) {
    it(`finds a planted bug on SQLite files: ${name}`, async function () {
      this.timeout(canarySeedsMax * seedMs)
      await findsBug(name, range(from, sqliteCanarySeedsMax), onFiles)
    })
  }
})
