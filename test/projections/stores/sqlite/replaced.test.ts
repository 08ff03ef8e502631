import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Entry } from '#projections/projection.ts'
import { openDatabase, type Database } from '#projections/stores/sqlite/database.ts'
import { layOutDay, tablesOf } from '#projections/stores/sqlite/layout.ts'
import { writeDay, type Replaced } from '#projections/stores/sqlite/writing/day-writer.ts'
import { shapeOf } from '#projections/stores/row.ts'
import { lineEntry, lines, noonNs } from '#test/support/index-fixture.ts'

const tables = tablesOf(shapeOf(lines))
const collections = new Map([['lines', { collection: lines, tables }]])

describe('records of a file of SQLite that others replace', () => {
  let folder: string
  let database: Database
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-replaced-'))
    database = openDatabase(join(folder, 'day.db'))
    layOutDay(database, [tables], 'epoch')
  })
  afterEach(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })

  const write = (
    to: Database,
    position: number,
    changes: Partial<Readonly<{ entries: readonly Entry[]; replaced: readonly Replaced[] }>>,
    onStep = () => {},
  ): void =>
    writeDay(to, collections, { entries: [], replaced: [], ...changes }, { position, onStep, checkRoom: () => {} })

  /** The same file; `walks` has the rows that each look for ids walks through. */
  function watched(walks: number[]): Database {
    const watch = (sql: string, values: readonly unknown[]): void => {
      if (!/FROM r_lines WHERE .*\bid (=|IN)/.test(sql)) return
      const numbers = values.filter((value) => typeof value === 'bigint')
      const range = sql.includes('row BETWEEN') ? ` WHERE row BETWEEN ${numbers[0]} AND ${numbers[1]}` : ''
      walks.push(Number(database.get(`SELECT count(*) AS n FROM r_lines${range}`)?.['n']))
    }
    return {
      ...database,
      get(sql, ...values) {
        watch(sql, values)
        return database.get(sql, ...values)
      },
      all(sql, ...values) {
        watch(sql, values)
        return database.all(sql, ...values)
      },
    }
  }

  const count = (): bigint => database.get('SELECT count(*) AS n FROM r_lines')?.['n'] as bigint

  for (const [where, spilled] of [
    ['of one millisecond', 0],
    ['of a file in which a millisecond is full', 1],
  ] as const)
    it(`are looked for together ${where}, and a heartbeat may be told meanwhile`, () => {
      database.exec(`UPDATE collections SET spilled = ${spilled}`)
      let position = 0
      for (const many of [2_000, 4_000, 8_000]) {
        const entries = Array.from({ length: many }, () => lineEntry({ level: 'info' }, ++position))
        write(database, position, { entries })
        const held = Number(count())
        const replaced = entries.slice(1).map((entry) => ({ ...entry, position: position + 1 }))
        const walks: number[] = []
        let steps = 0
        write(watched(walks), ++position, { replaced }, () => void steps++)
        expect([walks, count()]).to.deep.equal([[held], BigInt(held - many + 1)])
        expect(steps).to.be.at.least(many / 128)
      }
    })

  it('are those of the ids alone, whatever their times and wherever they are', () => {
    const times = [0n, 1n, 1_000_000n, 1_000_001n, 5_000_000n]
    const entries = times.map((ns, n) => lineEntry({ timeNs: noonNs + ns, level: 'info' }, n + 1))
    write(database, 5, { entries })
    const gone = [entries[1], entries[3], entries[4], lineEntry({ timeNs: noonNs }, 9)].flatMap((entry) => entry ?? [])
    const replaced = [...gone, ...gone.slice(0, 1), { collection: 'lines', id: 'without a time', position: 6 }]
    write(database, 6, { replaced: replaced.map((one) => ({ ...one, position: 6 })) })
    const left = database.all('SELECT id FROM r_lines ORDER BY row').map(({ id }) => id)
    expect(left).to.deep.equal([entries[0]?.id, entries[2]?.id])
    expect(database.get('SELECT sum(count) AS n FROM m_lines WHERE field = ?', 'level')).to.deep.include({ n: 2n })
  })
})
