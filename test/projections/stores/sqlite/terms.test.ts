import { expect } from 'chai'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TooBroadError, type Filter, type IndexWriter, type Selection } from '#projections/index-store.ts'
import { createSqliteTextReader, type SqliteTextReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { lineEntry, noonNs, scopeOf, write, openFixture } from '#test/support/index-fixture.ts'

const dayNs = 86_400_000_000_000n
const perDay = 20_000
const scope = scopeOf('lines')
const pattern = (prefix: string, regex: string, fields: readonly string[] = ['message', 'fields']): Filter => ({
  kind: 'pattern',
  fields,
  prefix,
  regex,
})

describe('patterns in the terms of SQLite files', () => {
  let folder: string
  let writer: IndexWriter
  const readers: SqliteTextReader[] = []
  const readerOf = (patternScanTermsMax: number, look?: () => void): SqliteTextReader => {
    const limits = { indexFilesOpenMax: 8, patternExpansionsMax: 1_000, patternScanTermsMax }
    const reader = createSqliteTextReader({ folder, limits }, look)
    readers.push(reader)
    return reader
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-sqlite-terms-'))
    writer = createSqliteIndexWriter({ folder, limits: { indexFilesOpenMax: 8 } })
    await openFixture(writer)
    // Two days of 20,000 words, ten to a line.
    for (const [n, day] of ['2026-11-20', '2026-11-21'].entries()) {
      const entries = Array.from({ length: perDay / 10 }, (_, line) => {
        const words = Array.from({ length: 10 }, (_word, at) => `w${String(10 * line + at).padStart(5, '0')}`)
        const timeNs = noonNs - BigInt(1 - n) * dayNs
        return lineEntry({ timeNs, text: words.join(' ') }, n * perDay + line + 1, { day })
      })
      await write(writer, entries, (n + 1) * perDay)
    }
  })
  afterEach(async () => {
    for (const { close } of readers.splice(0)) await close()
  })
  after(async () => {
    await writer.close()
    rmSync(folder, { recursive: true })
  })

  const failureOf = (answer: Promise<unknown>): Promise<unknown> => answer.catch((error: unknown) => error)

  it('meet every word that they should, among more than are read at once', async () => {
    const reader = readerOf(1_000_000)
    for (const [filter, lines] of [
      [pattern('w', 'w...05'), 200],
      [pattern('', '.*9999', ['message']), 2],
      [pattern('w0', 'w0(0000|1234|9999)'), 3],
      [pattern('w1', 'w1.*9', ['message']), 1_000],
      [pattern('w19999', 'w19999.*'), 1],
      [pattern('w2', 'w2.*'), 0],
    ] as const) {
      const selection = { filter, fromNs: noonNs - dayNs - 1n, toNs: noonNs - dayNs + 1n }
      expect(await reader.count(scope, selection), JSON.stringify(filter)).to.equal(Math.min(lines, perDay / 10))
    }
  })

  it('are met by FTS5 itself where its format is one that we do not read', async () => {
    const setVersion = (version: number): void => {
      const [path = ''] = globSync(join(folder, '*', '*', '2026-11-21.db'))
      const file = new DatabaseSync(path, { defensive: false })
      file.exec(`UPDATE f_lines_config SET v = ${version} WHERE k = 'version'`)
      file.close()
    }
    setVersion(5)
    const words = { ...pattern('', '.*9999', ['message']), ofWords: true } as const
    const reader = readerOf(1_000_000)
    expect(await reader.count(scope, { filter: words, fromNs: noonNs })).to.equal(2)
    expect(await reader.count(scope, { filter: pattern('w', 'w...05'), fromNs: noonNs })).to.equal(200)
    setVersion(4)
  })

  it('are found beside others, and left out, however many words they meet', async () => {
    const reader = readerOf(10_000_000)
    // A thousand words each: of the first half of a day's lines, and of two quarters of them.
    const [a, b] = [pattern('w0', 'w0...0'), pattern('w', 'w.[0-4]..1')]
    const not = (of: Filter): Filter => ({ kind: 'not', of })
    for (const [filter, lines] of [
      [a, 2_000],
      [b, 2_000],
      [{ kind: 'and', of: [a, b] }, 1_000],
      [{ kind: 'or', of: [a, b] }, 3_000],
      [{ kind: 'and', of: [a, not(b)] }, 1_000],
      [{ kind: 'and', of: [not(a), not(b)] }, 1_000],
      [not({ kind: 'or', of: [a, { kind: 'and', of: [b, not(a)] }] }), 1_000],
    ] as const) {
      expect(await reader.count(scope, { filter }), JSON.stringify(filter)).to.equal(lines)
    }
  })

  it('are too broad when one question has to look at too much in all files together', async () => {
    const filter = pattern('w', 'w.*777', ['message'])
    const reader = readerOf(1.5 * perDay)
    expect(await reader.count(scope, { filter, fromNs: noonNs })).to.equal(20)
    expect(await reader.count(scope, { filter, toNs: noonNs })).to.equal(20)
    const failure = await failureOf(reader.count(scope, { filter }))
    expect(failure).to.be.instanceOf(TooBroadError).with.property('message').which.includes('shorter time')
    expect(await readerOf(2.5 * perDay).count(scope, { filter })).to.equal(40)
  })

  it('look at nothing of a day that holds no record of the range of time, whatever lies around it', async () => {
    const around = mkdtempSync(join(tmpdir(), 'throughline-sqlite-terms-'))
    const days = createSqliteIndexWriter({ folder: around, limits: { indexFilesOpenMax: 8 } })
    await openFixture(days)
    const words = Array.from({ length: 60 }, (_, n) => `w${n}`).join(' ')
    // The later day has times before and after that of the earlier one.
    const times = [['2026-11-20', noonNs], ['2026-11-21', noonNs - dayNs], ['2026-11-21', noonNs + dayNs]] as const // prettier-ignore
    const entries = times.map(([day, timeNs], n) => lineEntry({ timeNs, text: words }, n + 1, { day }))
    await write(days, entries, 3)
    await days.close()
    const limits = { indexFilesOpenMax: 8, patternExpansionsMax: 1_000, patternScanTermsMax: 100 }
    const reader = createSqliteTextReader({ folder: around, limits })
    readers.push(reader)
    const filter = pattern('w', 'w.*', ['message'])
    const range = { fromNs: noonNs, toNs: noonNs + 1n }
    expect(await failureOf(reader.count(scope, { filter }))).to.be.instanceOf(TooBroadError)
    expect(await failureOf(reader.count(scope, { filter, ...range }))).to.equal(1)
    let asked: readonly Promise<unknown>[] = []
    reader.together(() => {
      asked = [1, 2].map(() => failureOf(reader.count(scope, { filter, ...range })))
    })
    expect(await Promise.all(asked)).to.deep.equal([1, 1])
    const few = createSqliteTextReader({ folder: around, limits: { ...limits, patternScanTermsMax: 50 } })
    readers.push(few)
    few.together(() => {
      asked = [1, 2].map(() => failureOf(few.count(scope, { filter, ...range })))
    })
    const [first, second] = await Promise.all(asked)
    expect(first).to.be.instanceOf(TooBroadError)
    expect(second, 'looked for once').to.equal(first)
    rmSync(around, { recursive: true })
  })

  it('may look at as much as is allowed and no more, in whichever fields it is', async () => {
    const ten = pattern('w0000', 'w0000.', ['message'])
    expect(await readerOf(10).count(scope, { filter: ten, fromNs: noonNs })).to.equal(1)
    const failure = await failureOf(readerOf(9).count(scope, { filter: ten, fromNs: noonNs }))
    expect(failure).to.be.instanceOf(TooBroadError).with.property('message').which.includes('shorter time')
    const elsewhere = pattern('w', 'w.*777', ['fields'])
    expect(await failureOf(readerOf(perDay / 2).count(scope, { filter: elsewhere }))).to.be.instanceOf(TooBroadError)
  })

  it('of words alone are not compared with what the fields are made of', async () => {
    const filter = pattern('', '.*9999', ['message'])
    const reader = readerOf(perDay + 10)
    expect(await failureOf(reader.count(scope, { filter, fromNs: noonNs }))).to.be.instanceOf(TooBroadError)
    const ofWords = { ...filter, ofWords: true } as const
    expect(await reader.count(scope, { filter: ofWords, fromNs: noonNs })).to.equal(2)
  })

  it('and ranges of texts that are no numbers are too broad when they meet too many words, and say how many', async () => {
    const reader = readerOf(1_000_000)
    const range = (to: string): Filter & { kind: 'tokenRange' } => ({
      kind: 'tokenRange',
      fields: ['message'],
      prefix: '',
      from: 'w',
      to,
    })
    const countOf = (filter: Filter) => failureOf(reader.count(scope, { filter, fromNs: noonNs }))
    expect(await countOf(range('w00999'))).to.equal(100)
    // More words than a range of numbers lists; of these bounds one could be a number's.
    expect(await countOf({ ...range('w00500'), from: 'a' })).to.equal(51)
    expect(await countOf({ ...range('w00500'), from: 'ab9', prefix: 'w0' })).to.equal(51)
    for (const [filter, what] of [
      [range('w01000'), 'range'],
      [pattern('w0', 'w0.*', ['message']), 'pattern'],
    ] as const) {
      const message = `the ${what} meets more than 1000 words of a day`
      expect(await countOf(filter))
        .to.be.instanceOf(TooBroadError)
        .with.property('message', message)
    }
  })

  it('are looked for once by all questions that are asked together, also in vain', async () => {
    const filter = pattern('w', 'w.*777', ['message'])
    const reader = readerOf(1.5 * perDay)
    const selection = { filter, fromNs: noonNs }
    const facets = await reader.facets(scope, selection, ['level', 'service', 'level'], 10)
    expect(facets.map(({ field }) => field)).to.deep.equal(['level', 'service', 'level'])

    let asked: readonly Promise<unknown>[] = []
    reader.together(() => {
      const [days, day] = [{ filter }, { filter: pattern('w', 'w.*777', ['message']), fromNs: noonNs }]
      asked = [days, days, day].map((each) => failureOf(reader.count(scope, each)))
    })
    const [first, second, other] = await Promise.all(asked)
    expect(first).to.be.instanceOf(TooBroadError)
    expect(second).to.equal(first)
    expect(other).to.equal(20)
  })

  describe('once they have been looked for in a file', () => {
    const filter = pattern('w', 'w.*777', ['message'])
    const onSecondDay = { filter, fromNs: noonNs }
    let looks = 0
    const countAfter = async (reader: SqliteTextReader, more: Partial<Selection> = {}) => {
      looks = 0
      return { count: await reader.count(scope, { ...onSecondDay, ...more }), looks }
    }
    const writeAt = async (position: number, text: string): Promise<void> =>
      write(writer, [lineEntry({ text }, position, { day: '2026-11-21' })], position)

    it('are not looked for again while nobody has written to it', async () => {
      const reader = readerOf(1_000_000, () => looks++)
      const first = await countAfter(reader)
      const second = await countAfter(reader)
      expect([first.count, second.count]).to.deep.equal([20, 20])
      expect(second.looks).to.be.below(first.looks / 2)
      // A search may have a hundred patterns, and an export asks with all of them for each batch.
      for (let n = 100; n < 150; n++) await countAfter(reader, { filter: pattern('w', `w.*${n}`, ['message']) })
      expect((await countAfter(reader)).looks).to.be.below(first.looks / 2)
      // Of eight that meet a thousand words each it is known at once.
      for (const digit of '01234567') await countAfter(reader, { filter: pattern('w', `w0.${digit}..`, ['message']) })
      expect((await countAfter(reader)).looks).to.be.above(first.looks / 2)
    })

    it('are looked for again after a write, unless what is asked was written before', async () => {
      const reader = readerOf(1_000_000, () => looks++)
      const upTo = 2 * perDay
      const first = await countAfter(reader)
      await writeAt(upTo + 1, 'w777')
      const old = await countAfter(reader, { upTo })
      expect([first.count, old.count]).to.deep.equal([20, 20])
      expect(old.looks).to.be.below(first.looks / 2)
      expect((await countAfter(reader, { upTo: upTo + 1 })).count).to.equal(21)
      await writeAt(upTo + 2, 'wnew777')
      expect((await countAfter(reader)).count).to.equal(22)
      // Another pattern, and the same one of other fields, are not taken for it.
      expect((await countAfter(reader, { filter: pattern('w', 'w.*778', ['message']) })).count).to.equal(20)
      expect((await countAfter(reader, { filter: pattern('w', 'w.*777', ['fields']) })).count).to.equal(0)
    })

    it('are too broad as before: it does not depend on what was asked', async () => {
      const reader = readerOf(1.5 * perDay)
      for (const day of [{ fromNs: noonNs }, { toNs: noonNs }]) await reader.count(scope, { filter, ...day })
      expect(await failureOf(reader.count(scope, { filter }))).to.be.instanceOf(TooBroadError)
    })
  })
})
