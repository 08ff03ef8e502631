import { html, type Html } from '../../html.ts'
import type { Search } from '../narrow.ts'
import { linkTo } from './page-search.ts'
import { plainClauses, type PlainClause } from './plain-clauses.ts'

// Suggests ids: a search needs the whole id, in the right field and range, so a part of one, or an older one, finds nothing.

const names = ['trace_id', 'span_id', 'session_id']

/** How many digits a whole id has. A part below the minimum matches too many. */
const digitsOf: Readonly<Record<string, number>> = { trace_id: 32, span_id: 16 }
const digitsMin = 4

/** A part of a hexadecimal id that cannot be a word or a number: people cut off the end of ids. */
const partOfId = /^(?=.*\d)(?=.*[a-f])[\da-f]{7,31}$/i

/** The search for all ids that begin so. */
function beginningOf(name: string, id: string): string | undefined {
  const whole = digitsOf[name]
  // The sender chooses the form of session ids.
  if (whole === undefined) return /^[\w.-]{4,60}$/.test(id) ? `${name}:${id}*` : undefined
  const digits = id.replaceAll('-', '')
  return /^[\da-f]+$/i.test(digits) && digits.length >= digitsMin && digits.length < whole
    ? `${name}:${digits}*`
    : undefined
}

/** The search for traces whose ids begin with the typed text; undefined if it does not look like a part of an id. */
export const tracesBeginning = (typed: string): string | undefined => {
  const digits = typed.replaceAll('-', '')
  return partOfId.test(digits) ? beginningOf('trace_id', digits) : undefined
}

/** `replacedBy`: the same search with another clause in its place. */
type Asked = Readonly<{ name: string; id: string; replacedBy?: PlainClause['replacedBy'] }>

function askedBy({ conditions, normalized }: Search): Asked | undefined {
  for (const name of names) {
    const id = conditions.get(name)
    if (id !== null) return { name, id }
  }
  const [clause] = plainClauses(normalized, names)
  return clause && { name: clause.name, id: clause.value, replacedBy: clause.replacedBy }
}

const byBeginning = (search: Search, q: string, clause: string): Html =>
  html`<p>An id is searched whole: ${linkTo(search, q, clause)} searches by how it begins.</p>`

/** A suggestion for a search for an id that found nothing: what has this id, of any age and kind, or ids that begin so. */
export function nearIds(search: Search): Html {
  const asked = askedBy(search)
  if (asked === undefined) {
    const clause = tracesBeginning(search.normalized)
    return clause === undefined ? html`` : byBeginning(search, clause, clause)
  }
  const { name, id, replacedBy } = asked
  const find = html`<p>
    <a href="/app/find?id=${encodeURIComponent(id)}">Find what has the id</a>, whatever its age, or why nothing may.
  </p>`
  const clause = beginningOf(name, id)
  if (clause === undefined || replacedBy === undefined) return find
  return html`${find}${byBeginning(search, replacedBy(clause), clause)}`
}
