import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { compareText } from '#src/lib/compare-text.ts'
import { openDatabase, openDatabaseToRead, transaction, type Database } from '#projections/stores/sqlite/database.ts'
import { insertTermsInto } from '#projections/stores/sqlite/stored-rows.ts'
import { layOutDay, tablesOf, tokensColumn } from '#projections/stores/sqlite/layout.ts'
import { termsOnPages } from '#projections/stores/sqlite/reading/terms-on-pages.ts'
import { ifKnown } from '#projections/stores/sqlite/fts5/segments.ts'
import { createRandom } from '#test/support/random.ts'

const tables = tablesOf({
  name: 'lines',
  kind: 'record',
  lookbackDays: 0,
  fields: { a: 'tokens', b: 'tokens', c: 'tokens', k: 'keyword' },
})
const { terms: table = '', vocabulary } = tables
const end = '\u{10ffff}'

/** Two of them share a prefix with the next, or sort beside a sign of field names, or where UTF-8 and UTF-16 differ. */
const frequent = ['!', 'a', 'aa', 'a\u00a0', 'http', 'ü', '\ufffd', '\u{1f600}', 'x\u{10ffff}']
const rare = [
  '0',
  '~',
  'a!',
  'aaa',
  'a~',
  'b',
  'http2',
  'htt',
  'h',
  'z',
  '\u0080',
  '\u07ff',
  '支',
  '\uffff',
  '\u{10000}',
  'x',
]
const ofFields = ['a=a', 'a==a', 'a#80', 'http=', 'http==x', 'http.route=a', 'http#ff', 'ü=ü', '支=~', 'b==\u{10ffff}']

