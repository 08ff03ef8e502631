import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Filter } from '#projections/index-store.ts'
import {
  day,
  idsOf,
  lineEntry,
  noonNs,
  openOracle,
  other,
  scopeOf,
  write,
  type OpenIndexStore,
} from '#test/support/index-fixture.ts'

const previousDay = '2026-11-20'
const dayNs = 86_400_000_000_000n

/** Clauses on patterns of words and tokens. `use` gives the store of the test that runs. */
export function patternClauses(use: () => OpenIndexStore): void {
  const ids = (collection: string, filter: Filter) => idsOf(use().reader, collection, filter)

  describe('patterns', () => {
    it('expands a pattern over the words of its own fields', async () => {
      const entries = Array.from({ length: 600 }, (_, n) => lineEntry({ text: `w${n}`, size: n }, n + 1))
      await write(use().writer, entries, entries.length)
      const filter: Filter = { kind: 'pattern', fields: ['message'], prefix: '', regex: '.*' }
      expect(await use().reader.count(scopeOf('lines'), { filter })).to.equal(600)
      const failure = await use()
        .reader.count(scopeOf('lines'), { filter: { ...filter, fields: ['fields'] } })
        .catch((error: unknown) => error)
      expect(failure).to.have.property('name', 'TooBroadError')
    })

    it('expands a pattern of words over all of them, wherever they stand among the tokens of fields', async () => {
      const around = ['size', 'sizes', 'si', 'te', 'text', 'text0', 'texture', 'tex̣t', 'zz', '0', '支']
      const entries = Array.from({ length: 700 }, (_, n) =>
        lineEntry({ text: `${around[n % around.length]} t${n}`, size: n }, n + 1),
      )
      await write(use().writer, entries, entries.length)
      const countOf = (regex: string) =>
        use().reader.count(scopeOf('lines'), {
          filter: { kind: 'pattern', fields: ['message'], prefix: '', regex, ofWords: true },
        })
      expect(await countOf('[^t].*')).to.equal(
        entries.filter((_, n) => !around[n % around.length]?.startsWith('t')).length,
      )
      for (const word of around) {
        const of = entries.filter((_, n) => around[n % around.length] === word)
        expect(await countOf(word.normalize('NFC')), word).to.equal(of.length)
      }
      expect(await countOf('t69[0-9]')).to.equal(10)
    })

    it('tells words from the signs beside them: of a whole value, and between two values', async () => {
      const entries = ['ab', 'cd ef'].map((text, n) => lineEntry({ text }, n + 1))
      await write(use().writer, entries, entries.length)
      const pattern = { kind: 'pattern', fields: ['fields'], prefix: '', regex: '' } as const
      const ofField = { ...pattern, prefix: 'text=', ofField: true } as const
      expect(await ids('lines', { ...ofField, regex: 'text=..' })).to.deep.equal([entries[1]?.id])
      expect(await ids('lines', { ...ofField, regex: 'text=...' })).to.deep.equal([])
      expect(await ids('lines', { ...ofField, prefix: 'text==', regex: 'text=.*' })).to.deep.equal([])
      expect(await ids('lines', { ...pattern, regex: '.' })).to.have.length(2)
      expect(await ids('lines', { ...pattern, regex: '.', ofWords: true })).to.deep.equal([])
    })

    it('expands a pattern over at most the terms allowed, and refuses more', async () => {
      const entries = Array.from({ length: 1_200 }, (_, n) => lineEntry({ text: `w${n} z` }, n + 1))
      await write(use().writer, entries, 1_200)
      const pattern = (prefix: string, regex: string): Filter => ({
        kind: 'pattern',
        fields: ['message'],
        prefix,
        regex,
      })
      expect(await ids('lines', pattern('w1', 'w1[0-4]?[0-9]'))).to.have.length(60)
      const count = (filter: Filter) => use().reader.count(scopeOf('lines'), { filter })
      const failure = await count(pattern('w', 'w[0-9]+')).catch((error: unknown) => error)
      expect(failure).to.have.property('name', 'TooBroadError')
      expect(await count({ kind: 'phrase', fields: ['message'], tokens: ['w'], prefix: true })).to.equal(1_200)
    })

    it('expands a pattern over the words of its own workspace, however many others hold', async () => {
      const pattern: Filter = { kind: 'pattern', fields: ['message'], prefix: 'w', regex: 'w[\\p{L}0-9]+' }
      const others = Array.from({ length: 60 }, (_, n) => {
        const text = Array.from({ length: 20 }, (_word, m) => `w${n * 20 + m}`).join(' ')
        return lineEntry({ text }, n + 1)
      })
      await write(use().writer, others, 60, other)
      const own = Array.from({ length: 500 }, (_, n) =>
        lineEntry({ text: `w${n}ö word${n} ☃ w☃${n} ${n % 2 === 0 ? 'even' : 'wodd'}` }, 61 + n),
      )
      await write(use().writer, own.slice(0, 499), 559)
      expect(await use().reader.count(scopeOf('lines'), { filter: pattern })).to.equal(499)
      const wodd: Filter = { ...pattern, regex: 'w[^0-9]+d' }
      expect(await use().reader.count(scopeOf('lines'), { filter: wodd })).to.equal(249)
      await write(use().writer, own.slice(499), 560)
      const failure = await use()
        .reader.count(scopeOf('lines'), { filter: pattern })
        .catch((error: unknown) => error)
      expect(failure).to.have.property('name', 'TooBroadError')
    })

    describe('in several days', () => {
      const pattern: Filter = { kind: 'pattern', fields: ['message', 'fields'], prefix: '', regex: '(?:text=)?w[0-9]+' }
      const today = { fromNs: noonNs - dayNs / 4n, toNs: noonNs + dayNs / 4n }
      const words = (from: number, to: number): string =>
        Array.from({ length: to - from }, (_, n) => `w${from + n}`).join(' ')
      const on = (onDay: string, text: string, position: number, timeNs = onDay === day ? noonNs : noonNs - dayNs) =>
        lineEntry({ text, timeNs }, position, { day: onDay })
      const count = (range: object = {}) => use().reader.count(scopeOf('lines'), { filter: pattern, ...range })
      const refusal = async (range?: object): Promise<unknown> => {
        const failure = await count(range).catch((error: unknown) => error)
        return failure instanceof Error ? failure.name : failure
      }

      it('expands a pattern over the terms allowed in each', async () => {
        // Each word is one of both fields, in which it stands with and without the name.
        await write(use().writer, [on(previousDay, words(0, 450), 1), on(day, words(450, 900), 2)], 2)
        expect([await count(), await count(today), await count({ toNs: today.fromNs })]).to.deep.equal([2, 1, 1])
        await write(use().writer, [on(previousDay, words(900, 1_100), 3), on(day, words(1_100, 1_110), 4)], 4)
        expect([await refusal(), await count(today)]).to.deep.equal(['TooBroadError', 2])
      })

      it('refuses a pattern for the words of days that the range of time touches, and no others', async () => {
        const many = [0, 400, 800].map((from, at) => on(previousDay, words(from, from + 400), at + 1))
        await write(use().writer, [...many, on(day, words(0, 100), 4)], 4)
        expect(await refusal()).to.equal('TooBroadError')
        expect(await refusal({ fromNs: noonNs - dayNs, toNs: noonNs - dayNs + 1n })).to.equal('TooBroadError')
        expect(await count(today)).to.equal(1)
        expect(await count({ fromNs: today.fromNs })).to.equal(1)
        expect(await count({ fromNs: today.toNs })).to.equal(0)
        // A day is that of receipt: the times of its records may lie around the range, or within it.
        await write(use().writer, [on(previousDay, 'w1', 5, noonNs + dayNs)], 5)
        expect(await count(today)).to.equal(1)
        await write(use().writer, [on(previousDay, 'w1', 6, noonNs)], 6)
        expect(await refusal(today)).to.equal('TooBroadError')
      })

      it('counts the words of its own workspace in each, however many others hold', async () => {
        await write(use().writer, [on(previousDay, words(0, 450), 1), on(day, words(450, 900), 2)], 2)
        const others = [previousDay, day].flatMap((onDay, at) =>
          [0, 400, 800].map((from, n) => on(onDay, words(from, from + 400), 3 + at * 3 + n)),
        )
        await write(use().writer, others, 9, other)
        expect([await count(), await count(today), await count({ toNs: today.fromNs })]).to.deep.equal([2, 1, 1])
        await write(use().writer, [on(previousDay, words(900, 1_100), 10)], 10)
        await write(use().writer, [on(previousDay, words(1_100, 1_300), 11)], 11)
        expect([await refusal(), await count(today)]).to.deep.equal(['TooBroadError', 1])
      })
    })

    it('matches patterns alike, whatever characters they are made of', async () => {
      const texts = [
        'timeout timeouts Zeitüberschreitung überall über ÜBER2 größe',
        '支付失败 ประเทศไทย κόσμος мир naïve ﬁ',
        'a.b a+b a*b a(b a[b a{b a|b a&b a~b a#b a@b a"b a<b> a^b a$b a/b a-b a\\b a:b a,b',
        'x1 x12 x123 x1234 𝒳𝒴 ☃ \u{10fffd}x',
      ]
      const entries = texts.map((text, position) => lineEntry({ text, service: [text] }, position + 1))
      const oracle = await openOracle()
      for (const { writer } of [oracle, use()]) await write(writer, entries, texts.length)
      const word = '[\\p{L}\\p{N}\\p{M}]'
      const sources = [
        ...[
          'time.*',
          `${word}*out${word}*`,
          `${word}ber${word}*`,
          'x[0-9]{2,3}',
          'x(1|12)?',
          '(?:x1)(?:2(?:3)?)?',
          'x\\d+',
        ],
        ...[
          '[^a-z]+',
          '\\P{L}+',
          '\\W+',
          '.',
          '..',
          '[付-支]',
          '[^\\p{L}]',
          'na\\u{ef}ve',
          '𝒳.',
          '[\\s\\S]*',
          '(?:)',
          'gr.{1,2}e',
        ],
      ]
      for (const sign of '.+*([{|&~#@"<^$/-\\:,') sources.push(`text==.*a\\${sign}b.*`, `text=.*[\\${sign}].*`)
      for (const regex of sources) {
        const filter: Filter = { kind: 'pattern', fields: ['message', 'fields'], prefix: '', regex }
        expect(await ids('lines', filter), regex).to.deep.equal(await idsOf(oracle.reader, 'lines', filter))
      }
    })
  })
}
