import type { Result } from '#src/lib/result.ts'
import { ownLogField } from '#projections/logs/query.ts'
import { ownSpanField } from '#projections/traces/query.ts'
import { html, type Html } from '../../html.ts'
import { mapPath } from '../../map-address.ts'
import { addressWith, withConditions } from '../conditions.ts'
import { plainClauses } from './plain-clauses.ts'

// A pasted message may have colons: `TypeError: x is null` searches for a field TypeError, which no record has.

/** Runs the search of the page. */
export type FindAny = (
  search: string,
) => Promise<Result<Partial<Record<Kind, readonly unknown[] | undefined>>, unknown>>
type Kind = 'logs' | 'traces' | 'sessions'

/** Whether the page's search finds anything by another `q`. */
export async function isFoundBy(find: FindAny, conditions: URLSearchParams, q: string): Promise<boolean> {
  const found = await find(withConditions(conditions, { q, limit: '1', order: null, fields: null }).toString())
  if (!found.ok) return false
  const { logs, traces, sessions } = found.value
  return (logs ?? traces ?? sessions ?? []).length > 0
}

const anyName = String.raw`[^\s()":=*?<>[\]\\]+`

/** The same search, with each clause on a field that is not the page's own turned into a phrase of the field's name and its value. */
function inWords(normalized: string, isOwn: (name: string) => boolean): string {
  const clauses = plainClauses(normalized, [anyName]).filter(({ name }) => !isOwn(name))
  // From the end, because each replacement moves what follows.
  return clauses.toReversed().reduce((query, { index, name, text, value }) => {
    const words = `"${name}${text[name.length]}${value}"`
    return query.slice(0, index) + words + query.slice(index + text.length)
  }, normalized)
}

/** A lower-case `not`, which excludes the next word. In a message, as in `does not exist`, it is a word like others. */
const notAsWord = /(?<=\S\s+)not(?=\s+\S)/

/** The typed text as a phrase if it has a `not`. Without one, a phrase would find no more than the search. */
const inPhrase = (typed: string): string | undefined =>
  notAsWord.test(typed) ? `"${typed.replaceAll(/["\\\s]+/g, ' ').trim()}"` : undefined

/** A suggestion for a search without results, if it finds something once its fields, values or operators are taken for words. */
export async function asWords(
  path: string,
  conditions: URLSearchParams,
  normalized: string,
  find: FindAny,
): Promise<Html> {
  const own = path === '/app/traces' || path === mapPath ? ownSpanField : ownLogField
  const isFound = (q: string): Promise<boolean> => isFoundBy(find, conditions, q)
  const meant = (why: string, q: string): Html =>
    html`<p>${why} Did you mean the words <a href="${addressWith(path, conditions, { q })}">${q}</a>?</p>`
  const words = inWords(normalized, (name) => own(name) !== undefined)
  if (words !== normalized && (await isFound(words))) return meant('A word before a colon is a field.', words)
  const phrase = inPhrase(conditions.get('q') ?? '')
  if (phrase === undefined || !(await isFound(phrase))) return html``
  return meant('A “not” leaves out what follows it.', phrase)
}
