import type { Filter } from '../../../index-store.ts'
import { int64sBetween, keywordTerm, keywordTermPrefix, visible } from '../../row.ts'
import type { Database, Value } from '../database.ts'
import { keywordTerms, numberColumn, tokensColumn, type Tables } from '../layout.ts'
import { expandPattern, expandRange, type Term, type TermSource } from './expand.ts'

/**
 * A filter in the engine's terms. `terms`: a MATCH expression of quoted tokens; `depth`: its nesting, which FTS5's parser bounds. `manyTerms`: any
 * of several such expressions. `sql`: a condition over a row `r`.
 */
export type Condition =
  | Readonly<{ kind: 'all' | 'none' }>
  | Readonly<{ kind: 'terms'; match: string; depth: number }>
  | Readonly<{ kind: 'manyTerms'; matches: readonly string[] }>
  | Readonly<{ kind: 'sql'; sql: string; values: readonly Value[] }>
  | Readonly<{ kind: 'and' | 'or'; of: readonly Condition[] }>
  | Readonly<{ kind: 'not'; of: Condition }>

const all: Condition = { kind: 'all' }
const none: Condition = { kind: 'none' }

/** FTS5's parser gives up at about thirty levels of parentheses. What is deeper is joined by SQL. */
const matchDepthMax = 10

/** More terms are split into several expressions. */
const orTermsMax = 1_000
const orTermsAtOnce = 100

/** An expression of MATCH, and how deeply it is nested. */
type Match = Readonly<{ match: string; depth: number }>

/** FTS5 looks at all members of an OR for each matching row, and at those of an OR within it only where that has the row. */
const orAtOnceMax = 10

/** An OR of several expressions, in nested groups. FTS5 would flatten an OR within an OR, so each group is written as `(group) NOT ""`. */
function either(parts: readonly Match[]): Match {
  const depth = deepest(parts)
  if (parts.length <= orAtOnceMax) return { match: parts.map(({ match }) => match).join(' OR '), depth }
  const size = Math.max(orAtOnceMax, Math.ceil(parts.length / orAtOnceMax))
  return either(partsOf(parts, size).map(eitherApart))
}

function eitherApart(parts: readonly Match[]): Match {
  const { match, depth } = either(parts)
  return { match: `((${match}) NOT "")`, depth: depth + 1 }
}

/**
 * Compiles a filter for one file; what its patterns and ranges match depends on the file's terms. `part` compiles the parts of the filter, and may
 * reuse those that it has compiled for other filters.
 */
export function compile(filter: Filter, source: TermSource, part: (inner: Filter) => Condition): Condition {
  if (filter.kind === 'all' || filter.kind === 'none') return filter
  if (filter.kind === 'and') return conjunction(filter.of.map(part))
  if (filter.kind === 'or') return disjunction(filter.of.map(part))
  if (filter.kind === 'not') return negation(part(filter.of))
  if (filter.kind === 'number') return numberCondition(filter, source.tables, source.database)
  return termCondition(filter as TermFilter, source)
}

type TermFilter = Extract<Filter, { kind: 'keyword' | 'keywordPrefix' | 'phrase' | 'pattern' | 'tokenRange' }>

function termCondition(filter: TermFilter, source: TermSource): Condition {
  const { tables } = source
  if (filter.kind === 'keyword' || filter.kind === 'keywordPrefix') {
    const { field } = filter
    if (![...tables.keywords, ...tables.ids].includes(field)) return none
    const terms =
      filter.kind === 'keyword'
        ? filter.values.map((value) => ({ text: keywordTerm(field, value), prefix: false }))
        : [{ text: keywordTermPrefix(field, filter.prefix), prefix: true }]
    return anyOf([keywordTerms], terms.map(quoteTerm))
  }
  const fields = filter.fields.filter((field) => tables.tokens.includes(field))
  if (fields.length === 0) return none
  const columns = fields.map(tokensColumn)
  if (filter.kind === 'phrase') return phraseCondition(columns, filter.tokens, filter.prefix === true)
  const known = { ...filter, fields }
  const terms = known.kind === 'pattern' ? expandPattern(source, known) : expandRange(source, known)
  return anyOf(columns, terms.map(quoteTerm))
}

const quote = (token: string): string => `"${token.replaceAll('"', '""')}"`
const quoteTerm = ({ text, prefix }: Term): string => (prefix ? `${quote(text)} *` : quote(text))

const partsOf = <T>(all: readonly T[], length: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / length) }, (_, part) => all.slice(part * length, (part + 1) * length))

function anyOf(columns: readonly string[], phrases: readonly string[]): Condition {
  if (phrases.length === 0) return none
  const matchOf = (some: readonly string[]): Match => {
    const { match, depth } = either(some.map((phrase) => ({ match: phrase, depth: 0 })))
    return { match: `{${columns.join(' ')}} : (${match})`, depth: depth + 1 }
  }
  if (phrases.length <= orTermsMax) return { kind: 'terms', ...matchOf(phrases) }
  return { kind: 'manyTerms', matches: partsOf(phrases, orTermsAtOnce).map((some) => matchOf(some).match) }
}

function phraseCondition(columns: readonly string[], tokens: readonly string[], prefix: boolean): Condition {
  if (tokens.length === 0 || tokens.some((token) => token === '' || token.includes(' '))) return none
  return anyOf(columns, [quoteTerm({ text: tokens.map(visible).join(' '), prefix })])
}

