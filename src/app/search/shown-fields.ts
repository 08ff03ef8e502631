import { formatQuotedList, parseQuotedList } from '#src/lib/quoted-list.ts'
import { cut, isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import { addressWith, withConditions } from './conditions.ts'
import { fieldsNamed } from './field-table.ts'
import { addressCharactersMax } from './narrow.ts'
import type { LinksOf } from './value-links.ts'

// Which fields of records stand in each line of a list of logs: `fields` in the address, as an export takes it, whose columns they are.

const name = 'fields'
const namesMax = 64
const nameCharactersMax = 256
const wordsCharactersMax = 60
/** What a line shows anyway. */
const inEachLine = new Set(['message', 'level', 'service', 'timestamp'])

/** The names, of which one with a comma in it stands in quotes. */
export const shownNames = (conditions: URLSearchParams): readonly string[] => {
  const names = conditions.getAll(name).flatMap(parseQuotedList)
  return [...new Set(names)].slice(0, namesMax)
}

/** Where the same search shows other names, from its results on. */
const addressOf = (path: string, conditions: URLSearchParams, names: readonly string[]): string =>
  `${addressWith(path, conditions, { [name]: names.length === 0 ? null : formatQuotedList(names) })}#results`

/** What a search is asked with: a page has all fields of its records, for their tables. */
export const withoutNames = (conditions: URLSearchParams): URLSearchParams =>
  withConditions(conditions, { [name]: null })

/** The shown fields of a record, in front of its message. Those that it does not have are left out. */
export function shownValues(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Html {
  return html`${fieldsNamed(fields, names).map(
    ([each, text]) =>
      html`<span class="mark"
        ><small>${isolated(cut(each, wordsCharactersMax))}</small> ${isolated(cut(text, wordsCharactersMax))}</span
      > `,
  )}`
}

/** Beside the links of each value one that shows its field in each line. */
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

/** The names, as links that take them away; one that is in none of the records that are shown, as where it was misspelled, with a note of that. */
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
