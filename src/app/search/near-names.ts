import { nearest } from '#src/lib/nearest.ts'
import type { Result } from '#src/lib/result.ts'
import { isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { clauseOf } from './clause.ts'
import { addressWith, withConditions } from './conditions.ts'
import { plainClauses } from './plain-clauses.ts'

// A service and an operation are searched by their whole names. Who types a part of one, or mistypes it, finds nothing, and is not told why.

type Facets = readonly Readonly<{ field: string; values: readonly Readonly<{ value: string }>[] }>[]

/** Asks the search of the page for what it counts. */
export type CountNames = (search: string) => Promise<Result<Readonly<{ facets?: Facets | null | undefined }>, unknown>>

type Name = 'service' | 'operation'

/** A name that a search asks for, the search for nothing else, and the same search by another one. */
type Asked = Readonly<{
  name: Name
  typed: string
  alone: Readonly<Record<string, string>>
  addressOf: (other: string) => string
}>

/** What else than a name is kept when names are counted: an operation is one of its service. */
const keptFor: Readonly<Record<Name, readonly string[]>> = {
  service: ['from', 'to'],
  operation: ['from', 'to', 'service'],
}

function askedBy(path: string, conditions: URLSearchParams, normalized: string): readonly Asked[] {
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

/** The most frequent names of this time, or of what this search finds too. */
async function namesOfTime(
  count: CountNames,
  conditions: URLSearchParams,
  name: Name,
  has: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const ofTime = new URLSearchParams([...conditions].filter(([each]) => keptFor[name].includes(each)))
  const kept = withConditions(ofTime, has)
  const result = await count(withConditions(kept, { limit: '1', include: 'facets' }).toString())
  const values = result.ok ? result.value.facets?.find(({ field }) => field === name)?.values : undefined
  return (values ?? []).map(({ value }) => value).filter((value) => value !== '')
}

/** A search for services by a part of their names; undefined where what was typed is no part of a name. */
function patternOf(typed: string): string | undefined {
  const part = typed.replaceAll(/^\*+|\*+$/g, '')
  return /^[\w.*-]*\w[\w.*-]*$/.test(part) ? `service:*${part}*` : undefined
}

/** Services whose names hold what was typed, also those that are not among the most frequent. */
async function servicesWith(count: CountNames, conditions: URLSearchParams, typed: string): Promise<readonly string[]> {
  const pattern = patternOf(typed)
  if (pattern === undefined) return []
  const parts = typed.toLowerCase().split('*')
  const names = await namesOfTime(count, conditions, 'service', { q: pattern })
  // Of traces those beside them are counted too.
  return names.filter((name) => parts.every((part) => name.toLowerCase().includes(part)))
}

/** The name that somebody most likely meant: one that holds what was typed, or else the nearest. */
function likeliest(typed: string, known: readonly string[]): string | undefined {
  const part = typed.toLowerCase()
  return known.find((name) => name.toLowerCase().includes(part)) ?? nearest(typed, known)
}

const and = (normalized: string, clause: string): string => {
  const query = normalized.includes(' OR ') ? `(${normalized})` : normalized
  return query === '' ? clause : `${query} ${clause}`
}

/** The search for the words of an operation, wherever they stand in its name. */
function byWords(path: string, conditions: URLSearchParams, normalized: string): Html {
  const clause = clauseOf({ field: 'name', operator: ':', text: conditions.get('operation') ?? '' }, false)
  const address = addressWith(path, conditions, { operation: null, q: and(normalized, clause) })
  return html` “Operation” is the whole name of one: <a href="${address}">${clause}</a> searches by its words.`
}

/** The search for all services with what was typed in their names, where there are some; sessions are not searched by words. */
function byPart(path: string, conditions: URLSearchParams, normalized: string, names: readonly string[]): Html {
  const typed = conditions.get('service') ?? ''
  const pattern = patternOf(typed)
  const isMeant = names.length > 1 || (names.length === 1 && typed.includes('*'))
  if (pattern === undefined || !isMeant || path === '/app/sessions') return html``
  const address = addressWith(path, conditions, { service: null, q: and(normalized, pattern) })
  return html` “Service” is the whole name of one: <a href="${address}">${pattern}</a> searches by a part of it.`
}

/** The way on from a search that has found nothing, where the service or the operation that it names is not among those of its time. */
export async function nearNames(
  path: string,
  conditions: URLSearchParams,
  normalized: string,
  count: CountNames,
): Promise<Html> {
  for (const { name, typed, alone, addressOf } of askedBy(path, conditions, normalized)) {
    const known = await namesOfTime(count, conditions, name)
    if (known.length === 0 || known.includes(typed)) continue
    // One that is rare is not among the most frequent, and the words of a search find a name in any case, and by a part of it.
    if ((await namesOfTime(count, conditions, name, alone)).length > 0) continue
    const held = name === 'service' ? await servicesWith(count, conditions, typed) : []
    const meant = likeliest(typed, [...held, ...known])
    const link =
      meant === undefined
        ? html``
        : html`Did you mean the ${name} <a href="${addressOf(meant)}">${isolated(meant)}</a>?`
    if (name === 'operation') return html`<p>${link}${byWords(path, conditions, normalized)}</p>`
    const pattern = byPart(path, conditions, normalized, held)
    if (meant !== undefined || pattern.markup !== '') return html`<p>${link}${pattern}</p>`
  }
  return html``
}
