import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Filter } from '#projections/index-store.ts'
import type { Entry } from '#projections/projection.ts'
import { numberToken, valueTokens, words } from '#src/events/tokens.ts'
import {
  day,
  everything,
  idsOf,
  lineEntry,
  noonNs,
  openOracle,
  randomFilter,
  randomLine,
  scopeOf,
  thingEntry,
  write,
  type Line,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'
import { createRandom } from '#test/support/random.ts'

const previousDay = '2026-11-20'
const minuteNs = 60_000_000_000n

/** Clauses on filters and counts. `use` gives the store of the test that runs. */
export function filterClauses(use: () => OpenIndexStore): void {
  const ids = (collection: string, filter: Filter = everything) => idsOf(use().reader, collection, filter)

  describe('filters', () => {
    const phrase = (tokens: readonly string[], fields = ['message'], prefix = false): Filter => ({
      kind: 'phrase',
      fields,
      tokens,
      prefix,
    })

    it('finds words, phrases and prefixes, within one field and across none', async () => {
      await write(use().writer, [lineEntry({ text: '支付失败 order=12, paid in full' }, 1)], 1)
      const found = async (filter: Filter): Promise<boolean> => (await ids('lines', filter)).length === 1
      expect(await found(phrase(words('支付')))).to.equal(true)
      expect(await found(phrase(words('付失'), ['message'], true))).to.equal(true)
      expect(await found(phrase(['paid', 'in', 'full']))).to.equal(true)
      expect(await found(phrase(['paid', 'full']))).to.equal(false)
      expect(await found(phrase(['paid', 'in', 'fu'], ['message'], true))).to.equal(true)
      expect(await found(phrase(['in', 'pai'], ['message'], true))).to.equal(false)
      expect(await found(phrase(['paid', 'fu'], ['message'], true))).to.equal(false)
      expect(await found(phrase(['fu']))).to.equal(false)
      expect(await found(phrase([]))).to.equal(false)
      expect(await found({ kind: 'and', of: [phrase([]), phrase(['paid'])] })).to.equal(false)
      expect(await found(phrase(['paid', '']))).to.equal(false)
      expect(await found(phrase(['paid in', 'full']))).to.equal(false)
      expect(await found(phrase(['paid'], ['nowhere']))).to.equal(false)
      expect(await found(phrase(['paid'], ['nowhere', 'message']))).to.equal(true)
      expect(await found({ kind: 'not', of: phrase(['absent']) })).to.equal(true)
    })

    it('finds keywords by how they begin, in their own field', async () => {
      const entries = [
        lineEntry({ service: ['Cart api'], level: 'info' }, 1),
        lineEntry({ service: ['cash', 'orders'], level: 'carton' }, 2),
        lineEntry({ level: null }, 3),
        lineEntry({ service: ['a"b* OR c'], level: 'error' }, 4),
      ]
      await write(use().writer, entries, 4)
      const found = async (prefix: string, field = 'service'): Promise<readonly number[]> => {
        const all = await ids('lines', { kind: 'keywordPrefix', field, prefix })
        return entries.flatMap(({ id }, n) => (all.includes(id) ? [n + 1] : []))
      }
      expect(await found('')).to.deep.equal([1, 2, 4])
      expect(await found('', 'level')).to.deep.equal([1, 2, 4])
      expect(await found('ca')).to.deep.equal([1, 2])
      expect(await found('CART A')).to.deep.equal([1])
      expect(await found('ord')).to.deep.equal([2])
      expect(await found('rders')).to.deep.equal([])
      expect(await found('a"b* o')).to.deep.equal([4])
      expect(await found('c*')).to.deep.equal([])
      expect(await found('', 'nowhere')).to.deep.equal([])
    })

    it('finds any of very many values, alone and beside other conditions', async () => {
      const entries = Array.from({ length: 52 }, (_, n) =>
        lineEntry({ service: [`s${n}`], text: n < 20 ? 'early' : 'late' }, n + 1),
      )
      await write(use().writer, entries, entries.length)
      const even: Filter = {
        kind: 'keyword',
        field: 'service',
        values: Array.from({ length: 2_550 }, (_, n) => {
          // At the beginning or at the end of each hundred, and in what is left over.
          const hundred = Math.floor(n / 100)
          return n % 100 === (hundred % 2 === 0 ? 99 : 0) ? `s${2 * hundred}` : `none${n}`
        }),
      }
      const early = phrase(['early'])
      const found = async (filter: Filter): Promise<readonly number[]> => {
        const all = await ids('lines', filter)
        return entries.flatMap(({ id }, n) => (all.includes(id) ? [n] : []))
      }
      const numbers = (test: (n: number) => boolean): readonly number[] =>
        entries.flatMap((_, n) => (test(n) ? [n] : []))
      expect(await found(even)).to.deep.equal(numbers((n) => n % 2 === 0))
      expect(await found({ kind: 'not', of: even })).to.deep.equal(numbers((n) => n % 2 === 1))
      expect(await found({ kind: 'and', of: [even, early] })).to.deep.equal(numbers((n) => n % 2 === 0 && n < 20))
      expect(await found({ kind: 'or', of: [early, even] })).to.deep.equal(numbers((n) => n % 2 === 0 || n < 20))
      expect(await found({ kind: 'and', of: [early, { kind: 'not', of: even }] })).to.deep.equal(
        numbers((n) => n % 2 === 1 && n < 20),
      )
      expect(
        await use().reader.count(scopeOf('lines'), { filter: even, fromNs: noonNs + 1_000_000_000_000_000n }),
      ).to.equal(0)
    })

    it('takes no token for an operator of the engine', async () => {
      const odd = ['a"b', '"', '""', "it's", '*', '^x', 'AND', 'NOT', 'NEAR(a', '-x', 'col:x', '{a}', '(', '\\', ';--']
      const entries = odd.map((text, position) => lineEntry({ service: [text], text }, position + 1))
      await write(use().writer, entries, odd.length)
      for (const [position, text] of odd.entries()) {
        const expected = [entries[position]?.id]
        expect(await ids('lines', { kind: 'keyword', field: 'service', values: [text] }), text).to.deep.equal(expected)
        const whole = valueTokens('text', text).slice(0, 1)
        expect(await ids('lines', phrase(whole, ['fields'])), text).to.deep.equal(expected)
      }
    })

    it('finds what control characters are kept as, by tokens and beginnings that have them', async () => {
      await write(use().writer, [lineEntry({ text: 'a\u2400b' }, 1)], 1)
      const fields = ['fields']
      const beginning = { fields, prefix: 'text==a\u0000' }
      for (const filter of [
        phrase(['text==a\u0000b'], fields),
        phrase(['text==a\u0000'], fields, true),
        { kind: 'pattern', ...beginning, regex: 'text==a.b' },
        { kind: 'tokenRange', ...beginning },
      ] as const)
        expect(await ids('lines', filter), filter.kind).to.have.length(1)
    })

    it('finds tokens between any two texts that begin as they are to', async () => {
      const words = ['ab', 'abc', 'b', 'b1', 'bz', 'c', 'ca']
      const entries = words.map((text, n) => lineEntry({ text }, n + 1))
      await write(use().writer, entries, words.length)
      for (const prefix of ['', 'b', 'ab']) {
        for (const from of [undefined, 'a', 'abb', 'b1', 'd']) {
          for (const to of [undefined, 'a', 'abc', 'bz']) {
            const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
            const filter: Filter = { kind: 'tokenRange', fields: ['message'], prefix, ...bounds }
            const all = await ids('lines', filter)
            const isBetween = (word: string): boolean =>
              word.startsWith(prefix) && (from === undefined || word >= from) && (to === undefined || word <= to)
            expect(
              words.filter((_, n) => all.includes(entries[n]?.id ?? '')),
              `${prefix}: ${from} to ${to}`,
            ).to.deep.equal(words.filter(isBetween))
          }
        }
      }
    })

    it('answers numeric ranges exactly, however many values they meet', async () => {
      const random = createRandom(7)
      const sizes = Array.from({ length: 1_500 }, (_, n) => (n % 2 === 0 ? n - 700 : random.below(2 ** 40) / 8))
      await write(
        use().writer,
        sizes.map((size, n) => lineEntry({ size }, n + 1)),
        sizes.length,
      )
      for (const [from, to] of [
        [-100, 900],
        [0, 2 ** 38],
        [undefined, 12.5],
        [3.5, undefined],
        [5, 4],
        [7, 7],
      ] as const) {
        const bounds = {
          ...(from === undefined ? {} : { from: numberToken('size', from) }),
          ...(to === undefined ? {} : { to: numberToken('size', to) }),
        }
        const filter: Filter = { kind: 'tokenRange', fields: ['fields'], prefix: 'size#', ...bounds }
        const expected = sizes.filter((size) => size >= (from ?? -Infinity) && size <= (to ?? Infinity)).length
        expect(await use().reader.count(scopeOf('lines'), { filter }), `${from} to ${to}`).to.equal(expected)
      }
    })

    it('takes numbers within bounds of any size, and leaves out what has none', async () => {
      const [least, most] = [-(1n << 63n), (1n << 63n) - 1n]
      const numbers = [null, least, -7n, 0n, 7n, most]
      const entries = numbers.flatMap((size, n) => [
        lineEntry({ size: Number(size ?? 0) }, n + 1),
        thingEntry(`t${n}`, { weight: size }, n + 1),
      ])
      await write(use().writer, entries, numbers.length)
      const count = (collection: string, filter: Filter) => use().reader.count(scopeOf(collection), { filter })
      const bounds = [NaN, -Infinity, Infinity, -1e30, 1e30, -(1n << 70n), 1n << 70n, least, most, -7, 6.5, 7.5, 8n]
      for (const bound of bounds) {
        for (const given of [{ from: bound }, { to: bound }, { from: -7, to: bound }, { from: bound, to: 7.5 }, {}]) {
          const { from = -Infinity, to = Infinity }: { from?: number | bigint; to?: number | bigint } = given
          const met = numbers.map((of) => of !== null && of >= from && of <= to).filter(Boolean).length
          const zeros = 0 >= from && 0 <= to ? 1 : 0
          const weight: Filter = { kind: 'number', field: 'weight', ...given }
          const size: Filter = { ...weight, field: 'size' }
          const found = [
            await count('things', weight),
            await count('things', { kind: 'not', of: weight }),
            await count('lines', size),
            await count('lines', { kind: 'not', of: size }),
          ]
          const lines = met + zeros
          const wanted = [met, numbers.length - met, lines, numbers.length - lines]
          expect(found, `${from} to ${to}`).to.deep.equal(wanted)
        }
      }
    })

    it('finds nothing by a field in a collection that has none', async () => {
      await write(use().writer, [{ collection: 'sets', id: 's', day, position: 1, document: { value: 'a' } }], 1)
      const filters: readonly Filter[] = [
        { kind: 'keyword', field: 'level', values: ['a'] },
        { kind: 'keywordPrefix', field: 'level', prefix: '' },
        { kind: 'number', field: 'size', from: 0 },
        { kind: 'pattern', fields: ['message'], prefix: '', regex: '.*' },
        { kind: 'tokenRange', fields: ['fields'], prefix: 'size#' },
        phrase(['a']),
      ]
      for (const filter of filters) {
        expect(await ids('sets', filter), filter.kind).to.deep.equal([])
        expect(await ids('sets', { kind: 'not', of: filter }), filter.kind).to.deep.equal(['s'])
      }
    })

    it('leaves out what meets any of several conditions', async () => {
      const texts = ['a', 'a b', 'a c', 'a b c', 'b', 'd', 'a d', 'a b d']
      const entries = texts.map((text, n) => lineEntry({ text, size: n }, n + 1))
      await write(use().writer, entries, texts.length)
      const found = async (filter: Filter): Promise<readonly string[]> => {
        const all = await ids('lines', filter)
        return texts.filter((_, n) => all.includes(entries[n]?.id ?? ''))
      }
      const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((word) => phrase([word])) as [Filter, Filter, Filter, Filter]
      const not = (of: Filter): Filter => ({ kind: 'not', of })
      const both: Filter = { kind: 'and', of: [a, not(b), not(c)] }
      expect(await found(both)).to.deep.equal(['a', 'a d'])
      expect(await found({ kind: 'and', of: [not(b), a, d] })).to.deep.equal(['a d'])
      expect(await found({ kind: 'and', of: [not(b), not(c)] })).to.deep.equal(['a', 'd', 'a d'])
      expect(await found({ kind: 'and', of: [both, { kind: 'number', field: 'size', to: 3 }] })).to.deep.equal(['a'])
      expect(await found({ kind: 'or', of: [both, { kind: 'and', of: [b, d] }] })).to.deep.equal(['a', 'a d', 'a b d'])
      expect(await found({ kind: 'and', of: [not(both), not(d)] })).to.deep.equal(['a b', 'a c', 'a b c', 'b'])
    })

    it('joins deeply nested conditions', async () => {
      await write(use().writer, [lineEntry({ text: 'a b', size: 1 }, 1), lineEntry({ text: 'a', size: 2 }, 2)], 2)
      let filter: Filter = phrase(['b'])
      for (let depth = 0; depth < 100; depth++) {
        const beside = depth % 3 === 0 ? phrase(['a']) : phrase([`absent${depth}`])
        filter = depth % 3 === 0 ? { kind: 'and', of: [beside, filter] } : { kind: 'or', of: [filter, beside] }
      }
      expect(await ids('lines', filter)).to.deep.equal([lineEntry({}, 1).id])
      expect(await ids('lines', { kind: 'not', of: filter })).to.deep.equal([lineEntry({}, 2).id])
      let negated: Filter = phrase(['b'])
      let either: Filter = negated
      for (let depth = 0; depth < 100; depth++) {
        negated = { kind: 'and', of: [phrase(['a']), { kind: 'not', of: negated }] }
        either = { kind: 'or', of: [phrase(['absent']), either] }
      }
      for (const each of [negated, either]) expect(await ids('lines', each)).to.deep.equal([lineEntry({}, 1).id])
    })
  })

  describe('any filter', () => {
    for (const seed of [1, 2, 3]) {
      it(`answers as the plain evaluation does (seed ${seed})`, async () => {
        const random = createRandom(seed)
        const oracle = await openOracle()
        const written: Entry[] = []
        for (let batch = 0; batch < 6; batch++) {
          const entries = Array.from({ length: 50 }, (_, n) => {
            const position = batch * 50 + n + 1
            const old = random.chance(0.1) ? written[random.below(Math.max(1, written.length))] : undefined
            const line = randomLine(random)
            const more = { day: random.chance(0.6) ? day : previousDay }
            if (old === undefined) return lineEntry(line, position, more)
            const { timeNs } = old.document as Line
            return lineEntry({ ...line, timeNs }, position, { id: old.id, day, replaces: true })
          }).filter((entry, n, all) => all.findIndex(({ id }) => id === entry.id) === n)
          written.push(...entries)
          for (const { writer } of [oracle, use()]) await write(writer, entries, batch * 50 + 50)
        }
        for (let n = 0; n < 60; n++) {
          const filter = randomFilter(random)
          const range = random.chance(0.5)
            ? {
                fromNs: noonNs - BigInt(random.below(200_000)) * 1_000_001n,
                toNs: noonNs + BigInt(random.below(200_000)) * 999_999n,
              }
            : {}
          const selection = {
            filter,
            ...range,
            ...(random.chance(0.2) ? { upTo: 200 } : {}),
            ...(random.chance(0.2) ? { since: 30 } : {}),
          }
          const query = {
            ...selection,
            orderBy: random.pick(['timeNs', 'timeNs', 'position', 'size']),
            direction: random.pick(['asc', 'desc'] as const),
            limit: 1 + random.below(120),
          }
          const stepNs = random.pick([minuteNs, 1_000_000_000n, 7_000_000n])
          const by = random.pick(['level', 'service'])
          const answers = await Promise.all(
            [oracle.reader, use().reader].map((reader) =>
              Promise.all([
                reader.search(scopeOf('lines'), query),
                reader.count(scopeOf('lines'), selection),
                reader.histogram(scopeOf('lines'), selection, stepNs, by),
                reader.facets(scopeOf('lines'), selection, ['level', 'service'], 5),
              ]),
            ),
          )
          const what = JSON.stringify({ filter: query, n, stepNs, by }, (_key, value: unknown) =>
            typeof value === 'bigint' ? `${value}n` : value,
          )
          expect(answers[1], what).to.deep.equal(answers[0])
        }
      })
    }
  })
}
