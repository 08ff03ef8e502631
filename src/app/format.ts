import { stringifyJson } from '#src/lib/json.ts'
import { html, type Html } from './html.ts'

/** `2026-11-21T12:00:00.123456789Z` as a time that people read; the exact one is in its tip. */
export function timeOf(timestamp: string | null): Html {
  if (timestamp === null) return html`–`
  const shown = timestamp.slice(0, 23).replace('T', ' ')
  return html`<time datetime="${timestamp}" title="${timestamp}">${shown}</time>`
}

const units = [
  [1_000_000_000n, 's'],
  [1_000_000n, 'ms'],
  [1_000n, 'µs'],
] as const

/** Nanoseconds with three digits: `1.25 s`, `12.3 ms`, `950 µs`, `17 ns`. */
export function formatDuration(ns: bigint): string {
  const size = ns < 0n ? -ns : ns
  const [unit, name] = units.find(([each]) => size >= each) ?? [1n, 'ns']
  const value = Number(size) / Number(unit)
  const digits = value >= 100 || unit === 1n ? 0 : value >= 10 ? 1 : 2
  return `${ns < 0n ? '-' : ''}${value.toFixed(digits)} ${name}`
}

/** The text as far as a page can bear it, by whole characters. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  return `${text.slice(0, charactersMax).toWellFormed()} … (${(text.length - charactersMax).toLocaleString('en')} more characters)`
}

/** What a page shows of one value, and of all fields of one record: a page of a hundred records must stay one. */
const valueCharactersMax = 2_000
const recordCharactersMax = 32_000

/** Free fields as rows of name and value; values other than text are shown as JSON. */
export function fieldRows(fields: Readonly<Record<string, unknown>>): readonly Html[] {
  const rows: Html[] = []
  let left = recordCharactersMax
  for (const [name, value] of Object.entries(fields)) {
    if (left <= 0) {
      const more = Object.keys(fields).length - rows.length
      rows.push(
        html`<tr>
          <th scope="row">…</th>
          <td>${more} more fields: the search API and the export have them all.</td>
        </tr>`,
      )
      break
    }
    const text = cut(typeof value === 'string' ? value : stringifyJson(value), valueCharactersMax)
    left -= name.length + text.length
    rows.push(
      html`<tr>
        <th scope="row">${name}</th>
        <td>${text}</td>
      </tr>`,
    )
  }
  return rows
}

export const fieldTable = (caption: string, fields: Readonly<Record<string, unknown>>): Html =>
  Object.keys(fields).length === 0
    ? html``
    : html`<table class="fields">
        <caption>
          ${caption}
        </caption>
        <tbody>
          ${fieldRows(fields)}
        </tbody>
      </table>`
