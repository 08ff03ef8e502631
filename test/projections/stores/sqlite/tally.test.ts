import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase, type Database } from '#projections/stores/sqlite/database.ts'
import { firstRowOf } from '#projections/stores/sqlite/rowid-parts.ts'
import { createTallies, type Tallies, type Tally } from '#projections/stores/sqlite/reading/tally.ts'

const secondNs = 1_000_000_000n
const given: readonly (readonly [ms: bigint, id: number])[] = [
  [5_000n, 300],
  [-1n, 300],
  [1_999n, 4_095],
  [0n, 300],
  [1_001n, 300],
  [1_500n, 300],
  [-1_000n, 0],
]

describe('tallies of what rowids tell', () => {
  let folder: string
  let database: Database
  let tallies: Tallies
  let walks: number

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-tally-'))
    database = openDatabase(join(folder, 'rows.db'))
    database.exec('CREATE TABLE rows (row INTEGER PRIMARY KEY, weight INTEGER NOT NULL)')
    for (const [at, [ms, id]] of given.entries())
      database.run('INSERT INTO rows VALUES (?, ?)', firstRowOf(ms, id) + 7n, at)
    walks = 0
    const hear: Database['hear'] = (...asked) => {
      walks++
      database.hear(...asked)
    }
    tallies = createTallies({ ...database, hear })
  })
  afterEach(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })

  const heavier = (than: number) => ({ sql: 'FROM rows r WHERE weight > ?', values: [than], rowid: 'r.row' })
  const all = heavier(-1)
  const pairsOf = (tally: Tally): unknown =>
    [...tally].map(([step, ofStep]) => [step, [...ofStep]] as const).sort(([a], [b]) => a - b)
  const bySecond = [
    [
      -1,
      [
        [0, 1],
        [300, 1],
      ],
    ],
    [0, [[300, 1]]],
    [
      1,
      [
        [300, 2],
        [4_095, 1],
      ],
    ],
    [5, [[300, 1]]],
  ]

  it('are by step of time, on either side of 1970, and by id', () => {
    expect(pairsOf(tallies.of(all, secondNs))).to.deep.equal(bySecond)
    expect(pairsOf(tallies.of(heavier(4), secondNs))).to.deep.equal([
      [-1, [[0, 1]]],
      [1, [[300, 1]]],
    ])
  })

  it('are the same in whatever order rows come', () => {
    const byWeight = 'FROM (SELECT row FROM rows ORDER BY weight LIMIT -1) r WHERE 1'
    const tally = tallies.of({ sql: byWeight, values: [], rowid: 'r.row' }, secondNs)
    expect([...tally.keys()]).to.deep.equal([5, -1, 1, 0])
    const inOrder = new Map([...tally].map(([step, ofStep]) => [step, new Map([...ofStep].sort(([a], [b]) => a - b))]))
    expect(pairsOf(inOrder)).to.deep.equal(bySecond)
  })

  it('are of all time where no step is asked for', () => {
    expect(pairsOf(tallies.of(all, undefined))).to.deep.equal([
      [
        0,
        [
          [0, 1],
          [300, 5],
          [4_095, 1],
        ],
      ],
    ])
    expect(tallies.of(heavier(99), undefined).size).to.equal(0)
  })

  it('answer what is asked of the same rows again, in the same steps or in none', () => {
    const tally = tallies.of(all, secondNs)
    expect([tallies.of(all, secondNs), tallies.of(all, undefined)]).to.deep.equal([tally, tally])
    database.exec('DELETE FROM rows')
    expect(tallies.count(all)).to.equal(given.length)
    expect(walks).to.equal(1)
  })

  it('do not answer what is asked of other rows, or in other steps', () => {
    tallies.of(all, secondNs)
    expect(tallies.count(heavier(4))).to.equal(2)
    expect(tallies.of(heavier(4), secondNs).size).to.equal(2)
    expect([...tallies.of(all, 5n * secondNs).keys()]).to.deep.equal([-1, 0, 1])
    expect(walks).to.equal(3)
  })

  it('that somebody else makes are made once, also for steps that are some times as long', () => {
    let made = 0
    const kept = (name: string, stepNs: bigint): Tally =>
      tallies.kept(name, stepNs, () => {
        made++
        return tallies.of(all, stepNs)
      })
    expect(pairsOf(kept('one', secondNs))).to.deep.equal(bySecond)
    const byFive = [
      [
        -1,
        [
          [0, 1],
          [300, 1],
        ],
      ],
      [
        0,
        [
          [300, 3],
          [4_095, 1],
        ],
      ],
      [1, [[300, 1]]],
    ]
    expect(pairsOf(kept('one', 5n * secondNs))).to.deep.equal(byFive)
    expect(pairsOf(kept('one', secondNs))).to.deep.equal(bySecond)
    expect(made).to.equal(1)
    kept('two', secondNs)
    expect([...kept('one', secondNs / 2n).keys()]).to.have.members([-2, -1, 0, 2, 3, 10])
    expect(made).to.equal(3)
  })

  it('are kept of few selections, and of few pairs', () => {
    for (let than = 0; than < 9; than++) tallies.of(heavier(than - 1), secondNs)
    tallies.of(all, secondNs)
    expect(walks).to.equal(10)
    const steps =
      'WITH RECURSIVE n (row) AS (SELECT 1 UNION ALL SELECT row + 1 FROM n LIMIT 100001) SELECT row << 20 AS row FROM n'
    const many = { sql: `FROM (${steps}) r WHERE 1`, values: [], rowid: 'r.row' }
    for (const _ of [1, 2]) expect(tallies.of(many, 1_000_000n).size).to.equal(100_001)
    expect(walks).to.equal(12)
  })

  it('say what the engine says of what it cannot read, and go on', () => {
    database.exec('CREATE TABLE odd (row INTEGER PRIMARY KEY)')
    expect(() => tallies.of({ sql: 'FROM gone r WHERE 1', values: [], rowid: 'r.row' }, secondNs)).to.throw('rows.db')
    expect(tallies.count(all)).to.equal(given.length)
  })

  it('hear errors of who hears', () => {
    const fail = (): void => {
      throw new Error('enough')
    }
    expect(() => database.hear(['1', '2'], 'FROM rows r WHERE 1', [], fail)).to.throw('enough')
    let heard = 0
    database.hear(['1', '2'], 'FROM rows r WHERE 1', [], () => void heard++)
    expect(heard).to.equal(given.length)
  })
})
