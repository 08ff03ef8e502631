import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Filter, IndexReader, Selection } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import { floorTo, int64Min } from '#src/lib/int64.ts'
import {
  everything,
  idsOf,
  lineEntry,
  noonNs,
  openOracle,
  scopeOf,
  thingEntry,
  things,
  write,
  type Line,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'
import { createRandom, type Random } from '#test/support/random.ts'

const minuteNs = 60_000_000_000n

const values = ['a', 'b', 'B', 'c', '', '\u001f', '\u001f["a"]', 'a b']
const someOf = (random: Random, most: number): readonly string[] =>
  values.filter(() => random.chance(0.3)).slice(0, most)
const nearNoon = (random: Random): bigint => noonNs + BigInt(random.below(300) - 150) * 1_000_000_000n

const someWords = (random: Random): string => random.pick(['', 'any', 'any paid', 'any paid late', 'late', 'other'])

/** A document that may have been there before, and now counts or does not, by other values, in another minute. */
function randomThing(random: Random, most: number, position: number): Entry {
  const thing = {
    timeNs: nearNoon(random),
    weight: random.pick([null, 0, 1, 2n, -1, 7]),
    tags: someOf(random, most),
    note: someWords(random),
  }
  return thingEntry(`t${random.below(90)}`, thing, position)
}

/** A record, or one in the place of an earlier one. */
function randomRecord(random: Random, most: number, position: number, written: readonly Entry[]): Entry {
  const level = random.pick(['info', 'warn', null])
  const line = { timeNs: nearNoon(random), level, service: someOf(random, most), text: someWords(random) }
  const old = random.chance(0.2) ? written[random.below(Math.max(1, written.length))] : undefined
  if (old === undefined) return lineEntry(line, position)
  return lineEntry({ ...line, timeNs: (old.document as Line).timeNs }, position, { id: old.id, replaces: true })
}

const counted: Filter = { kind: 'number', ...(things.countedWhere ?? { field: 'none' }) }
/** What counts that are kept can answer, and what is near to it and must not be answered by them. */
function randomAsked(random: Random, fields: readonly string[]): Filter {
  const ofValue = (): Filter => ({
    kind: 'keyword',
    field: random.pick(fields),
    values: [random.pick(values), random.pick(['INFO', 'warn'])],
  })
  const [keyword, another] = [ofValue(), ofValue()]
  const other: Filter = {
    kind: 'number',
    field: 'weight',
    ...random.pick([{ from: 2 }, { from: 1, to: 5 }, { to: 1 }]),
  }
  return random.pick<Filter>([
    everything,
    counted,
    keyword,
    other,
    another,
    { kind: 'and', of: [keyword, another] },
    { kind: 'and', of: [keyword, { kind: 'not', of: another }] },
    { kind: 'or', of: [keyword, another, { kind: 'none' }] },
    { kind: 'and', of: [counted, keyword] },
    { kind: 'and', of: [keyword, counted, other] },
    { kind: 'and', of: [counted, { kind: 'not', of: keyword }] },
    { kind: 'or', of: [counted, keyword] },
  ])
}

/** A word, a phrase or a pattern, of which some are met by nothing, or by nearly everything. */
function randomWord(random: Random): Filter {
  const fields = ['message', 'note']
  const tokens = random.pick([['paid'], ['late'], ['any'], ['any', 'paid'], ['late', 'paid'], ['absent']])
  const pattern = (prefix: string, regex: string): Filter => ({ kind: 'pattern', fields, prefix, regex })
  return random.pick<Filter>([
    { kind: 'phrase', fields, tokens },
    { kind: 'phrase', fields, tokens, prefix: true },
    { kind: 'phrase', fields, tokens: [random.pick(['a', 'p', 'l', 'q'])], prefix: true },
    random.pick([pattern('', '.*a.*'), pattern('pa', 'pa.+'), pattern('q', 'q.*'), pattern('', '.*')]),
  ])
}

/** What is asked for, of that what has none of some words, in the forms in which a search may say so. */
function randomWithout(random: Random, asked: Filter, fields: readonly string[]): Filter {
  const [word, another] = [randomWord(random), randomWord(random)]
  const value: Filter = { kind: 'keyword', field: random.pick(fields), values: [random.pick([...values, 'info'])] }
  const not = (of: Filter): Filter => ({ kind: 'not', of })
  return random.pick<Filter>([
    not(word),
    { kind: 'and', of: [not(word), not(another)] },
    { kind: 'and', of: [asked, not(word)] },
    { kind: 'and', of: [not(another), { kind: 'and', of: [not(word), asked] }] },
    { kind: 'and', of: [asked, not({ kind: 'or', of: [word, value] })] },
    { kind: 'and', of: [asked, not({ kind: 'and', of: [word, not(value)] })] },
    { kind: 'and', of: [asked, not(value), not(word)] },
    { kind: 'and', of: [asked, another, not(word)] },
    not({ kind: 'or', of: [word, not(asked)] }),
    { kind: 'or', of: [asked, not(word)] },
  ])
}

function randomRange(random: Random): Pick<Selection, 'fromNs' | 'toNs'> {
  const bound = (): bigint =>
    noonNs +
    (random.chance(0.3) ? random.pick([-16n, -15n, 15n, 16n]) : BigInt(random.below(7) - 3)) * minuteNs +
    random.pick([0n, 0n, 1n, 25_000_000_000n, 30_500_000_000n])
  return { ...(random.chance(0.6) ? { fromNs: bound() } : {}), ...(random.chance(0.6) ? { toNs: bound() } : {}) }
}

function randomPlaces(random: Random): Pick<Selection, 'upTo' | 'since'> {
  const place = (): number => random.below(600)
  return { ...(random.chance(0.1) ? { upTo: place() } : {}), ...(random.chance(0.1) ? { since: place() } : {}) }
}

/** Clauses on counts. `use` gives the store of the test that runs. */
export function countClauses(use: () => OpenIndexStore): void {
  const ids = (collection: string, filter: Filter = everything) => idsOf(use().reader, collection, filter)

  describe('counting', () => {
    it('gives buckets that begin at multiples of the step, also before 1970, with counts by value', async () => {
      const at = [-1n, 0n, minuteNs - 1n, minuteNs, noonNs]
      const entries = at.map((timeNs, n) => lineEntry({ timeNs, level: n % 2 === 0 ? 'info' : null }, n + 1))
      await write(use().writer, entries, at.length)
      const histogram = (stepNs: bigint, selection = {}, by = 'level') =>
        use().reader.histogram(scopeOf('lines'), { filter: everything, ...selection }, stepNs, by)
      expect(await histogram(minuteNs)).to.deep.equal([
        { startNs: -minuteNs, total: 1, by: { info: 1 } },
        { startNs: 0n, total: 2, by: { info: 1 } },
        { startNs: minuteNs, total: 1, by: {} },
        { startNs: noonNs, total: 1, by: { info: 1 } },
      ])
      expect(await histogram(minuteNs, { fromNs: 1n, toNs: noonNs })).to.deep.equal([
        { startNs: 0n, total: 1, by: { info: 1 } },
        { startNs: minuteNs, total: 1, by: {} },
      ])
      const second = await histogram(1_000_000_000n, { toNs: minuteNs + 1n })
      expect(second.map(({ startNs }) => startNs)).to.deep.equal([-1_000_000_000n, 0n, 59_000_000_000n, minuteNs])
      const ofNothing = await histogram(30n * minuteNs, {}, 'nope')
      expect(ofNothing.map(({ startNs, total, by }) => [startNs, total, by])).to.deep.equal([
        [-30n * minuteNs, 1, {}],
        [0n, 3, {}],
        [noonNs, 1, {}],
      ])
      const wide = await histogram(30n * minuteNs)
      expect(wide.map(({ startNs, total }) => [startNs, total])).to.deep.equal([
        [-30n * minuteNs, 1],
        [0n, 3],
        [noonNs, 1],
      ])
    })

    it('gives the first step that begins before 64 bits, also where a range begins in it', async () => {
      await write(use().writer, [lineEntry({ timeNs: int64Min }, 1), lineEntry({}, 2)], 2)
      const starts = async (selection: Partial<Selection>) => {
        const asked = { filter: everything, ...selection }
        const buckets = await use().reader.histogram(scopeOf('lines'), asked, minuteNs, 'level')
        return buckets.map(({ startNs }) => startNs)
      }
      const first = floorTo(int64Min, minuteNs)
      expect(await starts({ fromNs: int64Min })).to.deep.equal([first, noonNs])
      expect(await starts({ fromNs: first + minuteNs })).to.deep.equal([noonNs])
    })

    it('counts values within a range, whichever minutes it cuts, and as documents are now', async () => {
      const seconds = [0, 30, 59, 60, 90, 119, 120, 150]
      const timeOf = (n: number): bigint => noonNs + BigInt(seconds[n] ?? 0) * 1_000_000_000n
      const entries = seconds.flatMap((_, n) => [
        lineEntry({ timeNs: timeOf(n), level: n % 2 === 0 ? 'info' : 'warn', service: [`s${n % 3}`] }, n + 1),
        thingEntry(`t${n}`, { timeNs: timeOf(n), tags: ['all', `tag${n % 3}`] }, n + 1),
      ])
      await write(use().writer, entries, seconds.length)
      const moved = thingEntry('t0', { timeNs: timeOf(3), tags: ['other'] }, seconds.length + 1)
      await write(use().writer, [moved], seconds.length + 1)
      const valuesOf = async (collection: string, field: string, selection: Partial<Selection>) => {
        const [facet] = await use().reader.facets(scopeOf(collection), { filter: everything, ...selection }, [field], 9)
        return Object.fromEntries((facet?.values ?? []).map(({ value, count }) => [value, count]))
      }
      const cut = { fromNs: timeOf(1), toNs: timeOf(7) }
      expect(await valuesOf('lines', 'service', {})).to.deep.equal({ s0: 3, s1: 3, s2: 2 })
      expect(await valuesOf('lines', 'service', cut)).to.deep.equal({ s0: 2, s1: 2, s2: 2 })
      expect(await valuesOf('lines', 'level', cut)).to.deep.equal({ info: 3, warn: 3 })
      const only: Filter = { kind: 'keyword', field: 'service', values: ['s1'] }
      expect(await valuesOf('lines', 'service', { ...cut, filter: only })).to.deep.equal({ s1: 2 })
      expect(await valuesOf('lines', 'level', { ...cut, filter: only })).to.deep.equal({ info: 1, warn: 1 })
      expect(await valuesOf('things', 'tags', {})).to.deep.equal({ all: 7, other: 1, tag0: 2, tag1: 3, tag2: 2 })
      expect(await valuesOf('things', 'tags', cut)).to.deep.equal({ all: 6, other: 1, tag0: 2, tag1: 2, tag2: 2 })
      const tagged: Filter = { kind: 'keyword', field: 'tags', values: ['tag2'] }
      expect(await valuesOf('things', 'tags', { filter: tagged })).to.deep.equal({ all: 2, tag2: 2 })
    })

    it('gives the most frequent values of each field, several values of one record each', async () => {
      const services = [['a', 'b'], ['b', 'b'], ['B'], [], ['__proto__'], ['']]
      await write(
        use().writer,
        services.map((service, n) => lineEntry({ service, level: 'info' }, n + 1)),
        services.length,
      )
      const facets = await use().reader.facets(
        scopeOf('lines'),
        { filter: everything },
        ['service', 'level', 'nope'],
        3,
      )
      expect(facets).to.deep.equal([
        {
          field: 'service',
          values: [
            { value: 'b', count: 2 },
            { value: '', count: 1 },
            { value: 'B', count: 1 },
          ],
        },
        { field: 'level', values: [{ value: 'info', count: 6 }] },
        { field: 'nope', values: [] },
      ])
    })
  })

  describe('a keyword of any length', () => {
    it('is found whole, and counted by its beginning', async () => {
      const long = 'a'.repeat(8_000)
      const services = [
        [`${long}x`, `${long}y`],
        [`${long}y`],
        [long],
        [`${'é'.repeat(7_999)}𝒳`],
        [`b${' '.repeat(8_000)}`],
      ]
      await write(
        use().writer,
        services.map((service, n) => lineEntry({ service }, n + 1)),
        services.length,
      )
      const found = (value: string) => ids('lines', { kind: 'keyword', field: 'service', values: [value] })
      expect(await found(`${long}X`)).to.deep.equal([lineEntry({}, 1).id])
      expect(await found(`${long}y`)).to.have.members([1, 2].map((position) => lineEntry({}, position).id))
      expect(await found(`${long}…`)).to.deep.equal([])
      const countOf = (value: string) =>
        use().reader.count(scopeOf('lines'), { filter: { kind: 'keyword', field: 'service', values: [value] } })
      const asked = [`${long}X`, `${long}y`, `${long}…`, long, 'B']
      expect(await Promise.all(asked.map(countOf))).to.deep.equal([1, 2, 0, 1, 1])
      const expected = [
        { value: `${long}…`, count: 2 },
        { value: long, count: 1 },
        { value: `b${' '.repeat(7_999)}…`, count: 1 },
        { value: `${'é'.repeat(7_999)}\ufffd…`, count: 1 },
      ]
      const facets = await use().reader.facets(scopeOf('lines'), { filter: everything }, ['service'], 5)
      expect(facets).to.deep.equal([{ field: 'service', values: expected }])
      const [bucket] = await use().reader.histogram(scopeOf('lines'), { filter: everything }, minuteNs, 'service')
      expect(bucket?.by).to.deep.equal(Object.fromEntries(expected.map(({ value, count }) => [value, count])))
    })
  })

  describe('counts of documents that change', () => {
    const fieldsOf = { things: ['tags'], lines: ['level', 'service'] }
    for (const [seed, most] of [
      [1, 1],
      [2, 1],
      [3, 8],
      [4, 8],
    ] as const) {
      it(`are those of what is there, up to ${most} values each (seed ${seed})`, async () => {
        const random = createRandom(seed)
        const oracle = await openOracle()
        const lines: Entry[] = []
        for (let batch = 0; batch < 5; batch++) {
          const entries = Array.from({ length: 120 }, (_, n) => {
            const position = batch * 120 + n + 1
            return n % 2 === 0 ? randomThing(random, most, position) : randomRecord(random, most, position, lines)
          }).filter((entry, n, all) => all.findIndex(({ id }) => id === entry.id) === n)
          lines.push(...entries.filter(({ collection }) => collection === 'lines'))
          for (const { writer } of [oracle, use()]) await write(writer, entries, batch * 120 + 120)
          for (let n = 0; n < 32; n++) {
            const collection = random.pick(['things', 'lines'] as const)
            const fields = fieldsOf[collection]
            const asked = randomAsked(random, fields)
            const filter = random.chance(0.5) ? asked : randomWithout(random, asked, fields)
            const selection = { filter, ...randomRange(random), ...randomPlaces(random) }
            const stepNs = random.pick([minuteNs, 3n * minuteNs, 1_000_000_000n, 5_000_000_000n, 30n * minuteNs])
            const by = random.pick(fields)
            const ask = (reader: IndexReader) =>
              Promise.all([
                reader.count(scopeOf(collection), selection),
                reader.histogram(scopeOf(collection), selection, stepNs, by),
                reader.facets(scopeOf(collection), selection, fields, 9),
              ])
            const what = JSON.stringify({ collection, selection, stepNs, by }, (_key, value: unknown) =>
              typeof value === 'bigint' ? `${value}n` : value,
            )
            expect(await ask(use().reader), what).to.deep.equal(await ask(oracle.reader))
          }
        }
      })
    }
  })
}
