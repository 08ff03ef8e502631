import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase, openDatabaseToRead, transaction, type Database } from '#projections/stores/sqlite/database.ts'
import { insertTermsInto } from '#projections/stores/sqlite/stored-rows.ts'
import { layOutDay, tablesOf, tokensColumn } from '#projections/stores/sqlite/layout.ts'
import { wordsBetween } from '#projections/stores/sqlite/reading/words-between.ts'
import { createRandom } from '#test/support/index-fixture.ts'

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

describe('the words of a SQLite file', () => {
  let folder: string
  let writer: Database
  let reader: Database
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-words-'))
    writer = openDatabase(join(folder, 'day.db'))
    transaction(writer, () => layOutDay(writer, [tables], 'epoch'))
    reader = openDatabaseToRead(join(folder, 'day.db'))
  })
  after(() => {
    reader.close()
    writer.close()
    rmSync(folder, { recursive: true })
  })

  const random = createRandom(7)
  let rows = 0
  const insert = (count: number, textsOf: () => readonly (string | null)[]): void => {
    const sql = insertTermsInto(table, tables)
    transaction(writer, () => {
      for (let n = 0; n < count; n++) writer.run(sql, BigInt(++rows), ...textsOf())
    })
  }
  const someOf = (words: readonly string[], most: number): string =>
    Array.from({ length: random.below(most + 1) }, () => random.pick(words)).join(' ')

  /** As FTS5's own vocabulary has them, which reads all postings. */
  function expected(fields: readonly string[], from: string, to: string): readonly string[] {
    const columns = fields.map((field) => `'${tokensColumn(field)}'`).join(', ')
    const sql = `SELECT DISTINCT term FROM ${vocabulary} WHERE col IN (${columns}) AND term >= ? AND term <= ? ORDER BY term`
    return reader.all(sql, from, to).map(({ term }) => String(term))
  }
  const isWord = (term: string): boolean => !/[=#]/.test(term)
  function found(fields: readonly string[], from: string, to: string, isWanted: (term: string) => boolean) {
    const parts = [...wordsBetween(reader, tables, { fields, from, to })].map(({ terms, inFields }) =>
      inFields(terms.filter(isWanted)),
    )
    return parts.flat()
  }

  function expectSame(what: string): void {
    for (const fields of [['a'], ['b'], ['c'], ['a', 'b'], ['a', 'b', 'c']]) {
      for (const prefix of ['', 'a', 'aa', 'http', 'ü', 'x', '\u{1f600}', '~', 'nothing']) {
        const all = expected(fields, prefix, `${prefix}${end}`).filter(isWord)
        const said = `${what}: ${fields.join()} ${JSON.stringify(prefix)}`
        for (const wanted of [
          () => true,
          (term: string) => term.length === 1,
          (term: string) => frequent.includes(term),
        ])
          expect(found(fields, prefix, `${prefix}${end}`, wanted), said).to.deep.equal(all.filter(wanted))
      }
    }
  }

  it('are those of its vocabulary: of frequent words, in several fields, in many segments and in one, and of removed rows', () => {
    expectSame('an empty file')
    insert(1, () => ['a', null, null, null])
    expectSame('one word')
    // More than are looked up one by one, and all read at once.
    for (const word of ['aa', 'aaa', 'b', 'httpd', 'x', 'y']) insert(1, () => [word, null, `${word}${word}`, null])
    expectSame('a few words')
    const everywhere = frequent.join(' ')
    // More postings of each than are read at once; in one field a few stand behind all those of the others.
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
    for (let n = 0; n < 4_000; n += 500)
      insert(500, () => [`w${random.below(4_000)}`, `w${random.below(9_000)}`, null, null])
    expectSame('many segments')
    transaction(writer, () => {
      writer.run(`DELETE FROM ${table} WHERE rowid BETWEEN 602 AND 604 OR rowid % 3 = 0`)
    })
    expectSame('removed rows')
    const before = expected(['a', 'b', 'c'], '', end)
    writer.run(`INSERT INTO ${table} (${table}) VALUES ('optimize')`)
    expect(expected(['a', 'b', 'c'], '', end)).to.deep.equal(before)
    expectSame('one segment')
    transaction(writer, () => writer.run(`DELETE FROM ${table}  WHERE rowid > 1`))
    expectSame('nearly all removed')
  })

  it('are looked at only so far where a word is frequent, and of fields in each only a few', () => {
    insert(5_000, () => ['often oftener', null, 'one==1 two==2 two==3', null])
    let parts = 0
    let looked = 0
    for (const part of wordsBetween(reader, tables, { fields: ['a'], from: 'o', to: `u` })) {
      parts++
      looked += part.looked
    }
    expect(looked).to.be.within(4, 8)
    expect(parts).to.be.below(8)
  })
})
