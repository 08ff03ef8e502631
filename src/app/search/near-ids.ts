import { html, type Html } from '../html.ts'
import { addressWith } from './conditions.ts'
import { textOrRegex } from './passed-over.ts'

// An id is searched whole, and by a field of its own in a range of time as anything is. Who has a part of one, or one that is older, finds nothing.

const names = 'trace_id|span_id|session_id'

/** The ids that a search names, with no sign of a pattern. */
const ofId = new RegExp(
  String.raw`(?<![^\s(])(?<!NOT )(${names})[:=](?:"([^"\\]+)"|([^\s()"\\*?[\]<>/]+))(?=[\s)]|$)|${textOrRegex}`,
  'g',
)

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

type Asked = Readonly<{ name: string; id: string; place: Readonly<{ start: number; end: number }> | undefined }>

function askedBy(conditions: URLSearchParams, normalized: string): Asked | undefined {
  for (const name of names.split('|')) {
    const id = conditions.get(name)
    if (id !== null) return { name, id, place: undefined }
  }
  // A group that is left out is not asked for, whatever stands in it.
  if (normalized.includes('NOT (')) return undefined
  const clause = [...normalized.matchAll(ofId)].find(([, name]) => name !== undefined)
  if (clause === undefined) return undefined
  const [text, name = '', quoted, bare = ''] = clause
  return { name, id: quoted ?? bare, place: { start: clause.index, end: clause.index + text.length } }
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
  const { name, id, place } = asked
  const find = html`<p>
    <a href="/app/find?id=${encodeURIComponent(id)}">Find what has the id</a>, whatever its age, or why nothing may.
  </p>`
  const clause = beginningOf(name, id)
  if (clause === undefined || place === undefined) return find
  const query = normalized.slice(0, place.start) + clause + normalized.slice(place.end)
  return html`${find}${bySearch(addressWith(path, conditions, { q: query }), clause)}`
}
