import { formatQuotedList, parseQuotedList } from '#src/lib/quoted-list.ts'
import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { addressWith, withConditions } from './conditions.ts'
import { fieldsNamed } from './field-table.ts'
import { addressCharactersMax } from './narrow.ts'
import type { LinksOf } from './value-links.ts'

// Which fields each line of a list of logs shows: `fields` in the address. An export takes the same parameter for its columns.

const name = 'fields'
const namesMax = 64
const nameCharactersMax = 256
const wordsCharactersMax = 60
/** What each line shows anyway. */
const inEachLine = new Set(['message', 'level', 'service', 'timestamp'])

/** The names in the address; a name that has a comma is quoted. */
export const shownNames = (conditions: URLSearchParams): readonly string[] => {
  const names = conditions.getAll(name).flatMap(parseQuotedList)
  return [...new Set(names)].slice(0, namesMax)
}

/** The address of the same search with other names, at its results. */
const addressOf = (path: string, conditions: URLSearchParams, names: readonly string[]): string =>
  `${addressWith(path, conditions, { [name]: names.length === 0 ? null : formatQuotedList(names) })}#results`

/** The conditions for a search without `fields`: a page needs all fields for its tables. */
export const withoutNames = (conditions: URLSearchParams): URLSearchParams =>
  withConditions(conditions, { [name]: null })

/** The chosen fields of a record, to be shown before its message. Missing ones are left out. */
export function shownValues(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Html {
  return html`${fieldsNamed(fields, names).map(
    ([each, text]) =>
      html`<span class="mark"
        ><small>${isolated(cut(each, wordsCharactersMax))}</small> ${isolated(cut(text, wordsCharactersMax))}</span
      > `,
  )}`
}

/** Adds to the links of each value one that shows its field in each line. */
export function withShowLinks(path: string, conditions: URLSearchParams, linksOf: LinksOf): LinksOf {
  const names = shownNames(conditions)
  return (field, value) => {
    const links = linksOf(field, value)
    const isShown = inEachLine.has(field) || names.includes(field)
    if (isShown || names.length >= namesMax || field === '' || field.length > nameCharactersMax) return links
    const address = addressOf(path, conditions, [...names, field])
    if (address.length > addressCharactersMax) return links
    const words = `show ${cut(field, wordsCharactersMax)} in each line`
    return html`${links}<span><a href="${address}" aria-label="${words}">show</a></span>`
  }
}

/** The names as links that remove them. A name that no record of the page has, perhaps misspelled, gets a note. */
export function shownFieldsRow(
  path: string,
  conditions: URLSearchParams,
  logs: readonly Readonly<{ fields: Readonly<Record<string, unknown>> }>[],
): Html {
  const names = shownNames(conditions)
  if (names.length === 0) return html``
  const found = new Set(logs.flatMap(({ fields }) => fieldsNamed(fields, names).map(([each]) => each)))
  const isLacking = (each: string): boolean => logs.length > 0 && !found.has(each) && !inEachLine.has(each)
  const links = names.map((each) => {
    const others = names.filter((other) => other !== each)
    const address = addressOf(path, conditions, others)
    const words = cut(each, wordsCharactersMax)
    const note = isLacking(each) ? html` <small>in no record here</small>` : html``
    return html`<span
      ><a class="mark" href="${address}" title="Do not show ${words}">${isolated(words)} ✕</a>${note}</span
    > `
  })
  return html`<nav class="tabs" aria-label="Fields in each line"><span class="note">In each line</span> ${links}</nav>`
}
