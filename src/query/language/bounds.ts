import { levelOfWord } from '#src/events/level-word.ts'
import { parseQuantity, type Quantity } from '#src/events/quantity.ts'
import type { Bound } from '#src/events/query-tree.ts'
import { levels, type Level } from '#src/events/telemetry.ts'
import type { Parse } from './parse.ts'
import type { Part } from './tree.ts'
import { takeQuoted } from './words.ts'

const numbersExpected = ['a number', 'a duration such as 200ms', 'a size such as 10kb']
const levelNames = new Set(['level', 'log.level', 'severity', 'severity_text', 'severitytext', 'loglevel', 'lvl'])
const ownUnit =
  /(?:^|[._-])(?:(ns|nanos|us|micros|ms|millis|s|sec|secs|seconds|m|min|minutes|h|hours)|(b|bytes|kb|mb|gb|kib|mib|gib))$|Ms$|Secs?$|Seconds$|Bytes$/

/** A bound as typed: `*` for none, a number, or a level. */
type Edge = Readonly<{ bound?: Bound; level?: Level; start: number }>

/** The value behind `>`, `>=`, `<` or `<=`. */
export function takeComparison(parse: Parse, field: string, operator: string): Part {
  const inclusive = operator.endsWith('=')
  const { start, level, bound } = takeEdge(parse, field, inclusive)
  parse.countTerm(start)
  const above = operator.startsWith('>')
  if (level !== undefined) return { kind: 'levels', levels: levelsBeside(level, above, inclusive) }
  if (bound === undefined) return parse.reader.stop('a bound is expected', numbersExpected, start)
  return { kind: 'range', field, ...(above ? { from: bound } : { to: bound }) }
}

function levelsBeside(level: Level, above: boolean, inclusive: boolean): readonly Level[] {
  const at = levels.indexOf(level)
  return above ? levels.slice(inclusive ? at : at + 1) : levels.slice(0, inclusive ? at + 1 : at)
}

/** `[400 TO 499]`, `{400 TO 499}`, mixed, with `*` for no bound. */
export function takeRange(parse: Parse, field: string): Part {
  const { reader } = parse
  const start = reader.at()
  const fromInclusive = reader.take(/[[{]/)?.[0] === '['
  reader.blanks()
  const from = takeEdge(parse, field, fromInclusive)
  reader.blanks()
  if (reader.take(/(?:TO|to)(?=\s)/) === undefined) reader.stop('a range is [a TO b]', ['TO'])
  reader.blanks()
  const to = takeEdge(parse, field, true)
  reader.blanks()
  const close = reader.take(/[\]}]/)?.[0] ?? reader.stop('the range is not closed', [']', '}'])
  const toInclusive = close === ']'
  parse.countTerm(start)
  if (from.level === undefined && to.level === undefined) {
    return numberRange(parse, field, from.bound, to.bound && { ...to.bound, inclusive: toInclusive })
  }
  for (const edge of [from, to]) {
    if (edge.bound !== undefined) reader.stop('a level is expected', [...levels, '*'], edge.start)
  }
  return { kind: 'levels', levels: levelsBetween(from.level, fromInclusive, to.level, toInclusive) }
}

function numberRange(parse: Parse, field: string, from: Bound | undefined, to: Bound | undefined): Part {
  if (from !== undefined && to !== undefined && Number(from.value) > Number(to.value)) {
    parse.warn(`the range of ${field} begins above its end and matches nothing`)
  }
  return { kind: 'range', field, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

type LevelBound = Level | undefined

function levelsBetween(
  from: LevelBound,
  fromInclusive: boolean,
  to: LevelBound,
  toInclusive: boolean,
): readonly Level[] {
  const above = from === undefined ? levels : levelsBeside(from, true, fromInclusive)
  const below = to === undefined ? levels : levelsBeside(to, false, toInclusive)
  return levels.filter((level) => above.includes(level) && below.includes(level))
}

/** A bound: `*` for none, a number with or without a unit, or a level where the field is one of levels. */
function takeEdge(parse: Parse, field: string, inclusive: boolean): Edge {
  const { reader } = parse
  const start = reader.at()
  const ofLevels = levelNames.has(field.toLowerCase())
  const text = takeQuoted(reader) ?? reader.take(/[^\s()"|\]}]+/)?.[0] ?? ''
  if (text === '*') return { start }
  const level = ofLevels ? levelOfWord(text) : undefined
  if (level !== undefined) return { level, start }
  const quantity = parseQuantity(text)
  if (quantity === undefined) {
    const expected = ofLevels ? [...levels, ...numbersExpected] : numbersExpected
    return reader.stop(`${field} is compared with ${comparedWith(text, ofLevels)}`, expected, start)
  }
  warnOfUnit(parse, field, text, quantity)
  return { bound: { value: quantity.value, inclusive }, start }
}

function warnOfUnit({ reader, warn }: Parse, field: string, text: string, { unit, value }: Quantity): void {
  if (unit !== 'none') {
    const base = unit === 'duration' ? 'ns' : 'bytes'
    if (ownUnit.test(field)) warn(`${field} holds plain numbers: ${text} is compared as ${value} (${base})`)
    return
  }
  // `took>21.5 ms`, as durations are shown: there the unit is a word of its own.
  const word = reader.peek(/\s+([a-zA-Zµμ]{1,3})(?=[\s)]|$)/)?.[1] ?? ''
  if ((parseQuantity(text + word)?.unit ?? 'none') === 'none') return
  warn(`${field} is compared with ${text}, and ${word} is looked for as a word; write ${text}${word} for both together`)
}

/** What to write instead of this bound. Somebody who types a time here wants the search's own time range. */
function comparedWith(text: string, ofLevels: boolean): string {
  if (ofLevels) return 'a level or a number'
  const isTime = /^(?:\d{4}-\d\d|now\b)/.test(text)
  return isTime
    ? 'a number; the times of a search are its from and to'
    : 'a number; quote the sign to search for it as text'
}
