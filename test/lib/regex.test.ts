import { expect } from 'chai'
import { createLinearMatcher, type LinearMatcher } from '#src/lib/regex/linear-matcher.ts'
import { parseKnownRegex, parseRegex } from '#src/lib/regex/parse-regex.ts'
import { literalPrefix, literalBehind, regexSource } from '#src/lib/regex/regex-node.ts'
import { createRandom } from '#test/support/random.ts'

const parsed = (source: string, fold?: (text: string) => string) => {
  const result = parseRegex(source)
  if (!result.ok) throw new Error(`${source}: ${result.error.message}`)
  return fold === undefined ? result.value : parseKnownRegex(source, fold)
}

function randomRegex(random: (below: number) => number, depth: number): string {
  const part = (): string => {
    const kind = random(depth > 0 ? 8 : 4)
    if (kind < 3) return 'abc'[random(3)] ?? 'a'
    if (kind === 3) return ['.', '[ab]', '[^a]', '\\w'][random(4)] ?? '.'
    const inner = `(${randomRegex(random, depth - 1)})`
    return kind < 6 ? inner + (['*', '+', '?', '{1,2}', '{2}', '{0,}'][random(6)] ?? '') : inner
  }
  const sequence = (): string => Array.from({ length: random(4) }, part).join('')
  return random(4) === 0 ? `${sequence()}|${sequence()}` : sequence()
}

