import { randomBytes } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { FrozenPart } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { createOrderedDigester } from '#projections/stores/digest.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexAudit } from '#projections/stores/sqlite/auditing/audit.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { dayBefore } from '#src/lib/day.ts'
import { indexAuditContract } from '#test/contracts/index-audit.ts'
import { removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs } from '#test/support/engines.ts'
import {
  acme,
  day,
  epoch,
  fixture,
  index,
  lineEntry,
  lines,
  noonNs,
  thingEntry,
  write,
} from '#test/support/index-fixture.ts'
import { syncedBy } from '#test/support/synced-by.ts'

const limits = { indexFilesOpenMax: 4 }
const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'throughline-audit-'))

indexAuditContract('memory', async () => {
  const store = createMemoryIndexStore()
  return { open: async () => store, remove: async () => {} }
})

indexAuditContract('sqlite', async () => {
  const folder = await newFolder()
  return {
    open: async () => ({
      writer: createSqliteIndexWriter({ folder, limits }),
      audit: createSqliteIndexAudit({ folder }),
    }),
    remove: () => rm(folder, { recursive: true }),
  }
})

indexAuditContract('sqlite, with sums over postings', async () => {
  const folder = await newFolder()
  return {
    open: async () => ({
      writer: createSqliteIndexWriter({ folder, limits, keeps: 'sums' }),
      audit: createSqliteIndexAudit({ folder, summed: () => fixture }),
    }),
    remove: () => rm(folder, { recursive: true }),
  }
})

