import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { numberOf, parseQuantity } from '#src/events/quantity.ts'
import type { Bound, QueryTree } from '#src/events/query-tree.ts'
import { isLeaf, type QueryLeaf } from '#projections/reading/field-query.ts'
import { fieldToken, foldCase, isUnspaced, isWordCharacter, wholeText, words } from '#src/events/tokens.ts'
import { parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { createLinearMatcher } from '#src/lib/regex/linear-matcher.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'
import { describeOnEveryStore } from '#test/projections/traces/every-store.ts'
import * as pools from '#test/differential/pools.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { found, readerOf } from './given.ts'

// What a search finds, against the plain reading of the search language: each condition is tried on the values of each record, without an
// index. `SEED=7` repeats one seed.

const seed = Number(process.env['SEED'] ?? 1)
const [recordsCount, queriesCount] = [200, 400]

type Scalar = string | number | bigint | boolean
type Value = Readonly<{ name: string; value: Scalar }>

function valuesIn(name: string, json: Json): readonly Value[] {
  if (json === null) return []
  if (Array.isArray(json)) return json.flatMap((item: Json) => valuesIn(name, item))
  if (typeof json !== 'object') return [{ name: fieldToken(name), value: json }]
  return Object.entries(json as JsonObject).flatMap(([key, inner]) => valuesIn(`${name}.${key}`, inner))
}

const isNumber = (value: Scalar): value is number | bigint => typeof value === 'number' || typeof value === 'bigint'
const has = (text: readonly string[], phrase: readonly string[]): boolean =>
  phrase.length > 0 && text.some((_, at) => phrase.every((word, after) => text[at + after] === word))
const wordsOf = (value: Scalar): readonly string[] => (typeof value === 'string' ? words(value) : [])

function isEqual(value: Scalar, text: string): boolean {
  const quantity = parseQuantity(text.trim())
  if (isNumber(value) && quantity !== undefined && value == numberOf(quantity.value)) return true
  return wholeText(String(value)) === wholeText(text)
}

function matches(value: Scalar, text: string): boolean {
  if (isEqual(value, text)) return true
  const phrase = words(text)
  // `-5` and `1.5` are numbers: their words are not looked for in a value that is one word or a number.
  const isNumeral = parseQuantity(text)?.unit === 'none' && phrase.join('') !== text.trim().toLowerCase()
  if (isNumber(value) || wholeText(String(value)) === phrase[0])
    return !isNumeral && phrase.length === 1 && wholeText(String(value)) === phrase[0]
  return has(wordsOf(value), phrase) || (phrase.length === 1 && String(value) === phrase[0])
}

function isWithin(value: Scalar, from: Bound | undefined, to: Bound | undefined): boolean {
  if (!isNumber(value)) return false
  const isAbove = (bound: Bound): boolean =>
    value > numberOf(bound.value) || (bound.inclusive && isEqual(value, bound.value))
  const isBelow = (bound: Bound): boolean =>
    value < numberOf(bound.value) || (bound.inclusive && isEqual(value, bound.value))
  return (from === undefined || isAbove(from)) && (to === undefined || isBelow(to))
}

/** `*` and `?` stand for characters of words. */
function testOf({ syntax, pattern }: Extract<QueryLeaf, { kind: 'pattern' }>): (text: string) => boolean {
  if (syntax === 'regex') return createLinearMatcher(pattern)
  const source = foldCase(pattern).replaceAll(/[*?]/g, (sign) => `[\\p{L}\\p{N}\\p{M}]${sign === '*' ? '*' : ''}`)
  const regex = new RegExp(`^${source}$`, 'u')
  return (text) => regex.test(text)
}

function meetsLeaf(leaf: QueryLeaf, values: readonly Value[]): boolean {
  const name = 'field' in leaf && leaf.field !== null ? fieldToken(leaf.field) : undefined
  const own = values.filter((each) => name === undefined || each.name === name).map(({ value }) => value)
  if (leaf.kind === 'text') return own.some((value) => has(wordsOf(value), words(leaf.text)))
  if (leaf.kind === 'match') return own.some((value) => matches(value, leaf.text))
  if (leaf.kind === 'equals') return own.some((value) => isEqual(value, leaf.value))
  if (leaf.kind === 'range') return own.some((value) => isWithin(value, leaf.from, leaf.to))
  if (leaf.kind === 'exists') return own.length > 0 || values.some((each) => each.name.startsWith(`${name}.`))
  if (leaf.kind !== 'pattern') return leaf.kind === 'all'
  const test = testOf(leaf)
  const isMet = (of: string): boolean => test(of)
  return own.some((value) => wordsOf(value).some(isMet) || (name !== undefined && isMet(wholeText(String(value)))))
}

/** Whether a record meets a search, by its values alone. */
function meets(tree: QueryTree, values: readonly Value[]): boolean {
  if (isLeaf(tree)) return meetsLeaf(tree, values)
  if (tree.kind === 'not') return !meets(tree.of, values)
  return tree.kind === 'and'
    ? tree.of.every((part) => meets(part, values))
    : tree.of.some((part) => meets(part, values))
}

const names = ['f', 'f', 'f', 'g', 'a b', 'x:y', 'k=v', 'f.n', 'F', '字段', 'a.b', '@at', 'at', "it's"]
/** As JSON. */
const given = [
  ...[
    '500',
    '"500"',
    '-5',
    '"-5"',
    '1.5',
    '"1.5"',
    '1e3',
    '"1e3"',
    '1000',
    '"1,000"',
    '0',
    '-0',
    '"-0"',
    '"0x10"',
    '0.5',
    '1E-7',
  ],
  ...[
    '9007199254740993',
    '9007199254740992',
    '"9007199254740993"',
    '-9007199254740992',
    '123456789012345678901234567890',
  ],
  ...[
    '"v1.2.3"',
    '"10.0.0.7:5432"',
    '"::1"',
    '"9f1c2d3e-0000-4000-8000-aabbccddeeff"',
    '"9f1c2d3e000040008000aabbccddeeff"',
  ],
  ...[
    '"200ms"',
    '200000000',
    '"1.5s"',
    '"10kb"',
    '10000',
    '"50%"',
    '50',
    '"500 ms"',
    '"5 0 0"',
    '"+5"',
    '"5."',
    '"５"',
    '"٥"',
  ],
  ...[
    'true',
    '"TRUE"',
    'null',
    '""',
    '" "',
    '"—"',
    '"👍"',
    '"👍 ok"',
    '"ok"',
    '"a-b"',
    '"a b"',
    '"a_b"',
    '"b"',
    '"a·b"',
    '"a*b"',
  ],
  ...[
    '"Müller"',
    '"Mu\\u0308ller"',
    '"muller"',
    '"支付失败"',
    '"支付"',
    '"İ"',
    '"C:\\\\logs"',
    '"x=1"',
    '"\\"q\\""',
    '"tab\\tx"',
  ],
  ...['["a","b"]', '[1,2]', '[["a b"],["c"]]', '[{"n":1},{"n":"x y"}]', '{"n":2}', '{"n":{"m":"deep"}}', '[]', '{}'],
]
given.push(
  ...pools.numbers,
  ...[...pools.numbers, ...pools.words, ...pools.oddities].map((each) => JSON.stringify(each)),
)
/** A search compares `source` with something else. */
const oddNames = pools.fieldNames.filter((name) => name !== 'source')
const anyName = (random: Random): string => random.pick(random.chance(0.3) ? oddNames : names)

const regexes = [
  '[0-9]+',
  'a.b',
  '.*',
  '-?5',
  '.b',
  '.',
  '.{3}',
  '[^a-z]',
  '[^x]{2}',
  '=.*',
  '~?',
  '1\\.5',
  'm.ller',
  '.*%',
  't.*e',
]
const bounds = [
  '-5',
  '0',
  '1.5',
  '500',
  '1e3',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740991',
  '200ms',
  '10kb',
  '-0',
  ...pools.numbers,
]

const isOfWords = (text: string): boolean =>
  Array.from(foldCase(text)).every((each) => isWordCharacter(each) && !isUnspaced(each))
const patternWords = [...pools.words, ...pools.oddities].filter((text) => text.length > 1 && isOfWords(text))

/** A word with something of it left open. */
function wildcard(random: Random): string {
  const characters = Array.from(random.pick(patternWords))
  const at = random.below(characters.length + 1)
  const forms = [
    () => `*${characters.slice(at).join('')}`,
    () => `*${characters.slice(at, at + 3).join('')}*`,
    () => characters.map((character, index) => (index === at ? '?' : character)).join(''),
    () => `${characters.slice(0, 2).join('')}*${characters.slice(-1).join('')}`,
  ]
  return random.pick(forms)()
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

function text(random: Random): string {
  const value = parseJson(random.pick(given))
  const whole = typeof value === 'object' ? 'a b' : String(value)
  return quoted(random.chance(0.3) ? random.pick(whole.split(/[\s\-.:,/]+/)) : whole)
}

function clause(random: Random): string {
  const name = quoted(anyName(random))
  const forms = [
    () => text(random),
    () => `${name}:${text(random)}`,
    () => `${name}${random.pick(['=', '!='])}${text(random)}`,
    () => `${name}:*`,
    () => `${random.chance(0.5) ? `${name}:` : ''}${wildcard(random)}`,
    () => `${name}:(${text(random)} OR NOT ${text(random)})`,
    () => `${name}${random.pick(['>', '<', '>=', '<='])}${random.pick(bounds)}`,
    () => `${name}:[${random.pick(bounds)} TO ${random.pick(['*', ...bounds])}${random.pick([']', '}'])}`,
    () => `${random.chance(0.7) ? `${name}:` : ''}/${random.pick(regexes)}/`,
  ]
  return random.pick(forms)()
}

const search = (random: Random): string =>
  random.pick([
    () => clause(random),
    () => `-${clause(random)}`,
    () => `${clause(random)} ${random.pick(['', 'OR ', '-', 'OR -'])}${clause(random)}`,
    () => `NOT (${clause(random)} OR -${clause(random)})`,
  ])()

function anyRecord(random: Random): JsonObject {
  const members = Array.from({ length: 1 + random.below(4) }, () => [anyName(random), random.pick(given)] as const)
  return parseJson(
    `{${[...new Map(members)].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`,
  ) as JsonObject
}

describeOnEveryStore(`projections/logs: a search by the plain reading of it, seed ${seed}`, (newStore) => {
  it(`finds what ${queriesCount} searches mean among ${recordsCount} records`, async () => {
    const random = createRandom(seed)
    const records = Array.from({ length: recordsCount }, () => anyRecord(random))
    const values = records.map((fields) => Object.entries(fields).flatMap(([name, value]) => valuesIn(name, value)))
    const reader = await readerOf(
      newStore,
      records.map((fields) => ({ fields })),
    )
    let met = 0
    for (let n = 0; n < queriesCount; n++) {
      const query = search(random)
      const parsed = parseQuery(query, limits)
      if (!parsed.ok) continue
      const { tree } = parsed.value
      const expected = values.flatMap((own, place) => (meets(tree, own) ? [place] : []))
      if (expected.length > 0) met++
      expect(await found(reader, query), query).to.deep.equal(expected)
    }
    expect(met).to.be.above(queriesCount / 2)
  }).timeout(60_000)
})
