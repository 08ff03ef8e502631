import { html, type Html } from '../html.ts'
import { addressWith } from './conditions.ts'
import { plainClauses, type PlainClause } from './plain-clauses.ts'

// An id is searched whole, and by a field of its own in a range of time as anything is. Who has a part of one, or one that is older, finds nothing.

const names = ['trace_id', 'span_id', 'session_id']

/** How many digits a whole one has. What is shorter than the least begins too many. */
const digitsOf: Readonly<Record<string, number>> = { trace_id: 32, span_id: 16 }
const digitsMin = 4

/** A part of an id of hexadecimal digits, which no word and no number is: people cut ids short at the end. */
const partOfId = /^(?=.*\d)(?=.*[a-f])[\da-f]{7,31}$/i

/** Of what may be the beginning of an id: the search for all that begin so. */
function beginningOf(name: string, id: string): string | undefined {
  const whole = digitsOf[name]
  // Ids of sessions are whatever their sender makes up.
  if (whole === undefined) return /^[\w.-]{4,60}$/.test(id) ? `${name}:${id}*` : undefined
  const digits = id.replaceAll('-', '')
  return /^[\da-f]+$/i.test(digits) && digits.length >= digitsMin && digits.length < whole
    ? `${name}:${digits}*`
    : undefined
}

/** The search for the traces whose ids begin with what was typed; undefined where it looks like no part of one. */
export const tracesBeginning = (typed: string): string | undefined => {
  const digits = typed.replaceAll('-', '')
  return partOfId.test(digits) ? beginningOf('trace_id', digits) : undefined
}

/** `replacedBy`: the same search by another clause, where it stands in its words. */
type Asked = Readonly<{ name: string; id: string; replacedBy?: PlainClause['replacedBy'] }>

function askedBy(conditions: URLSearchParams, normalized: string): Asked | undefined {
  for (const name of names) {
    const id = conditions.get(name)
    if (id !== null) return { name, id }
  }
  const [clause] = plainClauses(normalized, names)
  return clause && { name: clause.name, id: clause.value, replacedBy: clause.replacedBy }
}

const bySearch = (address: string, clause: string): Html =>
  html`<p>An id is searched whole: <a href="${address}">${clause}</a> searches by how it begins.</p>`

/** The way on from a search for an id that has found nothing: to what has the id, of whatever age and kind, and by how it begins. */
export function nearIds(path: string, conditions: URLSearchParams, normalized: string): Html {
  const asked = askedBy(conditions, normalized)
  if (asked === undefined) {
    const clause = tracesBeginning(normalized)
    return clause === undefined ? html`` : bySearch(addressWith(path, conditions, { q: clause }), clause)
  }
  const { name, id, replacedBy } = asked
  const find = html`<p>
    <a href="/app/find?id=${encodeURIComponent(id)}">Find what has the id</a>, whatever its age, or why nothing may.
  </p>`
  const clause = beginningOf(name, id)
  if (clause === undefined || replacedBy === undefined) return find
  return html`${find}${bySearch(addressWith(path, conditions, { q: replacedBy(clause) }), clause)}`
}
