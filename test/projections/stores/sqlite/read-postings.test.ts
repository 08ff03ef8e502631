import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { readPostings } from '#projections/stores/sqlite/auditing/read-postings.ts'
import { createPostings } from '#projections/stores/sqlite/auditing/postings.ts'
import { storedSums } from '#projections/stores/sqlite/auditing/stored-sums.ts'
import { openDatabase, type Database } from '#projections/stores/sqlite/database.ts'
import { createTerms, tablesOf } from '#projections/stores/sqlite/layout.ts'
import { textOfSums } from '#projections/stores/sqlite/posting-sums.ts'
import { createRandom, type Random } from '#test/support/random.ts'

const tables = tablesOf({
  name: 'texts',
  kind: 'document',
  lookbackDays: 0,
  fields: { first: 'tokens', second: 'tokens', third: 'tokens' },
})
const terms = 'f_texts'
const columns = ['t_first', 't_second', 't_third', 'keywords']

/** A word of a few that are in all texts, or of many. */
function word(random: Random): string {
  if (random.chance(0.4)) return `w${random.below(4)}`
  const stem = ['été', 'long'.repeat(20), 'a', '😀', 'x.y='][random.below(5)]
  return `${stem}${random.below(400)}`
}
const text = (random: Random, wordsMax: number): string =>
  Array.from({ length: random.below(wordsMax) }, () => word(random)).join(' ')

/** Rowids from both ends and the middle, so that their distances have all lengths. */
const rowids = new Set([
  ...Array.from({ length: 200 }, (_, at) => BigInt(at - 3)),
  ...Array.from({ length: 200 }, (_, at) => (1_795_000_000_000n + BigInt(at * at)) << 20n),
  ...Array.from({ length: 60 }, (_, at) => -(1n << BigInt(at))),
  ...Array.from({ length: 60 }, (_, at) => (1n << BigInt(at + 2)) + 5n),
])

type Written = Readonly<{ pageBytes: number; wordsMax: number; removes: boolean }>