describe('Elasticsearch', () => {
  let url = ''
  before(async function () {
    this.timeout(enginesTimeoutMs)
    url = await elasticsearchEngine()
  })

  indexAuditContract('elasticsearch', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`
    const place = { url, prefix, partition: 0, settings: { shards: 2, replicas: 0 } }
    return {
      open: async () => ({
        writer: createElasticsearchIndexWriter({ ...place, refreshEveryMs: 0 }),
        audit: createElasticsearchIndexAudit({ ...place, partitions: 1 }),
      }),
      remove: () => removeIndices(url, prefix),
    }
  })
})

describe('a digest of what searches use', () => {
  it('is another where the same characters are other texts, or the same texts stand in another order', () => {
    const digestOf = (...texts: readonly string[]): string => {
      const { add, value } = createOrderedDigester()
      for (const text of texts) add(text)
      return value()
    }
    const long = 'x'.repeat(70_000)
    const digests = [['ab', 'c'], ['a', 'bc'], ['c', 'ab'], ['abc'], [long, 'ab', 'c']].map((texts) =>
      digestOf(...texts),
    )
    expect(new Set(digests).size).to.equal(digests.length)
    expect(digestOf('ab', 'c')).to.equal(digests[0])
  })
})

describe('the SQLite audit', () => {
  let folder: string
  let writer: IndexWriter
  const entries = [
    lineEntry({ level: 'info', service: ['shop', 'cart'], size: 7, text: 'one two three' }, 1),
    lineEntry({ level: 'warn', service: ['shop'], size: 8, text: 'two three four' }, 2),
    thingEntry('t', { weight: 3, tags: ['a'], note: 'first note' }, 3),
    thingEntry('u', { timeNs: noonNs + 5n, weight: 4, note: 'second note' }, 3),
  ]
  beforeEach(async () => {
    folder = await newFolder()
    writer = createSqliteIndexWriter({ folder, limits })
    await writer.open(index, fixture, epoch)
    await write(writer, entries, 3)
  })
  afterEach(async () => {
    await writer.close()
    await rm(folder, { recursive: true })
  })

  const look = async <T>(task: (part: FrozenPart) => Promise<T>, build = index): Promise<T> => {
    const part = await createSqliteIndexAudit({ folder }).freeze(build, { workspaceId: acme, day })
    try {
      return await task(part)
    } finally {
      await part.release()
    }
  }
  const tamper = (sql: string, build = index): void => {
    const database = new DatabaseSync(join(folder, build, acme, `${day}.db`), { timeout: 5_000, defensive: false })
    database.exec(sql)
    database.close()
  }
  const digestOf = (collection: string) =>
    look(async (part) => (await part.digests()).find((digest) => digest.collection === collection))

  const firstLine = `(SELECT min(row) FROM r_lines)`
  /** Makes an index anew of no rows, and then says that it is of all. */
  const withoutRows = (name: string, of: string): string => {
    const sql = `CREATE ${name.endsWith('_id') ? 'UNIQUE ' : ''}INDEX ${name} ON ${of}`
    const said = `UPDATE sqlite_schema SET sql = '${sql}' WHERE name = '${name}'`
    return `DROP INDEX ${name}; ${sql} WHERE 0; PRAGMA writable_schema = 1; ${said}`
  }
  const cases: readonly (readonly [string, string, 'lines' | 'things', 'content' | 'search'])[] = [
    [
      'a byte of a body',
      `UPDATE b_lines SET body = replace(body, 'one', 'onf') WHERE row = ${firstLine}`,
      'lines',
      'content',
    ],
    ['a body of another type', `UPDATE b_lines SET body = CAST(body AS BLOB)`, 'lines', 'content'],
    ['a body that is gone', `DELETE FROM b_lines WHERE row = ${firstLine}`, 'lines', 'content'],
    ['a row that is gone', `DELETE FROM r_lines WHERE row = ${firstLine}`, 'lines', 'content'],
    ['a number', `UPDATE r_lines SET n_size = n_size + 1 WHERE row = ${firstLine}`, 'lines', 'content'],
    ['a number as text', `UPDATE r_things SET created = 'x'`, 'things', 'content'],
    ['a keyword', `UPDATE r_lines SET k_level = 'infp' WHERE row = ${firstLine}`, 'lines', 'content'],
    ['a keyword that is not there', `UPDATE r_things SET k_tags = 'null' WHERE id = 'u'`, 'things', 'content'],
    ['a position', `UPDATE r_things SET position = 4 WHERE id = 't'`, 'things', 'content'],
    ['a time', `UPDATE r_things SET time = time + 1 WHERE id = 't'`, 'things', 'content'],
    [
      'a row at another millisecond',
      ['r_things', 'b_things'].map((table) => `UPDATE ${table} SET row = row + 1048576`).join(';'),
      'things',
      'content',
    ],
    [
      'a range of times that leaves rows out',
      `UPDATE collections SET latest = 0 WHERE name = 'lines'`,
      'lines',
      'content',
    ],
    [
      'a range of times that begins too late',
      `UPDATE collections SET earliest = latest + 1, latest = latest + 1 WHERE name = 'lines'`,
      'lines',
      'content',
    ],
    ['what a row says of its postings', `UPDATE r_things SET terms = 'other' WHERE id = 't'`, 'things', 'content'],
    ['a count per minute', `UPDATE m_lines SET count = 9 WHERE value = 'info'`, 'lines', 'search'],
    ['a minute that is not there', `INSERT INTO m_lines VALUES ('level', 1, 'info', 1)`, 'lines', 'search'],
    ['a count of values together', `UPDATE c_lines SET count = 9`, 'lines', 'search'],
    ['a count of values that is gone', `DELETE FROM c_lines WHERE grain = 5000000000`, 'lines', 'search'],
    [
      'a count of values where there are no rows',
      `INSERT INTO c_lines VALUES (60000000000, 1, 256, 1)`,
      'lines',
      'search',
    ],
    [
      'values that are not those of the rows',
      `UPDATE x_lines SET vals = replace(vals, 'info', 'warn')`,
      'lines',
      'content',
    ],
    [
      'a rowid that tells other values',
      `UPDATE r_lines SET row = row + 131072 WHERE row = ${firstLine}`,
      'lines',
      'content',
    ],
    ['postings that are gone', `DELETE FROM f_lines WHERE rowid = ${firstLine}`, 'lines', 'search'],
    [
      'postings of a row that is not there',
      `INSERT INTO f_lines (rowid, t_message) VALUES (77, 'two')`,
      'lines',
      'search',
    ],
    ['an index of ids that lacks rows', withoutRows('r_things_id', 'r_things (id)'), 'things', 'search'],
    [
      'an index of numbers that lacks rows',
      withoutRows('r_things_n_weight', 'r_things (n_weight, id)'),
      'things',
      'search',
    ],
    ['an index of values that lacks some', withoutRows('x_lines_vals', 'x_lines (vals)'), 'lines', 'search'],
  ]
  for (const [what, sql, collection, part] of cases) {
    it(`sees ${what}`, async () => {
      const before = await digestOf(collection)
      tamper(sql)
      const after = await digestOf(collection)
      expect(after?.[part]).not.to.equal(before?.[part])
    })
  }

  it('sees a rowid that tells values of a row that is not counted', async () => {
    const sized = { ...lines, countedWhere: { field: 'size' } }
    const build = 'sized-v1-001'
    await writer.open(build, { ...fixture, name: 'sized', collections: { lines: sized } }, epoch)
    const given = [
      lineEntry({ level: 'info', size: 7 }, 1),
      lineEntry({ level: 'info', size: NaN }, 2),
      lineEntry({ level: 'info', size: 8, service: ['x'.repeat(2_000)] }, 3),
    ]
    await writer.write(build, [{ workspaceId: acme, entries: given }], { epoch, position: 3 })
    const wrong = await look(async (part) => {
      const names: string[] = []
      for await (const { name } of part.searchItems('lines')) names.push(name)
      return names.filter((name) => name.startsWith('count '))
    }, build)
    expect(wrong).to.deep.equal([])
    const digest = () => look(async (part) => (await part.digests())[0], build)
    const before = await digest()
    // Of the first id that tells values, and the next row that it has room for.
    const moved = `UPDATE r_lines SET row = row + 65537 WHERE n_size IS NULL`
    tamper(`${moved}; UPDATE b_lines SET row = row + 65537 WHERE row NOT IN (SELECT row FROM r_lines)`, build)
    expect((await digest())?.content).not.to.equal(before?.content)
  })

  it('sees what searches use of entries of which none is left', async () => {
    tamper('DELETE FROM r_things; DELETE FROM b_things')
    const digest = await digestOf('things')
    expect(digest).to.include({ entries: 0 })
    tamper('DELETE FROM m_things; DELETE FROM f_things WHERE rowid > 0')
    expect(await digestOf('things')).to.equal(undefined)
  })

  it('copies what is left of a workspace whose days are dropped meanwhile', async () => {
    // A file that is listed, and gone when its turn comes.
    symlinkSync(join(folder, 'gone'), join(folder, index, acme, `${dayBefore(day, 1)}.db`))
    const audit = createSqliteIndexAudit({ folder })
    const second = 'fixture-v1-002'
    await writer.open(second, fixture, epoch)
    // Again, as after it was broken off.
    for (let times = 0; times < 2; times++) await audit.copy(index, second, acme)
    expect(await audit.parts(second)).to.deep.equal([{ workspaceId: acme, day }])
  })

  it('has copied files, and their names, on the disk when it is done', async () => {
    const second = 'fixture-v1-002'
    await writer.open(second, fixture, epoch)
    const synced = await syncedBy(() => createSqliteIndexAudit({ folder }).copy(index, second, acme))
    const copies = join(folder, second, acme)
    expect(synced).to.include.members([join(copies, `${day}.db`), copies, join(folder, second), folder])
  })

  /** The tokens that postings have for an entry, column by column, in their order. */
  const postingsOf = (id: string) =>
    look(async (part) => {
      const columns = new Map<string, string[]>()
      for await (const { name } of part.searchItems('things')) {
        for await (const entry of part.entriesOf('things', name)) {
          for (const place of entry.name === id ? entry.value.split(' ') : []) {
            const [column = '', offset] = place.split(':')
            const tokens = columns.get(column) ?? []
            columns.set(column, tokens)
            tokens[Number(offset)] = name.slice('term '.length)
          }
        }
      }
      const of = (column: string): string => (columns.get(column) ?? []).join(' ')
      return { note: of('t_note'), keywords: of('keywords') }
    })
  const rewrite = (id: string, { note, keywords }: Readonly<{ note: string; keywords: string }>): void =>
    tamper(
      `UPDATE f_things SET t_note = '${note}', keywords = '${keywords}' WHERE rowid = (SELECT row FROM r_things WHERE id = '${id}')`,
    )

  it('sees nothing in postings that are written again as they were', async () => {
    const before = await digestOf('things')
    const postings = await postingsOf('t')
    expect(postings).to.deep.include({ note: 'first note' })
    rewrite('t', postings)
    expect(await digestOf('things')).to.deep.equal(before)
  })

  const rewrites: Readonly<
    Record<string, (of: { note: string; keywords: string }) => { note: string; keywords: string }>
  > = {
    'another token': (of) => ({ ...of, note: 'first nite' }),
    'tokens in another order': (of) => ({ ...of, note: 'note first' }),
    'the tokens of one field under another': ({ note, keywords }) => ({ note: keywords, keywords: note }),
  }
  for (const [what, change] of Object.entries(rewrites)) {
    it(`sees in postings ${what}`, async () => {
      const before = await digestOf('things')
      rewrite('t', change(await postingsOf('t')))
      expect((await digestOf('things'))?.search).not.to.equal(before?.search)
      expect((await digestOf('things'))?.content).to.equal(before?.content)
    })
  }

  it('sees in postings the end of one field at the beginning of the next', async () => {
    const digestWith = async (columns: string, values: string) => {
      tamper(`INSERT INTO f_lines (rowid, ${columns}) VALUES (77, ${values})`)
      const digest = await digestOf('lines')
      tamper('DELETE FROM f_lines WHERE rowid = 77')
      return digest?.search
    }
    const before = await digestWith('t_message', `'first last'`)
    expect(await digestWith('t_message, t_fields', `'first', 'last'`)).not.to.equal(before)
    expect(await digestWith('t_message', `'first last'`)).to.equal(before)
  })

  for (const column of ['note', 'keywords'] as const) {
    it(`sees postings of two entries changed for one another, of ${column}`, async () => {
      const before = await digestOf('things')
      const [t, u] = [await postingsOf('t'), await postingsOf('u')]
      rewrite('t', { ...t, [column]: u[column] })
      rewrite('u', { ...u, [column]: t[column] })
      expect((await digestOf('things'))?.search).not.to.equal(before?.search)
    })
  }

  it('says which entries a term leads to, and where in each', async () => {
    const found = await look(async (part) => {
      const names: string[] = []
      for await (const { name } of part.searchItems('lines')) names.push(name)
      const leads: unknown[] = []
      for await (const item of part.entriesOf('lines', 'term three')) leads.push(item)
      return { names, leads }
    })
    expect(found.names).to.include.members(['term one', 'term two', 'term three', 'term four'])
    // Of two levels, two services, and that a line has two of these.
    expect(found.names.filter((name) => name.startsWith('minute '))).to.have.length(5)
    expect(found.leads).to.deep.equal([
      { name: entries[0]?.id, value: 't_message:2' },
      { name: entries[1]?.id, value: 't_message:1' },
    ])
  })

  it('says of a row that is not there which it would be', async () => {
    tamper(`INSERT INTO f_lines (rowid, t_message) VALUES (77, 'nowhere')`)
    const leads = await look(async (part) => {
      const found: unknown[] = []
      for await (const item of part.entriesOf('lines', 'term nowhere')) found.push(item)
      return found
    })
    expect(leads).to.deep.equal([{ name: 'row 77', value: 't_message:0' }])
  })

  it('reads very many postings, each term once', async () => {
    const text = Array.from({ length: 3_000 }, (_, n) => `word${n % 50}`).join(' ')
    const many = Array.from({ length: 200 }, (_, n) => lineEntry({ text }, 10 + n))
    await write(writer, many, 500)
    const values = await look(async (part) => {
      const found = new Map<string, string>()
      for await (const { name, value } of part.searchItems('lines')) {
        expect(found.has(name), `${name} once`).to.equal(false)
        found.set(name, value.split(' ')[0] ?? '')
      }
      return found
    })
    for (let n = 0; n < 50; n++) expect(values.get(`term word${n}`), `word${n}`).to.equal('12000')
    expect(values.get('term two')).to.equal('2')
    // The last of all: it stands between the values of a field, and in each line.
    expect([...values.keys()].at(-1)).to.equal('term ·')
    expect(Number(values.get('term ·'))).to.be.above(200)
  })
})