/**
 * The column is tested for NULL too, so that the negation holds for rows without a value. If the column has an index (layout.ts), that tells
 * whether the file holds any such row: days in which no trace is in the range need not be walked.
 */
function numberCondition(
  { field, from, to }: Filter & { kind: 'number' },
  tables: Tables,
  database: Database,
): Condition {
  if (!tables.numbers.includes(field)) return none
  const column = `r.${numberColumn(field)}`
  const range = int64sBetween(from, to)
  if (range === undefined) return none
  const { least, most } = range
  const tests = [`${column} IS NOT NULL`]
  const values: Value[] = []
  if (least !== undefined) {
    tests.push(`${column} >= ?`)
    values.push(least)
  }
  if (most !== undefined) {
    tests.push(`${column} <= ?`)
    values.push(most)
  }
  const sql = `(${tests.join(' AND ')})`
  const isIndexed = tables.shape.kind === 'document'
  if (isIndexed && database.get(`SELECT 1 FROM ${tables.rows} r WHERE ${sql} LIMIT 1`, ...values) === undefined)
    return none
  return { kind: 'sql', sql, values }
}

type Terms = Extract<Condition, { kind: 'terms' }>
const isTerms = (condition: Condition): condition is Terms => condition.kind === 'terms'

const deepest = (parts: readonly Match[]): number => Math.max(0, ...parts.map(({ depth }) => depth))

const flat = (kind: 'and' | 'or', parts: readonly Condition[]): readonly Condition[] =>
  parts.flatMap((part) => (part.kind === kind ? part.of : [part]))

const inParentheses = ({ match, depth }: Match): Match => ({ match: `(${match})`, depth: depth + 1 })

/** `a AND b AND NOT c` of terms becomes one MATCH expression; other conditions stay beside it. */
function conjunction(given: readonly Condition[]): Condition {
  const parts = flat('and', given).filter(({ kind }) => kind !== 'all')
  if (parts.some(({ kind }) => kind === 'none')) return none
  const wanted = parts.filter(isTerms)
  const unwanted = parts.flatMap((part) => (part.kind === 'not' && isTerms(part.of) ? [part.of] : []))
  const [first, ...others] = wanted
  if (first === undefined) return joined('and', parts)
  const together = others.length === 0 ? first.match : wanted.map(({ match }) => `(${match})`).join(' AND ')
  const without = either(unwanted.map(inParentheses))
  const match = unwanted.length === 0 ? together : `(${together}) NOT (${without.match})`
  const isOne = others.length + unwanted.length === 0
  const depth = isOne ? first.depth : Math.max(deepest(wanted) + 1, without.depth) + 1
  if (depth > matchDepthMax) return joined('and', parts)
  const rest = parts.filter((part) => !isTerms(part) && !(part.kind === 'not' && isTerms(part.of)))
  return joined('and', [{ kind: 'terms', match, depth }, ...rest])
}

function disjunction(given: readonly Condition[]): Condition {
  const parts = flat('or', given).filter(({ kind }) => kind !== 'none')
  if (parts.some(({ kind }) => kind === 'all')) return all
  const terms = parts.filter(isTerms)
  const any = either(terms.map(inParentheses))
  if (terms.length < 2 || any.depth > matchDepthMax) return joined('or', parts)
  return joined('or', [{ kind: 'terms', ...any }, ...parts.filter((part) => !isTerms(part))])
}

function joined(kind: 'and' | 'or', parts: readonly Condition[]): Condition {
  const [only] = parts
  if (only === undefined) return kind === 'and' ? all : none
  return parts.length === 1 ? only : { kind, of: parts }
}

function negation(condition: Condition): Condition {
  if (condition.kind === 'all') return none
  if (condition.kind === 'none') return all
  return condition.kind === 'not' ? condition.of : { kind: 'not', of: condition }
}

export type Sql = Readonly<{ sql: string; values: readonly Value[] }>

/** A condition over row `r` in SQL alone; terms become sub-selects, bounded to the rows looked at. */
export function toSql(condition: Condition, tables: Tables, rows: Sql): Sql {
  if (condition.kind === 'all' || condition.kind === 'none') {
    return { sql: condition.kind === 'all' ? '1' : '0', values: [] }
  }
  if (condition.kind === 'sql') return condition
  if (condition.kind === 'terms') {
    const sql = `r.row IN (SELECT f.rowid FROM ${tables.terms} f WHERE ${tables.terms} MATCH ?${rows.sql})`
    return { sql, values: [condition.match, ...rows.values] }
  }
  if (condition.kind === 'manyTerms') {
    const sql = `r.row IN (SELECT f.rowid FROM json_each(?) j CROSS JOIN ${tables.terms} f
      WHERE ${tables.terms} MATCH j.value${rows.sql})`
    return { sql, values: [JSON.stringify(condition.matches), ...rows.values] }
  }
  if (condition.kind === 'not') {
    const { sql, values } = toSql(condition.of, tables, rows)
    return { sql: `NOT ${sql}`, values }
  }
  const { kind, of } = condition as Extract<Condition, { kind: 'and' | 'or' }>
  const parts = of.map((part) => toSql(part, tables, rows))
  const sql = parts.map((part) => part.sql).join(kind === 'and' ? ' AND ' : ' OR ')
  return { sql: `(${sql})`, values: parts.flatMap(({ values }) => values) }
}
