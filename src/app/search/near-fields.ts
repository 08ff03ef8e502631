import { nearest } from '#src/lib/nearest.ts'
import type { Result } from '#src/lib/result.ts'
import { ownLogField } from '#projections/logs/query.ts'
import { html, type Html } from '../html.ts'
import { addressWith, withConditions } from './conditions.ts'
import { dottedFields } from './field-table.ts'
import { leavesGroupOut, textOrRegex } from './passed-over.ts'

// A field of logs is searched by its whole name, as its sender wrote it. Who mistypes it, or leaves out what stands before it, finds nothing.

type Logs = readonly Readonly<{ fields: Readonly<Record<string, unknown>> }>[]

/** Asks the search of the page for what it finds: records, where it is one of logs. */
export type FindLogs = (search: string) => Promise<Result<Readonly<{ logs?: Logs | undefined }>, unknown>>

/** Fields of a search that are looked at: each may be a search of its own. */
const fieldsMax = 3
/** Newest records of the time whose fields are known. */
const recordsMax = 100
/** Names that are compared with what was typed, edit by edit: this process does nothing else meanwhile. */
const namesMax = 2_000

/** Fields that a search names as one word and asks for. */
const fieldAsked = new RegExp(String.raw`(?<![^\s(])(?<!NOT )([a-z_][\w.@/-]*)(?=[:=])|${textOrRegex}`, 'gi')
const isOneWord = (name: string): boolean => /^[a-z_][\w.@/-]*$/i.test(name)

type Asked = Readonly<{ typed: string; index: number }>

function askedIn(normalized: string): readonly Asked[] {
  if (leavesGroupOut(normalized)) return []
  return [...normalized.matchAll(fieldAsked)]
    .flatMap(({ 1: typed, index }) =>
      typed === undefined || ownLogField(typed) !== undefined ? [] : [{ typed, index }],
    )
    .slice(0, fieldsMax)
}

/** The name that somebody most likely meant: one that ends as was typed, or else the nearest. */
function likeliest(typed: string, known: readonly string[]): string | undefined {
  const end = typed.toLowerCase()
  return (
    known.find((name) => name.toLowerCase() === end || name.toLowerCase().endsWith(`.${end}`)) ??
    nearest(typed, known.slice(0, namesMax))
  )
}

/** The way on from a search of logs that has found nothing, where no record of its time has a field that it asks for. */
export async function nearFields(
  path: string,
  conditions: URLSearchParams,
  normalized: string,
  find: FindLogs,
): Promise<Html> {
  const ofTime = new URLSearchParams([...conditions].filter(([name]) => name === 'from' || name === 'to'))
  async function recordsOf(more: Readonly<Record<string, string>>): Promise<Logs | undefined> {
    const result = await find(withConditions(ofTime, more).toString())
    return result.ok ? result.value.logs : undefined
  }
  const asked = askedIn(normalized)
  const records = asked.length === 0 ? [] : ((await recordsOf({ limit: String(recordsMax) })) ?? [])
  const known = new Set(records.flatMap(({ fields }) => dottedFields(fields).map(({ name }) => name)))
  for (const { typed, index } of asked) {
    const meant = known.has(typed) ? undefined : likeliest(typed, [...known].filter(isOneWord))
    if (meant === undefined) continue
    // One that is rare is in none of those records.
    if ((await recordsOf({ q: `${typed}:*`, limit: '1' }))?.length !== 0) continue
    const query = normalized.slice(0, index) + meant + normalized.slice(index + typed.length)
    return html`<p>
      No record of this time has a field <code>${typed}</code>. Did you mean
      <a href="${addressWith(path, conditions, { q: query })}">${query}</a>?
    </p>`
  }
  return html``
}
