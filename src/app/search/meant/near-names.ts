import { nearest } from '#src/lib/nearest.ts'
import { isolated } from '../../format.ts'
import { html, type Html } from '../../html.ts'
import { clauseOf } from '../clause.ts'
import { addressWith, withConditions } from '../conditions.ts'
import type { Search } from '../narrow.ts'
import type { Find } from './page-search.ts'
import { plainClauses } from './plain-clauses.ts'

// Suggests names: a search needs the whole name of a service or operation, so a part of one or a typing error finds nothing.

type Name = 'service' | 'operation'

/** A name that a search asks for, the search for it alone, and the same search with another name. */
type Asked = Readonly<{
  name: Name
  typed: string
  alone: Readonly<Record<string, string>>
  addressOf: (other: string) => string
}>

/** Conditions that are kept when names are counted: an operation belongs to its service. */
const keptFor: Readonly<Record<Name, readonly string[]>> = {
  service: ['from', 'to'],
  operation: ['from', 'to', 'service'],
}

function askedBy({ path, conditions, normalized }: Search): readonly Asked[] {
  const given = (['service', 'operation'] as const).flatMap((name): Asked[] => {
    const typed = conditions.get(name)
    if (typed === null) return []
    const addressOf = (other: string): string => addressWith(path, conditions, { [name]: other })
    return [{ name, typed, alone: { [name]: typed }, addressOf }]
  })
  const [clause, second] = plainClauses(normalized, ['service'])
  if (clause === undefined || second !== undefined) return given
  const addressOf = (other: string): string =>
    addressWith(path, conditions, {
      q: clause.replacedBy(clauseOf({ field: 'service', operator: '=', text: other }, false)),
    })
  return [{ name: 'service', typed: clause.value, alone: { q: clause.text }, addressOf }, ...given]
}

/** The most frequent names in the range, or those that this search also matches (`has`). */
async function namesOfTime(
  find: Find,
  { conditions }: Search,
  name: Name,
  has: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const ofTime = new URLSearchParams([...conditions].filter(([each]) => keptFor[name].includes(each)))
  const kept = withConditions(ofTime, has)
  const result = await find(withConditions(kept, { limit: '1', include: 'facets' }).toString())
  const values = result.ok ? result.value.facets?.find(({ field }) => field === name)?.values : undefined
  return (values ?? []).map(({ value }) => value).filter((value) => value !== '')
}

/** A search for services by a part of their names; undefined if the typed text cannot be a part of a name. */
function patternOf(typed: string): string | undefined {
  const part = typed.replaceAll(/^\*+|\*+$/g, '')
  return /^[\w.*-]*\w[\w.*-]*$/.test(part) ? `service:*${part}*` : undefined
}

/** Services whose names contain the typed text, including less frequent ones. */
async function servicesWith(find: Find, search: Search, typed: string): Promise<readonly string[]> {
  const pattern = patternOf(typed)
  if (pattern === undefined) return []
  const parts = typed.toLowerCase().split('*')
  const names = await namesOfTime(find, search, 'service', { q: pattern })
  // A trace search also counts the other services of the traces found.
  return names.filter((name) => parts.every((part) => name.toLowerCase().includes(part)))
}

/** The most likely name: one that contains the typed text, or else the nearest. */
function likeliest(typed: string, known: readonly string[]): string | undefined {
  const part = typed.toLowerCase()
  return known.find((name) => name.toLowerCase().includes(part)) ?? nearest(typed, known)
}

const and = (normalized: string, clause: string): string => {
  const query = normalized.includes(' OR ') ? `(${normalized})` : normalized
  return query === '' ? clause : `${query} ${clause}`
}

/** A link to a search for the words of an operation anywhere in its name. */
function byWords({ path, conditions, normalized }: Search): Html {
  const clause = clauseOf({ field: 'name', operator: ':', text: conditions.get('operation') ?? '' }, false)
  const address = addressWith(path, conditions, { operation: null, q: and(normalized, clause) })
  return html` “Operation” is the whole name of one: <a href="${address}">${clause}</a> searches by its words.`
}

/** A link to a search for all services with the typed text in their names, if there are any. Sessions cannot be searched by words. */
function byPart({ path, conditions, normalized }: Search, names: readonly string[]): Html {
  const typed = conditions.get('service') ?? ''
  const pattern = patternOf(typed)
  const isMeant = names.length > 1 || (names.length === 1 && typed.includes('*'))
  if (pattern === undefined || !isMeant || path === '/app/sessions') return html``
  const address = addressWith(path, conditions, { service: null, q: and(normalized, pattern) })
  return html` “Service” is the whole name of one: <a href="${address}">${pattern}</a> searches by a part of it.`
}

/** A suggestion for a search that found nothing, if the service or operation that it names does not exist in its range. */
export async function nearNames(search: Search, find: Find): Promise<Html> {
  for (const { name, typed, alone, addressOf } of askedBy(search)) {
    const known = await namesOfTime(find, search, name)
    if (known.length === 0 || known.includes(typed)) continue
    // A rare name is not among the most frequent. And a search by words finds names in any case, and by a part.
    if ((await namesOfTime(find, search, name, alone)).length > 0) continue
    const held = name === 'service' ? await servicesWith(find, search, typed) : []
    const meant = likeliest(typed, [...held, ...known])
    const link =
      meant === undefined
        ? html``
        : html`Did you mean the ${name} <a href="${addressOf(meant)}">${isolated(meant)}</a>?`
    if (name === 'operation') return html`<p>${link}${byWords(search)}</p>`
    const pattern = byPart(search, held)
    if (meant !== undefined || pattern.markup !== '') return html`<p>${link}${pattern}</p>`
  }
  return html``
}