describe('lib/regex', () => {
  it('matches as JavaScript does, on random expressions and texts', () => {
    const random = createRandom(20_261_121).below
    let matched = 0
    for (let round = 0; round < 1_500; round++) {
      const source = randomRegex(random, 3)
      const node = parsed(source)
      const plain = new RegExp(`^(?:${source})$`, 'u')
      const printed = new RegExp(`^(?:${regexSource(node)})$`, 'u')
      const linear = createLinearMatcher(source)
      const again = createLinearMatcher(regexSource(node))
      for (let count = 0; count < 12; count++) {
        const text = Array.from({ length: random(7) }, () => 'abcd'[random(4)]).join('')
        const expected = plain.test(text)
        if (expected) matched++
        expect(linear(text), `${source} on ${text}`).to.equal(expected)
        expect(again(text), `${regexSource(node)} on ${text}`).to.equal(expected)
        expect(printed.test(text), `${regexSource(node)} on ${text}, in JavaScript`).to.equal(expected)
        if (!expected) continue
        expect(text.startsWith(literalPrefix(node)), `prefix of ${source} on ${text}`).to.equal(true)
        expect(text.includes(literalBehind(node)), `literal of ${source} on ${text}`).to.equal(true)
      }
    }
    expect(matched).to.be.greaterThan(1_000)
  })

  it('keeps the bound of a repeat around one that has none', () => {
    for (const [source, matching, other] of [
      ['(a*){0}', '', 'a'],
      ['(a+){0}b', 'b', 'ab'],
      ['(a?){0,1}', 'a', 'aa'],
    ] as const) {
      expect(createLinearMatcher(source)(matching), source).to.equal(true)
      expect(createLinearMatcher(source)(other), source).to.equal(false)
    }
  })

  it('knows a text that every match contains behind its beginning', () => {
    for (const [source, literal] of [
      ['.*time.*', 'time'],
      ['(?:time).*out', 'out'],
      ['ti(?:me)o+utter', 'utter'],
      ['a(b|c)def', 'def'],
      ['a?b[cd]ef', 'ef'],
      ['beginning[cd]ef', 'ef'],
      ['beginning', ''],
      ['beginning.*', ''],
      ['(ab){2}c', 'ab'],
      ['(ab)*c', 'c'],
      ['.*\\.\u{1f600}支', '.\u{1f600}支'],
      ['a|a', ''],
      ['.*', ''],
    ] as const) {
      expect(literalBehind(parsed(source)), source).to.equal(literal)
    }
  })

  it('takes steps in proportion to the text, where backtracking would not end', () => {
    for (const source of ['(a*)*b', '(a|a)*b', '(a|aa)+b', 'a*a*a*a*a*a*a*a*b', '(.*)(.*)(.*)(.*)(.*)c', '((a+)+)+b']) {
      expect(createLinearMatcher(source)('a'.repeat(20_000)), source).to.equal(false)
      expect(createLinearMatcher(source)(`${'a'.repeat(20_000)}${source.endsWith('c') ? 'c' : 'b'}`), source).to.equal(
        true,
      )
    }
  })

  it('stays within its memory where an expression has very many states', () => {
    const matches = createLinearMatcher('.*a.{60}')
    const random = createRandom(7).below
    const text = Array.from({ length: 20_000 }, () => 'ab'[random(2)]).join('')
    expect(matches(text)).to.equal(text.at(-61) === 'a')
  })

  it('matches nothing more once its work is used up, which reading by known states does not cost', () => {
    const random = createRandom(7).below
    const text = Array.from({ length: 20_000 }, () => 'ab'[random(2)]).join('')
    const dear = { left: 100_000 }
    expect(createLinearMatcher('.*a.{60}|.*')(text, dear)).to.equal(false)
    expect(dear.left).to.be.below(0).and.above(-1_000)
    const cheap = { left: 100 }
    const matches = createLinearMatcher('(.*ab)?.*')
    for (let time = 0; time < 100; time++) expect(matches(text, cheap)).to.equal(true)
    expect(cheap.left).to.be.above(0)
  })

  it('matches characters beyond the basic plane, classes and properties', () => {
    const cases: readonly (readonly [string, string, boolean])[] = [
      ['.', '😀', true],
      ['..', '😀', false],
      ['[😀-😂]x', '😁x', true],
      ['\\p{L}+', 'müller', true],
      ['[\\p{L}\\d]+', 'für1', true],
      ['[^\\s]+', 'a\u00a0b', false],
      ['\\u0061\\x62\\u{63}', 'abc', true],
      ['[-a]+', 'a-a', true],
      ['[a-]+', 'a-a', true],
      ['a\\.b', 'axb', false],
      ['(?<name>ab)c', 'abc', true],
      ['^abc$', 'abc', true],
      ['ab*?c', 'abbc', true],
      ['[&&]', '&', true],
      ['', '', true],
    ]
    for (const [source, text, expected] of cases)
      expect(createLinearMatcher(source)(text), `${source} ${text}`).to.equal(expected)
  })

  it('folds literals and classes', () => {
    const fold = (text: string): string => text.toLowerCase()
    const cases: readonly (readonly [string, string, boolean])[] = [
      ['ÄB', 'äb', true],
      ['[A-Z]+', 'abc', true],
      ['[^A-C]', 'b', false],
      ['[Ä-Ü]', 'ä', true],
      ['[A-\u{ffff}]', 'b', true],
    ]
    for (const [source, text, expected] of cases) {
      expect(createLinearMatcher(regexSource(parsed(source, fold)))(text), source).to.equal(expected)
    }
  })

  it('forgets states of many steps after a few, so that no expression takes much memory', () => {
    const random = createRandom(9)
    const texts = Array.from({ length: 8 }, () => Array.from({ length: 64 }, () => random.pick(['a', 'b'])).join(''))
    const spent = (matches: LinearMatcher, text: string): number => {
      const work = { left: 1_000_000 }
      matches(text, work)
      return 1_000_000 - work.left
    }
    for (const [source, isKept] of [
      ['.*a.{10}', true],
      [`.*a.{60}y|${'.{0,64}[ab]'.repeat(14)}`, false],
    ] as const) {
      const matches = createLinearMatcher(source)
      for (const text of texts) spent(matches, text)
      expect(spent(matches, texts[0] ?? '') === 0, source).to.equal(isKept)
    }
  })

  it('refuses what cannot be matched in linear time, and what is broken, with its place', () => {
    const cases: readonly (readonly [string, number, string])[] = [
      ['a(?=b)', 1, 'look-around'],
      ['(?!b)', 0, 'look-around'],
      ['x(?<=b)', 1, 'look-around'],
      ['(?<!b)', 0, 'look-around'],
      ['(a)\\1', 3, 'back-references'],
      ['\\k<a>', 0, 'back-references'],
      ['a\\b', 1, 'word boundaries'],
      ['a^b', 1, '`^`'],
      ['a$b', 1, '`$`'],
      ['(?i)a', 0, 'inline flags'],
      ['(?>a)', 0, 'kind of group'],
      ['a**+', 3, 'possessive'],
      ['*a', 0, 'nothing to repeat'],
      ['a|+', 2, 'nothing to repeat'],
      ['a{65}', 1, 'at most 64'],
      ['a{3,2}', 1, 'out of order'],
      ['(a{60}){60}', 0, 'more than 2000'],
      ['[z-a]', 1, 'out of order'],
      ['[]', 0, 'empty'],
      ['[a', 2, 'not closed'],
      ['(a', 2, 'not closed'],
      ['a)', 1, 'closes nothing'],
      ['a]', 1, 'closes nothing'],
      ['a}', 1, 'brace'],
      ['a{', 1, 'brace'],
      ['\\q', 0, 'unknown escape'],
      ['a\\', 1, 'lacks its character'],
      ['\\p{Nope}', 0, 'no such'],
      ['('.repeat(40) + ')'.repeat(40), 32, 'deeper than 32'],
    ]
    for (const [source, position, message] of cases) {
      const result = parseRegex(source)
      expect(result.ok, source).to.equal(false)
      if (result.ok) continue
      expect(result.error.position, source).to.equal(position)
      expect(result.error.message, source).to.contain(message)
    }
  })
})
