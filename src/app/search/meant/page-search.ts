import type { Result } from '#src/lib/result.ts'
import { ownLogField } from '#projections/logs/query.ts'
import { ownSpanField } from '#projections/traces/query.ts'
import { html, type Html } from '../../html.ts'
import { mapPath } from '../../map-address.ts'
import { addressWith, withConditions } from '../conditions.ts'
import type { Search } from '../narrow.ts'

/** What suggestions read of an answer. It has the list of what its page is about, and facets if these were asked for. */
type Found = Readonly<{
  logs?: readonly Readonly<{ fields: Readonly<Record<string, unknown>> }>[] | undefined
  traces?: readonly unknown[] | undefined
  sessions?: readonly unknown[] | undefined
  facets?: readonly Readonly<{ field: string; values: readonly Readonly<{ value: string }>[] }>[] | null | undefined
}>

/** Runs the search of the page with another query string. */
export type Find = (search: string) => Promise<Result<Found, unknown>>

/** Whether the page's search finds anything by another `q`. */
export async function isFoundBy(find: Find, { conditions }: Search, q: string): Promise<boolean> {
  const found = await find(withConditions(conditions, { q, limit: '1', order: null, fields: null }).toString())
  if (!found.ok) return false
  const { logs, traces, sessions } = found.value
  return (logs ?? traces ?? sessions ?? []).length > 0
}

export const isOfTraces = ({ path }: Pick<Search, 'path'>): boolean => path === '/app/traces' || path === mapPath

/** Whether the page's search gives a field a meaning of its own, as it does to `service`. */
export const isOwnField = (search: Search, name: string): boolean =>
  (isOfTraces(search) ? ownSpanField(name) : ownLogField(name)) !== undefined

/** A search as it was typed; a refused one has no canonical form. */
export type TypedSearch = Omit<Search, 'normalized'>

/** A link to the same search with another `q`. `words`: the part of it that is shown; otherwise all. */
export const linkTo = ({ path, conditions }: TypedSearch, q: string, words = q): Html =>
  html`<a href="${addressWith(path, conditions, { q })}">${words}</a>`

/** The same search in other words; empty if there are none. */
export const didYouMean = (search: TypedSearch, query: string | undefined): Html =>
  query === undefined ? html`` : html`<p>Did you mean ${linkTo(search, query)}?</p>`
