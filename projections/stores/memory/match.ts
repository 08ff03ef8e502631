import { compareText } from '#src/lib/compare-text.ts'
import type { Filter } from '../../index-store.ts'
import { patternTest } from '../pattern.ts'
import { keywordTerm, keywordTermPrefix, visible, type Row } from '../row.ts'

/** Whether the text contains these tokens, adjacent and in this order; with `prefix`, the last is the beginning of a token. */
function hasPhrase(text: readonly string[], tokens: readonly string[], prefix: boolean): boolean {
  if (tokens.length === 0 || tokens.includes('')) return false
  const same = (token: string | undefined, index: number): boolean => {
    const wanted = tokens[index] ?? ''
    return prefix && index === tokens.length - 1 ? (token?.startsWith(wanted) ?? false) : token === wanted
  }
  return text.some((_, start) => tokens.every((_, index) => same(text[start + index], index)))
}

/** The value within the bounds; a fraction in a bound is honoured, because the field holds integers. */
function inBounds(value: bigint, from: bigint | number | undefined, to: bigint | number | undefined): boolean {
  return (from === undefined || value >= from) && (to === undefined || value <= to)
}

const tokensOf = (row: Row, field: string): readonly string[] => {
  const text = row.tokens.get(field) ?? ''
  return text === '' ? [] : text.split(' ')
}

function hasToken(row: Row, fields: readonly string[], test: (token: string) => boolean): boolean {
  return fields.some((field) => tokensOf(row, field).some(test))
}

/** The test of single tokens of a `pattern` or `tokenRange`. */
export function tokenTest(filter: Filter & { kind: 'pattern' | 'tokenRange' }): (token: string) => boolean {
  if (filter.kind === 'pattern') {
    const { test } = patternTest(filter)
    return (token) => test(token)
  }
  const prefix = visible(filter.prefix)
  const { from, to } = filter
  return (token) =>
    token.startsWith(prefix) &&
    (from === undefined || compareText(token, from) >= 0) &&
    (to === undefined || compareText(token, to) <= 0)
}

function hasKeyword(row: Row, field: string, test: (term: string) => boolean): boolean {
  return (row.keywords.get(field) ?? row.ids.get(field) ?? []).some((value) => test(keywordTerm(field, value)))
}

/** The test of terms of a `keyword` or `keywordPrefix`. */
function termTest(filter: Filter & { kind: 'keyword' | 'keywordPrefix' }): (term: string) => boolean {
  const { field } = filter
  if (filter.kind === 'keywordPrefix') return (term) => term.startsWith(keywordTermPrefix(field, filter.prefix))
  const wanted = new Set(filter.values.map((value) => keywordTerm(field, value)))
  return (term) => wanted.has(term)
}

type Leaf = Extract<Filter, { kind: 'keyword' | 'keywordPrefix' | 'number' | 'phrase' | 'pattern' | 'tokenRange' }>

function matchLeaf(filter: Leaf, row: Row): boolean {
  if (filter.kind === 'keyword' || filter.kind === 'keywordPrefix') {
    return hasKeyword(row, filter.field, termTest(filter))
  }
  if (filter.kind === 'phrase') {
    const tokens = filter.tokens.map(visible)
    return filter.fields.some((field) => hasPhrase(tokensOf(row, field), tokens, filter.prefix === true))
  }
  if (filter.kind === 'number') {
    const value = row.numbers.get(filter.field)
    return value !== undefined && inBounds(value, filter.from, filter.to)
  }
  return hasToken(row, filter.fields, tokenTest(filter))
}

/** Whether a row meets a filter. Plain on purpose: the other stores are compared with it. */
export function match(filter: Filter, row: Row): boolean {
  if (filter.kind === 'all') return true
  if (filter.kind === 'none') return false
  if (filter.kind === 'and') return filter.of.every((part) => match(part, row))
  if (filter.kind === 'or') return filter.of.some((part) => match(part, row))
  if (filter.kind === 'not') return !match(filter.of, row)
  return matchLeaf(filter as Leaf, row)
}