describe('pages of FTS5, read without it', () => {
  let folder = ''
  let database: Database
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-pages-'))
    database = openDatabase(join(folder, 'file.db'))
    database.exec(createTerms(terms, tables))
    database.exec('CREATE TABLE r_texts (row INTEGER PRIMARY KEY, id TEXT NOT NULL)')
  })
  afterEach(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })

  const tell = (option: string, value: number): void =>
    database.run(`INSERT INTO ${terms} (${terms}, rank) VALUES (?, ?)`, option, BigInt(value))

  /** In many transactions, so segments, of which some are merged in part. */
  function write(random: Random, { pageBytes, wordsMax, removes }: Written): void {
    const insert = `INSERT INTO ${terms} (rowid, ${columns.join(', ')}) VALUES (?, ?, ?, ?, ?)`
    tell('pgsz', pageBytes)
    tell('automerge', 3)
    const left = [...rowids].toSorted(() => random.below(3) - 1)
    const there: bigint[] = []
    while (left.length > 0) {
      database.exec('BEGIN')
      const some = left.splice(0, 1 + random.below(40))
      for (const row of some.toSorted((a, b) => (a < b ? -1 : 1))) {
        database.run(insert, row, ...columns.map(() => text(random, wordsMax)))
        database.run('INSERT INTO r_texts (row, id) VALUES (?, ?)', row, `id ${row}`)
        there.push(row)
      }
      database.exec('COMMIT')
      if (random.chance(0.3)) tell('merge', random.chance(0.5) ? 2 : -3)
      for (let times = removes ? random.below(4) : 0; times > 0; times--) {
        const row = there[random.below(there.length)] ?? 0n
        database.run(`DELETE FROM ${terms} WHERE rowid = ?`, row)
        if (random.chance(0.5)) database.run(insert, row, ...columns.map(() => text(random, wordsMax)))
      }
    }
  }

  function read() {
    const postings: string[] = []
    let [term, row] = ['', 0n]
    const told = readPostings(database, terms, {
      term: (next) => (term = next),
      row: (high, low) => {
        row = (BigInt(high) << 32n) | BigInt(low >>> 0)
        return true
      },
      place: (column, offset) => postings.push(`${term} ${row} ${columns[column]} ${offset}`),
    })
    return { told, postings: postings.toSorted() }
  }
  function readByFts5(): readonly string[] {
    database.exec(`CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, ${terms}, 'instance')`)
    const rows = database.all(`SELECT concat_ws(' ', term, doc, col, offset) AS posting FROM temp.told`)
    database.exec('DROP TABLE temp.told')
    return rows.map(({ posting }) => String(posting)).toSorted()
  }

  const shapes: Readonly<Record<string, Written>> = {
    'on the smallest pages': { pageBytes: 32, wordsMax: 9, removes: false },
    'on small pages, with texts removed and written again': { pageBytes: 100, wordsMax: 9, removes: true },
    'on its own pages, with texts removed and written again': { pageBytes: 4_050, wordsMax: 30, removes: true },
    'on pages that are shorter than a text': { pageBytes: 64, wordsMax: 60, removes: false },
  }
  for (const [what, shape] of Object.entries(shapes)) {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      it(`tell what FTS5 tells of them, ${what} (seed ${seed})`, () => {
        write(createRandom(seed), shape)
        const { told, postings } = read()
        expect(told).to.deep.equal({ passedOver: 0 })
        expect(postings).to.deep.equal(readByFts5())
        expect(postings.length).to.be.greaterThan(1_000)
      })
    }
  }

  it('tell all of one that is merged into one segment, and nothing of an empty one', () => {
    expect(read()).to.deep.equal({ told: { passedOver: 0 }, postings: [] })
    write(createRandom(5), { pageBytes: 64, wordsMax: 9, removes: true })
    database.run(`INSERT INTO ${terms} (${terms}) VALUES ('optimize')`)
    const { postings } = read()
    expect(postings).to.deep.equal(readByFts5())
    database.run(`DELETE FROM ${terms} WHERE rowid IS NOT NULL`)
    database.run(`INSERT INTO ${terms} (${terms}) VALUES ('optimize')`)
    expect(read()).to.deep.equal({ told: { passedOver: 0 }, postings: [] })
  })

  it('tell the longest terms as FTS5 cuts them off', () => {
    for (const pageBytes of [100, 4_050]) {
      tell('pgsz', pageBytes)
      const row = BigInt(pageBytes)
      database.run(
        `INSERT INTO ${terms} (rowid, t_first) VALUES (?, ?)`,
        row,
        `${'x'.repeat(100_000)} ${'é'.repeat(16_384)}`,
      )
    }
    const { told, postings } = read()
    expect([told, postings.length]).to.deep.equal([{ passedOver: 0 }, 4])
    expect(postings).to.deep.equal(readByFts5())
  })

  /** Whoever may write to FTS5's own tables. */
  const tamper = (sql: string, ...values: readonly (number | bigint | Uint8Array)[]): void => {
    const other = new DatabaseSync(join(folder, 'file.db'), { defensive: false })
    other.prepare(sql).run(...values)
    other.close()
  }
  const setVersion = (version: number): void => tamper(`UPDATE ${terms}_config SET v = ${version} WHERE k = 'version'`)

  const sums = (atOnceMax?: number): string | undefined => {
    const stored = storedSums(database, tables, terms, atOnceMax)
    return stored && textOfSums(stored.sums)
  }
  /** What the same postings come to where their pages are not understood. */
  function sumsByFts5(): string {
    setVersion(5)
    const told = createPostings(database, tables, terms).digest()
    setVersion(4)
    database.exec('DROP TABLE temp.h_texts; DROP TABLE temp.i_texts')
    return told
  }

  it('come to the same sums as what FTS5 tells, also of rows that are not there, and in parts', () => {
    write(createRandom(6), { pageBytes: 64, wordsMax: 9, removes: true })
    database.run('DELETE FROM r_texts WHERE row % 7 = 0')
    const whole = sumsByFts5()
    expect(whole).to.match(/^[0-9a-f]{16}$/)
    for (const atOnceMax of [undefined, 40, 100_000]) expect(sums(atOnceMax)).to.equal(whole)
    database.run('UPDATE r_texts SET id = ? WHERE row = 100', 'another')
    for (const atOnceMax of [undefined, 50]) expect(sums(atOnceMax)).not.to.equal(whole)
    database.run('DELETE FROM r_texts')
    expect(sums()).to.equal(sumsByFts5())
  })

  it('come to the same sums where an index of the rows lacks most of them', () => {
    write(createRandom(12), { pageBytes: 64, wordsMax: 9, removes: false })
    const whole = sums()
    const other = new DatabaseSync(join(folder, 'file.db'), { defensive: false })
    other.exec(`ALTER TABLE r_texts ADD COLUMN position INTEGER; UPDATE r_texts SET position = row;
      CREATE INDEX r_texts_position ON r_texts (position) WHERE position = 1; PRAGMA writable_schema = 1;
      UPDATE sqlite_schema SET sql = substr(sql, 1, instr(sql, ' WHERE')) WHERE name = 'r_texts_position'`)
    other.close()
    expect(database.get('SELECT count(*) AS n FROM r_texts')).to.deep.equal({ n: 1n })
    for (const atOnceMax of [undefined, 40]) expect(sums(atOnceMax)).to.equal(whole)
  })

  it('are not read where their version is another, and are asked for instead', () => {
    write(createRandom(7), { pageBytes: 64, wordsMax: 9, removes: false })
    setVersion(5)
    expect(read().told).to.equal(undefined)
    expect(sums()).to.equal(undefined)
    expect(createPostings(database, tables, terms).digest()).to.match(/^[0-9a-f]{16}$/)
  })

  const damages = (): readonly string[] =>
    [...createPostings(database, tables, terms).damages()].map(({ name }) => name)

  const page = `(SELECT pgno FROM ${terms}_idx ORDER BY pgno LIMIT 1 OFFSET 20)`
  const misled: Readonly<Record<string, string>> = {
    'lacks a page': `DELETE FROM ${terms}_idx WHERE pgno = ${page}`,
    'leads to another page': `UPDATE ${terms}_idx SET pgno = pgno + 2 WHERE pgno = ${page}`,
    'leads to a page too late': `UPDATE ${terms}_idx SET term = CAST(term || 'zz' AS BLOB) WHERE pgno = ${page}`,
    'leads to a page too early': `UPDATE ${terms}_idx SET term = CAST('0' AS BLOB) WHERE pgno = ${page}`,
  }
  for (const [what, sql] of Object.entries(misled)) {
    it(`are passed over where FTS5's index of them ${what}, which is told`, () => {
      write(createRandom(8), { pageBytes: 64, wordsMax: 9, removes: false })
      database.run(`INSERT INTO ${terms} (${terms}) VALUES ('optimize')`)
      expect(damages()).to.deep.equal([])
      tamper(sql)
      expect(damages()).to.deep.equal([`damage in the index of ${terms}`])
    })
  }

  it('are read to an end, whatever byte of them is another', () => {
    write(createRandom(9), { pageBytes: 64, wordsMax: 9, removes: true })
    const right = sums()
    const random = createRandom(10)
    const ids = database.all(`SELECT id FROM ${terms}_data WHERE id >= 10`).map(({ id }) => id as bigint)
    let [unread, others] = [0, 0]
    for (let times = 0; times < 400; times++) {
      const id = ids[random.below(ids.length)] ?? 0n
      const block = database.get(`SELECT block FROM ${terms}_data WHERE id = ?`, id)?.['block'] as Uint8Array
      const changed = Uint8Array.from(block)
      changed[random.below(changed.length)] = random.below(256)
      tamper(`UPDATE ${terms}_data SET block = ? WHERE id = ?`, changed, id)
      const now = sums()
      if (now === undefined) unread++
      else if (now !== right) others++
      tamper(`UPDATE ${terms}_data SET block = ? WHERE id = ?`, block, id)
    }
    expect(unread).to.be.greaterThan(20)
    expect(others).to.be.greaterThan(100)
    expect(sums()).to.equal(right)
  })

  it('are not read where a term claims to be of less than no length', () => {
    database.run(`INSERT INTO ${terms} (rowid, t_first) VALUES (1, 'a 支付')`)
    const { id, block } = database.get(`SELECT id, block FROM ${terms}_data WHERE id >= 1 << 37`) ?? {}
    const changed = Buffer.from(block as Uint8Array)
    // With its highest bit, the length goes on in the term.
    const at = changed.indexOf('支付') - 1
    expect(changed[at]).to.equal(6)
    changed[at] = 0x86
    tamper(`UPDATE ${terms}_data SET block = ? WHERE id = ?`, changed, id as bigint)
    let rows = 0
    const told = readPostings(database, terms, { term: () => {}, row: () => ++rows < 0, place: () => {} })
    expect([told, rows]).to.deep.equal([undefined, 1])
  })

  it('are not read where a term is said to begin beyond its page', () => {
    database.run(`INSERT INTO ${terms} (rowid, t_first) VALUES (1, 'a')`)
    const { id, block } = database.get(`SELECT id, block FROM ${terms}_data WHERE id >= 1 << 37`) ?? {}
    const page = Buffer.from(block as Uint8Array)
    // Behind the content only the first place is kept; then one that is far away.
    const places = page.readUInt16BE(2)
    const changed = Buffer.concat([page.subarray(0, places + 1), Buffer.from([0x81, 0xff, 0xff, 0xff, 0x7e])])
    tamper(`UPDATE ${terms}_data SET block = ? WHERE id = ?`, changed, id as bigint)
    let told = 0
    const count = (): boolean => {
      if (++told > changed.length) throw new Error('more was told than there is')
      return true
    }
    expect(readPostings(database, terms, { term: () => {}, row: count, place: () => void count() })).to.equal(undefined)
  })

  it('are not read where one is gone', () => {
    write(createRandom(11), { pageBytes: 64, wordsMax: 9, removes: false })
    tamper(`DELETE FROM ${terms}_data WHERE id = (SELECT min(id) FROM ${terms}_data WHERE id >= 1 << 37)`)
    expect(sums()).to.equal(undefined)
  })
})
