import { nearest } from '#src/lib/nearest.ts'
import { ownLogField } from '#projections/logs/query.ts'
import { html, type Html } from '../../html.ts'
import { withConditions } from '../conditions.ts'
import { dottedFields } from '../field-table.ts'
import type { Search } from '../narrow.ts'
import { fieldAsked, leavesGroupOut } from './passed-over.ts'
import { linkTo, type Find } from './page-search.ts'

// Suggests fields: a search needs a field's whole name as its sender wrote it, so a typing error or a missing prefix finds nothing.

/** The most fields that are looked up: each may need a search of its own. */
const fieldsMax = 3
/** How many of the newest records in the range are examined for fields. */
const recordsMax = 100
/** The most names that the typed one is compared with by edit distance, which blocks this process. */
const namesMax = 2_000

const isOneWord = (name: string): boolean => /^[a-z_][\w.@/-]*$/i.test(name)

type Asked = Readonly<{ typed: string; index: number }>

function askedIn(normalized: string): readonly Asked[] {
  if (leavesGroupOut(normalized)) return []
  return [...normalized.matchAll(fieldAsked(':='))]
    .flatMap(({ 1: typed, index }) =>
      typed === undefined || ownLogField(typed) !== undefined ? [] : [{ typed, index }],
    )
    .slice(0, fieldsMax)
}

/** The most likely name: one that ends in the typed text, or else the nearest. */
function likeliest(typed: string, known: readonly string[]): string | undefined {
  const end = typed.toLowerCase()
  return (
    known.find((name) => name.toLowerCase() === end || name.toLowerCase().endsWith(`.${end}`)) ??
    nearest(typed, known.slice(0, namesMax))
  )
}

/** A suggestion for a log search that found nothing, if no record in its range has a field that it asks for. */
export async function nearFields(search: Search, find: Find): Promise<Html> {
  const { conditions, normalized } = search
  const ofTime = new URLSearchParams([...conditions].filter(([name]) => name === 'from' || name === 'to'))
  async function recordsOf(more: Readonly<Record<string, string>>) {
    const result = await find(withConditions(ofTime, more).toString())
    return result.ok ? result.value.logs : undefined
  }
  const asked = askedIn(normalized)
  const records = asked.length === 0 ? [] : ((await recordsOf({ limit: String(recordsMax) })) ?? [])
  const known = new Set(records.flatMap(({ fields }) => dottedFields(fields).map(({ name }) => name)))
  for (const { typed, index } of asked) {
    const meant = known.has(typed) ? undefined : likeliest(typed, [...known].filter(isOneWord))
    if (meant === undefined) continue
    // A rare field may be in none of the examined records.
    if ((await recordsOf({ q: `${typed}:*`, limit: '1' }))?.length !== 0) continue
    const query = normalized.slice(0, index) + meant + normalized.slice(index + typed.length)
    return html`<p>No record of this time has a field <code>${typed}</code>. Did you mean ${linkTo(search, query)}?</p>`
  }
  return html``
}