const isWord = (term: string): boolean => !/[=#]/.test(term)
const inOrder = (terms: Iterable<string>): readonly string[] => [...new Set(terms)].toSorted(compareText)

describe('the terms of a SQLite file, from its pages', () => {
  let folder: string
  let writer: Database
  let reader: Database
  let rows: number
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-words-'))
    writer = openDatabase(join(folder, 'day.db'))
    transaction(writer, () => layOutDay(writer, [tables], 'epoch'))
    reader = openDatabaseToRead(join(folder, 'day.db'))
    rows = 0
  })
  afterEach(() => {
    reader.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })

  const random = createRandom(7)
  const insert = (count: number, textsOf: () => readonly (string | null)[]): void => {
    const sql = insertTermsInto(table, tables)
    transaction(writer, () => {
      for (let n = 0; n < count; n++) writer.run(sql, BigInt(++rows), ...textsOf())
    })
  }
  const tell = (option: string, value?: number): void => {
    if (value === undefined) writer.run(`INSERT INTO ${table} (${table}) VALUES (?)`, option)
    else writer.run(`INSERT INTO ${table} (${table}, rank) VALUES (?, ?)`, option, BigInt(value))
  }
  const someOf = (words: readonly string[], most: number): string =>
    Array.from({ length: random.below(most + 1) }, () => random.pick(words)).join(' ')

  /** As FTS5's own vocabulary has them, which reads all postings. */
  function expected(fields: readonly string[], from: string, to: string): readonly string[] {
    const columns = fields.map((field) => `'${tokensColumn(field)}'`).join(', ')
    const sql = `SELECT DISTINCT term FROM ${vocabulary} WHERE col IN (${columns}) AND term >= ? AND term <= ? ORDER BY term`
    return reader.all(sql, from, to).map(({ term }) => String(term))
  }

  type Asked = Readonly<{ prefix?: string; literal?: string; ofWords: boolean; isWanted?: (term: string) => boolean }>
  const parts = (fields: readonly string[], { prefix = '', literal = '', ofWords }: Asked) =>
    termsOnPages(reader, tables, { fields, prefix, literal, ofWords })
  function found(fields: readonly string[], asked: Asked): readonly string[] {
    const { literal = '', isWanted = () => true } = asked
    const matches = (term: string): boolean => term.includes(literal) && isWanted(term)
    return inOrder([...parts(fields, asked)].flatMap(({ terms, inFields }) => inFields(terms.filter(matches))))
  }

  const prefixes = ['', 'a', 'aa', 'http', 'ü', 'x', '\u{1f600}', '~', 'nothing']
  const wantedOnes: readonly ((term: string) => boolean)[] = [
    () => true,
    (term) => term.length === 1,
    (term) => frequent.includes(term),
  ]
  function expectSame(what: string): void {
    for (const fields of [['a'], ['b'], ['c'], ['a', 'b'], ['a', 'b', 'c']]) {
      const every = expected(fields, '', end)
      for (const prefix of prefixes) {
        const all = prefix === '' ? every : expected(fields, prefix, `${prefix}${end}`)
        const said = `${what}: ${fields.join()} ${JSON.stringify(prefix)}`
        for (const isWanted of wantedOnes) {
          const words = all.filter(isWord).filter(isWanted)
          expect(found(fields, { prefix, isWanted, ofWords: true }), said).to.deep.equal(words)
        }
        expect(found(fields, { prefix, ofWords: false }), said).to.deep.equal(all)
        const some = all.filter((term) => term.includes('t'))
        expect(found(fields, { prefix, literal: 't', ofWords: false }), said).to.deep.equal(some)
      }
      for (const literal of ['a', 'tt', '\u{1f600}', '1', 'w1', 'nowhere']) {
        const some = every.filter((term) => term.includes(literal))
        expect(found(fields, { literal, ofWords: false }), `${what}: ${literal}`).to.deep.equal(some)
        expect(found(fields, { literal, ofWords: true }), `${what}: ${literal}`).to.deep.equal(some.filter(isWord))
      }
    }
  }

  for (const pageBytes of [32, 4_050]) {
    it(`are those of its vocabulary: frequent, in several fields, in many segments and in one, removed; pages of ${pageBytes} bytes`, () => {
      tell('pgsz', pageBytes)
      expectSame('an empty file')
      insert(1, () => ['a', null, null, null])
      expectSame('one word')
      for (const word of ['aa', 'aaa', 'b', 'httpd', 'x', 'y']) insert(1, () => [word, null, `${word}${word}`, null])
      expectSame('a few words')
      const everywhere = frequent.join(' ')
      // In one field a few stand behind all those of the others, some pages on.
      insert(600, () => [everywhere, null, `${everywhere} ${someOf(ofFields, 5)}`, 'k==v http==x'])
      insert(3, () => [null, everywhere, someOf(rare, 3), 'k==v'])
      expectSame('frequent words')
      for (let segment = 0; segment < 12; segment++) {
        insert(90, () => [
          someOf([...frequent, ...rare], 9),
          someOf(rare, 2),
          someOf(ofFields, 9),
          someOf(['k==v', 'k=='], 1),
        ])
      }
      for (let n = 0; n < 1_500; n += 300)
        insert(300, () => [`w${random.below(4_000)}`, `w${random.below(9_000)}`, `http=${random.below(4_000)}`, null])
      expectSame('many segments')
      tell('merge', 20)
      expectSame('a merge half done')
      transaction(writer, () => {
        writer.run(`DELETE FROM ${table} WHERE rowid BETWEEN 602 AND 604 OR rowid % 3 = 0`)
      })
      expectSame('removed rows')
      const before = expected(['a', 'b', 'c'], '', end)
      tell('optimize')
      expect(expected(['a', 'b', 'c'], '', end)).to.deep.equal(before)
      expectSame('one segment')
      transaction(writer, () => writer.run(`DELETE FROM ${table}  WHERE rowid > 1`))
      expectSame('nearly all removed')
    })
  }

  /** One page each. */
  const pagesRead = (fields: readonly string[], asked: Asked): number => [...parts(fields, asked)].length

  it('are read without the pages of their postings, without those of one field where words are sought, and from their beginning on', () => {
    insert(20_000, () => ['often oftener', null, null, null])
    const pages = reader.get(`SELECT count(*) AS n FROM ${table}_data`)?.['n']
    expect(Number(pages)).to.be.above(20)
    expect(pagesRead(['a'], { ofWords: true })).to.be.below(4)
    insert(20_000, () => ['often', null, `one=${rows} two#${rows} two=${rows}`, null])
    expect(pagesRead(['c'], { ofWords: false })).to.be.above(50)
    expect(pagesRead(['a'], { ofWords: true })).to.be.below(12)
    expect(pagesRead(['c'], { prefix: 'two=29', ofWords: false })).to.be.within(4, 30)
    expect(found(['a'], { ofWords: true })).to.deep.equal(['often', 'oftener'])
    expect(found(['c'], { prefix: 'two=299', ofWords: false })).to.have.length(100)
  })

  /** Whoever may write to FTS5's own tables. */
  const tamper = (sql: string, ...values: readonly (bigint | Uint8Array)[]): void => {
    const other = new DatabaseSync(join(folder, 'day.db'), { defensive: false })
    other.prepare(sql).run(...values)
    other.close()
  }

  it('are not told where the format is another', () => {
    insert(1, () => ['a', null, null, null])
    tamper(`UPDATE ${table}_config SET v = 5 WHERE k = 'version'`)
    expect(ifKnown(() => found(['a'], { ofWords: true }))).to.equal(undefined)
  })

  it('are read to an end, whatever byte of a page is another', () => {
    tell('pgsz', 64)
    for (let segment = 0; segment < 4; segment++) {
      insert(60, () => [someOf([...frequent, ...rare], 9), someOf(rare, 2), someOf(ofFields, 9), null])
    }
    writer.run(`DELETE FROM ${table} WHERE rowid % 5 = 0`)
    const right = found(['a', 'c'], { ofWords: false })
    const ids = reader.all(`SELECT id FROM ${table}_data WHERE id >= 10`).map(({ id }) => id as bigint)
    let [unread, others] = [0, 0]
    for (let times = 0; times < 400; times++) {
      const id = random.pick(ids)
      const block = reader.get(`SELECT block FROM ${table}_data WHERE id = ?`, id)?.['block'] as Uint8Array
      const changed = Uint8Array.from(block)
      changed[random.below(changed.length)] = random.below(256)
      tamper(`UPDATE ${table}_data SET block = ? WHERE id = ?`, changed, id)
      const now = ifKnown(() => found(['a', 'c'], { ofWords: false }))
      if (now === undefined) unread++
      else if (now.join(' ') !== right.join(' ')) others++
      tamper(`UPDATE ${table}_data SET block = ? WHERE id = ?`, block, id)
    }
    expect(
      [unread, others].every((count) => count > 4),
      `${unread} not read, ${others} read as others`,
    ).to.equal(true)
    expect(found(['a', 'c'], { ofWords: false })).to.deep.equal(right)
  })
})
